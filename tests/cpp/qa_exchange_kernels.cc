/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/exchange/exchange.h"
#include "runtime/emulated.h"
#include <cppunit/extensions/HelperMacros.h>
#include <algorithm>
#include <memory>
#include <random>
#include <vector>

using namespace gr::aperture;
using kernels::exchange;

/*!
 * The order of the exchange between emulated devices whose work is late: many calls,
 * given to the streams without a wait, on memory that is filled just before each call and
 * overwritten right behind it.
 */
class qa_exchange_kernels : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_exchange_kernels);
    CPPUNIT_TEST(ranges_are_whole);
    CPPUNIT_TEST(streams_are_in_order);
    CPPUNIT_TEST_SUITE_END();

    void ranges_are_whole()
    {
        for (int total : { 1, 7, 64 })
            for (int parts = 1; parts <= std::min(total, 9); parts++) {
                int end = 0;
                for (int part = 0; part < parts; part++) {
                    const auto r = exchange::range_of(part, parts, total);
                    CPPUNIT_ASSERT_EQUAL(end, r.first);
                    CPPUNIT_ASSERT(r.count == total / parts ||
                                   r.count == total / parts + 1);
                    end = r.end();
                }
                CPPUNIT_ASSERT_EQUAL(total, end);
            }
    }

    void streams_are_in_order()
    {
        constexpr int calls = 60, frames = 2, devices = 3;
        auto& delay = emulated::current_settings().delay;
        const int before = delay.exchange(300);
        exchange::parameters p;
        p.channels = 5;
        p.inputs = 7;
        p.row = 3;
        p.input_devices = { 0, 1, 2 };
        p.output_devices = { 1, 0 };
        std::vector<device> on;
        std::vector<std::unique_ptr<stream>> streams;
        std::vector<stream*> all;
        for (int i = 0; i < devices; i++) {
            on.push_back(device::select("emulated:" + std::to_string(i)));
            streams.push_back(on.back().make_stream());
            all.push_back(streams.back().get());
        }
        const auto kernel = exchange::make(p, on[0]);

        std::mt19937 random(7);
        std::vector<memory> in, out;
        std::vector<const void*> from;
        std::vector<void*> to;
        for (int port = 0; port < p.inputs_ports(); port++) {
            in.push_back(
                on[p.input_devices[port]].allocate(frames * p.input_frame(port)));
            from.push_back(in.back().get());
        }
        for (int port = 0; port < p.outputs_ports(); port++) {
            out.push_back(
                on[p.output_devices[port]].allocate(frames * p.output_frame(port)));
            to.push_back(out.back().get());
        }
        // [call][frame][channel][input][byte]
        const size_t whole = size_t(frames) * p.channels * p.inputs * p.row;
        std::vector<std::vector<char>> sent(calls, std::vector<char>(whole));
        std::vector<std::vector<std::vector<char>>> given(calls), found(calls);
        const auto each_row =
            [&](const auto& inputs, const auto& channels, const auto& use) {
                for (int frame = 0; frame < frames; frame++)
                    for (int c = channels.first; c < channels.end(); c++)
                        for (int i = inputs.first; i < inputs.end(); i++)
                            use(size_t((frame * p.channels + c) * p.inputs + i) * p.row);
            };
        const exchange::range every_channel{ 0, p.channels }, every_input{ 0, p.inputs };
        for (int call = 0; call < calls; call++) {
            for (auto& byte : sent[call])
                byte = char(random());
            const int lost = call % 4 - 1;
            auto now = from;
            for (int port = 0; port < p.inputs_ports(); port++) {
                auto& own = given[call].emplace_back();
                each_row(p.inputs_of(port), every_channel, [&](size_t at) {
                    own.insert(own.end(), &sent[call][at], &sent[call][at] + p.row);
                    if (port == lost)
                        std::fill_n(&sent[call][at], p.row, 0);
                });
                all[p.input_devices[port]]->copy(
                    in[port].get(), own.data(), own.size(), direction::host_to_device);
                if (port == lost)
                    now[port] = nullptr;
            }
            kernel->execute(now, to, frames, all);
            for (int port = 0; port < p.inputs_ports(); port++)
                all[p.input_devices[port]]->clear(in[port].get(),
                                                  frames * p.input_frame(port));
            for (int port = 0; port < p.outputs_ports(); port++) {
                auto& own = found[call].emplace_back(frames * p.output_frame(port));
                all[p.output_devices[port]]->copy(
                    own.data(), out[port].get(), own.size(), direction::device_to_host);
            }
        }
        for (auto* s : all)
            s->synchronize();
        delay = before;
        for (int call = 0; call < calls; call++)
            for (int port = 0; port < p.outputs_ports(); port++) {
                std::vector<char> expected;
                each_row(every_input, p.channels_of(port), [&](size_t at) {
                    expected.insert(
                        expected.end(), &sent[call][at], &sent[call][at] + p.row);
                });
                CPPUNIT_ASSERT_MESSAGE("call " + std::to_string(call),
                                       expected == found[call][port]);
            }
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_exchange_kernels);
