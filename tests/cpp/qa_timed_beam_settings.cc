/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "control/timed_beam_settings.h"
#include <gnuradio/aperture/tags.h>
#include <cppunit/extensions/HelperMacros.h>
#include <chrono>
#include <future>
#include <optional>
#include <set>

using namespace gr::aperture;

namespace {

//! The part of a kernel: prepared weights are the weights; preparing them takes as long
//! as a test wants. As on a GPU there is room for three.
class kernel
{
public:
    struct prepared : kernels::prepared_weights {
        prepared(kernel& k, cfloat f, cfloat l) : owner(k), first(f), last(l) {}
        ~prepared() { owner.let_go(); }
        kernel& owner;
        const cfloat first, last;
    };

    kernels::prepared_weights_sptr prepare(const cfloat* weights, size_t count)
    {
        std::unique_lock<std::mutex> lock(d_mutex);
        d_begun++;
        d_changed.notify_all();
        d_changed.wait(lock, [this] { return !d_held; });
        d_ended++;
        d_changed.notify_all();
        if (fails)
            throw std::runtime_error("the test wanted an error");
        if (!d_changed.wait_for(
                lock, std::chrono::minutes(10), [this] { return d_there < 3; }))
            throw std::runtime_error("three are there, and nobody lets go of one");
        d_there++;
        return std::make_shared<prepared>(*this, weights[0], weights[count - 1]);
    }

    void hold(bool held)
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        d_held = held;
        d_changed.notify_all();
    }

    //! Waits until the preparation of weights has begun number times.
    void wait_for(int number)
    {
        std::unique_lock<std::mutex> lock(d_mutex);
        CPPUNIT_ASSERT(d_changed.wait_for(
            lock, std::chrono::minutes(10), [&] { return d_begun >= number; }));
    }
    void wait_until_idle()
    {
        std::unique_lock<std::mutex> lock(d_mutex);
        CPPUNIT_ASSERT(d_changed.wait_for(
            lock, std::chrono::minutes(10), [&] { return d_begun == d_ended; }));
    }
    int begun()
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        return d_begun;
    }

    //! Returns the threads that have released weights since the last call.
    std::set<std::thread::id> let_go_by()
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        return std::exchange(d_let_go_by, {});
    }

    std::atomic<bool> fails{ false };

private:
    void let_go()
    {
        const std::lock_guard<std::mutex> guard(d_mutex);
        d_there--;
        d_let_go_by.insert(std::this_thread::get_id());
        d_changed.notify_all();
    }

    std::mutex d_mutex;
    std::condition_variable d_changed;
    bool d_held = false;
    int d_begun = 0, d_ended = 0, d_there = 0;
    std::set<std::thread::id> d_let_go_by;
};

using beams = timed_beam_settings;
constexpr item_clock frames{ { 1000, 0 }, 10 };

} // namespace

