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
 * and width, beam by beam, and then across beams.
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
        std::vector<double> dms; //!< dispersion measures of the trials
        double link_time, link_widths;
        int link_trials;
        double threshold;  //!< least S/N of all cells
        double widest;     //!< width of the widest cell, seconds
        double longest;    //!< longest candidate, seconds
        size_t most_cells; //!< waiting cells of a beam, at most

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
        std::vector<int> beams; //!< beams that saw it, ascending
        int cells;
    };

    explicit clusters(const parameters& p);

    void reset();
    void add(const cell& c);
    //! Takes the candidates to which no later cell can belong: all later cells end after
    //! `front`. They are in the order of time.
    std::vector<candidate> finished(double front);
    //! Takes all others.
    std::vector<candidate> rest();
    size_t waiting() const;

private:
    struct cluster {
        std::vector<cell> cells;
        size_t best;
        double first, last, open_until; // seconds
        int low, high;                  // range in the order of dms
        bool full = false;              // no more cells can wait

        const cell& best_cell() const { return cells[best]; }
    };

    int rank(const cell& c) const { return d_ranks[c.trial]; }
    //! Returns the largest width of a friend of a cell that is not wider.
    double widest_friend(const cell& narrow) const;
    bool near_in_time(const cell& a, const cell& b) const;
    bool friends(const cell& a, const cell& b) const;
    //! Splits the cells of a beam into clusters.
    void group_beam(std::vector<cell>& cells, std::vector<cluster>& to) const;
    cluster make_cluster(std::vector<cell> cells) const;
    //! Returns whether two clusters are of different beams, and as close in time and as
    //! alike in width as those of a candidate.
    bool alike(const cluster& a, const cluster& b) const;
    //! Returns whether they are also as close in dispersion measure.
    bool close(const cluster& a, const cluster& b) const;
    std::vector<candidate> take(double front, bool all);

    const parameters d_p;
    std::vector<int> d_ranks;                 // rank of each trial in the order of dms
    std::vector<std::vector<cell>> d_waiting; // waiting cells of each beam
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_PULSES_CLUSTERS_H */
