#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The common parts of these instruments of the literature: simulated samples, and a clock."""

import tempfile
import time
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from gnuradio import aperture, blocks, gr

TAPS = 8
PORTS = 16  # at most, each with a thread of its own where the source is in host memory
#: simulated spectra of each input
SPECTRA = 128
#: samples of a zoom's output that its filters take beyond those of the spectra, at most
ZOOM_MARGIN = 64
#: above everything, and as strong in an input as a quarter of the receiver's noise
SOURCE = aperture.Source("source", azimuth=150.0, elevation=60.0, flux=0.25)
#: steps of 4 bits, of the real and of the imaginary part of spectra
RMS = 2.0


@dataclass(frozen=True)
class Instrument:
    """An instrument that was built. Places of antennas are made up."""

    paper: str
    antennas: int
    polarizations: str
    radius: float  # m: a spiral, as in arrays/descriptions/mwa-32t.yml
    sample_rate: float  # Hz, of a stream
    streams: int  # parts of the band, which are treated one like the other
    center_frequency: float  # Hz
    channels: int  # number in a stream, of those that are correlated
    spectra_per_frame: int  # spectra in a frame: 25 to 130 MB
    frames: int  # in an integration of visibilities
    bits: int = 8  # bits of re and of im of a sample; carried as 8
    spectra: str = ""  # sc8 or sc4: the first filter bank is elsewhere, and its spectra come
    zoom: int = 1  # samples in for one out, of the part of the band that is channelised
    zoom_frequency: float = 0.0  # Hz, of its middle above the middle of the band
    oversampling: str = "1"
    taps: int = TAPS
    fine: int = 1  # channels that each channel of the first filter bank is split into
    bank: int = 0  # channels of that filter bank, of which the middle ones come; 0: all come
    fast_antennas: int = 0  # the first ones are correlated by a second X-engine, too
    fast_frames: int = 0  # in an integration of that one
    simulated: int = SPECTRA  # spectra of the channels that are correlated

    @property
    def inputs(self):
        return self.antennas * len(self.polarizations)

    @property
    def ports(self):
        """Each with the same number of inputs."""
        return max(ports for ports in range(1, PORTS + 1) if self.inputs % ports == 0)

    @property
    def coarse(self):
        """Channels of the first filter bank that come."""
        return self.channels // self.fine

    @property
    def made(self):
        """Channels that the first filter bank makes."""
        return self.bank or self.coarse

    @property
    def hop(self):
        """Samples of the first filter bank from one spectrum to the next."""
        return int(self.made / Fraction(self.oversampling))

    @property
    def bank_rate(self):
        """Samples a second that the first filter bank gets."""
        return self.sample_rate / self.zoom

    @property
    def width(self):
        """Hz from one channel to the next."""
        return self.bank_rate / self.made / self.fine

    @property
    def band(self):
        """Hz that are correlated, of all streams."""
        return self.width * self.channels * self.streams

    @property
    def coarse_spectra(self):
        """Spectra of the first filter bank that make `simulated` ones."""
        if self.fine == 1:
            return self.simulated
        return int((self.simulated + TAPS - 1) * self.fine * Fraction(self.oversampling))

    def samples(self):
        """Samples of an input that make them."""
        samples = (self.coarse_spectra - 1) * self.hop + self.taps * self.made
        return samples if self.zoom == 1 else (samples + ZOOM_MARGIN) * self.zoom

    def channel_frequencies(self):
        """Sky frequency of each channel, Hz."""
        middle = self.channels // 2
        if self.fine > 1:  # the middle of a coarse channel is that of its fine one fine // 2
            middle = self.coarse // 2 * self.fine + self.fine // 2
        offset = (np.arange(self.channels) - middle) * self.width
        return self.center_frequency + self.zoom_frequency + offset

    def filled(self):
        """Numbers of the channels that the simulator and the zoom's passband fill."""
        edge = self.channels // 10 if self.zoom > 1 else max(2, self.channels // 100)
        return np.arange(edge, self.channels - edge)

    def integration(self):
        """Seconds."""
        return self.spectra_per_frame * self.frames / self.width

    def array(self):
        number = np.arange(self.antennas)
        places = aperture.geometry.direction(137.508 * number, 0.0)
        places *= self.radius * ((number + 0.5) / self.antennas)[:, np.newaxis] ** 0.75
        return aperture.ArrayDescription(
            "spiral",
            latitude=0.0,
            longitude=0.0,
            height=0.0,
            antennas=[aperture.Antenna(f"A{i}", place) for i, place in enumerate(places)],
            inputs=[
                aperture.Input(f"A{i}", polarization)
                for i in number
                for polarization in self.polarizations
            ],
            sample_rate=self.sample_rate,
            center_frequency=self.center_frequency,
            sources=[SOURCE],
        )


