/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/corner_turn/corner_turn.h"
#include "kernels/corner_turn/transposed_square.cuh"
#include "kernels/gpu/async_copy.cuh"
#include "kernels/gpu/gpu_facts.h"
#include "kernels/gpu/memory.h"
#include "kernels/gpu/warp.cuh"

namespace gr::aperture::kernels::cuda {

namespace {

constexpr int few = 64;             // ports whose list travels with the call
constexpr int most_in_grid = 65535; // thread blocks in the second and third dimension

//! Makes -128 (-8) to -127 (-7) in a word of voltages; returns how many.
template <class voltage>
__device__ __forceinline__ int clamp(uint32_t& word)
{
    if constexpr (sizeof(voltage) > 2) {
        return 0;
    } else {
        constexpr int bits = 4 * sizeof(voltage); // bits of a component
        constexpr uint32_t highest = bits == 4 ? 0x88888888 : 0x80808080;
        const uint32_t other = word ^ highest; // not 0 where the component is another one
        const uint32_t found = ~(((other & ~highest) + ~highest) | other) & highest;
        word += found >> (bits - 1);
        return __popc((found | found << bits) & (bits == 4 ? 0x80808080 : 0x80008000));
    }
}

//! Does the same for a vector, quickly where there is none.
template <class voltage>
__device__ __forceinline__ int clamp(uint32_t (&words)[4])
{
    int found = 0;
    if constexpr (sizeof(voltage) <= 2) {
        constexpr bool is_sc4 = sizeof(voltage) == 1;
        constexpr uint32_t highest = is_sc4 ? 0x88888888 : 0x80808080;
        constexpr uint32_t ones = is_sc4 ? 0x11111111 : 0x01010101;
        uint32_t any = 0;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t other =
                words[i] ^ highest; // not 0 where the component is another one
            any |= (other - ones) & ~other;
        }
        if (any & highest) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                found += clamp<voltage>(words[i]);
        }
    }
    return found;
}

//! Waits until earlier work of the stream is done: thread blocks may start before that.
__device__ __forceinline__ void wait_for_stream()
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

struct turn_call {
    const void* few_ports[few];
    const void* const* ports; // nullptr: the list of few ports
    void* frame;
    unsigned long long* clamped;
    int channels, inputs_per_port, times, first_channel, selected, inputs;
    int first, count; // times of the frame that are written

    //! Returns which input of which frame this thread block works on.
    __device__ int input() const { return blockIdx.z % inputs; }
    __device__ int number() const { return blockIdx.z / inputs; }
    //! Returns the input's first time and first wanted channel; nullptr if it was lost.
    template <class voltage>
    __device__ const voltage* source() const
    {
        const int input = this->input(), port = input / inputs_per_port;
        const void* from = ports ? ports[port] : few_ports[port];
        if (!from)
            return nullptr;
        return static_cast<const voltage*>(from) + int64_t(number()) * count * row() +
               int64_t(input % inputs_per_port) * channels + first_channel;
    }
    //! Returns the elements from one time to the next.
    __host__ __device__ int64_t row() const
    {
        return int64_t(inputs_per_port) * channels;
    }
    //! Returns the elements from one channel to the next.
    __host__ __device__ int64_t column() const { return int64_t(inputs) * times; }
    template <class voltage>
    __device__ voltage* target() const
    {
        return static_cast<voltage*>(frame) + int64_t(number()) * selected * column() +
               int64_t(input()) * times + first;
    }
};

// ---------------------------------------------------------------------------------------
// sc8 and sc4 where vectors of 16 bytes lie at multiples of 16 bytes on both sides

/*!
 * Shape of a kernel in which a thread transposes squares of side x side voltages in
 * registers: it reads 16 bytes of channels of each time, and writes 16 bytes of times of
 * each channel. Lanes lie so that a warp reads 128 and writes 64 bytes in a row, and a
 * thread block twice as much.
 */
template <class voltage>
struct square_shape {
    static constexpr int side = transposed_square<voltage>::side;
    static constexpr int lanes_of_channels = 8, lanes_of_times = 4;
    static constexpr int warps_of_channels = 2, warps_of_times = 2;
    static constexpr int threads = 32 * warps_of_channels * warps_of_times;
    static constexpr int blocks = 4; // thread blocks of a multiprocessor
    static constexpr int channels_of_warp = lanes_of_channels * side;
    static constexpr int times_of_warp = lanes_of_times * side;
    static constexpr int channels = channels_of_warp * warps_of_channels;
    static constexpr int times = times_of_warp * warps_of_times;
};

