/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Compares the CUDA kernels that form beams and detect powers with a model in double
 * precision. Needs no GNU Radio. See --help for the arguments.
 */

#include "../check_cuda.h"
#include "kernels/beam_power/beam_power.h"
#include "kernels/beamformer/beamformer.h"
#include "kernels/common/makers.h"
#include "kernels/power_detector/power_detector.h"
#include <cmath>
#include <set>

using namespace gr::aperture;
using namespace gr::aperture::kernels;

namespace {

using cdouble = std::complex<double>;

//! Signals [frame][channel][signal][time] as they are in memory, and their values.
struct signals {
    std::vector<uint8_t> bytes;
    std::vector<cdouble> values;
};

signals random_signals(sample_type type, size_t count)
{
    signals s;
    s.bytes.resize(count * size_of(type));
    s.values.resize(count);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < count; i++)
        if (type == sample_type::fc32) {
            const cfloat v(normal(random_bits), normal(random_bits));
            std::memcpy(&s.bytes[i * sizeof v], &v, sizeof v);
            s.values[i] = v;
        } else if (type == sample_type::sc8) {
            const int re = int(random_bits() % 255) - 127;
            const int im = int(random_bits() % 255) - 127;
            s.bytes[2 * i] = uint8_t(re);
            s.bytes[2 * i + 1] = uint8_t(im);
            s.values[i] = cdouble(re, im);
        } else {
            const uint8_t byte = uint8_t(random_bits());
            const auto part = [](int four_bits) {
                return std::max(four_bits < 8 ? four_bits : four_bits - 16, -7);
            };
            s.bytes[i] = byte;
            s.values[i] = cdouble(part(byte >> 4), part(byte & 15));
        }
    return s;
}

//! Weights of which sums are exact in all precisions, or random ones.
std::vector<cfloat> random_weights(size_t count, bool exact)
{
    std::vector<cfloat> w(count);
    std::normal_distribution<float> normal;
    for (auto& x : w)
        x = exact
                ? cfloat(int(random_bits() % 17) - 8, int(random_bits() % 17) - 8) / 16.f
                : cfloat(normal(random_bits), normal(random_bits));
    return w;
}

std::vector<float> random_gains(int beams, bool exact, float scale)
{
    std::vector<float> gains(beams);
    for (auto& g : gains)
        g = scale * (exact ? std::ldexp(1.f, int(random_bits() % 3) - 1)
                           : .5f + float(random_bits() % 1000) / 1000);
    return gains;
}

struct shape {
    int channels, inputs, beams, times, frames;
    std::string name() const
    {
        return std::to_string(inputs) + " inputs, " + std::to_string(beams) + " beams, " +
               std::to_string(times) + " times, " + std::to_string(channels) +
               " channels, " + std::to_string(frames) + " frames";
    }
    size_t voltages() const { return size_t(frames) * channels * inputs * times; }
    size_t outputs() const { return size_t(frames) * channels * beams * times; }
    size_t weights() const { return size_t(channels) * beams * inputs; }
};

//! Beams [frame][channel][beam][time], and the sum of the sizes of all terms.
struct model_beams {
    std::vector<cdouble> values;
    std::vector<double> sizes;

    model_beams(const shape& x,
                const std::vector<cdouble>& voltages,
                const std::vector<cfloat>& weights,
                const std::vector<float>& gains)
        : values(x.outputs()), sizes(x.outputs())
    {
        for (int64_t row = 0; row < int64_t(x.frames) * x.channels * x.beams; row++) {
            const int beam = int(row % x.beams);
            const int64_t frame_channel = row / x.beams;
            const cfloat* w =
                &weights[(frame_channel % x.channels * x.beams + beam) * x.inputs];
            cdouble* to = &values[row * x.times];
            double* size = &sizes[row * x.times];
            for (int i = 0; i < x.inputs; i++) {
                const cdouble v = cdouble(w[i]) * double(gains[beam]);
                const cdouble* from = &voltages[(frame_channel * x.inputs + i) * x.times];
                for (int t = 0; t < x.times; t++) {
                    // written out: this is where all of the time goes
                    to[t] +=
                        cdouble(v.real() * from[t].real() - v.imag() * from[t].imag(),
                                v.real() * from[t].imag() + v.imag() * from[t].real());
                    size[t] += (std::abs(v.real()) + std::abs(v.imag())) *
                               (std::abs(from[t].real()) + std::abs(from[t].imag()));
                }
            }
        }
    }
};

