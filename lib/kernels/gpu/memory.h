/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_GPU_MEMORY_H
#define INCLUDED_APERTURE_KERNELS_GPU_MEMORY_H

#include "runtime/host_wait.h"
#include <gnuradio/aperture/device/device.h>
#include <condition_variable>
#include <cuda_runtime.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace gr::aperture::kernels::cuda {

//! \throws std::runtime_error saying what was tried and what CUDA's error is
inline void check(cudaError_t status, const char* what)
{
    if (status != cudaSuccess) {
        cudaGetLastError(); // otherwise the next call, which may be fine, would report it
                            // again
        throw std::runtime_error(std::string("CUDA: ") + what + ": " +
                                 cudaGetErrorString(status));
    }
}

//! Throws if the last launch of a kernel failed.
inline void check_launch(const char* kernel) { check(cudaGetLastError(), kernel); }

/*!
 * Loads a kernel; for constructors of classes that launch it. CUDA would load it at its
 * first launch, which may wait for the GPU, and nothing may wait in work().
 */
template <class... A>
void load(void (*kernel)(A...))
{
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, kernel), "loading a kernel");
}

/*!
 * Loads a kernel that is launched with up to `shared` bytes of dynamic shared memory.
 * This limit belongs to the kernel and not to its user: it is never made lower, because
 * others may launch the kernel with more.
 */
template <class... A>
void load(void (*kernel)(A...), int shared)
{
    static std::mutex mutex;
    const std::lock_guard<std::mutex> guard(mutex);
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, kernel), "loading a kernel");
    if (shared > attributes.maxDynamicSharedSizeBytes)
        check(cudaFuncSetAttribute(
                  kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
              "asking for shared memory");
}

inline cudaStream_t native(stream& s)
{
    return static_cast<cudaStream_t>(s.native_handle());
}

//! Makes a GPU the current one of the calling thread for as long as this lives.
class device_guard
{
public:
    explicit device_guard(int index)
    {
        check(cudaGetDevice(&d_before), "asking for the current GPU");
        if (index != d_before)
            check(cudaSetDevice(index), "choosing a GPU");
    }
    ~device_guard() { cudaSetDevice(d_before); }
    device_guard(const device_guard&) = delete;
    device_guard& operator=(const device_guard&) = delete;

private:
    int d_before;
};

//! An array of elements in the memory of the GPU that is current when it is made.
template <class T>
class device_array
{
public:
    device_array() = default;
    explicit device_array(size_t count) : d_count(count)
    {
        void* memory = nullptr;
        const size_t asked = std::max<size_t>(bytes(), 1);
        const auto status = cudaMalloc(&memory, asked);
        if (status == cudaErrorMemoryAllocation) {
            cudaGetLastError();
            size_t free = 0, total = 0;
            cudaMemGetInfo(&free, &total);
            throw std::runtime_error("CUDA: " + std::to_string(asked) +
                                     " bytes of GPU memory were asked for, " +
                                     std::to_string(free) + " of " +
                                     std::to_string(total) + " are free");
        }
        check(status, "allocating GPU memory");
        d_memory.reset(static_cast<T*>(memory));
    }

    T* data() const { return d_memory.get(); }
    size_t size() const { return d_count; }
    size_t bytes() const { return d_count * sizeof(T); }

private:
    struct deleter {
        void operator()(T* memory) const { cudaFree(memory); }
    };
    size_t d_count = 0;
    std::unique_ptr<T, deleter> d_memory;
};

/*!
 * Sets memory on the GPU before any stream works on it; for constructors. The streams of
 * GNU Radio blocks do not wait for the default stream, and cudaMemset() as well as a copy
 * from memory that is not pinned may return before it is done: later writes of a block
 * could be overwritten. Therefore these functions wait.
 */
template <class T>
void start_with(T* to, const std::vector<T>& values)
{
    check(
        cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
        "copying first values to the GPU");
    check(cudaStreamSynchronize(nullptr), "copying first values to the GPU");
}
template <class T>
void start_with_zeros(T* to, size_t count)
{
    check(cudaMemset(to, 0, count * sizeof(T)), "clearing GPU memory");
    check(cudaStreamSynchronize(nullptr), "clearing GPU memory");
}