//! Loads data that is not needed again. The whole line comes to the second-level cache:
//! lanes of another thread block may need the rest of it.
__device__ __forceinline__ uint4 load_once(const void* from)
{
    uint4 v;
    asm volatile("ld.global.cs.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from)
                 : "memory");
    return v;
}

//! Transposes by squares. Grid: channels, times, inputs of all frames.
template <class voltage>
__global__ void __launch_bounds__(square_shape<voltage>::threads,
                                  square_shape<voltage>::blocks)
    turn_squares(const __grid_constant__ turn_call x)
{
    using shape = square_shape<voltage>;
    constexpr int side = shape::side;
    wait_for_stream();
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int input = x.input();
    const int time = blockIdx.y * shape::times +
                     warp / shape::warps_of_channels * shape::times_of_warp +
                     lane / shape::lanes_of_channels * side;
    const int channel = blockIdx.x * shape::channels +
                        warp % shape::warps_of_channels * shape::channels_of_warp +
                        lane % shape::lanes_of_channels * side;
    const int64_t row = x.row(), column = x.column();
    const auto* from = x.source<voltage>();
    const voltage* in = from + time * row;
    voltage* out = x.target<voltage>() + time;
    int found = 0;
    transposed_square<voltage> v, transposed;
#pragma unroll
    for (int t = 0; t < side; t++) {
        if (from && channel + side <= x.selected && time + t < x.count) {
            v.rows[t] = load_once(in + t * row + channel);
        } else {
#pragma unroll
            for (int c = 0; c < side; c++)
                v.values[t][c] = from && channel + c < x.selected && time + t < x.count
                                     ? in[t * row + channel + c]
                                     : voltage{};
        }
    }
#pragma unroll
    for (int i = 0; i < side * transposed_square<voltage>::row_words; i++)
        found += clamp<voltage>(v.words[i]);
    transpose(v, transposed);
#pragma unroll
    for (int c = 0; c < side; c++) {
        if (channel + c >= x.selected)
            break;
        voltage* to = out + (channel + c) * column;
        if (time + side <= x.count) {
            __stcs(reinterpret_cast<uint4*>(to), transposed.rows[c]);
        } else {
#pragma unroll
            for (int t = 0; t < side; t++)
                if (time + t < x.count)
                    to[t] = transposed.values[c][t];
        }
    }
    add_of_warp(x.clamped + input, found);
}

// ---------------------------------------------------------------------------------------
// Any alignment

/*!
 * Shape of a kernel in which some times of some channels go through shared memory, where
 * they lie as in memory: each time as far from a multiple of 16 bytes, so that it is
 * fetched in vectors, and a voltage is found without knowing how far. Tiles do not end at
 * the same time in all channels, but each where a sector of the channel's row ends: only
 * the ends of rows are written in parts, which costs the memory as much as whole sectors
 * do. Times and sectors at the edges of tiles are fetched by two of them: wide tiles have
 * fewer, but it takes a large call to make enough of them for all multiprocessors.
 */
template <class voltage, bool Wide>
struct tile_shape {
    static constexpr int size = sizeof(voltage);
    static constexpr int side = sizeof(uint4) / size; // voltages of a vector
    static constexpr int sector = 32 / size;          // voltages of a sector
    static constexpr int threads = Wide ? 512 : 384, warps = threads / 32;
    // lanes that fetch a time
    static constexpr int lanes_of_row = size == 8 ? 32 : size == 2 || Wide ? 16 : 8;
    static constexpr int row_bytes = lanes_of_row * int(sizeof(uint4));
    static constexpr int rows_at_once = threads / lanes_of_row;
    static_assert(rows_at_once % side == 0, "rows of whole vectors");
    // a warp stores 128 bytes of some channels
    static constexpr int lanes_of_times = 8, channels_of_warp = 32 / lanes_of_times;
    static constexpr int lines = // lines of 128 bytes for each channel
        size == 1 ? 1 : (size == 2 ? 1 : 2) * (Wide ? 2 : 1);
    static constexpr int times = lines * lanes_of_times * side;
    static constexpr int most_times = times + sector - 1; // times that are fetched
    static constexpr int channels_at_once = channels_of_warp * (warps / lines);
};

//! The layout of tiles in memory and in shared memory.
struct tiling {
    int columns, groups; // channels of a tile, tiles of a time
    int along;           // tiles of a channel
    int lead;            // times before its own that a tile may need
    int pitch;           // bytes from one time to the next, in shared memory
    bool skipping;       // 16 bytes after each vector's times
    int shared_bytes;