size_t all_steps = 0, all_numbers = 0;
double worst_rms = 0;

void check_beamformer(const shape& x, sample_type input, sample_type output, bool exact)
{
    const beamformer::parameters p{
        x.channels, x.inputs, x.beams, x.times, input, output
    };
    const bool integers = input != sample_type::fc32;
    const bool clamps = output == sample_type::sc8;
    exact = exact && integers;
    const auto v = random_signals(input, x.voltages());
    const auto old_weights = random_weights(x.weights(), false);
    const auto weights = random_weights(x.weights(), exact);
    // a quarter of full scale in 8-bit output; more, for some to be clamped, if exact
    const float rms = (input == sample_type::sc8   ? 73.f
                       : input == sample_type::sc4 ? 4.4f
                                                   : 1.f) *
                      std::sqrt(2.f * x.inputs) * (exact ? .31f : 1.f);
    const auto gains = random_gains(
        x.beams,
        exact,
        clamps ? std::exp2(std::round(std::log2((exact ? 40 : 15) / rms))) : 1);
    const model_beams model(x, v.values, weights, gains);
    const guarded in(v.bytes), out(x.outputs() * size_of(output));
    for (const auto& name : cuda::implementations<beamformer>(p, 0)) {
        const auto what = "beamformer, " + name + ", " + name_of(input) + " to " +
                          name_of(output) + ", " + x.name() + (exact ? ", exact" : "");
        const auto own_stream = device::select("cuda").make_stream();
        stream& s = *own_stream;
        delay_default_stream();
        const auto kernel = cuda::make<beamformer>(p, 0, name);
        // earlier weights must leave no trace
        kernel->set_weights(old_weights.data(), s);
        kernel->execute(in.data(), out.data(), 1, s);
        s.synchronize();
        const auto clamped_before = kernel->clamped();
        kernel->set_gains(gains.data(), s);
        kernel->set_weights(weights.data(), s);
        cuda::check(
            cudaMemsetAsync(
                out.data(), guard_value, x.outputs() * size_of(output), cuda::native(s)),
            "garbage");
        kernel->execute(in.data(), out.data(), x.frames, s);
        s.synchronize();
        expect(out.untouched_around(), what + ", guards");
        if (clamps) {
            const auto got = out.values<int8_t>();
            std::vector<int64_t> clamped(x.beams);
            size_t steps = 0, wrong = 0;
            for (size_t i = 0; i < x.outputs(); i++) {
                const double parts[2] = { std::nearbyint(model.values[i].real()),
                                          std::nearbyint(model.values[i].imag()) };
                bool over = false;
                for (int k = 0; k < 2; k++) {
                    over = over || std::abs(parts[k]) > 127;
                    const double want = std::clamp(parts[k], -127., 127.);
                    steps += got[2 * i + k] != want;
                    wrong += std::abs(got[2 * i + k] - want) > 1;
                }
                clamped[i / x.times % x.beams] += over;
            }
            // half-precision weights: one step in at most 1% (a good deal less, in fact)
            expect(wrong == 0, what + ": " + std::to_string(wrong) + " wrong");
            expect(steps <= (exact ? 0 : 3 + .01 * got.size()),
                   what + ": " + std::to_string(steps) + " steps");
            if (!exact && integers) {
                all_steps += steps;
                all_numbers += got.size();
            }
            const auto counts = kernel->clamped();
            int64_t off = 0, all = 0;
            for (int m = 0; m < x.beams; m++) {
                off += std::abs(int64_t(counts[m] - clamped_before[m]) - clamped[m]);
                all += clamped[m];
            }
            expect(off <= (exact ? 0 : 3 + .01 * all),
                   what + ": counts off by " + std::to_string(off) + " of " +
                       std::to_string(all));
        } else {
            const auto got = out.values<cfloat>();
            double difference = 0, size = 0, worst = 0;
            for (size_t i = 0; i < got.size(); i++) {
                const double d = std::abs(cdouble(got[i]) - model.values[i]);
                difference += d * d;
                size += std::norm(model.values[i]);
                // NaN stays
                if (!(d <= worst * model.sizes[i]))
                    worst = d / model.sizes[i];
            }
            const double rms_error = std::sqrt(difference / size);
            // rounding a weight to half precision: 2^-11 of it at most; sums of it and
            // another part 2^-10. Single precision: as many roundings as there are terms
            const double limit = exact      ? 0
                                 : integers ? std::ldexp(1, -10)
                                            : std::ldexp(x.inputs + 4, -23);
            expect(worst <= limit, what + ": error " + std::to_string(worst));
            expect(rms_error <= (integers ? 3e-4 : 1e-6),
                   what + ": rms error " + std::to_string(rms_error));
            if (integers && !exact)
                worst_rms = std::max(worst_rms, rms_error);
        }
    }
}

