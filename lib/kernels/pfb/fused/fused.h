/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_PFB_FUSED_FUSED_H
#define INCLUDED_APERTURE_KERNELS_PFB_FUSED_FUSED_H

#include "kernels/common/parts_of_frames.h"
#include "kernels/gpu/memory.h"
#include "kernels/pfb/delay.h"
#include "kernels/pfb/pfb.h"
#include "kernels/pfb/split_inputs.h"

namespace gr::aperture::kernels::cuda {

//! The arguments of a call that all kernels of a filter bank have, but for its ports.
struct filter_call {
    void* frame; //!< [channel][input][time]; nullptr: each port has its own spectra
    int first_time, times, first_channel, selected; //!< extents of the frame

    const float* prototype;
    const float2* twiddles;
    const float2* gains; //!< [input][channel], in the order of set_gains()
    unsigned long long *clamped, *lowest;

    int64_t spectra;
    int inputs, taps;
};

//! The product that the kernels of a filter bank store: spectra of each port, or frames
//! [channel][input][time].
enum class store { spectra, frames };

//! The arguments of the fused kernel. Lists of few ports are part of them.
struct fused_call : filter_call {
    static constexpr int few = 64;
    static constexpr int points_of_thread = 32;
    //! Returns how many steps of a thread block it takes until neighbouring results in a
    //! frame fill a sector (32 bytes) of memory.
    static constexpr int rounds_of(int spectra, size_t size)
    {
        const int times = 32 / int(size);
        return times > spectra ? times / spectra : 1;
    }
    pfb::source sources[few];
    void* spectra_ports[few];
    const pfb::source* many_sources; //!< on the GPU; nullptr: the few above
    void* const* many_spectra;
    input_rows rows; //!< shifted rows that are read if there are any

    void* scratch; //!< for results that wait for those of later rounds

    const phase_slope* slopes; //!< [input]; nullptr: no delays
    const int64_t* shifts;
    double number; //!< number of the first spectrum, since the delays were set

    int inputs_per_port;
    int points; //!< points of a thread, as it knows; see amplify()
    int rounds; //!< rounds of groups of spectra that are stored together
    bool inverted, eight_bit;
    bool in_a_row; //!< groups of spectra, for each thread block

    __host__ __device__ const pfb::source& source_of(int port) const
    {
        return many_sources ? many_sources[port] : sources[port];
    }
    __host__ __device__ void* spectra_of(int port) const
    {
        return many_sources ? many_spectra[port] : spectra_ports[port];
    }
};

//! A fused kernel for one number of channels and one type of samples.
struct fused_kernel {
    sample_type input;
    int channels;
    void (*functions[2])(fused_call); //!< [store]
    int threads, blocks;              //!< numbers for a multiprocessor
    int spectra;                      //!< spectra that a thread block makes at a time
    int shared_bytes;
    int radices[3];
};

//! Returns the entry of the table of kernels for these parameters on this GPU, or nullptr
//! if there is none.
const fused_kernel* find_fused_kernel(const pfb::parameters& p, int device);

/*!
 * A filter bank in one kernel: filter, transform, gains, conversion and, if wanted,
 * corner turn in one pass over the memory of the GPU.
 */
class fused_filter
{
public:
    fused_filter(const pfb::parameters& p,
                 const fused_kernel& kernel,
                 store stored,
                 int device);

    std::string name() const;
    void set_gains(const cfloat* gains, cudaStream_t s);
    void set_delays(const delay* delays, cudaStream_t s);

    //! The place of spectra: those of each port by themselves, or a frame, as was
    //! said when the filter bank was made.
    struct target {
        void* const* spectra;
        void* frame;
        int first_time, times, first_channel, selected;

        //! Returns where the spectra behind the first `spectra` ones are stored: in a
        //! later frame, perhaps.
        target later(size_t spectra, const pfb::parameters& p) const
        {
            target t(*this);
            const size_t first = first_time + spectra;
            const size_t row = size_of(p.output) * p.inputs() * size_t(times);
            t.frame = static_cast<char*>(frame) + first / times * selected * row;
            t.first_time = int(first % times);
            return t;
        }
        //! Calls put(target, part) for the parts of `count` spectra that lie in each
        //! frame, one after the other; up to so many whole frames are one part.
        template <class Put>
        void
        each_part(size_t count, const pfb::parameters& p, int most_frames, Put put) const
        {
            each_part_of_frames(
                first_time, count, times, most_frames, [&](const part_of_frames& part) {
                    put(later(part.done, p), part);
                });
        }
    };
    //! Makes `count` spectra of each input.
    //! \param rows samples of all inputs of ports that are not lost, already shifted, in
    //! place of what `sources` point to
    void execute(const pfb::source* sources,
                 const target& to,
                 size_t count,
                 cudaStream_t s,
                 const input_rows& rows = {});

    pfb::counts clamped() const;

private:
    const pfb::parameters d_p;
    const fused_kernel d_kernel;
    const int d_device;
    void (*const d_function)(fused_call);
    const int d_rounds; // rounds of groups of spectra that are stored together
    int d_most_blocks = 0;
    device_array<char> d_scratch; // results that wait; they stay in the cache
    device_array<float> d_prototype;
    device_array<float2> d_twiddles;
    std::unique_ptr<uploaded_array<pfb::source>> d_sources; // sources of many ports
    std::unique_ptr<uploaded_array<void*>> d_spectra;
    uploaded_array<float2> d_gains;
    std::vector<float2> d_ordered_gains;
    uploaded_array<phase_slope> d_slopes;
    uploaded_array<int64_t> d_shifts;
    bool d_delayed = false;
    double d_number = 0; // number of spectra since the delays were set
    counters d_counts;   // [clamped output, lowest numbers][input]
};

//! Uploads the delays of all inputs as kernels have them: slopes and shifts [input].
void upload_delays(const delay* delays,
                   const pfb::parameters& p,
                   uploaded_array<phase_slope>& slopes,
                   uploaded_array<int64_t>& shifts,
                   cudaStream_t s);

//! Sets the arguments that follow from parameters, target and number of spectra.
void tell(filter_call& call,
          const pfb::parameters& p,
          const fused_filter::target& to,
          size_t count);

//! Makes a filter bank of a fused kernel; nullptr if there is none for p.
std::unique_ptr<pfb> make_fused_pfb(const pfb::parameters& p, int device);

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_PFB_FUSED_FUSED_H */
