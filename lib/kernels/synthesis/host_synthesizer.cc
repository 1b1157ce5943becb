/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/common/measured_fft.h"
#include "kernels/common/simd.h"
#include "kernels/synthesis/synthesizer.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace gr::aperture::kernels::host {

namespace {

constexpr double worth_threads = 1e5; // operations; starting threads takes microseconds

//! Adds factors[i] values[i].
APERTURE_SIMD void
add_products(const float* factors, const float* values, float* sums, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sums[i] += factors[i] * values[i];
}

//! Multiplies complex samples by phasors; re and im go to places of their own.
APERTURE_SIMD void mix(const float* samples,
                       const float* phasor_re,
                       const float* phasor_im,
                       float* re,
                       float* im,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const float a = samples[2 * i], b = samples[2 * i + 1];
        re[i] = a * phasor_re[i] - b * phasor_im[i];
        im[i] = a * phasor_im[i] + b * phasor_re[i];
    }
}

//! Interpolates between two rows of coefficients.
APERTURE_SIMD void
interpolate(const float* row, float part, float* coefficients, size_t count)
{
    for (size_t i = 0; i < count; i++)
        coefficients[i] = row[i] + part * (row[i + count] - row[i]);
}

//! Returns the sum of products, added in an order that neither the place in memory nor
//! the length of vectors changes. \param count a multiple of 16
APERTURE_SIMD float sum_of_products(const float* a, const float* b, size_t count)
{
    // one after another would wait for each addition
    constexpr size_t lanes = 16, together = 4;
    float sums[together][lanes] = {};
    size_t i = 0;
    for (; i + together * lanes <= count; i += together * lanes)
        for (size_t part = 0; part < together; part++)
            for (size_t lane = 0; lane < lanes; lane++)
                sums[part][lane] +=
                    a[i + part * lanes + lane] * b[i + part * lanes + lane];
    for (; i < count; i += lanes)
        for (size_t lane = 0; lane < lanes; lane++)
            sums[0][lane] += a[i + lane] * b[i + lane];
    for (size_t lane = 0; lane < lanes; lane++)
        sums[0][lane] += sums[1][lane] + (sums[2][lane] + sums[3][lane]);
    for (size_t half = lanes / 2; half > 0; half /= 2)
        for (size_t lane = 0; lane < half; lane++)
            sums[0][lane] += sums[0][lane + half];
    return sums[0][0];
}

class host_synthesizer : public synthesizer
{
public:
    explicit host_synthesizer(const parameters& p)
        : d_p(p),
          d_fft(measured_fft::of(p.points, false)),
          d_slots(p.depth()),
          d_factors(2 * p.prototype.size()),
          d_samples(size_t(p.beams) * 2 * p.room()),
          d_phasor_re(p.hop),
          d_phasor_im(p.hop)
    {
        for (size_t i = 0; i < d_factors.size(); i++)
            d_factors[i] = p.prototype[i / 2];
        for (int beam = 0; beam < p.beams; beam++)
            d_beams.push_back(workspace(p, d_slots));
        clear_all();
    }

    std::string implementation() const override { return "host fftw"; }

    void clear(stream&) override { clear_all(); }

    void add(const void* frame,
             int first,
             int count,
             int64_t spectrum,
             const mixing& m,
             int keep,
             stream&) override
    {
        for (int beam = 0; beam < d_p.beams; beam++)
            for (float* plane : { re(beam), im(beam) })
                std::memmove(plane, plane + d_held - keep, keep * sizeof(float));
        d_held = keep;
        for (int done = 0; done < count;) {
            const int together = std::min(count - done, at_once);
            const double work = double(together) * d_p.beams * d_p.hop * d_p.depth();
#pragma omp parallel for schedule(static) if (work > worth_threads)
            for (int beam = 0; beam < d_p.beams; beam++)
                load(frame, beam, first + done, together);
            for (int t = done; t < done + together; t++) {
                make_phasors(m, m.sample + int64_t(t) * d_p.hop);
#pragma omp parallel for schedule(static) if (work > worth_threads * together)
                for (int beam = 0; beam < d_p.beams; beam++)
                    complete(beam, t - done, spectrum + t);
                d_held += d_p.hop;
            }
            done += together;
        }
    }