//! Powers [frame][integration][row][product][channel], and the sizes of their terms, of
//! signals (beams) and of sums of pairs of signals (incoherent beams).
struct model_powers {
    std::vector<double> values, sizes;
};

using pair_list = std::vector<std::pair<int, int>>;

void detect(model_powers& to,
            const detection& d,
            int channels,
            int signal_count,
            int times,
            int frames,
            const std::vector<cdouble>& v,
            const std::vector<pair_list>& rows,
            int first_row,
            int all_rows,
            const std::vector<float>& scales)
{
    const int64_t all = int64_t(frames) * times,
                  channels_out = channels / d.summed_channels;
    const int64_t integrations = all / d.spectra;
    const int products = d.product_count(), parts = d.parts();
    to.values.resize(integrations * all_rows * products * channels_out);
    to.sizes.resize(to.values.size());
    for (int64_t n = 0; n < integrations; n++)
        for (size_t r = 0; r < rows.size(); r++)
            for (int64_t c = 0; c < channels_out; c++) {
                double xx = 0, yy = 0;
                cdouble xy = 0;
                for (int64_t t = n * d.spectra; t < (n + 1) * d.spectra; t++)
                    for (int k = 0; k < d.summed_channels; k++) {
                        const int64_t channel = c * d.summed_channels + k;
                        const cdouble* at =
                            &v[((t / times) * channels + channel) * signal_count * times +
                               t % times];
                        for (auto [a, b] : rows[r]) {
                            const cdouble x = at[int64_t(a) * times];
                            const cdouble y = at[int64_t(b) * times];
                            xx += std::norm(x);
                            yy += std::norm(y);
                            xy += x * std::conj(y);
                        }
                    }
                const int64_t row = n * all_rows + first_row + int64_t(r);
                const auto scale = [&](int part) {
                    return scales.size() > 1 ? scales[row * parts + part] : scales[0];
                };
                const double size = (xx + (d.of_pairs() ? yy : 0)) * scale(0) * 3;
                xx *= scale(0);
                if (d.of_pairs()) {
                    yy *= scale(1);
                    xy *= scale(2);
                }
                double out[4];
                using set = detection::product_set;
                if (d.products == set::power)
                    out[0] = xx;
                else if (d.products == set::coherency) {
                    out[0] = xx;
                    out[1] = yy;
                    out[2] = xy.real();
                    out[3] = xy.imag();
                } else {
                    const bool linear = d.basis == detection::feeds::linear;
                    out[0] = xx + yy;
                    out[1] = linear ? xx - yy : 2 * xy.real();
                    out[2] = linear ? 2 * xy.real() : 2 * xy.imag();
                    out[3] = linear ? 2 * xy.imag() : xx - yy;
                }
                for (int q = 0; q < products; q++) {
                    to.values[(row * products + q) * channels_out + c] = out[q];
                    to.sizes[(row * products + q) * channels_out + c] = size;
                }
            }
}

std::vector<pair_list> rows_of_beams(const detection& d, int beams)
{
    std::vector<pair_list> rows;
    for (int r = 0; r < d.rows(beams); r++)
        rows.push_back({ d.of_pairs() ? std::pair(2 * r, 2 * r + 1) : std::pair(r, r) });
    return rows;
}

//! Returns one scale, or one for each part, within a factor of 1.5.
std::vector<float> random_scales(bool many, size_t count)
{
    std::vector<float> scales(many ? count : 1);
    for (auto& s : scales)
        s = 1e-3f * (1 + float(random_bits() % 500) / 1000);
    return scales;
}

