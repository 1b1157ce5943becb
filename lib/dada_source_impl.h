/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_DADA_SOURCE_IMPL_H
#define INCLUDED_APERTURE_DADA_SOURCE_IMPL_H

#include "formats/dada/dada.h"
#include "recording_source_impl.h"
#include <gnuradio/aperture/dada_source.h>

namespace gr::aperture {

class dada_source_impl : public dada_source, public recording_source_impl
{
public:
    dada_source_impl(const formats::dada_file& file, const recording& r);

    std::map<std::string, std::string> header() const override { return d_file.header; }
    std::string warning() const override;

private:
    const formats::dada_file d_file;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_DADA_SOURCE_IMPL_H */
