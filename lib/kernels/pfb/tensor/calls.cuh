/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_TENSOR_CALLS_CUH
#define INCLUDED_APERTURE_KERNELS_PFB_TENSOR_CALLS_CUH

#include "kernels/common/cell_sums.h"
#include "kernels/gpu/gpu_facts.h"
#include "kernels/pfb/fused/pfb_split.h"
#include "kernels/pfb/tensor/filter.cuh"
#include "kernels/pfb/tensor/filter_banks.h"
#include "kernels/pfb/tensor/input_delays.h"
#include "kernels/pfb/tensor/tables.h"
#include "kernels/pfb/tensor/transform.cuh"
#include <type_traits>
#include <cmath>

namespace gr::aperture::kernels::cuda::tensor {

//! Waits until the calls before this one in the stream have finished with memory, so that
//! it can be read and written.
__device__ __forceinline__ void wait_for_calls_before()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

//! The kernel of the filter bank on tensor cores: warps that filter are the producers,
//! two warp groups that transform are the consumers. The tensor map is an argument of its
//! own, because its address is taken: the compiler would no longer know that the members
//! of c do not change and are the same in all threads.
template <store Store, class Call>
__global__ void __launch_bounds__(threads, 1)
    channelise(const __grid_constant__ Call c, const __grid_constant__ CUtensorMap boxes)
{
    extern __shared__ __align__(1024) uint8_t unaligned[];
    auto& m = *reinterpret_cast<memory<Store, Call>*>(
        unaligned + (1024 - shared_address(unaligned) % 1024) % 1024);
    if (threadIdx.x == loading_thread) {
        for (int i = 0; i < slots<Store, Call>; i++) {
            m.filtered_pipeline.init(i, filter_warps, consumer_warps * Call::ranks);
            if constexpr (Call::ranks > 1)
                m.written[i] = 0;
        }
        for (int i = 0; i < stages<Store, Call>; i++)
            m.samples_pipeline.init(i, 1, 32 * filter_warps);
        for (int i = 0; i < sets * consumer_warps; i++) {
            constexpr int arriving = consumers * (Call::real ? consumer_threads : 32);
            init_barrier(m.kept[0] + i, arriving);
            init_barrier(m.stored[0] + i, arriving);
        }
        if constexpr (m.exchanged)
            for (int i = 0; i < consumers * 2; i++) {
                init_barrier(m.exchange.arrived[0] + i, 1);
                init_barrier(m.exchange.room[0] + i, consumer_warps * Call::ranks);
            }
        fence_barriers();
    }
    __syncwarp(); // threads that load together wait at these barriers
    const bool filters = threadIdx.x >= consumers * consumer_threads;
    paired_coefficients<Call> h;
    if (filters)
        load_coefficients(h, c);
    else
        load_tables(m, c);
    // The next call in the stream may start on multiprocessors that become free, and
    // comes as far as this line.
    asm volatile("griddepcontrol.launch_dependents;");
    foresee(c);
    wait_for_calls_before();
    if (loads_in(0, c))
        start_loading(m, c);
    if constexpr (Call::ranks > 1)
        sync_cluster(); // other ranks arrive at the barriers of this thread block
    else
        __syncthreads();
    if (filters) {
        take_registers<filter_registers>();
        filter(m, h, c);
    } else {
        give_registers<consumer_registers>();
        slot_consumer<Store, Call>(m, c, boxes).run();
    }
    if constexpr (Call::ranks > 1) {
        __syncwarp();
        sync_cluster(); // data of other ranks have to arrive before this thread block
                        // ends
    }
}

template <store Store, class Call>
constexpr int shared_bytes = int(sizeof(memory<Store, Call>)) + 1024;

//! The tensor map by which the copy engine stores frames in boxes. Its axes are, with
//! several segments, [input][segment][frame, d][c][time]; with one segment [input][frame,
//! d][c][time]; of a cluster [input][residue][frame, d][c][time]; of real samples
//! [input][segment][frame, D / 2][64 channels][time].
template <class Call>
CUtensorMap box_map(const Call& c)
{
    constexpr uint64_t d = Call::second_radix;
    const uint64_t row = 2 * uint64_t(c.times), pitch = row * c.inputs;
    const uint64_t inputs = c.inputs;
    const uint64_t rows = uint64_t(c.frames) * rows_of_frame<Call>;
    if constexpr (Call::real) {
        constexpr uint64_t half = d / 2;
        return make_tensor_map(
            c.frame,
            { { row, 2 * radix, rows, uint64_t(c.last_segment / c.segment + 1), inputs },
              { pitch, 2 * radix * pitch, 2 * uint64_t(c.segment), row },
              { sector, box_channels, half, Call::segments, 1 },
              5 },
            box_order::half_swapped);
    } else if constexpr (Call::ranks > 1)
        return make_tensor_map(
            c.frame,
            { { row, radix, rows, Call::ranks, inputs },
              { Call::ranks * pitch, Call::channels_apart * pitch, pitch, row },
              { sector, box_channels, d, 1, 1 },
              5 },
            box_order::half_swapped);
    else if constexpr (Call::segments == 1)
        return make_tensor_map(c.frame,
                               { { row, radix, rows, inputs },
                                 { pitch, radix * pitch, row },
                                 { sector, box_channels, d, 1 } },
                               box_order::half_swapped);
    else
        return make_tensor_map(
            c.frame,
            { { row, radix, rows, uint64_t(c.last_segment / c.segment + 1), inputs },
              { pitch, radix * pitch, 2 * uint64_t(c.segment), row },
              { sector, box_channels, d, Call::segments, 1 },
              5 },
            box_order::half_swapped);
}

//! A filter bank on tensor cores of one shape: holds its tables and settings on the GPU,
//! and launches the kernel that filters, transforms, multiplies by gains and converts to
//! sc8.
template <store Store, class Shape>
class tensor_filter
{
    using shape = Shape;
    static constexpr int channels = shape::channels;

public:
    tensor_filter(const pfb::parameters& p, int device)
        : d_p(p),
          d_device(device),
          d_prototype(size_t(shape::most_taps) * shape::step),
          d_most_blocks(facts_of(device).multiprocessors),
          d_matrices(shape::ranks * 2 * matrix_bytes / sizeof(uint16_t)),
          d_twiddles(size_t(shape::ranks) * 2 * steps * consumer_threads),
          d_first_rows(shape::real ? matrix_bytes / sizeof(uint16_t) : 0),
          d_gains(size_t(p.inputs()) * gains_of_input, 2),
          d_ordered_gains(size_t(p.inputs()) * gains_of_input),
          d_delays(p),
          d_split(make_split_calls(p)),
          d_counts(2 * size_t(p.inputs()))
    {
        load_kernel<input_call<false, shape>>();
        load_kernel<input_call<true, shape>>();
        // later taps in later lines; of complex samples, (-1)^j moves channel 0 to -fs/2;
        // of inverted real ones see pfb/tensor/real.cuh
        std::vector<float> prototype(d_prototype.size());
        const size_t skipped = prototype.size() - p.prototype.size();
        // components of sc4 are read as 16 times what they are
        double scale = filter_scale / norm_of(p.prototype);
        const double own = scale / (shape::sc4 ? 16 : 1);
        const bool changes_signs = !shape::real || p.inverted;
        for (size_t j = 0; j < p.prototype.size(); j++)
            prototype[skipped + j] =
                float(p.prototype[j] * (j % 2 && changes_signs ? -own : own));
        scale *= make_whole(prototype, shape::step);
        d_scale = scale * transform_scale;
        start_with(d_prototype.data(), prototype);
        start_with(d_matrices.data(), make_matrices(channels, p.inverted, shape::real));
        start_with(d_twiddles.data(), make_twiddles(channels, p.inverted, shape::real));
        if (shape::real)
            start_with(d_first_rows.data(), make_first_rows(channels, p.inverted));
        const std::vector<cfloat> ones(size_t(p.inputs()) * channels, 1.f);
        set_gains(ones.data(), nullptr);
        check(cudaStreamSynchronize(nullptr), "copying gains"); // before other streams
    }

