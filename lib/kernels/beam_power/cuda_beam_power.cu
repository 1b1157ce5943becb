/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/beam_power/beam_power.h"
#include "kernels/beamformer/beamformer_engine.h"
#include "kernels/common/makers.h"
#include "kernels/detection/power_detector_sums.h"
#include <algorithm>

namespace gr::aperture::kernels::cuda {

namespace {

constexpr size_t most_scratch = 128 << 20; // bytes, unless one frame needs more

beam_extents extents_of(const beam_power::parameters& p)
{
    return { p.channels, p.inputs, p.beams, p.spectra_per_frame, p.input };
}

//! Times that the engine sums in one go: as many as it can.
int piece_of(const beam_power::parameters& p, const beam_engine& engine)
{
    for (int piece : { 64, 16 })
        if (engine.sums_over(piece) &&
            (p.detect.spectra >= p.spectra_per_frame || p.detect.spectra % piece == 0))
            return piece;
    return 1;
}

//! Beams of weights: sums of their powers, and the scratch for them.
class coherent_beams
{
public:
    coherent_beams(const beam_power::parameters& p,
                   int device,
                   const std::string& implementation)
        : engine(extents_of(p), device, implementation),
          d_p(p),
          d_piece(piece_of(p, engine)),
          d_pieces((p.spectra_per_frame + d_piece - 1) / d_piece)
    {
        for (const int components : components_of(p.detect))
            engine.load(kind_of(components), d_piece);
    }

    beam_engine engine;

    int rows() const { return d_p.detect.rows(d_p.beams); }
    size_t frame_values(int components) const
    {
        return size_t(d_p.channels) * d_pieces * rows() * components;
    }
    //! \param components of a row
    power_pieces
    sum(const void* voltages, int frames, int components, float* scratch, cudaStream_t s)
    {
        engine.form(
            voltages, frames, { kind_of(components), scratch, nullptr, d_piece }, s);
        return { scratch, d_pieces, components, 0, rows() };
    }

private:
    const beam_power::parameters d_p;
    const int d_piece, d_pieces;

    beam_target::kind kind_of(int components) const
    {
        using kind = beam_target::kind;
        return components == 4                            ? kind::coherency
               : d_p.detect.of_pairs() && components == 1 ? kind::intensity
                                                          : kind::powers;
    }
};

//! Sums of powers of inputs.
class incoherent_beams
{
public:
    explicit incoherent_beams(const beam_power::parameters& p)
        : d_p(p), d_starts(rows() + 1, 2), d_pairs(size_t(rows()) * p.inputs, 2)
    {
        for (const int components : components_of(p.detect))
            load_signal_sums(p.input,
                             p.detect.spectra,
                             p.spectra_per_frame,
                             components,
                             p.detect.of_pairs());
        start_with_zeros(d_starts.data(), rows() + 1);
    }

    int rows() const { return d_p.detect.rows(d_p.incoherent); }
    size_t frame_values(int components) const
    {
        return size_t(d_p.channels) *
               signal_pieces(d_p.detect.spectra, d_p.spectra_per_frame) * rows() *
               components;
    }

    void set_masks(const uint8_t* masks, cudaStream_t s)
    {
        const auto chosen = [&](int beam) {
            std::vector<int> inputs;
            for (int i = 0; i < d_p.inputs; i++)
                if (masks[size_t(beam) * d_p.inputs + i])
                    inputs.push_back(i);
            return inputs;
        };
        std::vector<int> starts{ 0 };
        std::vector<int2> pairs;
        const int step = d_p.detect.of_pairs() ? 2 : 1;
        for (int row = 0; row < rows(); row++) {
            const auto x = chosen(step * row), y = chosen(step * row + step - 1);
            for (size_t k = 0; k < std::min(x.size(), y.size()); k++)
                pairs.push_back({ x[k], y[k] });
            starts.push_back(int(pairs.size()));
        }
        d_starts.set(starts.data(), s);
        d_pairs.set(pairs.data(), pairs.size(), s);
    }

    power_pieces
    sum(const void* voltages, int frames, int components, float* scratch, cudaStream_t s)
    {
        sum_signals(voltages,
                    frames,
                    { d_p.channels, d_p.inputs, d_p.spectra_per_frame, d_p.input },
                    { d_starts.data(), d_pairs.data(), rows() },
                    d_p.detect.spectra,
                    components,
                    d_p.detect.of_pairs(),
                    scratch,
                    s);
        return { scratch,
                 signal_pieces(d_p.detect.spectra, d_p.spectra_per_frame),
                 components,
                 d_p.detect.rows(d_p.beams),
                 rows() };
    }

private:
    const beam_power::parameters d_p;
    uploaded_array<int> d_starts;
    uploaded_array<int2> d_pairs;
};

class cuda_beam_power : public beam_power
{
public:
    cuda_beam_power(const parameters& p, int device, const std::string& implementation)
        : d_p(p), d_device(device), d_components(components_of(p.detect).front())
    {
        if (p.beams > 0)
            d_coherent = std::make_unique<coherent_beams>(p, device, implementation);
        if (p.incoherent > 0)
            d_incoherent = std::make_unique<incoherent_beams>(p);
        const size_t coherent = d_coherent ? d_coherent->frame_values(d_components) : 0;
        const size_t frame = std::max(
            coherent, d_incoherent ? d_incoherent->frame_values(d_components) : 0);
        d_most_frames =
            int(std::clamp<size_t>(most_scratch / (sizeof(float) * frame), 1, 256));
        d_scratch = device_array<float>(frame * d_most_frames);
        d_sums = std::make_unique<power_sums>(
            p.detect, p.channels, p.spectra_per_frame, p.rows(), d_most_frames);
    }