    void write(void* output,
               int64_t count,
               const output_places& places,
               int quarters,
               const std::vector<zeros>& empty,
               stream&) override
    {
        auto* out = static_cast<float*>(output);
        if (d_p.real())
            write_real(out, count, places, quarters);
        else
            write_complex(out, count, places.first);
        const size_t components = d_p.real() ? 1 : 2;
        for (const auto& z : empty)
            for (int64_t i = z.first; i < z.end; i++)
                std::fill_n(out + (i * d_p.beams + z.beam) * components, components, 0.f);
    }

private:
    static constexpr int at_once = 16; // spectra that are read together

    //! Returns the floats of a line, such that each is aligned.
    static size_t line_of(const parameters& p)
    {
        return (2 * size_t(p.points) + 15) / 16 * 16;
    }

    //! Memory of a beam.
    struct workspace {
        workspace(const parameters& p, int64_t depth)
            : lines(make_fft_buffer(at_once * line_of(p))),
              results(make_fft_buffer(2 * size_t(p.points))),
              spectra(size_t(depth) * 2 * p.points),
              sums(2 * size_t(p.hop))
        {
            std::fill_n(lines.get(), at_once * line_of(p), 0.f);
        }
        fft_buffer lines;           // [time][bin], before the transform
        fft_buffer results;         // results of one transform
        std::vector<float> spectra; // [slot][point], after it
        std::vector<float> sums;    // [sample]
    };

    float* re(int beam) { return &d_samples[size_t(beam) * 2 * d_p.room()]; }
    float* im(int beam) { return re(beam) + d_p.room(); }

    void clear_all()
    {
        for (auto& w : d_beams)
            std::fill(w.spectra.begin(), w.spectra.end(), 0.f);
        d_held = 0;
    }

    //! Reads spectra of a beam into lines: channel k goes to bin c - k, as a forward
    //! transform is to have the sign of a backward one.
    void load(const void* frame, int beam, int first, int count)
    {
        auto* lines = d_beams[beam].lines.get();
        const size_t row = size_t(d_p.spectra_per_frame);
        const size_t line = line_of(d_p);
        for (int k = 0; k < d_p.channels; k++) {
            const int bin = d_p.channels / 2 - k;
            float* to = lines + 2 * size_t(bin < 0 ? bin + d_p.points : bin);
            const size_t at = 2 * ((size_t(k) * d_p.beams + beam) * row + first);
            if (!frame)
                for (int t = 0; t < count; t++)
                    to[t * line] = to[t * line + 1] = 0;
            else if (d_p.input == sample_type::sc8)
                copy(static_cast<const int8_t*>(frame) + at, to, count, line);
            else
                copy(static_cast<const float*>(frame) + at, to, count, line);
        }
    }
    template <class T>
    static void copy(const T* from, float* to, int count, size_t line)
    {
        for (int t = 0; t < count; t++) {
            to[t * line] = from[2 * t];
            to[t * line + 1] = from[2 * t + 1];
        }
    }

    //! Makes the samples that a spectrum completes.
    void complete(int beam, int t, int64_t spectrum)
    {
        auto& w = d_beams[beam];
        const int64_t points = d_p.points, hop = d_p.hop;
        const auto slot_of = [&](int64_t m) {
            return w.spectra.data() +
                   2 * size_t(points) * size_t((m % d_slots + d_slots) % d_slots);
        };
        d_fft.execute(w.lines.get() + size_t(t) * line_of(d_p), w.results.get());
        std::memcpy(slot_of(spectrum), w.results.get(), 2 * points * sizeof(float));
        int64_t base = (spectrum * hop - d_p.lead) % points;
        base += base < 0 ? points : 0;
        // a part's sums stay in the first-level cache
        constexpr int64_t part = 1024;
        for (int64_t begin = 0; begin < hop; begin += part) {
            const int64_t end = std::min(begin + part, hop);
            float* sums = w.sums.data();
            std::fill(sums + 2 * begin, sums + 2 * end, 0.f);
            for (int64_t j = 0; j < d_slots; j++) {
                const float* values = slot_of(spectrum - j);
                const int64_t last =
                    std::min(end, int64_t(d_p.prototype.size()) - j * hop);
                for (int64_t r = begin; r < last;) {
                    const int64_t at = (base + r) % points;
                    const int64_t count = std::min(last - r, points - at);
                    add_products(&d_factors[2 * (r + j * hop)],
                                 values + 2 * at,
                                 sums + 2 * r,
                                 2 * size_t(count));
                    r += count;
                }
            }
        }
        mix(w.sums.data(),
            d_phasor_re.data(),
            d_phasor_im.data(),
            re(beam) + d_held,
            im(beam) + d_held,
            size_t(hop));
    }