    std::string name() const
    {
        return "cuda tensor f16 fft " + std::to_string(channels) +
               (d_split ? ", inputs split" : "");
    }

    //! Sets the gains [input][channel]. They are uploaded as
    //! [input][rank][gain_words][gain_threads][2], the order in which the consumers read
    //! them.
    void set_gains(const cfloat* gains, cudaStream_t s)
    {
        const device_guard guard(d_device);
        d_modest_gains = true;
        for (size_t i = 0; i < d_ordered_gains.size(); i++) {
            const size_t input = i / gains_of_input;
            const int rank = int(i / gains_of_rank) % shape::ranks;
            const int place = int(i % gains_of_rank);
            const int thread = place / 2 % shape::gain_threads;
            const int e =
                4 * (place / 2 / shape::gain_threads * 2 + place % 2) + thread % 4;
            const int c = thread / 4 % radix;
            if (shape::real && thread / 4 == 0) {
                d_ordered_gains[i] = { 0, 0 };
                continue;
            }
            const auto g =
                gains[input * channels + shape::channel_of(c, e, d_p.inverted) +
                      residue_of(rank, shape::ranks, d_p.inverted)];
            d_ordered_gains[i] = { float(g.real() / d_scale), float(g.imag() / d_scale) };
            d_modest_gains = d_modest_gains && std::abs(d_ordered_gains[i].x) < 1e30f &&
                             std::abs(d_ordered_gains[i].y) < 1e30f;
        }
        d_gains.set(d_ordered_gains.data(), s);
    }

