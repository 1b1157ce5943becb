/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

/*
 * Measures what edges on a device carry: flowgraphs of copies, each beside the same work
 * issued without GNU Radio. Prints a table; with a file name, writes JSON, too.
 *
 * bench_device_edges [DEVICE [GIGABYTES [FILE.json]]]
 *
 * DEVICE: cuda, cuda:N or emulated (default cuda); GIGABYTES: through each edge in a run
 * (default 100). Figures are gigabytes (1e9) a second on an edge, the median of five runs
 * after a warm-up. A run's time is that from the first call of its source to its end,
 * when all that was given to the device is done: the rings, of four calls each, are there
 * by then, as they are in the bare loop beside it.
 */

#include "runtime/backend.h"
#include "runtime/host_memory.h"
#include "timing.h"
#include <gnuradio/aperture/copy.h>
#include <gnuradio/aperture/device/device_block.h>
#include <gnuradio/logger.h>
#include <gnuradio/sync_block.h>
#include <gnuradio/top_block.h>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>

using namespace gr::aperture;

namespace {

constexpr size_t item = 1 << 16; // bytes

std::atomic<double> first_call; // time of the source's first call

//! Passes memory on as it is, so that the edges are measured, not the source.
class device_source : public device_block
{
public:
    device_source(const device& d, int64_t items)
        : gr::block(
              "device_source", gr::io_signature::make(0, 0, 0), signature_on(d, 1, item)),
          device_block(d),
          d_left(items)
    {
    }
    int process(int noutput_items,
                gr_vector_int&,
                gr_vector_const_void_star&,
                gr_vector_void_star&) override
    {
        if (first_call == 0)
            first_call = now();
        const int n = int(std::min<int64_t>(noutput_items, d_left));
        d_left -= n;
        return n ? n : int(WORK_DONE);
    }

private:
    int64_t d_left;
};

class device_sink : public device_block
{
public:
    explicit device_sink(const device& d)
        : gr::block("device_sink", signature_on(d, 1, item), signature_on(d, 0, item)),
          device_block(d)
    {
    }
    int process(int,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star&,
                gr_vector_void_star&) override
    {
        consume_each(ninput_items[0]);
        return 0;
    }
};

class host_source : public gr::sync_block
{
public:
    explicit host_source(int64_t items)
        : gr::sync_block("host_source",
                         gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, item)),
          d_left(items)
    {
    }
    int work(int noutput_items, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        if (first_call == 0)
            first_call = now();
        const int n = int(std::min<int64_t>(noutput_items, d_left));
        d_left -= n;
        return n ? n : int(WORK_DONE);
    }

private:
    int64_t d_left;
};

class host_sink : public gr::sync_block
{
public:
    host_sink()
        : gr::sync_block("host_sink",
                         gr::io_signature::make(1, 1, item),
                         gr::io_signature::make(0, 0, 0))
    {
    }
    int work(int noutput_items, gr_vector_const_void_star&, gr_vector_void_star&) override
    {
        return noutput_items;
    }
};

struct setup {
    bool from_host;
    int copies;
    bool to_host;
    size_t call; //!< bytes
};

//! Returns the seconds for so many items through a flowgraph.
double flowgraph(const device& d, const setup& s, int64_t items)
{
    std::vector<gr::block_sptr> blocks;
    if (s.from_host)
        blocks.push_back(gnuradio::make_block_sptr<host_source>(items));
    else
        blocks.push_back(gnuradio::make_block_sptr<device_source>(d, items));
    copy::parameters p;
    p.item_size = item;
    p.device = d.name();
    for (int i = 0; i < s.copies; i++)
        blocks.push_back(copy::make(p));
    if (s.to_host)
        blocks.push_back(gnuradio::make_block_sptr<host_sink>());
    else
        blocks.push_back(gnuradio::make_block_sptr<device_sink>(d));
    auto top = gr::make_top_block("bench");
    for (size_t i = 0; i + 1 < blocks.size(); i++) {
        blocks[i]->set_min_output_buffer(long(4 * s.call / item));
        top->connect(blocks[i], 0, blocks[i + 1], 0);
    }
    first_call = 0;
    top->run(int(s.call / item));
    return now() - first_call;
}