//! Tests when settings hold, and that blocks do not wait for those that take long.
class qa_timed_beam_settings : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_timed_beam_settings);
    CPPUNIT_TEST(blocks_go_on_while_weights_are_prepared);
    CPPUNIT_TEST(first_block_waits);
    CPPUNIT_TEST(few_weights_hold_from_the_next_block);
    CPPUNIT_TEST(prepared_ahead_of_their_time);
    CPPUNIT_TEST(not_ready_at_their_time);
    CPPUNIT_TEST(too_late);
    CPPUNIT_TEST(changed_meanwhile);
    CPPUNIT_TEST(many_messages);
    CPPUNIT_TEST(old_ones_are_let_go_elsewhere);
    CPPUNIT_TEST(calls_wait);
    CPPUNIT_TEST(gains_and_masks);
    CPPUNIT_TEST(refused);
    CPPUNIT_TEST(failed);
    CPPUNIT_TEST(gone_in_the_middle);
    CPPUNIT_TEST_SUITE_END();

    const beam_setting_extents d_many{ 4096, 2, 16, 16, 0 }, d_few{ 3, 2, 16, 4, 2 };
    kernel d_kernel;
    std::vector<int64_t> d_late;
    std::unique_ptr<beams> d_weights;

    void make(const beam_setting_extents& e)
    {
        const size_t count = size_t(e.channels) * e.beams * e.inputs;
        d_weights = std::make_unique<beams>(
            e,
            beam_setting{},
            beams::callbacks{ [=](const cfloat* w) { return d_kernel.prepare(w, count); },
                              {} });
    }

    static pmt::pmt_t message(const char* name, const pmt::pmt_t& value, int beam = -1)
    {
        pmt::pmt_t m = pmt::dict_add(pmt::make_dict(), pmt::intern(name), value);
        return pmt::dict_add(m, pmt::intern(tags::beam), pmt::from_long(beam));
    }
    //! Returns a message with all weights of a beam, or of all.
    pmt::pmt_t weights(float value, int beam = -1) const
    {
        const size_t count = beam < 0 ? 2 * d_many.beams : 2;
        return message(tags::weights,
                       pmt::init_c32vector(count, std::vector<cfloat>(count, value)),
                       beam);
    }
    static pmt::pmt_t at_frame(double frame, const pmt::pmt_t& m)
    {
        return pmt::dict_add(
            m,
            pmt::intern(tags::time),
            pmt::make_tuple(pmt::from_uint64(1000 + int(frame / 10)),
                            pmt::from_double(std::fmod(frame, 10) / 10)));
    }

    //! The first and last of new weights, and for how many frames they hold.
    struct updated {
        std::optional<std::pair<float, float>> weights;
        std::vector<float> gains;
        std::vector<uint8_t> masks;
        int64_t sharing;
    };
    updated update(int64_t frame)
    {
        updated u;
        u.sharing = d_weights->update(
            frame,
            frames,
            [this](int64_t by) { d_late.push_back(by); },
            [&](const beams::changes& c) {
                if (const auto* w = static_cast<const kernel::prepared*>(c.weights.get()))
                    u.weights = { w->first.real(), w->last.real() };
                if (c.gains)
                    u.gains.assign(c.gains, c.gains + d_few.beams);
                if (c.masks)
                    u.masks.assign(c.masks, c.masks + 4);
            });
        return u;
    }
    //! Updates until there are new weights.
    updated update_until_new(int64_t frame)
    {
        for (;;) {
            const auto u = update(frame);
            if (u.weights)
                return u;
            std::this_thread::yield();
        }
    }

    void expect(const updated& u, float first, float last)
    {
        CPPUNIT_ASSERT(u.weights);
        CPPUNIT_ASSERT_EQUAL(first, u.weights->first);
        CPPUNIT_ASSERT_EQUAL(last, u.weights->second);
    }

