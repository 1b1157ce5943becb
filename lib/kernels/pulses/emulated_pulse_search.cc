/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/masked.h"
#include "kernels/pulses/emulated_pulse_search.h"
#include "kernels/pulses/host_pulse_search.h"
#include "runtime/host_stream.h"
#include "runtime/host_wait.h"
#include <iterator>
#include <mutex>
#include <utility>

namespace gr::aperture::kernels::emulated {

namespace {

//! What the stream's thread works with, and the block's thread collects from.
struct shared {
    explicit shared(const pulse_search::parameters& p) : host(host::make_pulse_search(p))
    {
    }

    const std::unique_ptr<pulse_search> host; // of the stream's thread
    std::mutex mutex;
    std::vector<pulse_search::result> results;

    void collect()
    {
        auto found = host->collect(true);
        const std::lock_guard<std::mutex> guard(mutex);
        std::move(found.begin(), found.end(), std::back_inserter(results));
    }
};

class emulated_pulse_search : public pulse_search
{
public:
    explicit emulated_pulse_search(const parameters& p)
        : d_bytes(p.trials.values() * sizeof(float)),
          d_shared(std::make_shared<shared>(p))
    {
    }

    std::string implementation() const override
    {
        return "emulated, " + d_shared->host->implementation();
    }

    void reset(stream& s) override
    {
        run(s, [](pulse_search& host, stream& own) { host.reset(own); });
        collect(true);
    }
    void search(const float* item, stream& s) override
    {
        run(s, [item, bytes = d_bytes](pulse_search& host, stream& own) {
            const auto plain = unmasked(item, bytes);
            host.search(reinterpret_cast<const float*>(plain.data()), own);
        });
    }
    void flush(stream& s) override
    {
        run(s, [](pulse_search& host, stream& own) { host.flush(own); });
    }

    std::vector<result> collect(bool all) override
    {
        if (all && d_last) {
            const working_thread::allowed_wait meant;
            d_last->synchronize();
        }
        const std::lock_guard<std::mutex> guard(d_shared->mutex);
        return std::exchange(d_shared->results, {});
    }

private:
    template <class Work>
    void run(stream& s, const Work& work)
    {
        run_on(s, [work, all = d_shared] {
            host_stream own;
            work(*all->host, own);
            all->collect();
        });
        d_last = s.record();
    }

    const size_t d_bytes;
    const std::shared_ptr<shared> d_shared; // work that is not done yet holds it
    event_sptr d_last;
};

} // namespace

std::unique_ptr<pulse_search> make_pulse_search(const pulse_search::parameters& p)
{
    return std::make_unique<emulated_pulse_search>(p);
}

} // namespace gr::aperture::kernels::emulated
