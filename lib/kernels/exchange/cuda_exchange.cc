/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/exchange/copying_exchange.h"
#include "kernels/exchange/exchange.h"
#include "kernels/exchange/nccl.h"
#include "kernels/gpu/memory.h"
#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace gr::aperture::kernels::cuda {

namespace {

//! Returns two GPUs of which the second one cannot access the memory of the first;
//! nothing if all can access that of all.
std::string unreachable(const std::vector<int>& gpus)
{
    for (const int a : gpus)
        for (const int b : gpus) {
            int reaches = 1;
            if (a != b)
                check(cudaDeviceCanAccessPeer(&reaches, b, a),
                      "asking whether GPUs reach each other");
            if (!reaches)
                return "cuda:" + std::to_string(a) + " and cuda:" + std::to_string(b) +
                       " do not reach each other's memory";
        }
    return "";
}

void enable_access(const std::vector<int>& gpus)
{
    // CUDA, and its tools, report an error where this is asked for a second time
    static std::mutex mutex;
    static std::set<std::pair<int, int>> enabled;
    const std::lock_guard<std::mutex> lock(mutex);
    for (const int a : gpus)
        for (const int b : gpus) {
            if (a == b || enabled.count({ a, b }))
                continue;
            const device_guard guard(b);
            const auto status = cudaDeviceEnablePeerAccess(a, 0);
            if (status == cudaErrorPeerAccessAlreadyEnabled)
                cudaGetLastError();
            else
                check(status, "enabling access between GPUs");
            enabled.emplace(a, b);
        }
}

//! Describes rows of a piece, and frames of them, for cudaMemcpy3D.
cudaPitchedPtr pitched(const void* memory, size_t row, size_t frame)
{
    return make_cudaPitchedPtr(const_cast<void*>(memory), row, row, frame / row);
}

template <class piece>
void copy_rows(const piece& p, int from, int to, cudaStream_t s)
{
    const device_guard guard(to);
    const auto extent = make_cudaExtent(p.bytes, p.rows, p.frames);
    const auto source = pitched(p.from, p.from_row, p.from_frame);
    const auto target = pitched(p.to, p.to_row, p.to_frame);
    if (from == to) {
        cudaMemcpy3DParms c = {};
        c.srcPtr = source;
        c.dstPtr = target;
        c.extent = extent;
        c.kind = cudaMemcpyDeviceToDevice;
        check(cudaMemcpy3DAsync(&c, s), "a copy of an exchange");
    } else {
        cudaMemcpy3DPeerParms c = {};
        c.srcPtr = source;
        c.srcDevice = from;
        c.dstPtr = target;
        c.dstDevice = to;
        c.extent = extent;
        check(cudaMemcpy3DPeerAsync(&c, s), "a copy between GPUs");
    }
}

template <class piece>
void clear_rows(const piece& p, int device, cudaStream_t s)
{
    const device_guard guard(device);
    check(cudaMemset3DAsync(pitched(p.to, p.to_row, p.to_frame),
                            0,
                            make_cudaExtent(p.bytes, p.rows, p.frames),
                            s),
          "clearing missing items of an exchange");
}

/*!
 * An exchange by copies between GPUs. A GPU copies its own items on a separate stream,
 * beside those that it fetches: copies within a GPU take about as long as those between
 * two.
 */
class peer_exchange : public copying_exchange
{
public:
    explicit peer_exchange(const parameters& p) : copying_exchange(p)
    {
        enable_access(p.devices());
        for (const int gpu : p.devices()) {
            const device_guard guard(gpu);
            d_own[gpu]; // makes stream and events on the current GPU
        }
    }
    std::string implementation() const override { return "cuda, copies"; }

private:
    void copy(const piece& p, int from, int to, stream& s) override
    {
        if (from != to)
            return copy_rows(p, from, to, native(s));
        auto& own = d_own[to];
        const device_guard guard(to);
        if (!own.busy) {
            own.ready.record(native(s));
            check(cudaStreamWaitEvent(own.copies.get(), own.ready.get(), 0),
                  "waiting for frames");
            own.busy = true;
        }
        copy_rows(p, from, to, own.copies.get());
    }

    void clear(const piece& p, int device, stream& s) override
    {
        clear_rows(p, device, native(s));
    }

    void finish(int device, stream& s) override
    {
        auto& own = d_own[device];
        if (!std::exchange(own.busy, false))
            return;
        const device_guard guard(device);
        own.done.record(own.copies.get());
        check(cudaStreamWaitEvent(native(s), own.done.get(), 0), "waiting for copies");
    }