    //! Sets the delays [input] that hold from the next spectrum on; nullptr: none.
    //! delays() has them as they have grown since.
    void set_delays(const delay* delays, cudaStream_t s)
    {
        const device_guard guard(d_device);
        if (d_split)
            d_split->set_delays(delays, s);
        d_delays.set(delays, s);
    }
    const input_delays& delays() const { return d_delays; }

    //! Returns whether this filter bank can execute a call: all addresses have to be
    //! multiples of 16 bytes, but for those of samples that are delayed, or of ports with
    //! several inputs, whose samples are split before.
    bool can_do(const pfb::source* sources, const fused_filter::target& to) const
    {
        const auto aligned = [](const void* p) {
            return reinterpret_cast<uintptr_t>(p) % 16 == 0;
        };
        const bool any_samples = d_delays.any() || d_split;
        for (int port = 0; port < d_p.ports; port++)
            if ((!any_samples && !aligned(sources[port].samples)) ||
                (to.spectra && !aligned(to.spectra[port])))
                return false;
        return true;
    }

    static_assert(group == cell_sums::spectra_together);
    //! Loads the kernels that add up voltages. \return whether there are any
    bool prepare_sums(int spectra_per_slice)
    {
        if constexpr (!can_sum) {
            return false;
        } else {
            if (d_split || spectra_per_slice % group != 0 ||
                spectra_per_slice > cell_sums::most_spectra)
                return false; // several inputs a port are made in parts of any length
            const device_guard guard(d_device);
            load_kernel<input_call<false, shape, true>>();
            load_kernel<input_call<true, shape, true>>();
            d_sums_prepared = true;
            return true;
        }
    }
    //! Returns whether all groups of spectra of a call lie in a slice each.
    bool can_add(const fused_filter::target& to, size_t count) const
    {
        return d_sums_prepared &&
               (size_t(to.first_time) | size_t(to.times) | count) % group == 0 &&
               (!d_delays.any() || d_delays.lead() == 0);
    }

    //! Tells the delays that `spectra` spectra have passed which another filter bank
    //! made.
    void leave_out(size_t spectra) { d_delays.pass(spectra); }

    //! \param sums nullptr: none; otherwise can_add() has said that they can be made
    void execute(const pfb::source* sources,
                 const fused_filter::target& to,
                 size_t count,
                 cudaStream_t s,
                 const cell_sums* sums = nullptr)
    {
        const device_guard guard(d_device);
        if (!d_split)
            filter(sources, to, count, s, {}, sums);
        else
            d_split->execute(
                sources,
                to,
                count,
                s,
                [&](const pfb::source* apart,
                    const fused_filter::target& part,
                    size_t batch,
                    const input_rows& rows) { filter(apart, part, batch, s, rows); });
        for (int port = 0; port < d_p.ports; port++)
            if (!sources[port].samples)
                clear(port, to, count, s);
    }