    /*!
     * \param aligned rows and their first channels begin at multiples of 16 bytes
     * \param row voltages from one time to the next
     */
    template <class shape>
    static tiling make(int channels, int times, bool aligned, int64_t row, int lead)
    {
        constexpr int size = shape::size, vector = sizeof(uint4);
        tiling t;
        const int most = (shape::row_bytes - (aligned ? 0 : vector - size)) / size;
        t.groups = (channels + most - 1) / most;
        t.columns = (channels + t.groups - 1) / t.groups;
        if (aligned)
            t.columns = (t.columns + shape::side - 1) / shape::side * shape::side;
        t.along = int(blocks_for(int64_t(times) + lead, shape::times));
        t.lead = lead;
        t.pitch = shape::row_bytes + int(row * size % vector);
        // otherwise eight vectors of a channel would lie in the same banks
        t.skipping = row % 2 == 0;
        const int rows = shape::times + lead;
        t.shared_bytes = rows * t.pitch + rows / shape::side * t.skip() + vector;
        return t;
    }
    int skip() const { return skipping ? sizeof(uint4) : 0; }
};

//! Returns a mask of bytes begin ... end-1 of a word, as far as it has them.
__device__ __forceinline__ uint32_t bits_of_bytes(int begin, int end)
{
    return __funnelshift_lc(0, ~0u, 8 * max(begin, 0)) &
           ~__funnelshift_lc(0, ~0u, 8 * max(end, 0));
}

//! Stores bytes begin ... end-1 of a vector, with as few instructions as there can be.
template <int Least, int At = 0, int Bytes = 16>
__device__ __forceinline__ void
store_part(char* to, const uint32_t (&words)[4], int begin, int end)
{
    if (begin <= At && At + Bytes <= end) {
        const uint32_t* from = words + At / 4;
        if constexpr (Bytes == 16)
            __stcg(reinterpret_cast<uint4*>(to),
                   make_uint4(words[0], words[1], words[2], words[3]));
        else if constexpr (Bytes == 8)
            *reinterpret_cast<uint2*>(to + At) = make_uint2(from[0], from[1]);
        else if constexpr (Bytes == 4)
            *reinterpret_cast<uint32_t*>(to + At) = *from;
        else if constexpr (Bytes == 2)
            *reinterpret_cast<uint16_t*>(to + At) = uint16_t(*from >> At % 4 * 8);
        else
            *reinterpret_cast<uint8_t*>(to + At) = uint8_t(*from >> At % 4 * 8);
    } else if constexpr (Bytes > Least) {
        if (begin < At + Bytes && At < end) {
            store_part<Least, At, Bytes / 2>(to, words, begin, end);
            store_part<Least, At + Bytes / 2, Bytes / 2>(to, words, begin, end);
        }
    }
}

