/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CONTROL_SETTINGS_AHEAD_H
#define INCLUDED_APERTURE_CONTROL_SETTINGS_AHEAD_H

#include <gnuradio/block.h>
#include <gnuradio/buffer_reader.h>
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture {

/*!
 * The blocks that send settings to a block and read the stream that it, or a block before
 * it, reads. It waits until they have read what there is of that stream: then all
 * settings that hold for the items of its next call were sent, however fast a recording
 * is read, and no sample has to pass through the senders.
 *
 * A sender has one stream input, and a message port of a name, or of a name and a number,
 * that is connected. One that has ended, whatever ended it, is waited for no more.
 */
class settings_ahead
{
public:
    //! \param port name of the senders' message port
    explicit settings_ahead(const char* port) : d_port(port) {}

    //! Finds the senders; for start(), after which no block is connected.
    //! \param logger of the block
    void start(gr::block& block, const gr::logger_ptr& logger);
    //! Forgets them; for stop().
    void stop() { d_senders.clear(); }
    /*!
     * Waits until all have read what is there, or the flowgraph stops; for forecast():
     * the items of the call that follows were there before.
     */
    void wait();

private:
    struct sender {
        std::weak_ptr<gr::block> block;
        gr::buffer_reader_sptr reader;
    };
    bool is_sender(gr::block& block) const;
    void find(gr::block& block, std::vector<gr::block*>& seen);

    const std::string d_port;
    gr::logger_ptr d_logger;
    std::vector<sender> d_senders;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_SETTINGS_AHEAD_H */
