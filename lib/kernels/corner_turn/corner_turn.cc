/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/parts_of_frames.h"
#include "kernels/corner_turn/corner_turn.h"

namespace gr::aperture::kernels {

void corner_turn::parameters::check() const
{
    require_range("channels", channels, 1, 1 << 24);
    require_range("ports", ports, 1, 65536);
    require_range("inputs_per_port", inputs_per_port, 1, 65536);
    require_range("spectra_per_frame", spectra_per_frame, 1, 1 << 30);
    require_range("first_channel", first_channel, 0, channels - 1);
    require_range("selected_channels", selected_channels, 1, channels - first_channel);
    require(type == sample_type::sc8 || type == sample_type::sc4 ||
                type == sample_type::fc32,
            "type",
            name_of(type),
            "sc8, sc4 or fc32");
}

size_t corner_turn::bytes_of_spectrum() const
{
    return size_of(d_p.type) * d_p.inputs_per_port * d_p.channels;
}

size_t corner_turn::bytes_of_frame() const
{
    return size_of(d_p.type) * d_p.selected_channels * d_p.inputs() *
           d_p.spectra_per_frame;
}

void corner_turn::execute(
    const void* const* spectra, void* frame, int first, int count, stream& s)
{
    const auto put = [&](const part_of_frames& part) {
        std::vector<const void*> from(spectra, spectra + d_p.ports);
        for (auto& port : from)
            if (port)
                port = static_cast<const char*>(port) + part.done * bytes_of_spectrum();
        const size_t before = d_found ? d_found->size() : 0;
        transpose_frames(from.data(),
                         static_cast<char*>(frame) + part.frame * bytes_of_frame(),
                         part.first,
                         part.times,
                         part.frames,
                         s);
        for (size_t i = before; d_found && i < d_found->size(); i++)
            (*d_found)[i].spectrum += part.done;
    };
    each_part_of_frames(first, count, d_p.spectra_per_frame, d_most_frames, put);
}

} // namespace gr::aperture::kernels
