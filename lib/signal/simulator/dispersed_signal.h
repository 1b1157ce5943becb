/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_SIGNAL_SIMULATOR_DISPERSED_SIGNAL_H
#define INCLUDED_APERTURE_SIGNAL_SIMULATOR_DISPERSED_SIGNAL_H

#include "kernels/common/fftw.h"
#include "signal/simulator/pulse_envelope.h"
#include "signal/simulator/pulsed_source.h"
#include <array>
#include <cstdint>
#include <list>
#include <vector>

namespace gr::aperture::kernels::host {

/*!
 * The signal of a source at the array's origin: white noise with the amplitude of its
 * pulses, filtered as the interstellar medium does.
 *
 * Dispersion is the filter exp(2 pi i K DM / f) over the sky frequency f, whose delay is
 * K DM / f^2. It is applied by overlap-save relative to the highest frequency of the
 * band; the delay of that is one of the envelope. Scattering convolves the power of the
 * pulses with an exponential, whose length changes over the band: the noise is given the
 * amplitudes of several frequencies, at which the lengths differ by at most a tenth, and
 * each bin of the spectrum is a mean of the two beside it, weighted by frequency.
 *
 * Block b of the signal, from sample b*length on, is always made in the same way, in
 * whatever order samples are read.
 */
class dispersed_signal
{
public:
    struct parameters {
        pulsed_source source;
        double flux; //!< flux of a steady signal beside the pulses
        double sample_rate, center_frequency;
        uint64_t seed;
        uint64_t process[2]; //!< noise processes of x and y
    };
    explicit dispersed_signal(const parameters& p);

    //! Returns whether the signal is limited to the band of the sources already.
    bool band_limited() const { return d_transform > 0; }

    /*!
     * Reads samples first, first + 1, ... of x (0) or y (1).
     * \param first even, may be negative
     * \param count even
     * \returns false if all are 0, and then leaves `samples` as they were
     */
    bool read(int polarization, int64_t first, size_t count, float* samples);

private:
    struct block {
        int64_t number;
        std::vector<float> samples; //!< complex; none if all are 0
    };
    const block& block_of(int polarization, int64_t number);
    block make_block(int polarization, int64_t number);
    //! Makes noise times the amplitudes of one envelope.
    bool modulated(const pulse_envelope& envelope,
                   int polarization,
                   int64_t first,
                   size_t count,
                   float* samples);
    void make_response();
    //! Returns the weight of a node of scattering at a sky frequency.
    double weight(size_t node, double frequency) const;

    const parameters d_p;
    std::vector<double> d_nodes;             //!< sky frequencies, Hz
    std::vector<pulse_envelope> d_envelopes; //!< [node]
    size_t d_transform = 0;                  //!< points; 0: nothing to be filtered
    size_t d_lead = 0, d_length = 0;         //!< samples before those of a block, and its
    fft_buffer d_response;                   //!< complex, [bin]
    fft_buffer d_work;
    std::vector<float> d_amplitudes;
    std::array<std::list<block>, 2> d_blocks; //!< the newest first
};

} // namespace gr::aperture::kernels::host

#endif /* INCLUDED_APERTURE_SIGNAL_SIMULATOR_DISPERSED_SIGNAL_H */
