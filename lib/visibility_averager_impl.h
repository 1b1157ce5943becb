/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_VISIBILITY_AVERAGER_IMPL_H
#define INCLUDED_APERTURE_VISIBILITY_AVERAGER_IMPL_H

#include "control/phase_centers.h"
#include "control/settings_ahead.h"
#include "kernels/averaging/visibility_average.h"
#include "signal/folding/phase_model.h"
#include "stream/rate_limit.h"
#include "stream/said_states.h"
#include "stream/timestamp.h"
#include <gnuradio/aperture/device/device_block.h>
#include <gnuradio/aperture/stream_states.h>
#include <gnuradio/aperture/visibility_averager.h>
#include <atomic>
#include <optional>

namespace gr::aperture {

class visibility_averager_impl : public visibility_averager, public device_block
{
public:
    //! The products whose averages have one length, and the present one of these.
    struct group {
        int length;                                //!< in times of `integration`
        std::vector<std::pair<int, int>> products; //!< pairs of inputs
        std::vector<int64_t> places; //!< their places in an item of the input
        std::unique_ptr<kernels::visibility_average> kernel;

        bool active = false;  //!< there is an average
        bool begins = true;   //!< the next one begins with its first item
        bool partial = false; //!< the input ended within one of its items
        int64_t slot = 0;     //!< the average's number, in lengths
        int64_t from = 0;     //!< spectra of the slot before the average
        timestamp time;       //!< rx_time of its first spectrum
        //! [sum], then one for each product or one for all
        std::vector<std::vector<uint64_t>> counted = {};
        int first = 0, end = 0; //!< items of d_together that the kernel still gets
        int made = 0;           //!< items of the outputs, in this call
    };

    visibility_averager_impl(const parameters& p,
                             std::vector<group> groups,
                             const device& d);

    bool start() override;
    bool stop() override;
    void forecast(int noutput_items, gr_vector_int& required) override;

    int outputs() const override { return int(d_groups.size()) * d_sums; }
    std::vector<std::pair<int, int>> products(int port) const override;
    int length(int port) const override;
    int center(int port) const override;
    int gate(int port) const override;
    int64_t items_per_average(int port) const override;
    void take_delays(int center,
                     const std::vector<double>& delays,
                     const std::vector<double>& delay_rates,
                     const std::vector<double>& phases,
                     const std::vector<double>& phase_rates,
                     const std::optional<setting_time>& time,
                     const std::string& model) override;
    std::string implementation() const override;

private:
    //! The states of the stream that have to be the same for all items of an average.
    struct description {
        double rate = 0;          //!< items a second
        double spectrum_rate = 0; //!< spectra a second
        bool says_spectrum_rate = false;
        int64_t spectra = 0;             //!< spectra of a whole item
        double bandwidth = 0;            //!< Hz, 0: not known
        std::optional<double> frequency; //!< Hz
        int64_t samples = 0;             //!< samples_per_item, 0: not known
        bool approximate = false;
        pmt::pmt_t clock; //!< nullptr: not said
        bool operator==(const description& other) const;
    };
    //! An item of the input, and what is known of it.
    struct item {
        uint64_t number = 0;
        description about;
        timestamp time;      //!< rx_time
        int64_t spectra = 0; //!< spectra that it spans
        std::vector<uint64_t> counted;
        bool partial = false;
        bool cuts = false;         //!< averages end before it
        bool anew = false;         //!< indices count from this item
        int64_t index = 0;         //!< in whole items
        int64_t offset = 0;        //!< spectra by which it is later than that
        std::vector<uint8_t> used; //!< [sum]
        //! [phase centre][input]
        std::vector<kernels::visibility_average::rotation> rotations;
        std::vector<std::pair<int, pmt::pmt_t>>
            settings; //!< settings of ports, from here on
    };

    int process(int noutput_items,
                gr_vector_int& ninput_items,
                gr_vector_const_void_star& input_items,
                gr_vector_void_star& output_items) override;
    void before_first_call() override;

