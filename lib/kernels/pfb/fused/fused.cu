/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/pfb/fused/fused.h"
#include "kernels/pfb/fused/kernels.h"
#include "kernels/pfb/fused/pfb_split.h"
#include <algorithm>
#include <cmath>
#include <complex>

namespace gr::aperture::kernels::cuda {

namespace {

//! Returns exp(2 pi i cycles) = cos (1 + i tan) as cos and tan. Where cos is 0 it is
//! replaced by a value that single precision does not distinguish from 0 beside 1.
float2 cos_and_tan(double cycles)
{
    constexpr double least = 0x1p-30;
    const double angle = 2 * M_PI * cycles;
    double cosine = std::cos(angle);
    if (std::abs(cosine) < least)
        cosine = least;
    return make_float2(float(cosine), float(std::sin(angle) / cosine));
}

//! Makes the twiddles of the second and the third pass, and those that separate spectra
//! of real samples, in the order in which fused_shape has them.
std::vector<float2> make_twiddles(const fused_kernel& kernel)
{
    std::vector<float2> all;
    // [radix/4][done][2], as transform_by() numbers its factors
    const auto add_pass = [&](int radix, int done) {
        std::vector<float2> w(size_t(radix / 2) * done);
        const auto put = [&](int i, int k, double cycles) {
            w[(size_t(i / 2) * done + k) * 2 + i % 2] = cos_and_tan(cycles);
        };
        for (int k = 0; k < done; k++) {
            put(0, k, -k / (2. * done));
            for (int length = 4; length <= radix; length *= 2)
                for (int j = 0; j < length / 4; j++)
                    put(length / 4 + j, k, -(k + double(j) * done) / (length * done));
        }
        all.insert(all.end(), w.begin(), w.end());
    };
    const auto [r1, r2, r3] = kernel.radices;
    add_pass(r2, r1);
    if (r3 > 1)
        add_pass(r3, r1 * r2);
    for (int k = 0; k < kernel.channels; k++) {
        const auto w = std::polar(.5, 2 * M_PI * (-.25 - .5 * k / kernel.channels));
        all.push_back(make_float2(float(w.real()), float(w.imag())));
    }
    return all;
}

//! Number of channels whose rows, of all thread blocks, stay in the second-level cache
//! until they fill its lines.
constexpr int most_rows = 512;

//! Limits shared memory to what `blocks` thread blocks on a multiprocessor need: filter,
//! gains and twiddles need the rest as a cache.
void leave_cache(const fused_kernel& kernel, void (*function)(fused_call), int device)
{
    int reserved = 0, all = 0;
    check(cudaDeviceGetAttribute(
              &reserved, cudaDevAttrReservedSharedMemoryPerBlock, device),
          "asking for shared memory");
    check(
        cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device),
        "asking for shared memory");
    constexpr int fixed = 1024; // at most, what kernels have besides
    const int wanted = kernel.blocks * (kernel.shared_bytes + reserved + fixed);
    check(cudaFuncSetAttribute(function,
                               cudaFuncAttributePreferredSharedMemoryCarveout,
                               std::min(100, (100 * wanted + all - 1) / all)),
          "parting shared memory and cache");
}

template <sample_type... Types>
std::vector<fused_kernel> kernels_of()
{
    std::vector<fused_kernel> all;
    for (const auto& of_type : { fused_kernels_of<Types>()... })
        all.insert(all.end(), of_type.begin(), of_type.end());
    return all;
}

const std::vector<fused_kernel>& all_kernels()
{
    using t = sample_type;
    static const auto all = kernels_of<t::fc32,
                                       t::sc16,
                                       t::sc8,
                                       t::sc4,
                                       t::f32,
                                       t::s16,
                                       t::s12,
                                       t::s10,
                                       t::s8>();
    return all;
}

size_t gains_of(const pfb::parameters& p) { return size_t(p.inputs()) * p.channels; }

class fused_pfb : public pfb
{
public:
    fused_pfb(const parameters& p, const fused_kernel& kernel, int device)
        : d_filter(p, kernel, store::spectra, device)
    {
    }
    std::string implementation() const override { return d_filter.name(); }
    void set_gains(const cfloat* gains, stream& s) override
    {
        d_filter.set_gains(gains, native(s));
    }
    void set_delays(const delay* delays, stream& s) override
    {
        d_filter.set_delays(delays, native(s));
    }
    void
    execute(const source* sources, void* const* spectra, size_t count, stream& s) override
    {
        d_filter.execute(sources, { spectra, nullptr, 0, 0, 0, 0 }, count, native(s));
    }
    counts clamped() const override { return d_filter.clamped(); }

private:
    split_filter d_filter;
};

} // namespace

