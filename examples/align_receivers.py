#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Two receivers that nobody has synchronised, from files that play them: how coherent they are as
they come, and behind stream_align. Both see one noise source; the second starts 12345.3 samples
later, and its oscillator is 70 degrees ahead.
Run it with tools/run python3 examples/align_receivers.py [FILE FILE]: files of complex floats of
your own receivers, on one clock. Live, Soapy or osmocom sources take the place of the files.
"""

import os
import sys
import tempfile

import numpy as np
from gnuradio import aperture, blocks, gr

RATE = 2.4e6  # samples a second
FREQUENCY = 1420.4e6  # Hz
CHANNELS = 64
START, PART, PHASE = 12345, 0.3, np.radians(70)


def play_receivers(folder, samples=2_400_000, seed=1):
    """Files of two receivers: half of the power of each is noise that both have in common."""
    rng = np.random.default_rng(seed)

    def noise(count):
        pairs = rng.standard_normal((count, 2), dtype=np.float32)
        return pairs.view(np.complex64)[:, 0]

    common = noise(samples + START)
    # a part of a sample later: a phase that slopes over the band
    slope = np.exp(2j * np.pi * PART * np.fft.fftfreq(len(common)))
    later = np.fft.ifft(np.fft.fft(common) * slope)
    received = (common[:samples], np.exp(1j * PHASE) * later[START:])
    files = []
    for number, signal in enumerate(received):
        files.append(os.path.join(folder, f"receiver{number}.fc32"))
        (signal + noise(samples)).astype(np.complex64).tofile(files[-1])
    return files


def correlate(files, align=None):
    """Visibilities [channel][product] of all of the files, by way of `align` if it is given."""
    top = gr.top_block()
    f_engine = aperture.f_engine(channels=CHANNELS, inputs=2, spectra_per_frame=100)
    x_engine = aperture.xengine(channels=CHANNELS, inputs=2, spectra_per_frame=100, integration=10)
    sink = blocks.vector_sink_c(3 * CHANNELS)
    for port, name in enumerate(files):
        source = blocks.file_source(gr.sizeof_gr_complex, name)
        # neither a file nor an RTL-SDR gives the rate and frequency
        tags = aperture.receiver_tags(rate=RATE, center_frequency=FREQUENCY)
        top.connect(source, tags)
        if align:
            top.connect(tags, (align, port), (f_engine, port))
        else:
            top.connect(tags, (f_engine, port))
    top.connect(f_engine, x_engine, sink)
    top.run()
    return np.reshape(sink.data(), (-1, CHANNELS, 3)).mean(axis=0)


def coherence(visibilities):
    """
    Complex, of both inputs: of all channels together, and the mean of the channels' own. The first
    is smaller where the phase slopes over the band.
    """
    aa, ba, bb = visibilities.T
    channels = ba / np.sqrt(aa.real * bb.real)
    return channels.mean(), np.abs(channels).mean()


def main(arguments):
    with tempfile.TemporaryDirectory() as folder:
        files = arguments or play_receivers(folder)
        before, _ = coherence(correlate(files))
        align = aperture.stream_align(search_samples=1 << 18, most_offset=1 << 16)
        after, channels = coherence(correlate(files, align))
    print(
        f"input 1 is delayed by {align.offsets()[1]:.3f} samples, and its phase rotated by "
        f"{np.degrees(align.phases()[1]):.1f} degrees: signal-to-noise {align.snr()[1]:.0f}"
    )
    print(f"coherence as the samples come: {abs(before):.3f}")
    print(
        f"coherence behind stream_align: {abs(after):.3f}, phase "
        f"{np.degrees(np.angle(after)):.1f} degrees; channel by channel {channels:.3f}"
    )
    return before, after, channels, align


if __name__ == "__main__":
    main(sys.argv[1:])
