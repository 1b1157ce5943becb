/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_TAGS_H
#define INCLUDED_APERTURE_TAGS_H

namespace gr::aperture {

/*!
 * The keys of the tags and of the dictionaries that the blocks exchange. Python has the
 * same names as `aperture.tags.rx_time` and so on.
 */
namespace tags {

//! tuple(uint64 seconds, double fraction) since 1970: when this item was received (for a
//! spectrum: the middle of the samples under its prototype; for a frame or an
//! integration: the time of its first spectrum)
inline constexpr char rx_time[] = "rx_time";
//! double, Hz: sky frequency of the middle of the band (baseband 0 of complex samples, a
//! quarter of the rate of real ones); behind the channeliser, of channel n/2 (rounded
//! down) of the n channels of the edge
inline constexpr char rx_freq[] = "rx_freq";
//! double: items a second of this edge
inline constexpr char rx_rate[] = "rx_rate";
//! bool: rx_time was taken from the host's clock and may be wrong by the latency
inline constexpr char approximate[] = "rx_time_approximate";
//! string: whose clock rx_time is. `samples`: that of the samples, which counts them;
//! `followed`: a block before has followed a clock, so that rx_time moves on where
//! nothing was lost; any other name: a clock apart from that of the samples, to be
//! followed
inline constexpr char clock[] = "rx_time_clock";
//! double, Hz: bandwidth of all channels of this edge together
inline constexpr char bandwidth[] = "bandwidth";
//! uint64: samples of one input that one item advances by
inline constexpr char samples_per_item[] = "samples_per_item";
//! uint64, on frames of oversampled channels: number of the item's first spectrum since
//! the first sample of the stream, from which the phases of channels count
inline constexpr char first_spectrum[] = "first_spectrum";
//! dictionary of `input`, `first` and `count`: spectra of an input that are zeros because
//! their samples were lost. `first` counts spectra from the start of the stream.
inline constexpr char missing[] = "missing";
//! long: index of an input of this edge, in a `missing` dictionary and in messages
inline constexpr char input[] = "input";
//! uint64: index of the first missing spectrum
inline constexpr char first[] = "first";
//! uint64: how many spectra in a row are missing
inline constexpr char count[] = "count";
//! uint64: spectra that the integration spans
inline constexpr char spectra[] = "spectra";
//! double: spectra a second that integrations are made of, which may be more than
//! channels are Hz apart (oversampling)
inline constexpr char spectrum_rate[] = "spectrum_rate";
//! u64vector: spectra that were summed, one count for each product, or one for all
inline constexpr char counted[] = "counted";
//! bool: the input ended within this frame or integration
inline constexpr char partial[] = "partial";
//! vector of dictionaries, one for each setting that was changed while the flowgraph ran
//! and holds from this item on: `setting` (symbol: `direction`, `directions`, `gains`,
//! `delays`, `weights` or `integration`), `time` (tuple(uint64, double), of the first
//! spectrum or frame that has it), and what was set, by the keys of its message
inline constexpr char settings[] = "settings";
//! symbol: the kind of a setting in a `settings` tag
inline constexpr char setting[] = "setting";

//! key of a `gains` message: complex, real or c32vector of one per channel; of a
//! `weights` message: real, or f32vector of one per beam
inline constexpr char gain[] = "gain";
//! double or f64vector of one per input, seconds: key of a `delays` message; tag on
//! samples (f64vector of one per input of the port) that holds from exactly that sample
//! on. The input is delayed by it to align it with others
inline constexpr char delay[] = "delay";
//! double or f64vector, as `delay`, in seconds a second: counts from the message's time,
//! or the tag's sample
inline constexpr char delay_rate[] = "delay_rate";
//! double or f64vector, as `delay`, in radians: added to the phase of all channels
inline constexpr char phase[] = "phase";
//! double or f64vector, as `delay`, in radians a second
inline constexpr char phase_rate[] = "phase_rate";
//! symbol, in `delays` and `gains` messages: name of the model whose setting this
//! replaces; delays of all models of an input add up, gains are multiplied
inline constexpr char model[] = "model";
//! key of a `weights` message: c32vector, [channel][beam][input] or parts of it
inline constexpr char weights[] = "weights";
//! key of a `weights` message: u8vector, 0 for inputs that a beam leaves out
inline constexpr char mask[] = "mask";
//! long: index of a beam, in messages
inline constexpr char beam[] = "beam";
//! bool: key of messages for the switch of a noise source, true to switch it on, and of
//! the event `noise` in `status`
inline constexpr char noise[] = "noise";
//! key of timed messages: tuple(uint64, double) as in rx_time
inline constexpr char time[] = "time";

//! symbol, in messages of the port `status`: what happened. `lost` (`count` items, made
//! up for with zeros), `lost_unknown` (a loss of unknown length), `overlap` (`count`
//! items that were there before, dropped), `clock_jump` (rx_time makes no sense,
//! ignored), `late` (a timed setting came too late and holds at once), `refused` (a
//! message, with a `reason`), `assumed` (tags that receiver_tags added, with a `reason`),
//! `counts` (what channelisers counted so far, once a second)
inline constexpr char event[] = "event";
//! long, in `status`: number of the port
inline constexpr char port[] = "port";
//! double, in `status`: millionths by which rx_time runs faster than the samples
inline constexpr char ppm[] = "ppm";
//! uint64, in `status`: index of the item of that port
inline constexpr char item[] = "item";
//! string, in `status`: why a message was refused, what was assumed, or what can be done
inline constexpr char reason[] = "reason";
//! symbol or string, in `direction` messages and in `status` of `delay_tracker`: the
//! direction that is followed; in `delays` messages and in a `settings` tag a dictionary
//! of its `name` and `ra` and `dec`, `azimuth` and `elevation` (degrees), or `body`
inline constexpr char direction[] = "direction";
//! vector, in `weights` messages and in a `settings` tag: of each beam a dictionary as
//! of `direction`
inline constexpr char directions[] = "directions";
//! double, degrees, in `status` of `delay_tracker`: from north through east
inline constexpr char azimuth[] = "azimuth";
//! double, degrees, in `status` of `delay_tracker`: below 0 where the direction has set
inline constexpr char elevation[] = "elevation";

} // namespace tags
} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_TAGS_H */
