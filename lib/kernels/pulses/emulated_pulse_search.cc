/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/emulated_kernel.h"
#include "kernels/pulses/pulse_search.h"
#include "runtime/host_wait.h"
#include <iterator>
#include <mutex>
namespace gr::aperture::kernels::emulated {

namespace {

class emulated_pulse_search : public emulated_kernel<pulse_search>
{
public:
    using emulated_kernel::emulated_kernel;

    void reset(stream& s) override
    {
        work(s, &pulse_search::reset);
        collect(true);
    }
    void search(const float* item, stream& s) override
    {
        work(s, &pulse_search::search, span(item, d_p.trials.values()));
    }
    void flush(stream& s) override { work(s, &pulse_search::flush); }

    std::vector<result> collect(bool all) override
    {
        if (all && d_last) {
            const working_thread::allowed_wait meant;
            d_last->synchronize();
        }
        const std::lock_guard<std::mutex> guard(d_found->mutex);
        return std::exchange(d_found->results, {});
    }

private:
    //! Results of the stream's thread, which the block's thread collects.
    struct found {
        std::mutex mutex;
        std::vector<result> results;
    };
    template <class Function, class... Arguments>
    void work(stream& s, Function function, Arguments... arguments)
    {
        run_on(s,
               [search = call(function, std::move(arguments)...),
                host = d_host,
                all = d_found]() mutable {
                   search();
                   auto results = host->collect(true);
                   const std::lock_guard<std::mutex> guard(all->mutex);
                   std::move(
                       results.begin(), results.end(), std::back_inserter(all->results));
               });
        d_last = s.record();
    }

    const std::shared_ptr<found> d_found = std::make_shared<found>();
    event_sptr d_last;
};

} // namespace

template <>
std::unique_ptr<pulse_search> make(const pulse_search::parameters& p)
{
    return std::make_unique<emulated_pulse_search>(p);
}

} // namespace gr::aperture::kernels::emulated
