/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_STREAM_DELAY_TAGS_H
#define INCLUDED_APERTURE_STREAM_DELAY_TAGS_H

#include <gnuradio/aperture/tags.h>
#include <gnuradio/tags.h>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gr::aperture {

//! The keys of the parts of a delay's model, in tags and in messages.
inline constexpr const char* delay_keys[] = {
    tags::delay, tags::delay_rate, tags::phase, tags::phase_rate
};

/*!
 * The tags `delay`, `delay_rate`, `phase` and `phase_rate` of a block that changes the
 * rate of samples and the middle of their band. A delay d rotates a frequency f Hz above
 * the middle by -2 pi f d: about another middle the phases are others, the delays stay.
 */
class delay_tags
{
public:
    //! \param shift Hz from the old middle to the new one, of the sky
    //! \param inverted the band of the samples was mirrored, and is not any more
    delay_tags(int ports, int inputs_per_port, double shift, bool inverted);

    void clear();
    //! Moves all ticks that were read so far.
    void move(int64_t ticks);
    /*!
     * Takes a tag on the sample at a tick of a port. \returns false if it is another one
     * \throws std::invalid_argument if its value is not valid
     */
    bool read(int port, int64_t tick, const gr::tag_t& tag);

    //! Tags that hold from an item of a port on.
    using write = std::function<void(
        int port, int64_t item, const char* key, const std::vector<double>&)>;
    /*!
     * Writes the tags of the items from `first` to before `end`: a change holds from the
     * first item whose samples begin where it is, or later, and rates go on until then.
     * \param hop ticks from an item to the next, of which item 0 begins at tick 0
     * \param seconds of a tick, 0 where they are not known
     * \param middle ticks from the begin of an item to its time
     */
    void take(int64_t first,
              int64_t end,
              int64_t hop,
              double middle,
              double seconds,
              const write& to);

private:
    //! The model of an input at the tick that it counts from.
    struct model {
        double parts[4] = {}; // in the order of delay_keys
        int64_t tick = 0;
    };
    struct change {
        int part;
        std::vector<double> values; // one for each input of the port
    };
    struct of_port {
        std::multimap<int64_t, change> waiting; // by ticks
        std::vector<model> models;              // [input of the port]
        bool said[4] = {};                      // parts that were tagged before
    };

    const int d_inputs_per_port;
    const double d_shift, d_sign;
    std::vector<of_port> d_ports;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_STREAM_DELAY_TAGS_H */
