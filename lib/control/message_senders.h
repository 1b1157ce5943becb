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
 * Returns the blocks that send messages to a port of a block, among those that can be
 * reached from it by streams, up and down, and along messages; for its start() and later.
 * Blocks that run by themselves, as a button or a strobe, are not among them.
 */
std::vector<gr::block_sptr> message_senders(gr::block& receiver, const pmt::pmt_t& port);

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_CONTROL_MESSAGE_SENDERS_H */