//! Transposes through shared memory. Grid: channels, times, inputs of all frames.
template <class voltage, bool Wide, bool Skipping>
__global__ void __launch_bounds__(tile_shape<voltage, Wide>::threads)
    turn_tiles(const __grid_constant__ turn_call x, const __grid_constant__ tiling cut)
{
    using shape = tile_shape<voltage, Wide>;
    constexpr int size = shape::size, side = shape::side;
    constexpr int skip = Skipping ? sizeof(uint4) : 0;
    extern __shared__ uint4 shared[];
    wait_for_stream();
    const int input = x.input();
    const int first_channel = blockIdx.x * cut.columns;
    const int columns = min(cut.columns, x.selected - first_channel);
    const int first_time = int(blockIdx.y) * shape::times - cut.lead;
    const int pitch = cut.pitch;
    const int64_t row = x.row() * size, column = x.column();
    const auto* from = x.source<voltage>();
    // a time's place in shared memory is as far from a multiple of 16 as in memory
    const auto start =
        reinterpret_cast<uint64_t>(from + first_channel) + first_time * row;
    char* const tile = reinterpret_cast<char*>(shared) + start % sizeof(uint4);
    const auto place = [&](int time) { return time * pitch + time / side * skip; };

    {
        const int time = threadIdx.x / shape::lanes_of_row;
        const int offset = threadIdx.x % shape::lanes_of_row * int(sizeof(uint4));
        uint64_t source = start + time * row + offset;
        // the same for all of the thread's times
        const int back = int(source) & (sizeof(uint4) - 1);
        source -= back;
        uint32_t target =
            unsigned(__cvta_generic_to_shared(tile)) + place(time) + offset - back;
        const int begin = max(0, -first_time);
        // vectors of which a byte is needed: no other page is touched
        const int end = columns * size > offset - back
                            ? min(shape::times + cut.lead, x.count - first_time)
                            : 0;
#pragma unroll
        for (int i = 0; i < shape::most_times; i += shape::rows_at_once) {
            if (time + i >= begin && time + i < end)
                copy_async<16, true>(target, reinterpret_cast<const void*>(source), from);
            source += shape::rows_at_once * row;
            target += place(shape::rows_at_once);
        }
        commit_async();
        wait_async<0>();
    }
    __syncthreads();

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int vector =
        warp % shape::lines * shape::lanes_of_times + lane % shape::lanes_of_times;
    int channel =
        warp / shape::lines * shape::channels_of_warp + lane / shape::lanes_of_times;
    voltage* out = x.target<voltage>() + (first_channel + channel) * column;
    const char* in = tile + channel * size;
    int found = 0;
#pragma unroll 1
    for (; channel < columns; channel += shape::channels_at_once) {
        const int lead = int(reinterpret_cast<uint64_t>(out) / size % shape::sector);
        const int t = vector * side + cut.lead - lead, time = first_time + t;
        const char* at = in + place(t);
        const int straight = side - t % side;
        uint32_t words[4] = {};
#pragma unroll
        for (int i = 0; i < side; i++) {
            const char* here = at + i * pitch + (i < straight ? 0 : skip);
            if constexpr (size == 8) {
                const auto v = *reinterpret_cast<const uint2*>(here);
                words[2 * i] = v.x;
                words[2 * i + 1] = v.y;
            } else {
                words[i * size / 4] |= uint32_t(*reinterpret_cast<const voltage*>(here))
                                       << i * size % 4 * 8;
            }
        }
        const int begin = max(0, -time) * size;
        const int end = min(side, x.count - time) * size;
        if (begin > 0 || end < int(sizeof(uint4))) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                words[i] &= bits_of_bytes(begin - 4 * i, end - 4 * i);
        }
        found += clamp<voltage>(words);
        store_part<size>(reinterpret_cast<char*>(out + time), words, begin, end);
        out += shape::channels_at_once * column;
        in += shape::channels_at_once * size;
    }
    add_of_warp(x.clamped + input, found);
}

//! \param overlapping whether the kernel, which calls wait_for_stream(), is started while
//! the last thread blocks of earlier work still run
template <class... A>
void launch(void (*kernel)(A...),
            dim3 grid,
            int threads,
            int shared_bytes,
            bool overlapping,
            stream& s,
            const A&... arguments)
{
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = threads;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = native(s);
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = overlapping;
    check(cudaLaunchKernelEx(&config, kernel, arguments...), "corner turn");
}

template <class voltage>
class cuda_corner_turn : public corner_turn
{
public:
    cuda_corner_turn(const parameters& p, int device)
        : corner_turn(p, most_in_grid / p.inputs()),
          d_device(device),
          d_overlapping(facts_of(device).architecture >= 90),
          d_clamped(p.inputs())
    {
        if (p.ports > few)
            d_ports = std::make_unique<uploaded_array<const void*>>(p.ports);
        if constexpr (has_squares)
            load(turn_squares<voltage>);
        load_tiles<false>();
        const auto wide = load_tiles<true>();
        int blocks; // thread blocks that a multiprocessor has at a time
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                  &blocks,
                  turn_tiles<voltage, true, false>,
                  tile_shape<voltage, true>::threads,
                  wide.shared_bytes),
              "asking how many wide tiles fit");
        constexpr int rounds = 4; // with 2.5 they are slower, with 4.5 faster
        d_many_tiles = int64_t(rounds) * blocks * facts_of(device).multiprocessors;
    }

    std::string implementation() const override { return "cuda"; }

    std::vector<uint64_t> clamped() const override { return d_clamped.read(); }