void compare(const guarded& out, const model_powers& model, const std::string& what)
{
    const auto got = out.values<float>();
    double worst = 0;
    for (size_t i = 0; i < got.size(); i++) {
        const double error = std::abs(got[i] - model.values[i]);
        if (!(error <= worst * model.sizes[i])) // NaN stays
            worst = error / model.sizes[i];
    }
    // sums of up to 64 powers in single precision
    expect(worst < 3e-6, what + ": error " + std::to_string(worst));
    expect(out.untouched_around(), what + ", guards");
}

std::string name_of(const detection& d, bool many)
{
    return "products " + std::to_string(int(d.products)) + ", " +
           std::to_string(d.spectra) + " spectra, " + std::to_string(d.summed_channels) +
           " summed channels" + (many ? ", scales" : "");
}

//! Runs a kernel by execute(), or by accumulate() and dump() for long integrations.
template <class Kernel>
void run(Kernel& kernel,
         const detection& d,
         const shape& x,
         size_t frame_bytes,
         const guarded& in,
         const guarded& out,
         size_t integration_numbers,
         size_t integration_scales,
         const std::vector<float>& scales,
         stream& s)
{
    if (d.spectra <= x.times) {
        kernel.execute(in.data(),
                       static_cast<float*>(out.data()),
                       x.frames,
                       { scales.data(), scales.size() },
                       s);
    } else {
        const int frames = int(d.spectra / x.times);
        const auto* from = static_cast<const uint8_t*>(in.data());
        auto* to = static_cast<float*>(out.data());
        // earlier sums must leave no trace
        kernel.accumulate(from, 1, s);
        kernel.clear(s);
        for (int first = 0; first < x.frames; first += frames) {
            kernel.accumulate(from + first * frame_bytes, 1, s);
            kernel.accumulate(from + (first + 1) * frame_bytes, frames - 1, s);
            const bool many = scales.size() > 1;
            kernel.dump(
                to,
                { scales.data() + (many ? first / frames * integration_scales : 0),
                  many ? integration_scales : 1 },
                s);
            to += integration_numbers;
        }
    }
    s.synchronize();
}

void check_power_detector(const shape& x, sample_type type, const detection& d, bool many)
{
    const power_detector::parameters p{ x.channels, x.beams, x.times, type, d };
    p.check();
    const auto v = random_signals(type, x.outputs());
    const size_t rows = d.rows(x.beams);
    const size_t integrations = int64_t(x.frames) * x.times / d.spectra;
    const auto scales = random_scales(many, integrations * rows * d.parts());
    model_powers model;
    detect(model,
           d,
           x.channels,
           x.beams,
           x.times,
           x.frames,
           v.values,
           rows_of_beams(d, x.beams),
           0,
           int(rows),
           scales);
    const guarded in(v.bytes), out(model.values.size() * sizeof(float));
    const auto own_stream = device::select("cuda").make_stream();
    delay_default_stream();
    const auto kernel = cuda::make<power_detector>(p, 0);
    run(*kernel,
        d,
        x,
        v.bytes.size() / x.frames,
        in,
        out,
        model.values.size() / integrations,
        rows * d.parts(),
        scales,
        *own_stream);
    compare(out,
            model,
            "power detector, " + gr::aperture::name_of(type) + ", " + x.name() + ", " +
                name_of(d, many));
}