//! Makes the same copies, given to one stream for each by one thread.
double bare(const device& d, const setup& s, int64_t items)
{
    const auto& own = *d.own_memory();
    const int edges = s.copies + 1;
    std::vector<memory> rings, mirrors;
    std::vector<std::shared_ptr<void>> pins;
    for (int i = 0; i < edges; i++)
        rings.push_back(own.allocate(2 * s.call));
    for (int i = 0; i < s.from_host + s.to_host; i++) {
        mirrors.push_back(map_host_memory_twice(2 * s.call));
        pins.push_back(own.pin(mirrors.back().get(), 4 * s.call));
    }
    const int stages = s.copies + s.from_host + s.to_host;
    std::vector<std::unique_ptr<stream>> streams;
    for (int i = 0; i < stages; i++)
        streams.push_back(d.make_stream());
    // done[stage][half of the ring]
    std::vector<std::vector<event_sptr>> done(stages, std::vector<event_sptr>(2));
    const double start = now();
    const int64_t calls = items * int64_t(item) / int64_t(s.call);
    for (int64_t call = 0; call < calls; call++) {
        const size_t half = call % 2, at = half * s.call;
        for (int i = 0; i < stages; i++) {
            auto& own_stream = *streams[i];
            if (i > 0)
                own_stream.wait(done[i - 1][half]);
            if (i + 1 < stages)
                own_stream.wait(done[i + 1][half]);
            const int edge = i - s.from_host; // edge that is read
            if (edge < 0)
                own_stream.copy(rings[0].get() + at,
                                mirrors.front().get() + at,
                                s.call,
                                direction::host_to_device);
            else if (edge == s.copies)
                own_stream.copy(mirrors.back().get() + at,
                                rings[edge].get() + at,
                                s.call,
                                direction::device_to_host);
            else
                own_stream.copy(rings[edge + 1].get() + at,
                                rings[edge].get() + at,
                                s.call,
                                direction::within_device);
            done[i][half] = own_stream.record();
        }
        // no more than some calls ahead, as in a flowgraph
        if (stages > 0 && call % 4 == 3)
            done[0][1 - half]->synchronize();
    }
    for (auto& own_stream : streams)
        own_stream->synchronize();
    return now() - start;
}

double median_of(const std::function<double()>& seconds)
{
    seconds(); // the warm-up
    std::vector<double> all;
    for (int run = 0; run < 5; run++)
        all.push_back(seconds());
    return median(all);
}

} // namespace

int main(int argc, char** argv)
try {
    gr::logging::singleton().set_default_level(spdlog::level::warn);
    const device d = device::select(argc > 1 ? argv[1] : "cuda");
    if (!d.own_memory())
        throw std::invalid_argument("device: cpu has no edges on a device");
    const double gigabytes = argc > 2 ? std::atof(argv[2]) : 100;
    if (!(gigabytes >= 1))
        throw std::invalid_argument("GIGABYTES: " + std::string(argv[2]) +
                                    " is not allowed: it must be 1 or more");
    const int64_t items = int64_t(gigabytes * 1e9 / item);
    const std::vector<std::pair<const char*, setup>> all = {
        { "8 copies", { false, 8, false, 8 << 20 } },
        { "8 copies", { false, 8, false, 64 << 20 } },
        { "1 copy", { false, 1, false, 8 << 20 } },
        { "1 copy", { false, 1, false, 64 << 20 } },
        { "host to device", { true, 0, false, 8 << 20 } },
        { "device to host", { false, 0, true, 8 << 20 } },
        { "host, copy, host", { true, 1, true, 8 << 20 } },
    };
    std::printf("%s: %s, %g GB a run, items of %zu bytes\n",
                d.name().c_str(),
                d.description().c_str(),
                gigabytes,
                item);
    std::printf("%-18s %10s %14s %14s %8s\n",
                "edges",
                "call MiB",
                "flowgraph GB/s",
                "bare GB/s",
                "ratio");
    std::string json = "{\"device\": \"" + d.description() +
                       "\", \"gigabytes\": " + std::to_string(gigabytes) +
                       ", \"results\": [";
    for (size_t i = 0; i < all.size(); i++) {
        const auto& [name, s] = all[i];
        const double bytes = double(items) * item;
        const double in_flowgraph =
            bytes / median_of([&, &s = s] { return flowgraph(d, s, items); }) / 1e9;
        const double without =
            bytes / median_of([&, &s = s] { return bare(d, s, items); }) / 1e9;
        std::printf("%-18s %10zu %14.1f %14.1f %8.2f\n",
                    name,
                    s.call >> 20,
                    in_flowgraph,
                    without,
                    in_flowgraph / without);
        std::fflush(stdout);
        json += std::string(i ? ", " : "") + "{\"edges\": \"" + name +
                "\", \"call_bytes\": " + std::to_string(s.call) +
                ", \"flowgraph_gb_per_s\": " + std::to_string(in_flowgraph) +
                ", \"bare_gb_per_s\": " + std::to_string(without) + "}";
    }
    if (argc > 3 && !(std::ofstream(argv[3]) << json << "]}\n"))
        throw std::runtime_error(std::string(argv[3]) + " cannot be written");
    return 0;
} catch (const std::exception& e) {
    std::cerr << "bench_device_edges: " << e.what() << std::endl;
    return 1;
}
