/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beamformer/beam_tiles.h"
#include "kernels/beamformer/host_beam_forming.h"
#include "kernels/common/planes.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace gr::aperture::kernels::host {

namespace {

//! Inputs that are summed at once: an int32 holds their sum, the cache their weights.
constexpr int group = 256;

//! Returns the kernels, best first.
const std::vector<const beam_kernels*>& all_kernels()
{
    static const std::vector<const beam_kernels*> all
    {
#if defined(__x86_64__)
        &avx512_beams, &avx2_beams,
#endif
            &generic_beams
    };
    return all;
}

size_t rounded_up(size_t n, size_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

//! Returns the two halves of a weight as the integer kernels read it.
int32_t pair_of(float low, float high)
{
    return int32_t(uint16_t(int16_t(std::lrint(low))) |
                   uint32_t(uint16_t(int16_t(std::lrint(high)))) << 16);
}

//! Packs a beam's weights of some inputs as elements [input][2], `stride` elements apart;
//! returns the factor of the sums.
float pack_weights(const cfloat* weights, int inputs, size_t stride, int32_t* out)
{
    float largest = 0;
    for (int i = 0; i < inputs; i++)
        largest = std::max(
            { largest, std::abs(weights[i].real()), std::abs(weights[i].imag()) });
    // a subnormal number has no reciprocal
    const float steps = largest < 1e-30f ? 0 : 32767 / largest;
    for (int i = 0; i < inputs; i++) {
        const float re = weights[i].real() * steps, im = weights[i].imag() * steps;
        out[i * stride] = pair_of(re, -im);
        out[i * stride + 1] = pair_of(im, re);
    }
    return largest / 32767;
}

float pack_weights(const cfloat* weights, int inputs, size_t stride, float* out)
{
    for (int i = 0; i < inputs; i++) {
        out[i * stride] = weights[i].real();
        out[i * stride + 1] = weights[i].imag();
    }
    return 1;
}

//! Unpacks voltages of an input into `parts` rows of elements, `row` elements long.
void unpack(sample_type type, const void* voltages, int count, int, int32_t* rows)
{
    unpack_pairs(type, voltages, count, rows);
}

void unpack(sample_type type, const void* voltages, int count, int row, float* rows)
{
    unpack_planes(type, voltages, count, rows, rows + row);
}

//! Copies a short vector: a call of memcpy() would take longer than the copy.
void copy_vector(const void* from, size_t bytes, void* to)
{
    if (bytes == 64)
        std::memcpy(to, from, 64);
    else if (bytes == 32)
        std::memcpy(to, from, 32);
    else
        std::memcpy(to, from, 16);
}

template <class element>
class tiled_beam_forming : public beam_forming
{
    // elements of a voltage
    static constexpr int parts = std::is_same_v<element, float> ? 2 : 1;

    struct packed : prepared_weights {
        packed(size_t count, size_t rows) : values(count), scales(rows) {}
        std::vector<element> values; // [channel][tile][input][beam][2]
        std::vector<float> scales;   // [channel][beam]
    };

    struct panels : workspace {
        std::vector<element> voltages; // [group of inputs][panel][input][elements]
        std::vector<element> input;    // elements of one input, as unpack() gives them
        int count = 0;                 // times that were loaded
    };

public:
    tiled_beam_forming(const parameters& p,
                       const char* vectors,
                       const beam_kernel<element>& k)
        : d_p(p),
          d_vectors(vectors),
          d_kernel(k),
          d_beams(rounded_up(p.beams, k.beams)),
          d_weights(make_packed()),
          d_gains(d_beams, 1.f),
          d_scales(size_t(p.channels) * d_beams)
    {
        // the voltages stay in the second-level cache, the beams of a tile in the first
        const size_t cached = (256 << 10) / (sizeof(element) * parts * p.inputs);
        const size_t most =
            std::min<size_t>({ cached, 512, size_t(p.spectra_per_frame) });
        d_chunk = int(rounded_up(std::max<size_t>(1, most), k.width));
    }

    std::string implementation() const override { return d_vectors; }
    int chunk() const override { return d_chunk; }
    int tile() const override { return d_kernel.beams; }

    prepared_weights_sptr prepare(const cfloat* weights) const override
    {
        auto made = make_packed();
        const int tile = d_kernel.beams;
#pragma omp parallel for schedule(static)
        for (int channel = 0; channel < d_p.channels; channel++)
            for (int beam = 0; beam < d_p.beams; beam++) {
                const size_t row = size_t(channel) * d_beams + beam;
                made->scales[row] = pack_weights(
                    weights + (size_t(channel) * d_p.beams + beam) * d_p.inputs,
                    d_p.inputs,
                    2 * tile,
                    &made->values[place_of(channel, beam - beam % tile)] +
                        beam % tile * 2);
            }
        return made;
    }

    void use(prepared_weights_sptr weights) override
    {
        d_weights = std::static_pointer_cast<const packed>(weights);
        update_scales();
    }

    void set_gains(const float* gains) override
    {
        std::copy_n(gains, d_p.beams, d_gains.begin());
        update_scales();
    }

    std::unique_ptr<workspace> make_workspace() const override
    {
        auto w = std::make_unique<panels>();
        w->stride = d_chunk;
        w->planes.resize(2 * size_t(d_kernel.beams) * d_chunk);
        w->voltages.resize(size_t(parts) * d_p.inputs * d_chunk);
        w->input.resize(size_t(parts) * d_chunk);
        return w;
    }

    void load(const void* voltages, int first, int count, workspace& w) const override
    {
        auto& to = static_cast<panels&>(w);
        to.count = count;
        const size_t voltage = size_of(d_p.input);
        // otherwise elements behind the last time would be summed
        const int whole = int(rounded_up(count, d_kernel.width));
        for (int part = 0; part < parts; part++)
            std::fill(to.input.begin() + part * d_chunk + count,
                      to.input.begin() + part * d_chunk + whole,
                      element(0));
        for (int input = 0; input < d_p.inputs; input++) {
            unpack(d_p.input,
                   static_cast<const char*>(voltages) +
                       (size_t(input) * d_p.spectra_per_frame + first) * voltage,
                   count,
                   d_chunk,
                   to.input.data());
            for (int t = 0; t < whole; t += d_kernel.width) {
                element* out = panel_of(to.voltages.data(), input, t / d_kernel.width);
                for (int v = t; v < t + d_kernel.width; v += d_kernel.lanes)
                    for (int part = 0; part < parts; part++, out += d_kernel.lanes)
                        copy_vector(to.input.data() + part * d_chunk + v,
                                    d_kernel.lanes * sizeof(element),
                                    out);
            }
        }
    }

    void form(int channel, int first_beam, workspace& w) const override
    {
        auto& from = static_cast<panels&>(w);
        const element* weights = &d_weights->values[place_of(channel, first_beam)];
        const float* scales = &d_scales[size_t(channel) * d_beams + first_beam];
        for (int input = 0; input < d_p.inputs; input += group)
            for (int t = 0; t < from.count; t += d_kernel.width)
                d_kernel.run(panel_of(from.voltages.data(), input, t / d_kernel.width),
                             weights + 2 * size_t(input) * d_kernel.beams,
                             std::min(group, d_p.inputs - input),
                             scales,
                             input > 0,
                             from.planes.data() + t,
                             from.planes.data() + from.planes.size() / 2 + t,
                             from.stride);
    }

private:
    std::shared_ptr<packed> make_packed() const
    {
        return std::make_shared<packed>(2 * size_t(d_p.channels) * d_beams * d_p.inputs,
                                        size_t(d_p.channels) * d_beams);
    }

    //! Returns the place of a tile's weights, [input][beam][2].
    size_t place_of(int channel, int first_beam) const
    {
        return 2 * (size_t(channel) * d_beams + first_beam) * d_p.inputs;
    }

    template <class number>
    number* panel_of(number* voltages, int input, int panel) const
    {
        const int before = input - input % group;
        const int inputs = std::min(group, d_p.inputs - before); // inputs of the group
        const size_t width = size_t(parts) * d_kernel.width;
        return voltages + size_t(parts) * before * d_chunk +
               (size_t(panel) * inputs + input % group) * width;
    }

    void update_scales()
    {
        for (size_t i = 0; i < d_scales.size(); i++)
            d_scales[i] = d_weights->scales[i] * d_gains[i % d_beams];
    }

    const parameters d_p;
    const std::string d_vectors;
    const beam_kernel<element> d_kernel;
    const size_t d_beams; // beams, with those that only fill a tile
    int d_chunk;
    std::shared_ptr<const packed> d_weights;
    std::vector<float> d_gains;  // [beam]
    std::vector<float> d_scales; // [channel][beam]
};

} // namespace

std::vector<std::string> beam_vectors()
{
    std::vector<std::string> names;
    for (const auto* k : all_kernels())
        if (k->supported())
            names.push_back(k->name);
    return names;
}

std::unique_ptr<beam_forming> beam_forming::make(const parameters& p,
                                                 const std::string& vectors)
{
    for (const auto* k : all_kernels())
        if (k->name == vectors && k->supported()) {
            if (p.input == sample_type::fc32)
                return std::make_unique<tiled_beam_forming<float>>(p, k->name, k->real);
            return std::make_unique<tiled_beam_forming<int32_t>>(p, k->name, k->integer);
        }
    throw std::invalid_argument("vectors: '" + vectors + "' is not supported here");
}

} // namespace gr::aperture::kernels::host
