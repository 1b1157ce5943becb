/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "runtime/cuda.h"
#include "runtime/host_wait.h"
#include <cuda.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace gr::aperture::cuda {

namespace {

void check(cudaError_t status, int gpu, const char* what)
{
    if (status == cudaSuccess)
        return;
    cudaGetLastError(); // otherwise a later call, which may be fine, would report it
                        // again
    throw std::runtime_error("cuda:" + std::to_string(gpu) + ": " + what + ": " +
                             cudaGetErrorString(status));
}

//! Returns "13.1" for 13010.
std::string version_name(int version)
{
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/*!
 * Functions of the driver. It exists only where there is a GPU: nothing may link to it.
 */
class driver
{
public:
    static const driver& get()
    {
        static const driver d;
        return d;
    }

    decltype(&cuGetErrorString) get_error_string;
    decltype(&cuMemGetAllocationGranularity) get_allocation_granularity;
    decltype(&cuMemAddressReserve) address_reserve;
    decltype(&cuMemAddressFree) address_free;
    decltype(&cuMemCreate) create;
    decltype(&cuMemRelease) release;
    decltype(&cuMemMap) map;
    decltype(&cuMemUnmap) unmap;
    decltype(&cuMemSetAccess) set_access;

    void check(CUresult status, int gpu, const char* what) const
    {
        if (status == CUDA_SUCCESS)
            return;
        const char* text = nullptr;
        get_error_string(status, &text);
        throw std::runtime_error("cuda:" + std::to_string(gpu) + ": " + what + ": " +
                                 (text ? text : "unknown error"));
    }

private:
    driver()
    {
        find(get_error_string, "cuGetErrorString");
        find(get_allocation_granularity, "cuMemGetAllocationGranularity");
        find(address_reserve, "cuMemAddressReserve");
        find(address_free, "cuMemAddressFree");
        find(create, "cuMemCreate");
        find(release, "cuMemRelease");
        find(map, "cuMemMap");
        find(unmap, "cuMemUnmap");
        find(set_access, "cuMemSetAccess");
    }

    template <class function>
    void find(function& f, const char* name)
    {
        void* found = nullptr;
        cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
        // the version of the last of them, CUDA 10.2
        const auto status = cudaGetDriverEntryPointByVersion(
            name, &found, 10020, cudaEnableDefault, &result);
#else
        const auto status =
            cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
        if (status != cudaSuccess || result != cudaDriverEntryPointSuccess || !found)
            throw std::runtime_error(std::string("the NVIDIA driver has no ") + name);
        f = reinterpret_cast<function>(found);
    }
};

//! Makes a GPU the calling thread's own for as long as this lives.
class on_gpu
{
public:
    explicit on_gpu(int gpu)
    {
        check(cudaGetDevice(&d_before), gpu, "cudaGetDevice");
        if (d_before != gpu)
            check(cudaSetDevice(gpu), gpu, "cudaSetDevice");
        d_changed = d_before != gpu;
    }
    ~on_gpu()
    {
        if (d_changed)
            cudaSetDevice(d_before);
    }
    on_gpu(const on_gpu&) = delete;
    on_gpu& operator=(const on_gpu&) = delete;

private:
    int d_before = 0;
    bool d_changed = false;
};

/*!
 * State that a stream and its events share; events may outlive their stream. Events have
 * numbers in the order of the stream: if one is done, those before it are, too. So most
 * queries need no driver, whose lock the threads of all blocks compete for.
 */
class order
{
public:
    explicit order(int gpu) : gpu(gpu) {}
    ~order()
    {
        for (const cudaEvent_t e : d_spare)
            cudaEventDestroy(e);
    }
    order(const order&) = delete;
    order& operator=(const order&) = delete;

    cudaEvent_t take()
    {
        {
            std::lock_guard<std::mutex> guard(d_mutex);
            if (!d_spare.empty()) {
                const cudaEvent_t e = d_spare.back();
                d_spare.pop_back();
                return e;
            }
        }
        const on_gpu here(gpu);
        cudaEvent_t e = nullptr;
        check(
            cudaEventCreateWithFlags(&e, cudaEventDisableTiming | cudaEventBlockingSync),
            gpu,
            "cudaEventCreate");
        return e;
    }

    //! A stream that was made to wait for the event does so whatever becomes of it.
    void give_back(cudaEvent_t e)
    {
        std::lock_guard<std::mutex> guard(d_mutex);
        d_spare.push_back(e);
    }

    bool is_done(uint64_t number) const { return number <= d_done; }
    void set_done(uint64_t number)
    {
        uint64_t before = d_done;
        while (before < number && !d_done.compare_exchange_weak(before, number)) {
        }
    }

    const int gpu;

private:
    std::atomic<uint64_t> d_done{ 0 }; // the last event that is known to be done
    std::mutex d_mutex;
    std::vector<cudaEvent_t> d_spare;
};

class event : public aperture::event
{
public:
    event(const std::shared_ptr<order>& o, uint64_t number, cudaStream_t s)
        : d_order(o), d_number(number), d_event(o->take())
    {
        const on_gpu here(o->gpu);
        const auto status = cudaEventRecord(d_event, s);
        if (status != cudaSuccess) {
            o->give_back(d_event);
            check(status, o->gpu, "cudaEventRecord");
        }
    }
    ~event() override { d_order->give_back(d_event); }
    event(const event&) = delete;
    event& operator=(const event&) = delete;

    bool known_to_be_done() const { return d_order->is_done(d_number); }

    bool done() const override
    {
        if (known_to_be_done())
            return true;
        const auto status = cudaEventQuery(d_event);
        if (status == cudaErrorNotReady) {
            cudaGetLastError();
            return false;
        }
        check(status, d_order->gpu, "work of a stream");
        d_order->set_done(d_number);
        return true;
    }

    void synchronize() const override
    {
        working_thread::waits();
        // Waking up takes as long as a call of some MiB: shorter waits stay awake, longer
        // ones leave their core to others.
        using clock = std::chrono::steady_clock;
        const auto nap = clock::now() + std::chrono::microseconds(200);
        while (clock::now() < nap) {
            if (done())
                return;
            std::this_thread::yield();
        }
        check(cudaEventSynchronize(d_event), d_order->gpu, "work of a stream");
        d_order->set_done(d_number);
    }

    const std::shared_ptr<order>& place() const { return d_order; }
    uint64_t number() const { return d_number; }
    cudaEvent_t native() const { return d_event; }

private:
    const std::shared_ptr<order> d_order;
    const uint64_t d_number;
    const cudaEvent_t d_event;
};

class stream : public aperture::stream
{
public:
    explicit stream(int gpu) : d_order(std::make_shared<order>(gpu))
    {
        const on_gpu here(gpu);
        // not in order with the default stream, which other kernels may use
        check(cudaStreamCreateWithFlags(&d_stream, cudaStreamNonBlocking),
              gpu,
              "cudaStreamCreate");
    }
    ~stream() override
    {
        // memory that the work uses may be freed with the owner
        cudaStreamSynchronize(d_stream);
        cudaStreamDestroy(d_stream);
    }

    void synchronize() override
    {
        working_thread::waits();
        check(cudaStreamSynchronize(d_stream), d_order->gpu, "work of a stream");
        d_order->set_done(d_recorded);
    }

    event_sptr record() override
    {
        if (!d_last || d_new_work) {
            d_last = std::make_shared<event>(d_order, ++d_recorded, d_stream);
            d_new_work = false;
        }
        return d_last;
    }

    void wait(const event_sptr& e) override
    {
        if (!e)
            return;
        const auto& other = dynamic_cast<const event&>(*e);
        if (other.place() == d_order || other.known_to_be_done())
            return;
        uint64_t& waited = d_waited[other.place()];
        if (other.number() <= waited)
            return;
        const on_gpu here(d_order->gpu);
        check(cudaStreamWaitEvent(d_stream, other.native(), 0),
              d_order->gpu,
              "cudaStreamWaitEvent");
        waited = other.number();
        d_new_work = true;
        forget_streams_that_are_gone();
    }

    void copy(void* to, const void* from, size_t bytes, direction d) override
    {
        const auto kind = d == direction::host_to_device   ? cudaMemcpyHostToDevice
                          : d == direction::device_to_host ? cudaMemcpyDeviceToHost
                                                           : cudaMemcpyDeviceToDevice;
        const on_gpu here(d_order->gpu);
        check(cudaMemcpyAsync(to, from, bytes, kind, d_stream), d_order->gpu, "a copy");
        d_new_work = true;
    }

    void clear(void* memory, size_t bytes) override
    {
        const on_gpu here(d_order->gpu);
        check(
            cudaMemsetAsync(memory, 0, bytes, d_stream), d_order->gpu, "clearing memory");
        d_new_work = true;
    }

    void follow_native(void* other) override
    {
        order_streams(static_cast<cudaStream_t>(other), d_stream);
        d_new_work = true;
    }

    void lead_native(void* other) override
    {
        order_streams(d_stream, static_cast<cudaStream_t>(other));
    }

    void* native_handle() override
    {
        d_new_work = true;
        return d_stream;
    }

private:
    //! Makes later work of the second stream begin after the first one's so far.
    void order_streams(cudaStream_t first, cudaStream_t second)
    {
        const on_gpu here(d_order->gpu);
        const cudaEvent_t e = d_order->take();
        auto status = cudaEventRecord(e, first);
        if (status == cudaSuccess)
            status = cudaStreamWaitEvent(second, e, 0);
        d_order->give_back(e);
        check(status, d_order->gpu, "the order of two streams");
    }

    void forget_streams_that_are_gone()
    {
        constexpr size_t many = 16; // more than most blocks have neighbours
        for (auto i = d_waited.begin(); d_waited.size() > many && i != d_waited.end();)
            i = i->first.use_count() == 1 ? d_waited.erase(i) : std::next(i);
    }

    const std::shared_ptr<order> d_order;
    cudaStream_t d_stream = nullptr;
    uint64_t d_recorded = 0; // number of the last event
    std::shared_ptr<const event> d_last;
    bool d_new_work = false; // since that event
    //! The last event of each stream that this one waits for.
    std::map<std::shared_ptr<order>, uint64_t> d_waited;
};

class cuda_backend : public backend
{
public:
    explicit cuda_backend(int gpu) : d_gpu(gpu), d_granularity(0), d_default_ring(0)
    {
        const on_gpu here(gpu);
        check(cudaFree(nullptr), gpu, "the first use of the GPU");
        const auto p = properties();
        const auto& d = driver::get();
        d.check(d.get_allocation_granularity(
                    &d_granularity, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                gpu,
                "cuMemGetAllocationGranularity");
        size_t free = 0, total = 0;
        check(cudaMemGetInfo(&free, &total), gpu, "cudaMemGetInfo");
        constexpr size_t mebi = 1 << 20;
        d_default_ring = total < (size_t(64) << 30) ? 8 * mebi : 32 * mebi;
    }

    std::string description() const override
    {
        cudaDeviceProp properties;
        check(cudaGetDeviceProperties(&properties, d_gpu), d_gpu, "its properties");
        return properties.name;
    }

    std::unique_ptr<aperture::stream> make_stream() const override
    {
        return std::make_unique<stream>(d_gpu);
    }

    size_t granularity() const override { return d_granularity; }

    // A quarter of it is a good call: launches and copies of less than some MiB do not
    // fill a large GPU, and hundreds of ports must fit into the memory of a small one.
    size_t default_ring() const override { return d_default_ring; }

    void make_current() const override
    {
        check(cudaSetDevice(d_gpu), d_gpu, "cudaSetDevice");
    }

    memory allocate(size_t bytes) const override
    {
        const on_gpu here(d_gpu);
        void* p = nullptr;
        const auto status = cudaMalloc(&p, bytes);
        if (status == cudaErrorMemoryAllocation)
            refuse(bytes);
        check(status, d_gpu, "cudaMalloc");
        return memory(static_cast<char*>(p), [](char* m) { cudaFree(m); });
    }

    memory allocate_twice_mapped(size_t bytes) const override
    {
        const on_gpu here(d_gpu);
        const auto& d = driver::get();
        CUdeviceptr address = 0;
        d.check(d.address_reserve(&address, 2 * bytes, 0, 0, 0),
                d_gpu,
                "cuMemAddressReserve");
        auto release = [bytes, gpu = d_gpu](char* p, size_t mapped) {
            const auto& driver = driver::get();
            const auto at = reinterpret_cast<CUdeviceptr>(p);
            for (size_t done = 0; done < mapped; done += bytes)
                driver.unmap(at + done, bytes);
            driver.address_free(at, 2 * bytes);
        };
        size_t mapped = 0;
        auto* const start = reinterpret_cast<char*>(address);
        try {
            const auto p = properties();
            CUmemGenericAllocationHandle handle;
            const auto status = d.create(&handle, bytes, &p, 0);
            if (status == CUDA_ERROR_OUT_OF_MEMORY)
                refuse(bytes);
            d.check(status, d_gpu, "cuMemCreate");
            CUresult result = CUDA_SUCCESS;
            for (; result == CUDA_SUCCESS && mapped < 2 * bytes;)
                if ((result = d.map(address + mapped, bytes, 0, handle, 0)) ==
                    CUDA_SUCCESS)
                    mapped += bytes;
            d.release(handle); // the mappings keep the memory
            d.check(result, d_gpu, "cuMemMap");
            CUmemAccessDesc access = {};
            access.location = p.location;
            access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
            d.check(
                d.set_access(address, 2 * bytes, &access, 1), d_gpu, "cuMemSetAccess");
        } catch (...) {
            release(start, mapped);
            throw;
        }
        return memory(start, [release, bytes](char* m) { release(m, 2 * bytes); });
    }

    bool
    share(char* memory, size_t bytes, bool mapped, const backend& other) const override
    {
        const int reader = dynamic_cast<const cuda_backend&>(other).d_gpu;
        int reaches = 0;
        check(cudaDeviceCanAccessPeer(&reaches, reader, d_gpu),
              reader,
              "cudaDeviceCanAccessPeer");
        if (!reaches)
            return false;
        if (mapped) {
            CUmemAccessDesc access = {};
            access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
            access.location.id = reader;
            access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
            const auto& d = driver::get();
            d.check(
                d.set_access(reinterpret_cast<CUdeviceptr>(memory), bytes, &access, 1),
                reader,
                "cuMemSetAccess");
            return true;
        }
        // CUDA, and its tools, report an error where this is asked for a second time
        static std::mutex mutex;
        static std::set<std::pair<int, int>> enabled;
        const std::lock_guard<std::mutex> lock(mutex);
        if (enabled.count({ reader, d_gpu }))
            return true;
        const on_gpu there(reader);
        const auto status = cudaDeviceEnablePeerAccess(d_gpu, 0);
        if (status == cudaErrorPeerAccessAlreadyEnabled)
            cudaGetLastError();
        else
            check(status, reader, "cudaDeviceEnablePeerAccess");
        enabled.emplace(reader, d_gpu);
        return true;
    }

    std::shared_ptr<void> pin(void* host_memory, size_t bytes) const override
    {
        const on_gpu here(d_gpu);
        check(cudaHostRegister(host_memory, bytes, cudaHostRegisterPortable),
              d_gpu,
              ("pinning " + std::to_string(bytes) + " bytes of host memory").c_str());
        return { host_memory, [](void* m) { cudaHostUnregister(m); } };
    }

private:
    CUmemAllocationProp properties() const
    {
        CUmemAllocationProp p = {};
        p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        p.location.id = d_gpu;
        return p;
    }

    [[noreturn]] void refuse(size_t bytes) const
    {
        cudaGetLastError();
        size_t free = 0, total = 0;
        cudaMemGetInfo(&free, &total);
        throw std::runtime_error(
            "cuda:" + std::to_string(d_gpu) + ": " + std::to_string(bytes) +
            " bytes of GPU memory were asked for, " + std::to_string(free) + " of " +
            std::to_string(total) + " are free");
    }

    const int d_gpu;
    size_t d_granularity, d_default_ring;
};

gpus look_for_gpus()
{
    int version = 0, count = 0;
    cudaDriverGetVersion(&version); // 0 without a driver
    const auto status = cudaGetDeviceCount(&count);
    cudaGetLastError();
    if (version == 0)
        return { 0, "no NVIDIA driver is installed" };
    if (status == cudaErrorInsufficientDriver)
        return { 0,
                 "the NVIDIA driver is for CUDA " + version_name(version) +
                     " and older, this build needs one for CUDA " +
                     version_name(CUDART_VERSION) };
    if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0))
        return { 0, "the NVIDIA driver sees no GPU" };
    if (status != cudaSuccess)
        return { 0, std::string("CUDA: ") + cudaGetErrorString(status) };
    return { count, "" };
}

std::shared_ptr<const backend> make_backend(int index)
{
    return std::make_shared<cuda_backend>(index);
}

} // namespace
} // namespace gr::aperture::cuda

//! The one function that this library exports.
extern "C" __attribute__((visibility("default"))) const void*
gnuradio_aperture_device_cuda()
{
    namespace cuda = gr::aperture::cuda;
    static const cuda::gpu_runtime all{ APERTURE_DEVICE_CUDA_VERSION,
                                        cuda::look_for_gpus,
                                        cuda::make_backend };
    return &all;
}