public:
    void tearDown() override
    {
        d_kernel.hold(false);
        d_weights.reset();
    }

    void blocks_go_on_while_weights_are_prepared()
    {
        make(d_many);
        expect(update(0), 0, 0);
        d_kernel.hold(true);
        d_weights->receive(weights(3));
        d_kernel.wait_for(2);
        for (int frame = 1; frame < 100; frame++)
            CPPUNIT_ASSERT(!update(frame).weights);
        d_kernel.hold(false);
        expect(update_until_new(100), 3, 3);
        CPPUNIT_ASSERT(!update(101).weights);
        CPPUNIT_ASSERT(d_late.empty());
    }

    void first_block_waits()
    {
        make(d_many);
        d_weights->receive(weights(3));
        expect(update(0), 3, 3);
        d_weights->receive(weights(4));
        d_weights->start();
        expect(update(0), 4, 4);
    }

    void few_weights_hold_from_the_next_block()
    {
        make(d_few);
        update(0);
        for (int frame = 1; frame < 200; frame++) {
            d_weights->receive(
                message(tags::weights,
                        pmt::init_c32vector(8, std::vector<cfloat>(8, float(frame)))));
            expect(update(frame), frame, frame);
        }
    }

    void prepared_ahead_of_their_time()
    {
        make(d_many);
        update(0);
        d_kernel.hold(true);
        d_weights->receive(weights(1));
        d_kernel.wait_for(2);
        d_weights->receive(at_frame(20, weights(2)));
        d_weights->receive(at_frame(20, weights(5, 0)));
        d_weights->receive(at_frame(30, weights(3)));
        d_kernel.hold(false);
        expect(update_until_new(1), 1, 1);
        d_kernel.wait_for(3);
        d_kernel.wait_until_idle();
        d_kernel.hold(true);
        CPPUNIT_ASSERT_EQUAL(int64_t(1), update(19).sharing);
        const auto u = update(20); // otherwise it would wait for ever
        expect(u, 5, 2);
        CPPUNIT_ASSERT_EQUAL(int64_t(10), u.sharing);
        d_kernel.hold(false);
        expect(update(30), 3, 3);
        CPPUNIT_ASSERT_EQUAL(4, d_kernel.begun());
        CPPUNIT_ASSERT(d_late.empty());
    }

    void not_ready_at_their_time()
    {
        make(d_many);
        update(0);
        d_kernel.hold(true);
        d_weights->receive(at_frame(20, weights(2)));
        auto frame = std::async(std::launch::async, [this] { return update(20); });
        CPPUNIT_ASSERT(frame.wait_for(std::chrono::milliseconds(50)) ==
                       std::future_status::timeout);
        d_kernel.hold(false);
        expect(frame.get(), 2, 2);
        CPPUNIT_ASSERT(d_late.empty());
    }

    void too_late()
    {
        make(d_many);
        update(0);
        d_kernel.hold(true);
        d_weights->receive(at_frame(20, weights(2)));
        CPPUNIT_ASSERT(!update(25).weights);
        CPPUNIT_ASSERT_EQUAL(size_t(1), d_late.size());
        CPPUNIT_ASSERT_EQUAL(int64_t(5), d_late[0]);
        d_kernel.hold(false);
        expect(update_until_new(26), 2, 2);
        CPPUNIT_ASSERT_EQUAL(size_t(1), d_late.size());
    }

    //! Settings that were prepared ahead were applied to ones that hold no more.
    void changed_meanwhile()
    {
        make(d_many);
        update(0);
        d_weights->receive(at_frame(20, weights(2, 15)));
        d_kernel.wait_for(2);
        d_weights->receive(weights(7, 0));
        expect(update_until_new(1), 7, 0);
        expect(update(20), 7, 2);
    }

    //! Messages are combined while others are prepared.
    void many_messages()
    {
        make(d_many);
        update(0);
        d_kernel.hold(true);
        d_weights->receive(weights(1, 0));
        d_kernel.wait_for(2);
        for (int number = 2; number <= 100; number++)
            d_weights->receive(weights(float(number), number % 2 ? 0 : 15));
        d_kernel.hold(false);
        std::pair<float, float> last;
        do {
            last = update_until_new(1).weights.value_or(last);
        } while (last.second != 100);
        CPPUNIT_ASSERT_EQUAL(99.f, last.first);
        CPPUNIT_ASSERT_EQUAL(3, d_kernel.begun());
    }

    //! Releasing their memory takes longer than blocks can wait.
    void old_ones_are_let_go_elsewhere()
    {
        make(d_many);
        update(0);
        for (int frame = 1; frame < 60; frame += 3) {
            d_weights->receive(weights(1));
            d_weights->receive(weights(2, 3));
            d_weights->receive(at_frame(frame + 1, weights(3)));
            update_until_new(frame);
            update(frame + 1);
            d_weights->receive(at_frame(frame, weights(4)));
            update_until_new(frame + 2);
        }
        d_weights->set_weights({ 5, 5 }, 0);
        const auto by = d_kernel.let_go_by();
        CPPUNIT_ASSERT(!by.empty());
        CPPUNIT_ASSERT(!by.count(std::this_thread::get_id()));
    }

    void calls_wait()
    {
        make(d_many);
        update(0);
        d_weights->set_weights({ 5, 5 }, 15);
        expect(update(1), 0, 5);
        CPPUNIT_ASSERT(d_weights->of(15) == std::vector<cfloat>(2 * 4096, 5));
        d_kernel.hold(true);
        auto call = std::async(std::launch::async, [this] {
            d_weights->set_weights({ 6, 6 }, 0);
        });
        CPPUNIT_ASSERT(call.wait_for(std::chrono::milliseconds(50)) ==
                       std::future_status::timeout);
        CPPUNIT_ASSERT(!update(2).weights);
        d_kernel.hold(false);
        call.get();
        expect(update(3), 6, 5);
    }

    //! Weights are prepared anew where masks change them, and only then.
    void gains_and_masks()
    {
        make(d_few);
        auto u = update(0);
        CPPUNIT_ASSERT(u.gains == std::vector<float>(4, 1));
        CPPUNIT_ASSERT(u.masks == std::vector<uint8_t>(4, 1));
        d_weights->set_weights(std::vector<cfloat>(8, 1), -1);
        const int before = d_kernel.begun();
        d_weights->receive(message(tags::gain, pmt::from_double(2), 1));
        u = update(1);
        expect(u, 1, 1);
        CPPUNIT_ASSERT(u.gains == std::vector<float>({ 1, 2, 1, 1 }));
        CPPUNIT_ASSERT(u.masks.empty());
        CPPUNIT_ASSERT_EQUAL(before, d_kernel.begun());
        const std::vector<uint8_t> second = { 0, 1 };
        d_weights->receive(message(tags::mask, pmt::init_u8vector(2, second), 0));
        u = update(2);
        expect(u, 0, 1);
        CPPUNIT_ASSERT(u.gains.empty());
        d_weights->receive(message(tags::mask, pmt::init_u8vector(2, second), 5));
        CPPUNIT_ASSERT(update(3).masks == std::vector<uint8_t>({ 1, 1, 0, 1 }));
        CPPUNIT_ASSERT_EQUAL(cfloat(1), d_weights->of(0)[0]);
    }

    void refused()
    {
        make(d_many);
        update(0);
        CPPUNIT_ASSERT_THROW(d_weights->receive(pmt::intern("weights")),
                             std::invalid_argument);
        CPPUNIT_ASSERT_THROW(d_weights->set_weights({ 1, 2, 3 }, 0),
                             std::invalid_argument);
        d_weights->receive(weights(NAN));
        d_weights->receive(at_frame(20, weights(NAN, 3)));
        d_weights->receive(weights(1, 16));
        d_weights->receive(weights(2));
        const auto u = update_until_new(1);
        expect(u, 2, 2);
        d_weights->receive(weights(NAN, 5));
        const auto reasons = d_weights->take_refused(true);
        CPPUNIT_ASSERT_EQUAL(size_t(4), reasons.size());
        CPPUNIT_ASSERT(reasons[0].find("finite") != std::string::npos);
        CPPUNIT_ASSERT(reasons[2].find("beam: 16") != std::string::npos);
        CPPUNIT_ASSERT(d_weights->take_refused(true).empty());
        CPPUNIT_ASSERT(!update(20).weights);
    }

    //! An exception of the kernel ends the flowgraph, and no call waits for ever.
    void failed()
    {
        make(d_many);
        update(0);
        d_kernel.fails = true;
        CPPUNIT_ASSERT_THROW(d_weights->set_weights({ 1, 1 }, 0), std::runtime_error);
        CPPUNIT_ASSERT_THROW(update(1), std::runtime_error);
        d_kernel.fails = false;
        d_weights->start();
        CPPUNIT_ASSERT(!update(0).weights);
        // a kernel that fails with new weights gets them once more
        d_weights->set_weights({ 1, 1 }, 0);
        const auto fail = [](const auto&) { throw std::runtime_error("wanted"); };
        CPPUNIT_ASSERT_THROW(d_weights->update(1, frames, {}, fail), std::runtime_error);
        expect(update(1), 1, 0);
    }

    void gone_in_the_middle()
    {
        for (int round = 0; round < 20; round++) {
            make(d_many);
            d_weights->receive(at_frame(20, weights(2)));
            d_weights->receive(weights(3));
            d_weights->receive(at_frame(10, weights(4)));
            if (round % 2)
                update(0);
        }
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_timed_beam_settings);