const fused_kernel* find_fused_kernel(const pfb::parameters& p, int device)
{
    int shared_bytes = 0;
    check(cudaDeviceGetAttribute(
              &shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
          "asking for shared memory");
    for (const auto& kernel : all_kernels())
        if (kernel.input == p.input && kernel.channels == p.channels &&
            kernel.shared_bytes <= shared_bytes)
            return &kernel;
    return nullptr;
}

fused_filter::fused_filter(const pfb::parameters& p,
                           const fused_kernel& kernel,
                           store stored,
                           int device)
    : d_p(p),
      d_kernel(kernel),
      d_device(device),
      d_function(kernel.functions[int(stored)]),
      d_rounds(stored == store::frames
                   ? fused_call::rounds_of(kernel.spectra, size_of(p.output))
                   : 1),
      d_prototype(p.prototype.size()),
      d_gains(gains_of(p), 2),
      d_ordered_gains(gains_of(p)),
      d_slopes(p.inputs(), 3),
      d_shifts(p.inputs(), 3),
      d_counts(2 * size_t(p.inputs()))
{
    load(d_function, kernel.shared_bytes);
    leave_cache(kernel, d_function, device);
    int multiprocessors = 0;
    check(
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "counting multiprocessors");
    d_most_blocks = multiprocessors * kernel.blocks;
    if (d_rounds > 1)
        d_scratch = device_array<char>(size_t(d_most_blocks) * kernel.spectra * d_rounds *
                                       p.channels * size_of(p.output));
    if (p.ports > fused_call::few) {
        d_sources = std::make_unique<uploaded_array<pfb::source>>(p.ports);
        d_spectra = std::make_unique<uploaded_array<void*>>(p.ports);
    }
    // For complex samples, factors (-1)^j move channel 0 to -fs/2.
    auto prototype = p.prototype;
    for (size_t j = 1; is_complex(p.input) && j < prototype.size(); j += 2)
        prototype[j] = -prototype[j];
    start_with(d_prototype.data(), prototype);
    const auto twiddles = make_twiddles(kernel);
    d_twiddles = device_array<float2>(twiddles.size());
    start_with(d_twiddles.data(), twiddles);
    set_gains(std::vector<cfloat>(gains_of(p), 1.f).data(), nullptr);
    check(cudaStreamSynchronize(nullptr), "copying gains"); // before other streams
}

std::string fused_filter::name() const
{
    return "cuda fused fft " + std::to_string(d_kernel.channels);
}

pfb::counts fused_filter::clamped() const
{
    const auto all = d_counts.read();
    const auto middle = all.begin() + d_p.inputs();
    return { { all.begin(), middle }, { middle, all.end() } };
}

void fused_filter::set_gains(const cfloat* gains, cudaStream_t s)
{
    const device_guard guard(d_device);
    // Gains are in the order of the threads that use them, two of a thread in a row.
    const int channels = d_p.channels, threads = channels / fused_call::points_of_thread;
    const bool mirrored = d_p.inverted && !is_complex(d_p.input);
    for (size_t i = 0; i < d_ordered_gains.size(); i++) {
        const int place = int(i % channels);
        const int point = place / 2 / threads * 2 + place % 2;
        const int k = place / 2 % threads + point * threads;
        const auto g = gains[i - place + (mirrored ? channels - 1 - k : k)];
        d_ordered_gains[i] = make_float2(g.real(), g.imag());
    }
    d_gains.set(d_ordered_gains.data(), s);
}

void fused_filter::set_delays(const delay* delays, cudaStream_t s)
{
    const device_guard guard(d_device);
    d_delayed = delays;
    d_number = 0;
    if (delays)
        upload_delays(delays, d_p, d_slopes, d_shifts, s);
}

void fused_filter::execute(const pfb::source* sources,
                           const target& to,
                           size_t count,
                           cudaStream_t s,
                           const input_rows& rows)
{
    if (count == 0)
        return;
    const device_guard guard(d_device);
    fused_call call{};
    if (d_sources) {
        d_sources->set(sources, s);
        call.many_sources = d_sources->data();
        if (to.spectra) {
            d_spectra->set(to.spectra, s);
            call.many_spectra = d_spectra->data();
        }
    } else {
        std::copy(sources, sources + d_p.ports, call.sources);
        if (to.spectra)
            std::copy(to.spectra, to.spectra + d_p.ports, call.spectra_ports);
    }
    call.rows = rows;
    tell(call, d_p, to, count);
    call.scratch = d_scratch.data();
    call.prototype = d_prototype.data();
    call.twiddles = d_twiddles.data();
    call.gains = d_gains.data();
    call.slopes = d_delayed ? d_slopes.data() : nullptr;
    call.shifts = d_delayed ? d_shifts.data() : nullptr;
    call.number = d_number;
    call.clamped = d_counts.data();
    call.lowest = d_counts.data() + d_p.inputs();
    call.inputs_per_port = d_p.inputs_per_port;
    call.points = fused_call::points_of_thread;
    call.inverted = d_p.inverted;
    call.eight_bit = d_p.output == sample_type::sc8;
    call.in_a_row = !to.frame || d_p.channels <= most_rows;
    call.rounds = d_rounds;
    const int64_t together = int64_t(d_kernel.spectra) * call.rounds;
    const int64_t groups = (call.spectra + together - 1) / together * call.inputs;
    const unsigned blocks = unsigned(std::min<int64_t>(groups, d_most_blocks));
    d_function<<<blocks, d_kernel.threads, d_kernel.shared_bytes, s>>>(call);
    check_launch("channeliser");
    d_number += double(count);
}

void tell(filter_call& call,
          const pfb::parameters& p,
          const fused_filter::target& to,
          size_t count)
{
    call.frame = to.frame;
    call.first_time = to.first_time;
    call.times = to.times;
    call.first_channel = to.first_channel;
    call.selected = to.selected;
    call.spectra = int64_t(count);
    call.inputs = p.inputs();
    call.taps = p.taps;
}

std::unique_ptr<pfb> make_fused_pfb(const pfb::parameters& p, int device)
{
    const device_guard guard(device);
    const auto* kernel = find_fused_kernel(p, device);
    return kernel ? std::make_unique<fused_pfb>(p, *kernel, device) : nullptr;
}

void upload_delays(const delay* delays,
                   const pfb::parameters& p,
                   uploaded_array<phase_slope>& slopes,
                   uploaded_array<int64_t>& shifts,
                   cudaStream_t s)
{
    std::vector<phase_slope> of_inputs;
    std::vector<int64_t> samples;
    for (int input = 0; input < p.inputs(); input++) {
        of_inputs.push_back(
            phase_slope_of(delays[input], p.channels, !is_complex(p.input), p.inverted));
        samples.push_back(delays[input].samples);
    }
    slopes.set(of_inputs.data(), s);
    shifts.set(samples.data(), s);
}

} // namespace gr::aperture::kernels::cuda