    //! Adds the numbers of samples and of output elements that this filter bank has
    //! clamped.
    void add_counts(pfb::counts& all) const
    {
        const auto own = d_counts.read();
        for (int i = 0; i < d_p.inputs(); i++) {
            all.output[i] += own[i];
            all.samples[i] += own[d_p.inputs() + i];
        }
    }

private:
    //! True if there are kernels that add up voltages: where a consumer thread has the
    //! same channels of one slice all the time.
    static constexpr bool can_sum =
        Store == store::frames && has_one_series<input_call<false, shape>>;
    static constexpr size_t gains_of_rank = 2 * shape::gain_words * shape::gain_threads;
    static constexpr size_t gains_of_input = shape::ranks * gains_of_rank;
    // The factor of filtered samples, for lines of 1024 samples; see
    // filter_scale_of().
    static inline const double filter_scale = filter_scale_of(shape::step / shape::ranks);

    template <class Call>
    void load_kernel()
    {
        static_assert(shared_bytes<Store, Call> <= 227 << 10);
        load(channelise<Store, Call>, shared_bytes<Store, Call>);
        if constexpr (Call::ranks > 1) {
            const launch_of<Call> l(d_most_blocks, nullptr);
            int most = 0;
            check(
                cudaOccupancyMaxActiveClusters(&most, channelise<Store, Call>, &l.config),
                "asking for clusters");
            d_most_blocks = std::min(d_most_blocks, most);
        }
    }

    //! A launch of so many thread blocks, or clusters of them, with programmatic stream
    //! serialisation.
    template <class Call>
    struct launch_of {
        cudaLaunchConfig_t config{};
        cudaLaunchAttribute attributes[2]{};

        launch_of(int blocks, cudaStream_t s)
        {
            config.gridDim = unsigned(blocks * Call::ranks);
            config.blockDim = threads;
            config.dynamicSmemBytes = shared_bytes<Store, Call>;
            config.stream = s;
            config.attrs = attributes;
            attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
            attributes[0].val.programmaticStreamSerializationAllowed = 1;
            attributes[1].id = cudaLaunchAttributeClusterDimension;
            attributes[1].val.clusterDim = { Call::ranks, 1, 1 };
            config.numAttrs = Call::ranks > 1 ? 2 : 1;
        }
        launch_of(const launch_of&) = delete;
    };

    //! Launches the kernel for `count` spectra of each input, as one call or one for each
    //! part of a frame.
    //! \param rows samples of all inputs that were split, as in fused_filter::execute()
    void filter(const pfb::source* sources,
                const fused_filter::target& to,
                size_t count,
                cudaStream_t s,
                const input_rows& rows = {},
                const cell_sums* sums = nullptr)
    {
        if (to.spectra) {
            launch(sources, to, count, 1, s, rows, nullptr);
            return;
        }
        // Whole frames are made by one launch, unless there are delays, which go on from
        // one frame to the next.
        const int most = d_delays.any() ? 1 : most_inputs / d_p.inputs();
        const auto put = [&](const fused_filter::target& here,
                             const part_of_frames& part) {
            std::vector<pfb::source> from(sources, sources + d_p.ports);
            for (auto& source : from)
                source = pfb::later(d_p, source, part.done);
            input_rows later = rows;
            if (later.samples)
                later.samples += bytes_of(d_p.input, part.done * shape::step, 1);
            if (!sums) {
                launch(from.data(), here, part.times, part.frames, s, later, nullptr);
                return;
            }
            cell_sums of_part(*sums);
            of_part.first_frame =
                int((sums->first_frame + part.frame) % int64_t(sums->frames));
            launch(from.data(), here, part.times, part.frames, s, later, &of_part);
        };
        to.each_part(count, d_p, most, put);
    }

    //! Launches the kernel once.
    //! \param count spectra of each frame and input
    void launch(const pfb::source* sources,
                const fused_filter::target& to,
                size_t count,
                int frames,
                cudaStream_t s,
                const input_rows& rows,
                const cell_sums* sums)
    {
        const auto launch_with = [&](auto summed) {
            constexpr bool is = decltype(summed)::value;
            if (d_delays.any())
                launch_call<input_call<true, shape, is>>(
                    sources, to, count, frames, s, rows, sums);
            else
                launch_call<input_call<false, shape, is>>(
                    sources, to, count, frames, s, rows, sums);
        };
        if (sums)
            launch_with(std::bool_constant<can_sum>());
        else
            launch_with(std::false_type());
        d_delays.pass(count * frames);
    }