//! An array in pinned host memory, which the GPU copies while the host goes on.
template <class T>
class pinned_array
{
public:
    explicit pinned_array(size_t count) : d_count(count)
    {
        void* memory = nullptr;
        check(cudaMallocHost(&memory, std::max<size_t>(count * sizeof(T), 1)),
              "allocating pinned host memory");
        std::memset(memory, 0, count * sizeof(T));
        d_memory.reset(static_cast<T*>(memory));
    }
    T* data() const { return d_memory.get(); }
    size_t size() const { return d_count; }

private:
    struct deleter {
        void operator()(T* memory) const { cudaFreeHost(memory); }
    };
    size_t d_count;
    std::unique_ptr<T, deleter> d_memory;
};

class event
{
public:
    event()
    {
        cudaEvent_t made;
        check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "making an event");
        d_event.reset(made);
    }
    void record(cudaStream_t s) { check(cudaEventRecord(d_event.get(), s), "an event"); }
    bool done() const
    {
        const auto status = cudaEventQuery(d_event.get());
        if (status != cudaErrorNotReady)
            check(status, "an event");
        else
            cudaGetLastError();
        return status == cudaSuccess;
    }
    cudaEvent_t get() const { return d_event.get(); }
    //! Waits for the event. A GNU Radio block may do so in work() only for its own
    //! kernels of some calls ago, so that it is never far ahead of the GPU.
    void wait() const
    {
        const working_thread::allowed_wait meant;
        if (!done())
            check(cudaEventSynchronize(d_event.get()), "an event");
    }

private:
    struct deleter {
        void operator()(cudaEvent_t made) const { cudaEventDestroy(made); }
    };
    std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, deleter> d_event;
};

//! A stream that does not wait for the default one.
class own_stream
{
public:
    own_stream()
    {
        cudaStream_t made;
        check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "making a stream");
        d_stream.reset(made);
    }
    ~own_stream()
    {
        if (d_stream)
            cudaStreamSynchronize(d_stream.get());
    }
    cudaStream_t get() const { return d_stream.get(); }

private:
    struct deleter {
        void operator()(cudaStream_t made) const { cudaStreamDestroy(made); }
    };
    std::unique_ptr<std::remove_pointer_t<cudaStream_t>, deleter> d_stream;
};

/*!
 * An array on the GPU that the host sets now and then. Neither waits for the other: the
 * host's elements are kept in pinned memory until the stream has copied them. All memory
 * is allocated at the start: allocating pinned memory later would wait for the GPU. Only
 * a caller that sets the array more often than there are `slots` while none was copied
 * waits for the oldest.
 */
template <class T>
class uploaded_array
{
public:
    explicit uploaded_array(size_t count, int slots = 8) : d_values(count)
    {
        for (int i = 0; i < slots; i++)
            d_slots.emplace_back(count);
    }

    T* data() const { return d_values.data(); }

    //! Sets all elements, for kernels that are launched in the stream from now on.
    void set(const T* values, cudaStream_t s) { set(values, d_values.size(), s); }

    //! Sets the first `count` elements, for later kernels of the stream.
    void set(const T* values, size_t count, cudaStream_t s)
    {
        auto& slot = d_slots[d_next]; // the one that has waited longest
        d_next = (d_next + 1) % d_slots.size();
        slot.copied.wait();
        std::memcpy(slot.values.data(), values, count * sizeof(T));
        check(cudaMemcpyAsync(d_values.data(),
                              slot.values.data(),
                              count * sizeof(T),
                              cudaMemcpyHostToDevice,
                              s),
              "copying parameters to the GPU");
        slot.copied.record(s);
    }

private:
    struct slot {
        explicit slot(size_t count) : values(count) {}
        pinned_array<T> values;
        event copied;
    };
    device_array<T> d_values;
    std::deque<slot> d_slots;
    size_t d_next = 0;
};

/*!
 * A large array on the GPU that is exchanged as a whole, while kernels run. One thread
 * fills a copy with new values; another, that of the kernels' stream, makes it the one
 * that kernels read, which takes no time. The array is on the GPU three times: the one in
 * use, the one that waits to be used, and the one that is being filled.
 */
template <class T>
class exchanged_array
{
    struct copy {
        explicit copy(size_t count) : values(count) {}
        device_array<T> values;
        event written; // on the stream of copies
        event left;    // on the kernels' stream, behind the last that reads it
    };

public:
    class filled
    {
    public:
        filled(exchanged_array& owner, copy& c) : d_owner(owner), d_copy(c) {}
        ~filled()
        {
            const std::lock_guard<std::mutex> guard(d_owner.d_mutex);
            d_owner.d_free.push_back(&d_copy);
            d_owner.d_returned.notify_one();
        }
        filled(const filled&) = delete;
        filled& operator=(const filled&) = delete;