void check_beam_power(
    const shape& x, int incoherent, sample_type type, const detection& d, bool many)
{
    const beam_power::parameters p{ x.channels, x.inputs, x.beams, incoherent,
                                    x.times,    type,     d };
    p.check();
    const auto v = random_signals(type, x.voltages());
    const auto weights = random_weights(x.weights(), true);
    const auto gains = random_gains(x.beams, true, 1);
    // every other beam of a pair has as many inputs
    std::vector<uint8_t> masks(size_t(incoherent) * x.inputs);
    std::vector<std::vector<int>> chosen(incoherent);
    for (int m = 0; m < incoherent; m++)
        for (int i = 0; i < x.inputs; i++)
            if ((i + m) % 2 == 0 && i / 2 * 2 + 1 < x.inputs) {
                masks[size_t(m) * x.inputs + i] = 1;
                chosen[m].push_back(i);
            }
    std::vector<pair_list> mask_rows(d.rows(incoherent));
    for (size_t r = 0; r < mask_rows.size(); r++) {
        const auto& a = chosen[d.of_pairs() ? 2 * r : r];
        const auto& b = chosen[d.of_pairs() ? 2 * r + 1 : r];
        for (size_t k = 0; k < a.size(); k++)
            mask_rows[r].push_back({ a[k], b[k] });
    }
    const size_t rows = p.rows();
    const size_t integrations = int64_t(x.frames) * x.times / d.spectra;
    const auto scales = random_scales(many, integrations * rows * d.parts());
    const model_beams beams(x, v.values, weights, gains);
    model_powers model;
    detect(model,
           d,
           x.channels,
           x.beams,
           x.times,
           x.frames,
           beams.values,
           rows_of_beams(d, x.beams),
           0,
           int(rows),
           scales);
    detect(model,
           d,
           x.channels,
           x.inputs,
           x.times,
           x.frames,
           v.values,
           mask_rows,
           d.rows(x.beams),
           int(rows),
           scales);
    const guarded in(v.bytes);
    for (const auto& name : cuda::implementations<beam_power>(p, 0)) {
        const guarded out(model.values.size() * sizeof(float));
        const auto own_stream = device::select("cuda").make_stream();
        stream& s = *own_stream;
        delay_default_stream();
        const auto kernel = cuda::make<beam_power>(p, 0, name);
        kernel->set_weights(weights.data(), s);
        kernel->set_gains(gains.data(), s);
        kernel->set_masks(masks.data(), s);
        run(*kernel,
            d,
            x,
            v.bytes.size() / x.frames,
            in,
            out,
            model.values.size() / integrations,
            rows * d.parts(),
            scales,
            s);
        compare(out,
                model,
                "beam power, " + name + ", " + gr::aperture::name_of(type) + ", " +
                    x.name() + ", " + std::to_string(incoherent) + " incoherent, " +
                    name_of(d, many));
    }
}

constexpr auto power = detection::product_set::power;
constexpr auto intensity = detection::product_set::intensity;
constexpr auto stokes = detection::product_set::stokes;
constexpr auto coherency = detection::product_set::coherency;
constexpr auto linear = detection::feeds::linear;
constexpr auto circular = detection::feeds::circular;

void check_beamformers(bool quick)
{
    std::vector<shape> shapes{ { 3, 5, 3, 16, 2 },      { 2, 32, 32, 64, 1 },
                               { 5, 33, 33, 208, 2 },   { 3, 64, 65, 400, 3 },
                               { 2, 70, 129, 144, 1 },  { 3, 3, 7, 77, 2 },
                               { 1, 200, 150, 272, 2 }, { 2, 128, 130, 144, 2 },
                               { 1, 129, 130, 144, 2 } };
    if (!quick)
        for (const shape& x : { shape{ 2, 257, 70, 320, 1 },
                                shape{ 300, 16, 16, 64, 2 },
                                shape{ 140, 64, 130, 80, 2 },
                                shape{ 2, 1, 1, 48, 7 },
                                shape{ 1, 530, 40, 208, 2 },
                                shape{ 1, 1100, 33, 192, 1 },
                                shape{ 2, 256, 257, 256, 1 },
                                shape{ 4, 96, 64, 1040, 2 },
                                shape{ 1, 33, 4096, 64, 1 } })
            shapes.push_back(x);
    for (const auto& x : shapes)
        for (auto input : { sample_type::sc8, sample_type::sc4, sample_type::fc32 })
            for (auto output : { sample_type::fc32, sample_type::sc8 })
                for (bool exact : { true, false })
                    check_beamformer(x, input, output, exact);
    // many steps of a thread block: rings go round, and warp groups wait for each other
    for (auto input : { sample_type::sc8, sample_type::sc4 })
        for (auto output : { sample_type::fc32, sample_type::sc8 }) {
            check_beamformer({ 150, 40, 70, 72, 3 }, input, output, true);
            check_beamformer({ 60, 129, 65, 136, 4 }, input, output, true);
        }
    // thread blocks in groups of 8, for as many tiles, and some beyond
    check_beamformer({ 70, 9, 1000, 66, 3 }, sample_type::sc8, sample_type::fc32, true);
    for (int inputs : { 224, 250 }) // 7 chunks of inputs, and 8, the most of the kernels
        check_beamformer(
            { 40, inputs, 130, 144, 2 }, sample_type::sc8, sample_type::sc8, true);
    std::printf(
        "beamformer: %zu of %zu 8-bit numbers differ by a step (%.2g), rms error of "
        "fc32 at most %.2g\n",
        all_steps,
        all_numbers,
        double(all_steps) / all_numbers,
        worst_rms);
}

