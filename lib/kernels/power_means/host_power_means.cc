/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/power_means/power_cell.h"
#include "kernels/power_means/power_means.h"
#include <algorithm>

namespace gr::aperture::kernels::host {

namespace {

class host_power_means : public power_means
{
public:
    explicit host_power_means(const parameters& p)
        : d_p(p),
          d_sums(size_t(p.most_frames()) * p.integrations() * p.sums()),
          d_sources(p.beams)
    {
        if (p.detect.integrations(p.mask.spectra_per_frame) == 0)
            d_lost.resize(size_t(p.rows()) * p.mask.channels);
        for (int beam = 0; beam < p.beams; beam++)
            d_sources[beam] = { beam };
    }

    float* sums() override { return d_sums.data(); }

    void set_sources(const std::vector<std::vector<int>>& of_beams, stream&) override
    {
        d_sources = of_beams;
    }

    void execute(const void* masks,
                 int frames,
                 const missing_spectra& missing,
                 float* powers,
                 uint32_t* counts,
                 stream&) override
    {
        const int parts = d_p.integrations(), spectra = int(d_p.detect.spectra);
        const int summed = d_p.detect.summed_channels;
#pragma omp parallel for schedule(static) if (worth_threads(frames))
        for (int item = 0; item < frames * parts; item++) {
            const int frame = item / parts, first = item % parts * spectra;
            for (int row = 0; row < d_p.rows(); row++)
                for (int channel = 0; channel < d_p.channels(); channel++) {
                    part_counts lost;
                    for (int c = 0; c < summed; c++)
                        add(of_channel(masks, missing, frame, channel * summed + c),
                            row,
                            first,
                            first + spectra,
                            lost);
                    write(item, row, channel, lost, spectra, powers, counts);
                }
        }
    }

    void accumulate(const void* masks,
                    int frames,
                    const missing_spectra& missing,
                    stream&) override
    {
        d_spectra += int64_t(frames) * d_p.mask.spectra_per_frame;
        const int rows = d_p.rows();
#pragma omp parallel for schedule(static) if (worth_threads(frames))
        for (int channel = 0; channel < d_p.mask.channels; channel++)
            for (int frame = 0; frame < frames; frame++) {
                const auto lost = of_channel(masks, missing, frame, channel);
                for (int row = 0; row < rows; row++)
                    add(lost,
                        row,
                        0,
                        d_p.mask.spectra_per_frame,
                        d_lost[size_t(channel) * rows + row]);
            }
    }

    void dump(float* powers, uint32_t* counts, stream& s) override
    {
        const int summed = d_p.detect.summed_channels;
        for (int row = 0; row < d_p.rows(); row++)
            for (int channel = 0; channel < d_p.channels(); channel++) {
                part_counts lost;
                for (int c = 0; c < summed; c++) {
                    const auto& one =
                        d_lost[size_t(channel * summed + c) * d_p.rows() + row];
                    lost.x += one.x;
                    lost.y += one.y;
                    lost.either += one.either;
                }
                write(0, row, channel, lost, d_spectra, powers, counts);
            }
        clear(s);
    }

    void clear(stream&) override
    {
        std::fill(d_lost.begin(), d_lost.end(), part_counts());
        d_spectra = 0;
    }

private:
    bool worth_threads(int frames) const
    {
        return double(frames) * d_p.mask.channels * d_p.beams > 3e4;
    }

    lost_of_channel of_channel(const void* masks,
                               const missing_spectra& missing,
                               int frame,
                               int channel) const
    {
        const mask_layout& m = d_p.mask;
        return { static_cast<const uint8_t*>(masks) + frame * m.item_bytes() +
                     m.offset(channel, 0),
                 missing.empty() ? nullptr
                                 : missing.words().data() + missing.row(frame, 0),
                 m.bytes_per_input(),
                 words_of(m.spectra_per_frame),
                 m.inputs,
                 m.spectra_per_frame,
                 m.spectra_per_slice };
    }

    sources_of_beam of_beam(int beam) const
    {
        return { d_sources[beam].data(), int(d_sources[beam].size()) };
    }

    void
    add(const lost_of_channel& lost, int row, int first, int end, part_counts& to) const
    {
        if (!d_p.detect.of_pairs()) {
            add_lost(lost, of_beam(row), nullptr, first, end, to);
        } else {
            const auto y = of_beam(2 * row + 1);
            add_lost(lost, of_beam(2 * row), &y, first, end, to);
        }
    }

    //! \param item index of the integration
    //! \param spectra spectra of each channel
    void write(int item,
               int row,
               int channel,
               const part_counts& lost,
               int64_t spectra,
               float* powers,
               uint32_t* counts) const
    {
        const auto& d = d_p.detect;
        const size_t channels = d_p.channels();
        const auto all = uint32_t(spectra * d.summed_channels);
        const part_counts there{ all - lost.x, all - lost.y, all - lost.either };
        const size_t first = size_t(item) * d_p.rows() + row;
        write_powers(d.products,
                     d.basis,
                     d_sums.data() + first * d_p.summed().product_count() * channels +
                         channel,
                     channels,
                     d_p.mean ? &there : nullptr,
                     powers + first * d.product_count() * channels + channel);
        counts[first * channels + channel] = d.of_pairs() ? there.either : there.x;
    }

    const parameters d_p;
    std::vector<float> d_sums;
    std::vector<std::vector<int>> d_sources; // sources of each beam
    std::vector<part_counts> d_lost;         // [channel][row]
    int64_t d_spectra = 0;
};

} // namespace

//! Power means on the host.
template <>
std::unique_ptr<power_means> make(const power_means::parameters& p, const std::string&)
{
    return std::make_unique<host_power_means>(p);
}

} // namespace gr::aperture::kernels::host