    //! Reads the tags of the next item, as d_here.
    bool read(uint64_t number);
    bool read_description(const stream_states::run& run, description& d);
    bool read_item(const stream_states::run& run, item& i);
    //! Places an item in time, by the index of a whole item.
    void place(item& i) const;
    //! Takes the settings that come with an item from the blocks before.
    void take_settings(const stream_states::run& run, item& i);
    //! Sets to which sums an item belongs, and its rotations.
    bool choose(item& i);
    //! Checks the time of the counts of an item.
    bool check_counts(int index, const item& i);
    //! Takes over another description.
    bool adopt(const description& d);
    //! Counts indices of items from this one on.
    void count_from(item& i) const;
    //! Takes the item that was read, the next one of those that kernels get together.
    void put_together(int index, item& i);
    //! Adds the item that was read to all averages. \returns false if there is no room
    bool add(int index, int room, const gr_vector_void_star& out);

    int64_t items_of(const group& g) const { return d_items * g.length; }
    int64_t spectra_of(const group& g) const { return items_of(g) * d_about.spectra; }
    //! Returns the spectra from the begin of a slot to an item's.
    int64_t within(const group& g, int64_t slot, const item& i) const
    {
        return (i.index - slot * items_of(g)) * d_about.spectra + i.offset;
    }
    //! Returns the spectra from the begin of the present slot to the end of the last
    //! item.
    int64_t last_end(const group& g) const
    {
        return (d_last - g.slot * items_of(g)) * d_about.spectra + d_last_end;
    }
    //! Returns whether an average is whole with an item.
    bool completes(const group& g, const item& i) const;
    void begin(group& g, const item& i);
    //! Gives the items that a group's kernel has not had to it.
    void accumulate(group& g);
    //! Gives all groups' kernels the items that they get together.
    void accumulate_all();
    /*!
     * Ends an average.
     * \param end spectra from the begin of its slot to its end
     */
    void finish(group& g, int64_t end, bool partial, const gr_vector_void_star& out);
    void tag_average(int port,
                     const group& g,
                     int64_t spectra,
                     const std::vector<uint64_t>& counted,
                     bool partial);
    void tag(int port, uint64_t item, const char* name, const pmt::pmt_t& value);
    //! Tells people, at most some times a second, and the port `status`.
    void report(const char* event, const std::string& reason);
    void receive(int center, const pmt::pmt_t& message);

    const parameters d_p;
    const int d_gates, d_sums; // gates and sums, at least 1
    const int64_t d_all;       // products of the input
    const int d_longest;       // the longest length
    std::vector<group> d_groups;
    phase_centers d_centers;
    std::optional<kernels::phase_model> d_model;
    settings_ahead d_ahead{ "delays" };

    stream_states d_states;
    bool d_ended = false;
    std::optional<item> d_here;         // the next item, once it was read
    description d_about;                // states of the present averages
    int64_t d_items = 0;                // items of the shortest average; 0: not known
    std::atomic<int64_t> d_told{ 0 };   // the same, for any thread
    bool d_anchored = false;            // there were items
    timestamp d_anchor_time;            // time of an item whose index is known
    int64_t d_anchor = 0;               // index of that item
    int64_t d_last = 0, d_last_end = 0; // index of the last item; spectra to its end
    std::vector<bool> d_unknown;        // [phase centre] told that it has no delays
    //! States and settings of an output.
    struct output_state {
        said_states said;
        bool described = false;
        std::vector<pmt::pmt_t> settings; // to be tagged
    };
    std::vector<output_state> d_outputs;

    // the items of a call that kernels get together
    const gr_complex* d_visibilities = nullptr; // visibilities of the call
    const uint32_t* d_counts = nullptr;         // counts of the call, or nullptr
    const int d_most_together;
    int d_together = 0,
        d_together_from = 0; // number of them, and the first one in the call
    bool d_by_product = false;
    std::vector<uint32_t> d_counted;
    std::vector<uint8_t> d_used;
    std::vector<kernels::visibility_average::rotation> d_rotations;
    rate_limit d_log_limit{ 5 };
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_VISIBILITY_AVERAGER_IMPL_H */
