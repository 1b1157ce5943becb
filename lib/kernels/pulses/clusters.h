/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PULSES_CLUSTERS_H
#define INCLUDED_APERTURE_KERNELS_PULSES_CLUSTERS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gr::aperture::kernels {

/*!
 * Makes candidates of cells, as they come: friends of friends in time, dispersion measure
 * and width, beam by beam, and then what several beams saw together.
 *
 * Two cells of a beam are friends if
 *
 * - between their trials, in the order of dispersion measures, there are fewer than
 *   link_trials others,
 * - one is at most link_widths times as wide as the other, or 2 (S/N / threshold)^2 of
 * the narrower one: so wide a boxcar around it is still above the threshold, and
 * - between them in time, at the reference frequency, there is at most link_time of the
 *   wider one.
 *
 * Friends, and friends of friends, are a cluster. Clusters of different beams belong to
 * one candidate if their best cells are as close in time and as alike in width, and some
 * of their trials as close in dispersion measure. The candidate's best cell, by S/N,
 * stands for it.
 */
class clusters
{
public:
    struct parameters {
        int beams;
        std::vector<double> dms; //!< of the trials
        double link_time, link_widths;
        int link_trials;
        double threshold;  //!< S/N of all cells at least
        double widest;     //!< seconds of the widest cell
        double longest;    //!< seconds after which a candidate ends that does not
        size_t most_cells; //!< of a beam that wait, before they end likewise

        //! \throws std::invalid_argument
        void check() const;
    };

    struct cell {
        int beam, trial;
        double end, width; //!< seconds at the reference frequency, from wherever
        float snr;
    };

    struct candidate {
        cell best;
        std::vector<int> beams; //!< that saw it, ascending
        int cells;
    };

    explicit clusters(const parameters& p);

    void reset();
    void add(const cell& c);
    //! Those to which no cell belongs that may still come: all that come end later than
    //! `front`. In the order of time.
    std::vector<candidate> finished(double front);
    //! All others.
    std::vector<candidate> rest();
    size_t waiting() const;

private:
    struct cluster {
        std::vector<cell> cells;
        size_t best;
        double first, last, open_until; // seconds
        int low, high;                  // places in the order of dms
        bool full = false;              // no more cells can wait

        const cell& best_cell() const { return cells[best]; }
    };

    int rank(const cell& c) const { return d_ranks[c.trial]; }
    //! The widest cell that can be a friend of one that is as wide or wider.
    double widest_friend(const cell& narrow) const;
    bool near_in_time(const cell& a, const cell& b) const;
    bool friends(const cell& a, const cell& b) const;
    //! Takes the cells of a beam apart.
    void group_beam(std::vector<cell>& cells, std::vector<cluster>& to) const;
    cluster make_cluster(std::vector<cell> cells) const;
    //! Of several beams, and as close in time and as alike in width as those of a
    //! candidate.
    bool alike(const cluster& a, const cluster& b) const;
    //! And as close in dispersion measure.
    bool close(const cluster& a, const cluster& b) const;
    std::vector<candidate> take(double front, bool all);

    const parameters d_p;
    std::vector<int> d_ranks;                 // of each trial in the order of dms
    std::vector<std::vector<cell>> d_waiting; // of each beam
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_PULSES_CLUSTERS_H */
