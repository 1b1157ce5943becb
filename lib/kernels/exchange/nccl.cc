/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/exchange/nccl.h"
#include <dlfcn.h>
#include <stdexcept>
#if __has_include(<nccl.h>)
#include <nccl.h>
#define APERTURE_HAS_NCCL
#endif

namespace gr::aperture::kernels::cuda {

#ifdef APERTURE_HAS_NCCL

namespace {

//! The functions of the library.
class library
{
public:
    static const library& get()
    {
        static const library l;
        return l;
    }

    std::string problem;
    decltype(&ncclGetVersion) get_version = nullptr;
    decltype(&ncclGetErrorString) get_error_string = nullptr;
    decltype(&ncclCommInitAll) init_all = nullptr;
    decltype(&ncclCommAbort) abort = nullptr;
    decltype(&ncclCommDestroy) destroy = nullptr;
    decltype(&ncclCommGetAsyncError) get_async_error = nullptr;
    decltype(&ncclGroupStart) group_start = nullptr;
    decltype(&ncclGroupEnd) group_end = nullptr;
    decltype(&ncclSend) send = nullptr;
    decltype(&ncclRecv) receive = nullptr;

    void check(ncclResult_t result, const char* what) const
    {
        // an operation that a nonblocking communicator has not finished is no error
        if (result != ncclSuccess && result != ncclInProgress)
            throw std::runtime_error(std::string("NCCL: ") + what + ": " +
                                     get_error_string(result));
    }

private:
    library()
    {
        void* const handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            problem = std::string("NCCL cannot be loaded: ") + dlerror();
            return;
        }
        find(handle, get_version, "ncclGetVersion");
        find(handle, get_error_string, "ncclGetErrorString");
        find(handle, init_all, "ncclCommInitAll");
        find(handle, abort, "ncclCommAbort");
        find(handle, destroy, "ncclCommDestroy");
        find(handle, get_async_error, "ncclCommGetAsyncError");
        find(handle, group_start, "ncclGroupStart");
        find(handle, group_end, "ncclGroupEnd");
        find(handle, send, "ncclSend");
        find(handle, receive, "ncclRecv");
    }

    template <class function>
    void find(void* handle, function& f, const char* name)
    {
        f = reinterpret_cast<function>(dlsym(handle, name));
        if (!f)
            problem = std::string("libnccl.so.2 has no ") + name +
                      ": version 2.7 or later is needed";
    }
};

class communicators : public nccl
{
public:
    explicit communicators(const std::vector<int>& gpus) : d_comms(gpus.size())
    {
        int before = 0;
        cudaGetDevice(&before);
        const auto made = d_nccl.init_all(d_comms.data(), int(gpus.size()), gpus.data());
        cudaSetDevice(before);
        d_nccl.check(made, "making communicators");
    }

    ~communicators() override
    {
        for (const ncclComm_t c : d_comms)
            d_failed ? d_nccl.abort(c) : d_nccl.destroy(c);
    }

    std::string version() const override
    {
        int v = 0;
        d_nccl.get_version(&v);
        return std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." +
               std::to_string(v % 100);
    }

    void begin() override
    {
        for (const ncclComm_t c : d_comms) {
            ncclResult_t met = ncclSuccess;
            check(d_nccl.get_async_error(c, &met), "asking for errors");
            check(met, "an earlier exchange");
        }
        check(d_nccl.group_start(), "beginning a group");
    }

    void end() override { check(d_nccl.group_end(), "sending and receiving"); }

    void send(const void* from, size_t bytes, int self, int to, cudaStream_t s) override
    {
        check(d_nccl.send(from, bytes, ncclInt8, to, d_comms[self], s), "sending");
    }

    void receive(void* to, size_t bytes, int self, int from, cudaStream_t s) override
    {
        check(d_nccl.receive(to, bytes, ncclInt8, from, d_comms[self], s), "receiving");
    }

private:
    void check(ncclResult_t result, const char* what)
    {
        d_failed = d_failed || (result != ncclSuccess && result != ncclInProgress);
        d_nccl.check(result, what);
    }

    const library& d_nccl = library::get();
    std::vector<ncclComm_t> d_comms;
    bool d_failed = false;
};

} // namespace

std::string nccl::problem() { return library::get().problem; }

std::unique_ptr<nccl> nccl::make(const std::vector<int>& gpus)
{
    if (!problem().empty())
        throw std::runtime_error(problem());
    return std::make_unique<communicators>(gpus);
}

#else

std::string nccl::problem() { return "this build has no NCCL: nccl.h was not there"; }

std::unique_ptr<nccl> nccl::make(const std::vector<int>&)
{
    throw std::runtime_error(problem());
}

#endif

} // namespace gr::aperture::kernels::cuda
