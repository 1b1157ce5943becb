/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_VDIF_SOURCE_IMPL_H
#define INCLUDED_APERTURE_VDIF_SOURCE_IMPL_H

#include "formats/vdif/vdif_stations.h"
#include "recording_source_impl.h"
#include <gnuradio/aperture/vdif_source.h>

namespace gr::aperture {

class vdif_source_impl : public vdif_source, public recording_source_impl
{
public:
    vdif_source_impl(const recording& r,
                     std::shared_ptr<const formats::vdif_stations> frames);

    std::map<std::string, uint64_t> counts() const override;

private:
    const std::shared_ptr<const formats::vdif_stations> d_frames;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_VDIF_SOURCE_IMPL_H */