BEST2 = Instrument(
    "Magro, Zarb Adami, Hickish 2014",
    32,
    "x",
    35.0,
    20e6,
    1,
    408e6,
    channels=1024,
    spectra_per_frame=256,
    frames=76,
)
#: behind its F-engine, as the paper's GPUs have it
BEST2_SPECTRA = replace(BEST2, spectra="sc4")


def find_device(name):
    """The device that `auto` stands for."""
    if name != "auto":
        return name
    return "cuda" if "cuda:0" in aperture.devices() else "cpu"


def arrays_of(top, outputs, kind):
    """
    Runs a flowgraph to its end, and returns what comes out of each output, [item][element].

    Parameters
    ----------
    outputs : list of (block, port)
    kind : type
        Of an element, in NumPy.
    """
    arrays = []
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{folder}/{number}" for number in range(len(outputs))]
        sizes = [block.output_signature().sizeof_stream_item(port) for block, port in outputs]
        for output, size, name in zip(outputs, sizes, names):
            top.connect(output, blocks.file_sink(size, name))
        top.run()
        for size, name in zip(sizes, names):
            # items that nobody looks at, as the last integration, are not read into memory
            found = np.asarray(np.memmap(name, kind, "c"))
            arrays.append(found.reshape(-1, size // found.itemsize))
    return arrays


def simulate(instrument):
    """int8 [port][sample][input of the port][re, im]: enough for the simulated spectra."""
    samples, ports = instrument.samples(), instrument.ports
    inputs_per_port = instrument.inputs // ports
    top = gr.top_block()
    source = aperture.array_source(
        instrument.array(), type="sc8", samples=samples, inputs_per_port=inputs_per_port
    )
    outputs = [(source, port) for port in range(ports)]
    data = np.reshape(arrays_of(top, outputs, np.int8), (ports, samples, inputs_per_port, 2))
    if instrument.bits == 8:
        return data
    limit = 2 ** (instrument.bits - 1) - 1
    return np.rint(data / 2.0 ** (8 - instrument.bits)).clip(-limit, limit).astype(np.int8)


def frame_of_spectra(instrument, data, device, gain=1.0):
    """int8 [channel][input][time][re, im]: all spectra of the first filter bank, of the channels
    that come, from simulated samples."""
    ports, spectra = instrument.ports, instrument.coarse_spectra
    f_engine = aperture.f_engine(
        channels=instrument.made,
        inputs=instrument.inputs,
        inputs_per_port=instrument.inputs // ports,
        input_type="sc8",
        output_type="sc8",
        taps=instrument.taps,
        oversampling=instrument.oversampling,
        spectra_per_frame=spectra,
        gain=gain,
        device=device,
    )
    top = gr.top_block()
    for port, samples in enumerate(data):
        top.connect(
            aperture.replay(
                samples,
                2 * instrument.inputs // ports,
                rate=instrument.sample_rate,
                center_frequency=instrument.center_frequency,
                device=device,
            ),
            (f_engine, port),
        )
    ((frame,),) = arrays_of(top, [(f_engine, 0)], np.int8)
    frame = frame.reshape(instrument.made, instrument.inputs, spectra, 2)
    first = (instrument.made - instrument.coarse) // 2
    return frame[first : first + instrument.coarse]


def four_bits(instrument, data, device):
    """uint8 [channel][input][time]: a frame of 4 + 4 bits, from simulated samples."""
    steps = frame_of_spectra(instrument, data, device, RMS / data.std()).clip(-7, 7)
    return (steps[..., 0] << 4 | steps[..., 1] & 15).astype(np.uint8)


def items_per_second(top, sources, ends, watched, seconds):
    """
    Runs a flowgraph whose sources do not end by themselves.

    Parameters
    ----------
    sources : list of aperture.replay
    ends : list of aperture.discard
        Where the flowgraph ends.
    watched : list
        Blocks that may have an error().
    seconds : float
        Of the measurement.

    Returns
    -------
    float: items a second that come to each end, their mean: ends that read one source stay
    together but for what buffers hold.
    """

    def done():
        return sum(end.items() for end in ends) / len(ends)

    def next_one():
        """Waits for an item; how many there are, and when."""
        items, limit = done(), time.monotonic() + 120
        while done() == items and time.monotonic() < limit:
            time.sleep(0.0005)
        errors = [block.error() for block in [*watched, *ends] if block.error()]
        if errors or done() == items:
            raise RuntimeError(errors[0] if errors else "no item within 120 seconds")
        return done(), time.monotonic()

    top.start()
    try:
        while min(end.items() for end in ends) == 0:
            next_one()
        first, start = next_one()
        time.sleep(seconds)
        last, stop = next_one()
    finally:
        for source in sources:
            source.finish()
        top.wait()
    return (last - first) / (stop - start)