    private:
        friend exchanged_array;
        exchanged_array& d_owner;
        copy& d_copy;
    };

    //! Makes the array; it has zeros at first.
    explicit exchanged_array(size_t count)
        : d_count(count), d_part(std::min(count, most_staged / sizeof(T)))
    {
        for (int i = 0; i < 3; i++)
            d_free.push_back(&d_copies.emplace_back(count));
        for (int i = 0; i < 2; i++)
            d_stages.emplace_back(d_part);
        d_used = take_free();
        start_with_zeros(d_used->d_copy.values.data(), count);
    }

    //! Returns the elements that kernels read which are launched now.
    const T* data() const { return d_used->d_copy.values.data(); }

    /*!
     * Copies values to the GPU. For one thread at a time, not for those of work(): it
     * waits for copies, and while all three are held.
     */
    std::shared_ptr<const filled> fill(const T* values)
    {
        auto next = take_free();
        const copy& to = next->d_copy;
        check(cudaStreamWaitEvent(d_stream.get(), to.left.get(), 0),
              "waiting for kernels");
        for (size_t first = 0; first < d_count; first += d_part) {
            const size_t count = std::min(d_part, d_count - first);
            stage& by = d_stages[d_next_stage];
            d_next_stage = (d_next_stage + 1) % d_stages.size();
            by.copied.wait();
            std::memcpy(by.values.data(), values + first, count * sizeof(T));
            check(cudaMemcpyAsync(to.values.data() + first,
                                  by.values.data(),
                                  count * sizeof(T),
                                  cudaMemcpyHostToDevice,
                                  d_stream.get()),
                  "copying parameters to the GPU");
            by.copied.record(d_stream.get());
        }
        next->d_copy.written.record(d_stream.get());
        return next;
    }

    //! Makes filled elements those that later kernels of the stream read.
    void use(std::shared_ptr<const filled> next, cudaStream_t s)
    {
        check(cudaStreamWaitEvent(s, next->d_copy.written.get(), 0),
              "waiting for copies");
        d_used->d_copy.left.record(s);
        d_used = std::move(next);
    }

private:
    static constexpr size_t most_staged = 4 << 20; // bytes

    struct stage {
        explicit stage(size_t count) : values(count) {}
        pinned_array<T> values;
        event copied;
    };

    std::shared_ptr<const filled> take_free()
    {
        std::unique_lock<std::mutex> lock(d_mutex);
        d_returned.wait(lock, [this] { return !d_free.empty(); });
        copy& taken = *d_free.back();
        d_free.pop_back();
        return std::make_shared<const filled>(*this, taken);
    }

    const size_t d_count, d_part; // elements of all, and of a stage
    std::deque<copy> d_copies;
    std::deque<stage> d_stages;
    size_t d_next_stage = 0;
    own_stream d_stream;
    std::mutex d_mutex; // guards the members below
    std::condition_variable d_returned;
    std::vector<copy*> d_free;
    std::shared_ptr<const filled> d_used; // is destroyed first
};

/*!
 * Counters that kernels add to. The host reads them at any time: the copy is made when it
 * is asked for, beside the kernels. A copy after each call would take longer than
 * starting a kernel.
 */
class counters
{
public:
    explicit counters(size_t count) : d_counts(count)
    {
        check(cudaGetDevice(&d_device), "asking for the current GPU");
        start_with_zeros(d_counts.data(), count);
    }

    unsigned long long* data() const { return d_counts.data(); }

    //! Returns the counts. It waits for a copy from the GPU: not for work().
    std::vector<uint64_t> read() const
    {
        const device_guard guard(d_device);
        std::vector<uint64_t> counts(d_counts.size());
        check(cudaMemcpyAsync(counts.data(),
                              d_counts.data(),
                              d_counts.bytes(),
                              cudaMemcpyDeviceToHost,
                              cudaStreamPerThread),
              "copying counters from the GPU");
        check(cudaStreamSynchronize(cudaStreamPerThread),
              "copying counters from the GPU");
        return counts;
    }

private:
    int d_device = 0;
    device_array<unsigned long long> d_counts;
};

//! Returns how many thread blocks of `threads` threads cover `count` elements.
inline unsigned blocks_for(int64_t count, int threads)
{
    return unsigned((count + threads - 1) / threads);
}

} // namespace gr::aperture::kernels::cuda

#endif /* INCLUDED_APERTURE_KERNELS_GPU_MEMORY_H */