void check_power_detectors()
{
    for (auto type : { sample_type::fc32, sample_type::sc8 })
        for (bool many : { false, true }) {
            const shape x{ 6, 0, 10, 240, 4 };
            check_power_detector(x, type, { power, linear, 240, 1 }, many);
            check_power_detector(x, type, { intensity, linear, 60, 1 }, many);
            check_power_detector(x, type, { stokes, linear, 16, 3 }, many);
            check_power_detector(x, type, { stokes, circular, 15, 2 }, many);
            check_power_detector(x, type, { coherency, linear, 480, 1 }, many);
            check_power_detector(x, type, { intensity, circular, 960, 2 }, many);
            check_power_detector(
                { 3, 0, 7, 77, 2 }, type, { power, linear, 11, 3 }, many);
            check_power_detector(
                { 3, 0, 8, 5000, 2 }, type, { stokes, linear, 5000, 1 }, many);
            check_power_detector(
                { 70, 0, 66, 64, 3 }, type, { intensity, linear, 1, 1 }, many);
            // short integrations, of which a lane sums several
            const shape many_times{ 3, 0, 6, 1024, 2 };
            check_power_detector(many_times, type, { intensity, linear, 64, 1 }, many);
            check_power_detector(many_times, type, { stokes, linear, 32, 1 }, many);
            check_power_detector(many_times, type, { power, linear, 128, 3 }, many);
        }
}

void check_beam_powers(bool quick)
{
    // the most inputs of the kernels, and many steps of a thread block
    check_beam_power({ 40, 250, 130, 192, 3 },
                     0,
                     sample_type::sc8,
                     { intensity, linear, 64, 1 },
                     true);
    for (auto type : { sample_type::sc8, sample_type::sc4, sample_type::fc32 })
        for (bool many : { false, true }) {
            const shape x{ 6, 33, 34, 192, 4 };
            check_beam_power(x, 0, type, { intensity, linear, 64, 1 }, many);
            check_beam_power(x, 3, type, { power, linear, 192, 2 }, many);
            check_beam_power(x, 2, type, { stokes, circular, 48, 3 }, many);
            check_beam_power(x, 4, type, { coherency, linear, 24, 1 }, many);
            check_beam_power(x, 2, type, { stokes, linear, 384, 1 }, many);
            check_beam_power(
                { 3, 9, 0, 64, 2 }, 2, type, { intensity, linear, 64, 1 }, many);
            check_beam_power(
                { 2, 40, 71, 99, 2 }, 1, type, { power, linear, 99, 1 }, many);
            check_beam_power(
                { 3, 9, 4, 1024, 2 }, 3, type, { power, linear, 64, 1 }, many);
            if (quick)
                continue;
            if (type != sample_type::fc32) { // many steps of a thread block
                check_beam_power(
                    { 150, 40, 70, 128, 3 }, 0, type, { intensity, linear, 64, 1 }, many);
                check_beam_power(
                    { 100, 129, 65, 128, 4 }, 0, type, { power, linear, 64, 1 }, many);
            }
            check_beam_power(
                { 3, 70, 130, 208, 2 }, 0, type, { intensity, linear, 208, 1 }, many);
            check_beam_power(
                { 3, 64, 130, 256, 2 }, 0, type, { stokes, linear, 64, 1 }, many);
            check_beam_power(
                { 2, 64, 200, 128, 4 }, 2, type, { intensity, linear, 512, 1 }, many);
            check_beam_power(
                { 40, 16, 31, 128, 2 }, 0, type, { power, linear, 16, 1 }, many);
        }
}

} // namespace

int main(int argc, char** argv)
{
    return check_parts(argc,
                       argv,
                       "check_beams: the beamformers of a GPU against a model",
                       { { "beamformer", "", check_beamformers },
                         { "power_detector", "", [](bool) { check_power_detectors(); } },
                         { "beam_power", "", check_beam_powers } });
}
