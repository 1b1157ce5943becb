/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_FORMATS_VDIF_HEADER_H
#define INCLUDED_APERTURE_FORMATS_VDIF_HEADER_H

#include <cstdint>
#include <cstring>

namespace gr::aperture::formats {

// VDIF is little-endian, as the processors that this runs on
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

//! The fields of a VDIF header's first 16 bytes, which headers of both lengths have.
struct vdif_header {
    static constexpr int bytes = 16;

    bool invalid = false;
    bool legacy = false;
    int64_t second = 0; //!< seconds since the reference epoch
    int epoch = 0;      //!< half years since 2000
    int64_t frame = 0;  //!< index in the second
    int version = 0;    //!< the format's: 1 for 1.1
    int log2_channels = 0;
    int64_t frame_bytes = 0; //!< bytes of a frame with the header
    bool complex = false;
    int bits = 1; //!< bits of a component
    int thread = 0;
    int station = 0;

    /*!
     * Returns the seconds from 1970 to a reference epoch. (Each fourth of the years up to
     * 2099 is a leap year.)
     */
    static int64_t start_of_epoch(int epoch)
    {
        const int64_t years = epoch / 2;
        const bool leap = years % 4 == 0;
        const int64_t days =
            10957 + 365 * years + (years + 3) / 4 + (epoch % 2 ? 181 + leap : 0);
        return days * 86400;
    }

    static vdif_header read(const void* from)
    {
        uint32_t w[4];
        std::memcpy(w, from, sizeof w);
        vdif_header h;
        h.invalid = w[0] >> 31;
        h.legacy = w[0] >> 30 & 1;
        h.second = w[0] & 0x3fffffff;
        h.epoch = int(w[1] >> 24 & 63);
        h.frame = w[1] & 0xffffff;
        h.version = int(w[2] >> 29);
        h.log2_channels = int(w[2] >> 24 & 31);
        h.frame_bytes = int64_t(w[2] & 0xffffff) * 8;
        h.complex = w[3] >> 31;
        h.bits = int(w[3] >> 26 & 31) + 1;
        h.thread = int(w[3] >> 16 & 0x3ff);
        h.station = int(w[3] & 0xffff);
        return h;
    }

    void write(void* to) const
    {
        const uint32_t w[4] = {
            uint32_t(invalid) << 31 | uint32_t(legacy) << 30 | uint32_t(second),
            uint32_t(epoch) << 24 | uint32_t(frame),
            uint32_t(version) << 29 | uint32_t(log2_channels) << 24 |
                uint32_t(frame_bytes / 8),
            uint32_t(complex) << 31 | uint32_t(bits - 1) << 26 | uint32_t(thread) << 16 |
                uint32_t(station),
        };
        std::memcpy(to, w, sizeof w);
    }
};

} // namespace gr::aperture::formats

#endif /* INCLUDED_APERTURE_FORMATS_VDIF_HEADER_H */