    template <class Call>
    void launch_call(const pfb::source* sources,
                     const fused_filter::target& to,
                     size_t count,
                     int frames,
                     cudaStream_t s,
                     const input_rows& rows,
                     const cell_sums* sums)
    {
        Call c{};
        const int inputs = d_p.inputs();
        for (int i = 0; i < frames * inputs; i++) {
            const int input = i % inputs, frame = i / inputs;
            const int port = input / d_p.inputs_per_port;
            const int place = input % d_p.inputs_per_port;
            c.sources[i] = pfb::later(d_p, sources[port], frame * count);
            if (rows.samples && sources[port].samples)
                c.sources[i].samples =
                    rows.samples + input * rows.bytes +
                    bytes_of(d_p.input, frame * count * shape::step, 1);
            if (to.spectra)
                c.spectra_of[i] =
                    static_cast<char*>(to.spectra[port]) + place * c.spectrum_bytes;
            else
                c.of_frame[i] = { input, frame };
        }
        c.frames = frames;
        c.pitch = int64_t(d_p.inputs_per_port) * c.spectrum_bytes;
        tell(c, d_p, to, count);
        if constexpr (c.delayed)
            d_delays.tell(c);
        c.prototype = d_prototype.data();
        c.twiddles = d_twiddles.data();
        c.gains = d_gains.data();
        c.clamped = d_counts.data();
        c.lowest = d_counts.data() + d_p.inputs();
        c.matrices = reinterpret_cast<const uint4*>(d_matrices.data());
        if constexpr (c.real)
            c.first_rows = reinterpret_cast<const uint4*>(d_first_rows.data());
        if constexpr (c.summed)
            c.sums = *sums;
        int lead = 0;
        if constexpr (c.delayed)
            lead = c.lead;
        // The number of spectra of a segment is a multiple of a set of times, so that
        // sets begin alike in all segments.
        constexpr int together =
            c.segments > 1 && Store == store::frames ? set_times : group;
        constexpr int64_t multiple = int64_t(c.segments) * together;
        c.groups = int((c.spectra + lead + multiple - 1) / multiple) * (together / group);
        c.segment = c.groups * group;
        c.last_segment = int((c.spectra + lead - 1) / c.segment) * c.segment;
        const int64_t all = int64_t(c.groups) * c.inputs * frames;
        const int workers = int(std::min<int64_t>(all, d_most_blocks));
        c.harmless_squares = d_modest_gains ? 127 * 127 - 1 : -1;
        c.inverted = d_p.inverted;
        c.groups_each = int(all / workers);
        c.more = int(all % workers);
        c.boxed = Store == store::frames && c.selected == c.channels &&
                  c.times >= set_times &&
                  (c.times | (c.first_time - lead)) % group == 0 &&
                  reinterpret_cast<uintptr_t>(c.frame) % 16 == 0;
        CUtensorMap boxes{};
        if (c.boxed)
            boxes = box_map(c);
        const launch_of<Call> l(workers, s);
        check(cudaLaunchKernelEx(&l.config, channelise<Store, Call>, c, boxes),
              "channeliser on tensor cores");
    }

    //! Writes `count` spectra of zeros for each input of a port whose samples were lost.
    void
    clear(int port, const fused_filter::target& to, size_t count, cudaStream_t s) const
    {
        if (to.spectra) {
            const size_t spectrum = d_p.inputs_per_port * shape::spectrum_bytes;
            check(cudaMemsetAsync(to.spectra[port], 0, count * spectrum, s),
                  "clearing spectra");
            return;
        }
        const size_t row = 2 * size_t(to.times);
        const int first = port * d_p.inputs_per_port;
        const auto put = [&](const fused_filter::target& here,
                             const part_of_frames& part) {
            for (int input = first; input < first + d_p.inputs_per_port; input++)
                check(cudaMemset2DAsync(static_cast<char*>(here.frame) + input * row +
                                            2 * size_t(part.first),
                                        row * d_p.inputs(),
                                        0,
                                        2 * size_t(part.times),
                                        to.selected,
                                        s),
                      "clearing times of a frame");
        };
        to.each_part(count, d_p, 1, put);
    }