    //! Makes the phasors of a spectrum's samples: the products of a fine and a coarse
    //! one, as a sine of each sample would take longer than the filter.
    void make_phasors(const mixing& m, int64_t sample)
    {
        constexpr int fine = 64;
        double fine_re[fine], fine_im[fine];
        const auto phasor = [](double cycles, double& to_re, double& to_im) {
            cycles = 2 * M_PI * (cycles - std::floor(cycles));
            to_re = std::cos(cycles);
            to_im = std::sin(cycles);
        };
        for (int i = 0; i < fine; i++)
            phasor(i * m.slope, fine_re[i], fine_im[i]);
        for (int first = 0; first < d_p.hop; first += fine) {
            double c, s;
            phasor(m.start + double(sample + first) * m.slope, c, s);
            const int count = std::min(fine, d_p.hop - first);
            for (int i = 0; i < count; i++) {
                d_phasor_re[first + i] = float(fine_re[i] * c - fine_im[i] * s);
                d_phasor_im[first + i] = float(fine_re[i] * s + fine_im[i] * c);
            }
        }
    }

    void write_complex(float* out, int64_t count, int64_t first)
    {
        for (int beam = 0; beam < d_p.beams; beam++) {
            const float *from_re = re(beam) + first, *from_im = im(beam) + first;
            for (int64_t i = 0; i < count; i++) {
                float* to = out + 2 * (i * d_p.beams + beam);
                to[0] = from_re[i];
                to[1] = from_im[i];
            }
        }
    }

    void write_real(float* out, int64_t count, const output_places& places, int quarters)
    {
        const int taps = d_p.filter.taps;
        [[maybe_unused]] const double work = double(count) * d_p.beams * taps;
#pragma omp parallel if (work > worth_threads)
        {
            std::vector<float> coefficients(taps);
#pragma omp for schedule(static)
            for (int64_t q = 0; q < count; q++) {
                const auto place = places.of(q);
                const double phase = place.fraction * fractional_filter::phases;
                const int row = int(phase);
                interpolate(&d_p.filter.rows[size_t(row) * taps],
                            float(phase - row),
                            coefficients.data(),
                            size_t(taps));
                const int64_t first = place.sample - taps / 2 + 1;
                const int turn = int((q + quarters) % 4);
                for (int beam = 0; beam < d_p.beams; beam++) {
                    const float* samples = turn % 2 == 0 ? re(beam) : im(beam);
                    const float sum = sum_of_products(
                        samples + first, coefficients.data(), size_t(taps));
                    // the real part of u i^turn
                    out[q * d_p.beams + beam] = turn == 1 || turn == 2 ? -sum : sum;
                }
            }
        }
    }

    const parameters d_p;
    const measured_fft& d_fft;
    const int64_t d_slots;
    std::vector<float> d_factors;                // [coefficient][re, im]
    std::vector<float> d_samples;                // [beam][re, im][room()]
    std::vector<float> d_phasor_re, d_phasor_im; // [sample] of one spectrum
    std::vector<workspace> d_beams;
    int64_t d_held = 0; // samples of each beam
};

} // namespace

template <>
std::unique_ptr<synthesizer> make(const synthesizer::parameters& p, const std::string&)
{
    return std::make_unique<host_synthesizer>(p);
}

} // namespace gr::aperture::kernels::host