    std::string implementation() const override
    {
        return d_coherent ? d_coherent->engine.implementation() : "cuda";
    }

    prepared_weights_sptr prepare(const cfloat* weights) override
    {
        const device_guard guard(d_device);
        return d_coherent ? d_coherent->engine.prepare(weights) : nullptr;
    }

    void use(const prepared_weights_sptr& weights, stream& s) override
    {
        const device_guard guard(d_device);
        if (d_coherent)
            d_coherent->engine.use(weights, native(s));
    }

    void set_gains(const float* gains, stream& s) override
    {
        const device_guard guard(d_device);
        if (d_coherent)
            d_coherent->engine.set_gains(gains, native(s));
    }

    void set_masks(const uint8_t* masks, stream& s) override
    {
        const device_guard guard(d_device);
        if (d_incoherent)
            d_incoherent->set_masks(masks, native(s));
    }

    void execute(const void* voltages,
                 float* powers,
                 int frames,
                 const detection_scales& scales,
                 stream& s) override
    {
        const device_guard guard(d_device);
        // one scale for both polarisations: their sum will do
        const int components = d_components == 2 && scales.count == 1 ? 1 : d_components;
        const size_t frame_rows =
            size_t(d_p.detect.integrations(d_p.spectra_per_frame)) * d_p.rows();
        const size_t frame_powers = frame_rows * d_p.detect.product_count() *
                                    (d_p.channels / d_p.detect.summed_channels);
        const size_t frame_scales = frame_rows * d_p.detect.parts();
        int last = -1; // group that scales are uploaded for
        in_groups(voltages,
                  frames,
                  components,
                  native(s),
                  [&](const power_pieces& from, int first, int count) {
                      if (scales.count > 1 && first != last)
                          d_uploaded =
                              d_sums->upload(scales.values + first * frame_scales,
                                             count * frame_scales,
                                             native(s));
                      last = first;
                      d_sums->write(from,
                                    count,
                                    powers + first * frame_powers,
                                    scales.count > 1 ? d_uploaded : nullptr,
                                    scales.values[0],
                                    native(s));
                  });
    }

    void accumulate(const void* voltages, int frames, stream& s) override
    {
        const device_guard guard(d_device);
        in_groups(voltages,
                  frames,
                  d_components,
                  native(s),
                  [&](const power_pieces& from, int, int count) {
                      d_sums->add(from, count, native(s));
                  });
    }

    void dump(float* powers, const detection_scales& scales, stream& s) override
    {
        const device_guard guard(d_device);
        d_sums->dump(d_components, powers, scales, native(s));
    }

    void clear(stream& s) override
    {
        const device_guard guard(d_device);
        d_sums->clear(native(s));
    }

private:
    const parameters d_p;
    const int d_device;
    const int d_components; // components of a row
    std::unique_ptr<coherent_beams> d_coherent;
    std::unique_ptr<incoherent_beams> d_incoherent;
    int d_most_frames;
    device_array<float> d_scratch;
    std::unique_ptr<power_sums> d_sums;
    const float* d_uploaded = nullptr;

    //! Sums pieces of as many frames as there is scratch for, and calls
    //! then(pieces, first, count) for coherent and for incoherent beams.
    template <class Then>
    void in_groups(const void* voltages,
                   int frames,
                   int components,
                   cudaStream_t s,
                   const Then& then)
    {
        const size_t frame_bytes =
            size_of(d_p.input) * d_p.channels * d_p.inputs * d_p.spectra_per_frame;
        for (int first = 0; first < frames; first += d_most_frames) {
            const int count = std::min(d_most_frames, frames - first);
            const auto* from =
                static_cast<const uint8_t*>(voltages) + first * frame_bytes;
            const auto sum = [&](auto& beams) {
                if (beams)
                    then(beams->sum(from, count, components, d_scratch.data(), s),
                         first,
                         count);
            };
            sum(d_coherent);
            sum(d_incoherent);
        }
    }
};

} // namespace

//! The implementations that GPU `device` has for these parameters, the one to take first:
//! as for beamformer. \throws std::invalid_argument if none
template <>
std::vector<std::string> implementations<beam_power>(const beam_power::parameters& p,
                                                     int device)
{
    if (p.beams == 0)
        return { "" };
    return beam_former_names(extents_of(p), device);
}

template <>
std::unique_ptr<beam_power>
make(const beam_power::parameters& p, int device, const std::string& implementation)
{
    const device_guard guard(device);
    return std::make_unique<cuda_beam_power>(p, device, implementation);
}

} // namespace gr::aperture::kernels::cuda
