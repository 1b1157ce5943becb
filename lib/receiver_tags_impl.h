/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_RECEIVER_TAGS_IMPL_H
#define INCLUDED_APERTURE_RECEIVER_TAGS_IMPL_H

#include "stream/rate_limit.h"
#include "stream/timestamp.h"
#include <gnuradio/aperture/receiver_tags.h>
#include <atomic>
#include <mutex>
#include <optional>

namespace gr::aperture {

class receiver_tags_impl : public receiver_tags
{
public:
    explicit receiver_tags_impl(const parameters& p);

    bool start() override;
    void forecast(int noutput_items, gr_vector_int& required) override;
    int work(int noutput_items,
             gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;

    void set_center_frequency(double frequency) override;
    double center_frequency() const override;
    void set_rate(double rate) override;
    double rate() const override;
    void set_time(const std::pair<uint64_t, double>& time) override;
    uint64_t losses() const override;
    uint64_t waiting() const override;
    void finish() override;

private:
    //! The tags of one item.
    struct said {
        std::optional<timestamp> time;
        std::optional<double> rate, frequency;
        bool approximate = false;

        bool any() const { return time || rate || frequency; }
    };
    //! Returns the time of an item by the last that was tagged, if known with the rate.
    std::optional<timestamp> reckoned(uint64_t item) const;
    said first_of(const said& source);
    said later(uint64_t item, const said& source, const said& set);
    void tag(uint64_t item, const said& s);
    //! Returns whether the source's tags on this item say that some were lost before it.
    bool is_loss(uint64_t item, const said& source);
    void report_first(const said& source, const said& all);
    void receive(const pmt::pmt_t& message);
    void refuse(const std::string& reason);
    //! Reports a tag of the source whose value does not fit its key; it is not passed on.
    void refuse_tag(const gr::tag_t& tag, const std::string& allowed);

    mutable std::mutex d_mutex;
    parameters d_p;
    said d_set; // values that the user set since the last item
    rate_limit d_refused_tags{ 5 };
    bool d_running = false;
    std::atomic<bool> d_finish{ false };
    uint64_t d_losses = 0;
    // The newest rx_time of the source, and its item.
    uint64_t d_source_item = 0;
    std::optional<timestamp> d_source_time;
    // The time of an item and the items a second from it on, as they were tagged.
    uint64_t d_item = 0;
    std::optional<timestamp> d_time;
    std::optional<double> d_rate, d_frequency;
    bool d_approximate = false; //!< d_time
    // The difference to the source's rx_time, where that is replaced.
    std::optional<timestamp> d_epoch;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_RECEIVER_TAGS_IMPL_H */