    struct within {
        own_stream copies;
        event ready, done;
        bool busy = false; // the stream is used in this call
    };
    std::map<int, within> d_own; // stream and events of each GPU
};

/*!
 * An exchange by NCCL. The items for one port lie in a row in a frame of another one, so
 * that they are sent as they are; they are received into separate memory, from where rows
 * are copied to their places.
 */
class nccl_exchange : public exchange
{
public:
    explicit nccl_exchange(const parameters& p)
        : exchange(p), d_gpus(p.devices()), d_nccl(nccl::make(d_gpus))
    {
        size_t most = 0; // bytes of a frame that a port gets from other GPUs
        for (int output = 0; output < p.outputs_ports(); output++)
            most = std::max(most, remote_bytes(output));
        d_most_frames =
            int(std::clamp<size_t>(enough / std::max<size_t>(1, most), 1, 64));
        for (int output = 0; output < p.outputs_ports(); output++) {
            const device_guard guard(p.output_devices[output]);
            d_received.emplace_back(remote_bytes(output) * d_most_frames);
        }
    }

    std::string implementation() const override
    {
        return "cuda, nccl " + d_nccl->version();
    }

    void execute(const std::vector<const void*>& in,
                 const std::vector<void*>& out,
                 int frames,
                 const std::vector<stream*>& streams) override
    {
        for (int done = 0; done < frames; done += d_most_frames) {
            auto from = in;
            auto to = out;
            for (size_t port = 0; port < in.size(); port++)
                if (from[port])
                    from[port] = static_cast<const char*>(from[port]) +
                                 done * d_p.input_frame(int(port));
            for (size_t port = 0; port < out.size(); port++)
                to[port] =
                    static_cast<char*>(to[port]) + done * d_p.output_frame(int(port));
            exchange_some(from, to, std::min(d_most_frames, frames - done), streams);
        }
    }

private:
    static constexpr size_t enough =
        64 << 20; // bytes received at once that use the link well

    size_t remote_bytes(int output) const
    {
        size_t bytes = 0;
        for (int input = 0; input < d_p.inputs_ports(); input++)
            if (d_p.input_devices[input] != d_p.output_devices[output])
                bytes += size_t(d_p.channels_of(output).count) *
                         d_p.inputs_of(input).count * d_p.row;
        return bytes;
    }

    void exchange_some(const std::vector<const void*>& in,
                       const std::vector<void*>& out,
                       int frames,
                       const std::vector<stream*>& streams)
    {
        std::vector<cudaStream_t> native_streams;
        for (auto* s : streams)
            native_streams.push_back(native(*s));
        const auto each_pair = [&](const auto& use) {
            for (int output = 0; output < d_p.outputs_ports(); output++) {
                char* received = d_received[output].data();
                for (int input = 0; input < d_p.inputs_ports(); input++) {
                    const auto p =
                        piece_of(input, output, in[input], out[output], frames);
                    const int from = d_p.input_devices[input];
                    const int to = d_p.output_devices[output];
                    use(p, from, to, received);
                    if (from != to)
                        received += p.bytes * p.rows * frames;
                }
            }
        };
        d_nccl->begin();
        each_pair([&](const piece& p, int from, int to, char* received) {
            const int sender = d_p.place_of(from), receiver = d_p.place_of(to);
            const size_t bytes = p.bytes * p.rows;
            for (int frame = 0; p.from && from != to && frame < frames; frame++) {
                d_nccl->send(p.from + frame * p.from_frame,
                             bytes,
                             sender,
                             receiver,
                             native_streams[sender]);
                d_nccl->receive(received + frame * bytes,
                                bytes,
                                receiver,
                                sender,
                                native_streams[receiver]);
            }
        });
        d_nccl->end();
        each_pair([&](piece p, int from, int to, const char* received) {
            const cudaStream_t s = native_streams[d_p.place_of(to)];
            if (!p.from)
                return clear_rows(p, to, s);
            if (from != to) {
                p.from = received;
                p.from_row = p.bytes;
                p.from_frame = p.bytes * p.rows;
            }
            copy_rows(p, to, to, s);
        });
    }

    const std::vector<int> d_gpus;
    const std::unique_ptr<nccl> d_nccl;
    int d_most_frames = 1;                      // frames that are exchanged at once
    std::vector<device_array<char>> d_received; // memory of each output port
};

} // namespace

/*!
 * Exchanges by copies between the GPUs, which take no multiprocessors, or by NCCL's sends
 * and receives. Automatically: by copies where all GPUs reach each other's memory,
 * otherwise by NCCL.
 */
template <>
std::unique_ptr<exchange> make(const exchange::parameters& p, int, const std::string&)
{
    using way = exchange::way;
    const auto gpus = p.devices();
    const std::string problem = unreachable(gpus);
    if (p.by == way::copies && !problem.empty())
        throw std::runtime_error("exchange by copies: " + problem);
    if (p.by == way::nccl || (p.by == way::automatic && !problem.empty())) {
        if (p.by == way::automatic && !nccl::problem().empty())
            throw std::runtime_error("exchange: " + problem + ", and " + nccl::problem());
        return std::make_unique<nccl_exchange>(p);
    }
    return std::make_unique<peer_exchange>(p);
}

} // namespace gr::aperture::kernels::cuda
