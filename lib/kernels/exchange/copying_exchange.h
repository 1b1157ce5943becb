/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_EXCHANGE_COPYING_EXCHANGE_H
#define INCLUDED_APERTURE_KERNELS_EXCHANGE_COPYING_EXCHANGE_H

#include "kernels/exchange/exchange.h"

namespace gr::aperture::kernels {

/*!
 * An exchange by copies, which the devices of the outputs make: each fetches its pieces
 * from one device after the other, and each begins with another one, so that no two fetch
 * from the same.
 */
class copying_exchange : public exchange
{
public:
    explicit copying_exchange(const parameters& p) : exchange(p) {}

    void execute(const std::vector<const void*>& in,
                 const std::vector<void*>& out,
                 int frames,
                 const std::vector<stream*>& streams) final
    {
        const auto each_order = [&](const auto& first, const auto& second) {
            for (const int a : first) {
                const auto done = streams[d_p.place_of(a)]->record();
                for (const int b : second)
                    if (a != b)
                        streams[d_p.place_of(b)]->wait(done);
            }
        };
        each_order(d_p.input_devices, d_p.output_devices);
        for (int step = 0; step < d_p.inputs_ports(); step++)
            for (int output = 0; output < d_p.outputs_ports(); output++) {
                const int input = (output + step) % d_p.inputs_ports();
                const auto p = piece_of(input, output, in[input], out[output], frames);
                const int device = d_p.output_devices[output];
                stream& s = *streams[d_p.place_of(device)];
                if (p.from)
                    copy(p, d_p.input_devices[input], device, s);
                else
                    clear(p, device, s);
            }
        for (const int device : d_p.output_devices)
            finish(device, *streams[d_p.place_of(device)]);
        // the sources may be overwritten once they have been fetched
        each_order(d_p.output_devices, d_p.input_devices);
    }

protected:
    //! Copies a piece.
    //! \param s stream of the device `to`
    virtual void copy(const piece& p, int from, int to, stream& s) = 0;
    virtual void clear(const piece& p, int device, stream& s) = 0;
    //! Finishes the copies of a device: its stream goes on when they are done.
    virtual void finish(int /* device */, stream&) {}
};

//! Copies a piece row by row with `put(to, from, bytes)`; from may be nullptr.
template <class function, class piece>
void each_row(const piece& p, const function& put)
{
    for (int frame = 0; frame < p.frames; frame++)
        for (int row = 0; row < p.rows; row++)
            put(p.to + frame * p.to_frame + row * p.to_row,
                p.from ? p.from + frame * p.from_frame + row * p.from_row : nullptr,
                p.bytes);
}

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_EXCHANGE_COPYING_EXCHANGE_H */
