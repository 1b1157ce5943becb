/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "dada_source_impl.h"
#include "kernels/common/types.h"
#include <gnuradio/io_signature.h>

namespace gr::aperture {

dada_source::sptr dada_source::make(const parameters& p)
{
    check_parameters<dada_source>(p);
    const auto file = formats::open_dada(p.filename);
    require_range("begin", p.begin, 0, file.samples - 1);
    require_range("samples", p.samples, 0, file.samples - p.begin);
    recording r;
    r.files =
        std::make_shared<formats::recorded_files>(std::vector<std::string>{ p.filename });
    r.pieces =
        std::make_shared<formats::listed_pieces>(std::vector<std::vector<formats::piece>>{
            { { 0, file.header_bytes, file.samples, 0 } } });
    r.layout.written = file.coding();
    r.layout.complex = file.complex();
    for (int64_t i = 0; i < file.inputs; i++)
        r.layout.inputs.push_back({ 0, i, file.inputs });
    r.layout.inputs_per_port = int(file.inputs);
    r.rate = file.rate;
    r.start = file.start;
    r.center_frequency = file.center;
    r.inverted = file.inverted();
    r.layout.conjugated = r.inverted && r.layout.complex;
    r.readers = p.readers;
    r.begin = p.begin;
    r.samples = p.samples ? p.samples : file.samples - p.begin;
    r.repeat = p.repeat;
    return gnuradio::make_block_sptr<dada_source_impl>(file, r);
}

dada_source_impl::dada_source_impl(const formats::dada_file& file, const recording& r)
    : gr::sync_block(
          "dada_source", gr::io_signature::make(0, 0, 0), r.output_signature()),
      recording_source_impl(r),
      d_file(file)
{
    if (!d_file.warnings.empty())
        d_logger->warn("{:s}", warning());
}

std::string dada_source_impl::warning() const
{
    std::string text;
    for (const std::string& warning : d_file.warnings)
        text += (text.empty() ? d_file.name + ": " : "; ") + warning;
    return text;
}

} // namespace gr::aperture