    const pfb::parameters d_p;
    const int d_device;
    int d_most_blocks; // number of threads, or clusters, at a time
    bool d_sums_prepared = false;
    double d_scale; // scale of filtering and transform, without gains
    device_array<float> d_prototype;
    device_array<uint16_t> d_matrices;
    device_array<float2> d_twiddles;
    device_array<uint16_t> d_first_rows; // matrix for real samples
    uploaded_array<float2> d_gains;
    std::vector<float2> d_ordered_gains;
    bool d_modest_gains; // true if they leave finite numbers finite
    input_delays d_delays;
    const std::unique_ptr<split_calls> d_split; // calls for several inputs a port
    counters d_counts;                          // [clamped output, lowest numbers][input]
};

/*!
 * A filter bank (Base = pfb), or what has one and stores frames, on tensor cores.
 * Parameters and calls that it has no kernel for are left to another implementation,
 * d_other.
 */
template <class Base, store Store, class Shape>
class with_tensor_cores : public Base
{
public:
    with_tensor_cores(const pfb::parameters& p, int device, std::unique_ptr<Base> other)
        : d_other(std::move(other)), d_filter(p, device)
    {
    }
    void set_gains(const cfloat* gains, stream& s) override
    {
        d_other->set_gains(gains, s);
        d_filter.set_gains(gains, native(s));
    }
    void set_delays(const delay* delays, stream& s) override
    {
        d_other->set_delays(delays, s);
        d_filter.set_delays(delays, native(s));
        d_other_behind = false;
    }
    pfb::counts clamped() const override
    {
        auto all = d_other->clamped();
        d_filter.add_counts(all);
        return all;
    }

protected:
    //! Executes a call if it can.
    //! \return whether the call has been executed here, or there was nothing to do
    //! \param sums as of tensor_filter::execute()
    bool done(const pfb::source* sources,
              const fused_filter::target& to,
              size_t count,
              stream& s,
              const cell_sums* sums = nullptr)
    {
        if (count == 0)
            return true;
        if (d_filter.can_do(sources, to)) {
            d_filter.execute(sources, to, count, native(s), sums);
            d_other_behind = d_filter.delays().any();
            return true;
        }
        if (d_other_behind) // the other one knows its own spectra only
            d_other->set_delays(d_filter.delays().current().data(), s);
        d_other_behind = false;
        d_filter.leave_out(count);
        return false;
    }
    const std::unique_ptr<Base> d_other;
    tensor_filter<Store, Shape> d_filter;

private:
    bool d_other_behind = false; // with delays
};

template <class Shape>
class tensor_pfb : public with_tensor_cores<pfb, store::spectra, Shape>
{
    using base = with_tensor_cores<pfb, store::spectra, Shape>;

public:
    using base::base;
    std::string implementation() const override { return this->d_filter.name(); }
    void execute(const pfb::source* sources,
                 void* const* spectra,
                 size_t count,
                 stream& s) override
    {
        const fused_filter::target to{ spectra, nullptr, 0, 0, 0, 0 };
        if (!this->done(sources, to, count, s))
            this->d_other->execute(sources, spectra, count, s);
    }
};

template <sample_type Input, int Taps, int... Channels>
template <template <class> class Made, class Parameters, class Base>
std::unique_ptr<Base>
filter_banks<Input, Taps, Channels...>::make(const pfb::parameters& p,
                                             const Parameters& parameters,
                                             int device,
                                             std::unique_ptr<Base> other)
{
    if (facts_of(device).architecture != 90 || p.taps > Taps || p.taps <= Taps - group ||
        p.inputs() > most_inputs || p.output != sample_type::sc8 || p.input != Input)
        return other;
    const device_guard guard(device);
    const auto made = [&](auto shape) {
        if (p.channels != shape.channels)
            return false;
        other =
            std::make_unique<Made<decltype(shape)>>(parameters, device, std::move(other));
        return true;
    };
    (made(arrangement<Channels, Input, Taps>{}) || ...);
    return other;
}

} // namespace gr::aperture::kernels::cuda::tensor

#endif /* INCLUDED_APERTURE_KERNELS_PFB_TENSOR_CALLS_CUH */