private:
    void transpose_frames(const void* const* spectra,
                          void* frame,
                          int first,
                          int count,
                          int frames,
                          stream& s) override
    {
        const device_guard guard(d_device);
        turn_call x{};
        if (d_ports) {
            d_ports->set(spectra, native(s));
            x.ports = d_ports->data();
        } else {
            std::copy(spectra, spectra + d_p.ports, x.few_ports);
        }
        x.frame = frame;
        x.clamped = d_clamped.data();
        x.channels = d_p.channels;
        x.inputs_per_port = d_p.inputs_per_port;
        x.times = d_p.spectra_per_frame;
        x.first_channel = d_p.first_channel;
        x.selected = d_p.selected_channels;
        x.inputs = d_p.inputs();
        x.first = first;
        x.count = count;
        const bool aligned = are_aligned(spectra);
        if constexpr (has_squares)
            if (aligned && is_aligned(frame, first)) {
                using shape = square_shape<voltage>;
                const dim3 grid(blocks_for(d_p.selected_channels, shape::channels),
                                blocks_for(count, shape::times),
                                unsigned(d_p.inputs() * frames));
                launch(
                    turn_squares<voltage>, grid, shape::threads, 0, d_overlapping, s, x);
                return;
            }
        const int lead = most_lead(frame, first);
        const auto wide = cut_of<true>(count, aligned, lead);
        const int inputs = d_p.inputs() * frames;
        if (int64_t(wide.groups) * wide.along * inputs >= d_many_tiles)
            turn_in_tiles<true>(x, inputs, wide, s);
        else
            turn_in_tiles<false>(x, inputs, cut_of<false>(count, aligned, lead), s);
    }

    // tiles are as fast for wide voltages
    static constexpr bool has_squares = sizeof(voltage) <= sizeof(sc8);
    static constexpr int side = tile_shape<voltage, false>::side;

    //! Returns the voltages from one time to the next.
    int64_t row() const { return int64_t(d_p.inputs_per_port) * d_p.channels; }

    //! \param lead times before its own that a tile may need
    template <bool Wide>
    tiling cut_of(int times, bool aligned, int lead) const
    {
        return tiling::make<tile_shape<voltage, Wide>>(
            d_p.selected_channels, times, aligned, row(), lead);
    }
    //! \return the bytes of the largest tiles
    template <bool Wide>
    tiling load_tiles() const
    {
        const auto cut = cut_of<Wide>(
            d_p.spectra_per_frame, false, tile_shape<voltage, Wide>::sector - 1);
        load(turn_tiles<voltage, Wide, false>, cut.shared_bytes);
        load(turn_tiles<voltage, Wide, true>, cut.shared_bytes);
        return cut;
    }
    //! \param inputs of all frames
    template <bool Wide>
    void turn_in_tiles(const turn_call& x, int inputs, const tiling& cut, stream& s) const
    {
        launch(cut.skipping ? turn_tiles<voltage, Wide, true>
                            : turn_tiles<voltage, Wide, false>,
               dim3(cut.groups, cut.along, inputs),
               tile_shape<voltage, Wide>::threads,
               cut.shared_bytes,
               d_overlapping,
               s,
               x,
               cut);
    }

    //! Returns whether vectors of channels are aligned.
    bool are_aligned(const void* const* spectra) const
    {
        uintptr_t addresses = 0;
        for (int port = 0; port < d_p.ports; port++)
            addresses |= reinterpret_cast<uintptr_t>(spectra[port]);
        return addresses % sizeof(uint4) == 0 &&
               (d_p.channels | d_p.first_channel) % side == 0;
    }
    //! Returns whether vectors of times are aligned.
    bool is_aligned(const void* frame, int first) const
    {
        return reinterpret_cast<uintptr_t>(frame) % sizeof(uint4) == 0 &&
               (d_p.spectra_per_frame | first) % side == 0;
    }
    //! Returns the most voltages from where a sector begins to time `first`.
    int most_lead(const void* frame, int first) const
    {
        constexpr int sector = tile_shape<voltage, false>::sector;
        if (d_p.spectra_per_frame % sector)
            return sector - 1;
        return int((reinterpret_cast<uintptr_t>(frame) / sizeof(voltage) + first) %
                   sector);
    }

    const int d_device;
    const bool d_overlapping; // from Hopper on
    int64_t d_many_tiles;     // number of tiles from which on they are wide
    std::unique_ptr<uploaded_array<const void*>> d_ports; // list of many ports
    counters d_clamped;
};

} // namespace

//! Squares of channels and times in registers.
template <>
std::unique_ptr<corner_turn>
make(const corner_turn::parameters& p, int device, const std::string&)
{
    const device_guard guard(device);
    require_range("inputs", p.inputs(), 1, most_in_grid);
    require_range("spectra_per_frame",
                  p.spectra_per_frame,
                  1,
                  (most_in_grid - 1) * (p.type == sample_type::fc32
                                            ? tile_shape<float2, false>::times
                                            : tile_shape<sc8, false>::times));
    switch (p.type) {
    case sample_type::sc8:
        return std::make_unique<cuda_corner_turn<sc8>>(p, device);
    case sample_type::sc4:
        return std::make_unique<cuda_corner_turn<sc4>>(p, device);
    default:
        return std::make_unique<cuda_corner_turn<float2>>(p, device);
    }
}

} // namespace gr::aperture::kernels::cuda
