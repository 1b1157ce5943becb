/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_CONTROL_MESSAGE_SENDERS_H
#define INCLUDED_APERTURE_CONTROL_MESSAGE_SENDERS_H

#include <gnuradio/block.h>
#include <vector>

namespace gr::aperture {

/*!
 * The blocks that send messages to a port of a block, of those that can be reached from
 * it by streams, up and down, and along messages; from its start() on. What runs by
 * itself, as a button or a strobe, is not among them.
 */
std::vector<gr::block_sptr> message_senders(gr::block& receiver, const pmt::pmt_t& port);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_MESSAGE_SENDERS_H */
