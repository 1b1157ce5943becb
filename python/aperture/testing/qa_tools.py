#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
The common parts of the tests of blocks: a source and a sink of bytes that hand over pieces of
random, odd sizes, and one function that runs a flowgraph of one block to its end.

A port is an array of uint8 [item][byte]; tags are (offset, key, value) in Python's types.
"""

import contextlib
import functools
import itertools
import os
import sys
import threading
import time
from collections import namedtuple
from fractions import Fraction

import numpy as np
import pmt
from gnuradio import aperture, blocks, gr

from gnuradio.aperture.testing import reference

Tag = namedtuple("Tag", "offset key value")

#: the device of the blocks under test, cpu, emulated or cuda: the same tests are run for each
DEVICE = os.environ.get("APERTURE_TEST_DEVICE", "cpu")
ON_GPU = DEVICE.startswith("cuda")

#: devices of that kind on which blocks take turns, so that edges lead from one to another
TURNS = int(os.environ.get("APERTURE_TEST_TURNS", 1))

#: the lengths of frames of integers are multiples of it; 16 elsewhere tries a GPU's lengths
FRAME_MULTIPLE = int(os.environ.get("APERTURE_TEST_BLOCKS", 16 if ON_GPU else 1))

if ON_GPU and "cuda:0" not in aperture.devices():
    print(f"skipped: {DEVICE} is to be tested, and there is no GPU: {aperture.devices()}")
    sys.exit(77)  # SKIP_RETURN_CODE in CMakeLists.txt

#: seconds after which a flowgraph counts as hung: what runs takes milliseconds, and on a machine
#: that others use, or under a sanitizer, seconds
PATIENCE = float(os.environ.get("APERTURE_TEST_PATIENCE", 300))


class on_device:
    """A package whose blocks run on DEVICE, or on TURNS of its kind, unless a test says where."""

    BLOCKS = (
        "beam_power",
        "beamformer",
        "copy",
        "corner_turn",
        "dedisperser",
        "f_engine",
        "item_ring",
        "flagger",
        "pfb_channelizer",
        "power_detector",
        "power_normalizer",
        "pulse_search",
        "synthesizer",
        "visibility_averager",
        "voltage_ring",
        "xengine",
        "zoom",
    )

    def __init__(self, package):
        self.package, self.made = package, itertools.count()

    def __getattr__(self, name):
        member = getattr(self.package, name)
        if name not in self.BLOCKS:
            return member
        on = f"{DEVICE}:{next(self.made) % TURNS}" if TURNS > 1 else DEVICE
        return functools.partial(member, device=on)


def frame_length(spectra_per_frame, sample_type="sc8"):
    """
    Spectra in a frame that xengine takes: so many, and with integers on a GPU as many more as
    make a multiple of 16.
    """
    multiple = 1 if sample_type == "fc32" else FRAME_MULTIPLE
    return -(-spectra_per_frame // multiple) * multiple


# ---- tags


def to_pmt(value):
    """rx_time is (seconds, fraction); a dict becomes a dictionary with symbols as keys."""
    if isinstance(value, bool):
        return pmt.from_bool(value)
    if isinstance(value, tuple):
        return pmt.make_tuple(pmt.from_uint64(value[0]), pmt.from_double(value[1]))
    if isinstance(value, dict):
        made = pmt.make_dict()
        for key, entry in value.items():
            if key in ("input", "beam"):
                entry = pmt.from_long(entry)
            elif isinstance(entry, int) and not isinstance(entry, bool):
                entry = pmt.from_uint64(entry)
            made = pmt.dict_add(made, pmt.intern(key), to_pmt(entry))
        return made
    if isinstance(value, int):
        return pmt.from_uint64(value)
    if isinstance(value, complex):
        return pmt.from_complex(value)
    if isinstance(value, float):
        return pmt.from_double(value)
    if isinstance(value, np.ndarray):
        if value.dtype == np.complex64:
            return pmt.init_c32vector(len(value), value.tolist())
        if value.dtype == np.uint8:
            return pmt.init_u8vector(len(value), value.tolist())
        return pmt.init_u64vector(len(value), value.tolist())
    return value


def from_pmt(value):
    """The opposite of to_pmt()."""
    if pmt.is_dict(value) and not pmt.is_null(value):
        return {
            pmt.symbol_to_string(pmt.car(pair)): from_pmt(pmt.cdr(pair))
            for pair in (
                pmt.nth(i, pmt.dict_items(value)) for i in range(pmt.length(pmt.dict_items(value)))
            )
        }
    # to_python() of GNU Radio 3.10.5 does not know it
    if pmt.is_u64vector(value):
        return np.array(pmt.u64vector_elements(value))
    return pmt.to_python(value)


def gr_tag(item, key, value):
    """A tag for GNU Radio's own sources."""
    tag = gr.tag_t()
    tag.offset, tag.key, tag.value = item, pmt.intern(key), to_pmt(value)
    return tag


def gr_tags(item, values):
    """Tags of {key: value} for GNU Radio's own sources; None leaves one out."""
    return [gr_tag(item, key, value) for key, value in values.items() if value is not None]


def rx_time(seconds, fraction=0.0):
    """The value of an rx_time tag: seconds may have a part below one, of either sign."""
    whole = int(np.floor(fraction))
    return (int(seconds) + whole, float(fraction - whole))


def seconds_between(time, reference):
    """Seconds from one value of rx_time to another; exact where they are close."""
    return (time[0] - reference[0]) + (time[1] - reference[1])


def tags_of(tags, key):
    """(offset, value) of the tags with that key."""
    return [(tag.offset, tag.value) for tag in tags if tag.key == key]


def each_of(tags, key, items):
    """
    (item, value) of a state for each of the items from where it is said first: by tags that say it
    where it changes. rx_time goes on at rx_rate, in exact arithmetic.
    """
    found, value, begun, rate = [], None, 0, None
    rates, values = dict(tags_of(tags, "rx_rate")), dict(tags_of(tags, key))
    for item in range(items):
        rate = rates.get(item, rate)
        if item in values:
            value, begun = values[item], item
        if value is None:
            continue
        if key == "rx_time" and item > begun:
            if rate is None:
                continue
            whole, part = divmod(Fraction(value[1]) + (item - begun) / Fraction(rate), 1)
            found.append((item, (value[0] + int(whole), float(part))))
        else:
            found.append((item, value))
    return found


def said(tags):
    """
    The same tags, (offset, key, value) or gr.tag_t, with states where they change: those that say
    what the last one of their key said are left out, and so is an rx_time that is not the first.
    """
    last, left = {}, []
    for tag in sorted(tags, key=lambda tag: tag.offset if isinstance(tag, gr.tag_t) else tag[0]):
        key, value = (
            (pmt.symbol_to_string(tag.key), pmt.write_string(tag.value))
            if isinstance(tag, gr.tag_t)
            else (tag[1], str(tag[2]))
        )
        if key in last and (key == "rx_time" or last[key] == value):
            continue
        if aperture.stream_states.is_state(key):
            last[key] = value
        left.append(tag)
    return left


def missing_of(tags, inputs, spectra):
    """
    Returns the `missing` tags of an edge: bool [input][spectrum].

    Raises AssertionError where a tag names a spectrum that there is not, or one twice.
    """
    missing = np.zeros((inputs, spectra), dtype=bool)
    for offset, entry in tags_of(tags, "missing"):
        part = slice(entry["first"], entry["first"] + entry["count"])
        assert entry["count"] > 0 and part.stop <= spectra, (offset, entry)
        assert not missing[entry["input"], part].any(), (offset, entry)
        missing[entry["input"], part] = True
    return missing


# ---- edges of frames

EPOCH = 1700000000
# frames a second, a power of two: all times below are exact in float64.
RATE = 512.0


def frame_tags(seconds=0.0, rate=RATE):
    return [
        (0, "rx_time", rx_time(EPOCH, seconds)),
        (0, "rx_rate", rate),
        (0, "rx_freq", 408e6),
        (0, "bandwidth", 2e6),
        (0, "samples_per_item", 640),
    ]


def stream_tags(seconds=0.0, rate=float(2**20), frequency=408e6):
    """Returns the tags of a source at its first sample, `seconds` behind EPOCH."""
    values = {"rx_time": rx_time(EPOCH, seconds), "rx_rate": rate, "rx_freq": frequency}
    return [(0, key, value) for key, value in values.items() if value is not None]


def jump(item, seconds):
    """The tag of an item that comes `seconds` behind EPOCH."""
    return (item, "rx_time", rx_time(EPOCH, seconds))


def missing_tags(missing, split):
    """
    bool [frame][input][time] -> the tags of the edge.

    split: a tag for each frame, as blocks may send them, instead of one for a whole run
    """
    frames, inputs, times = missing.shape
    tags = []
    for number in range(inputs):
        row = missing[:, number].reshape(-1)
        edges = set(np.flatnonzero(np.diff(np.concatenate([[0], row, [0]]))))
        if split:
            edges |= {edge for edge in range(0, len(row), times) if row[edge]}
        edges = sorted(edges) + [len(row)]
        for first, end in zip(edges, edges[1:]):
            if first < end and row[first]:
                entry = {"input": number, "first": int(first), "count": int(end - first)}
                tags.append((int(first) // times, "missing", entry))
    return tags


# ---- blocks


def comes_true(condition, seconds=PATIENCE, pause=1e-3):
    """Waits until a function gives what is true, for so many seconds at most; gives the last."""
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(pause)
    return found


#: a port, and a message to it that means nothing: GNU Radio's own, of an end that is none
NO_END = "system", pmt.cons(pmt.intern("done"), pmt.from_long(0))


def until_taken(block, port, message):
    """Sends a block that runs a message, and waits until its thread has taken it."""
    queue, port = block.to_basic_block(), pmt.intern(port)
    queue._post(port, message)
    comes_true(lambda: not queue.nmsgs(port), pause=2e-4)


def let_work(block):
    """
    Waits until a block that runs has done all it can with what is there: its thread takes messages
    in two of its turns, between which it neither reads nor writes anything.
    """
    signature = block.input_signature(), block.output_signature()
    deadline = time.monotonic() + PATIENCE

    def moved():
        return [block.nitems_read(i) for i in range(signature[0].max_streams())] + [
            block.nitems_written(i) for i in range(signature[1].max_streams())
        ]

    before, turns = None, 0
    while turns < 2 and time.monotonic() < deadline:
        until_taken(block, *NO_END)
        before, now = moved(), before
        turns = turns + 1 if before == now else 0


def item_of(size):
    """Type of an item of so many bytes, as GNU Radio wants it."""
    return (np.uint8, size) if size > 1 else np.uint8


def ends_flowgraph(work):
    """An exception out of work() hangs GNU Radio: keeps it as `error`, and ends."""

    def guarded(self, input_items, output_items):
        try:
            return work(self, input_items, output_items)
        except Exception as error:  # the test shows any error
            self.error = error
            return -1

    return guarded


class ByteSource(gr.sync_block):
    """
    Sends a port's bytes, from the start each time it is started.

    chunks: the largest piece; each is 1 to that many items long, at random
    gates: item -> threading.Event: nothing from that item on goes out before it is set
    """

    def __init__(self, data, tags=(), chunks=4096, gates=None, seed=0):
        self.data = np.ascontiguousarray(data)
        gr.sync_block.__init__(self, "byte source", None, [item_of(self.data.shape[1])])
        self.tags = sorted(tags, key=lambda tag: tag[0])
        self.chunks = chunks
        self.gates = dict(gates or {})
        self.seed = seed
        self.error = None

    def start(self):
        self.sent = 0
        self.rng = np.random.default_rng(self.seed)
        return True

    @ends_flowgraph
    def work(self, input_items, output_items):
        if self.sent == len(self.data):
            return -1
        gate = self.gates.get(self.sent)
        if gate and not gate.wait(PATIENCE):
            raise RuntimeError("the test never opened a gate")
        count = min(
            len(output_items[0]),
            len(self.data) - self.sent,
            int(self.rng.integers(1, self.chunks + 1)),
        )
        for item in self.gates:
            if self.sent < item < self.sent + count:
                count = item - self.sent
        piece = self.data[self.sent : self.sent + count]
        output_items[0][:count] = piece.reshape(output_items[0][:count].shape)
        for offset, key, value in self.tags:
            if self.sent <= offset < self.sent + count:
                self.add_item_tag(0, offset, pmt.intern(key), to_pmt(value))
        self.sent += count
        return count


class ByteSink(gr.sync_block):
    """Keeps what it gets, in pieces of 1 to `chunks` items; empty after each start."""

    def __init__(self, item_size, chunks=4096, seed=0):
        gr.sync_block.__init__(self, "byte sink", [item_of(item_size)], None)
        self.item_size = item_size
        self.chunks = chunks
        self.seed = seed
        self.changed = threading.Condition()
        self.error = None
        self.clear()

    def clear(self):
        self.pieces = []
        self.tags = []
        self.count = 0

    def start(self):
        self.clear()
        self.rng = np.random.default_rng(self.seed)
        return True

    @ends_flowgraph
    def work(self, input_items, output_items):
        count = min(len(input_items[0]), int(self.rng.integers(1, self.chunks + 1)))
        for tag in self.get_tags_in_window(0, 0, count):
            self.tags.append(Tag(tag.offset, pmt.symbol_to_string(tag.key), from_pmt(tag.value)))
        with self.changed:
            self.pieces.append(input_items[0][:count].copy())
            self.count += count
            self.changed.notify_all()
        return count

    def wait_for(self, count):
        """Until so many items have come."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.count >= count, PATIENCE):
                raise AssertionError(f"{self.count} of {count} items came")

    def data(self):
        """uint8 [item][byte]"""
        if not self.pieces:
            return np.zeros((0, self.item_size), dtype=np.uint8)
        return np.concatenate(self.pieces).reshape(-1, self.item_size)


class Keeper(gr.basic_block):
    """Keeps the messages of its port `in`, as Python's types."""

    def __init__(self):
        gr.basic_block.__init__(self, "keeper", None, None)
        self.kept = []
        self.message_port_register_in(pmt.intern("in"))
        self.set_msg_handler(pmt.intern("in"), self.keep)

    def keep(self, message):
        self.kept.append(from_pmt(message))


class Running:
    """
    Starting and ending of the flowgraph `top`, with its byte sources and byte sinks in
    `sources` and `sinks`.
    """

    def start(self):
        self.top.start()

    def wait(self):
        """To the end; raises AssertionError if it does not come."""
        thread = threading.Thread(target=self.top.wait, daemon=True)
        thread.start()
        thread.join(PATIENCE)
        if thread.is_alive():
            got = [sink.count for sink in self.sinks]
            sent = [source.sent for source in self.sources]
            # the blocks must not go before their threads have ended
            self.top.stop()
            thread.join(PATIENCE)
            raise AssertionError(f"flowgraph hangs: sent {sent}, got {got}")
        for block in self.sources + self.sinks:
            if block.error:
                raise block.error

    @contextlib.contextmanager
    def running(self):
        """
        Runs while the body of `with` does, and then to its end, with all gates open: a
        flowgraph that is dropped while it runs hangs the whole test.
        """
        self.start()
        try:
            yield self
        finally:
            for source in self.sources:
                for gate in source.gates.values():
                    gate.set()
            self.wait()

    def run(self):
        """Returns the data of each sink, and its tags."""
        self.start()
        self.wait()
        return [sink.data() for sink in self.sinks], [sink.tags for sink in self.sinks]


class Flowgraph(Running):
    """
    One block under test between byte sources and byte sinks.

    block: or a list of blocks, one behind the other; `block` is the first of them then
    ports: array [item][byte] of each input port
    tags: list of tags of each input port
    out_sizes: bytes of an item of each output port
    chunks: the largest piece in and out; 0 leaves it to the scheduler
    """

    def __init__(self, block, ports, out_sizes, tags=None, chunks=1000, gates=None, seed=1):
        chain = block if isinstance(block, list) else [block]
        self.block = block = chain[0]
        self.top = gr.top_block()
        for first, second in zip(chain, chain[1:]):
            for number in range(first.output_signature().max_streams()):
                self.top.connect((first, number), (second, number))
        chunks = chunks or 10**9
        self.sources, self.sinks = [], []
        for number, data in enumerate(ports):
            source = ByteSource(data, tags[number] if tags else (), chunks, gates, seed + number)
            self.top.connect((source, 0), (block, number))
            self.sources.append(source)
        for number, size in enumerate(out_sizes):
            sink = ByteSink(size, chunks, seed + 100 + number)
            self.top.connect((chain[-1], number), (sink, 0))
            self.sinks.append(sink)
        self.status = None
        ports_out = block.message_ports_out()
        names = [
            pmt.symbol_to_string(pmt.vector_ref(ports_out, i)) for i in range(pmt.length(ports_out))
        ]
        if "status" in names:
            self.status = blocks.message_debug()
            self.top.msg_connect((block, "status"), (self.status, "store"))

    def post(self, port, message):
        """Sends a message (a dict) to the block."""
        self.block.to_basic_block()._post(pmt.intern(port), to_pmt(message))

    def post_and_wait(self, port, message):
        """post(), and waits until the block's thread is done with it."""
        until_taken(self.block, port, to_pmt(message))
        # when the thread takes another one, it is done with the first
        until_taken(self.block, *NO_END)

    def messages(self):
        """Returns the messages of `status`, but for counts, of which there is one a second of the
        host's clock."""
        return [message for message in self.all_messages() if message["event"] != "counts"]

    def all_messages(self):
        """Returns the messages of `status`."""
        return [from_pmt(self.status.get_message(i)) for i in range(self.status.num_messages())]


def run(block, ports, out_sizes, **options):
    """Flowgraph(...).run()"""
    return Flowgraph(block, ports, out_sizes, **options).run()


def run_chain(*chain):
    """Runs blocks, each behind the one before, to their end."""
    top = gr.top_block()
    top.connect(*chain)
    top.run()


def run_at_once(graphs):
    """All to their ends, at the same time."""
    with contextlib.ExitStack() as stack:
        for graph in graphs:
            stack.enter_context(graph.running())


def in_half_precision(*blocks):
    """Returns whether one of these channelisers transforms in half precision."""
    return any("f16" in block.implementation() for block in blocks)


def assert_steps_agree(actual, expected, *blocks):
    """
    sc8 of two channelisers, on whatever devices, or of the model: a step apart in at most 1e-4
    of the components, where one of them transforms in half precision in 1e-2; five standard
    deviations of which are chance; of few components in one.
    """
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    difference = np.abs(actual.astype(int) - expected.astype(int))
    most = (1e-2 if in_half_precision(*blocks) else 1e-4) * difference.size
    most = max(1, most + 5 * np.sqrt(most))
    assert difference.max(initial=0) <= 1, f"{difference.max()} steps apart"
    differ = np.count_nonzero(difference)
    assert differ <= most, f"{differ} of {difference.size} components differ"


def as_numbers(data):
    """Random bytes that are read as float32: all are numbers then, below 2."""
    return (data.view(np.uint32) & 0xBFFFFFFF).view(data.dtype)


def ports_of(values, sample_type, inputs_per_port):
    """[input][time]... (complex integers with [2] behind) -> bytes [time][...] of each port."""
    return [
        reference.samples_to_bytes(
            np.swapaxes(values[first : first + inputs_per_port], 0, 1), sample_type
        )
        for first in range(0, len(values), inputs_per_port)
    ]


def powers_of(data, shape):
    """bytes -> float32 [integration] and this shape"""
    return np.frombuffer(data.tobytes(), dtype=np.float32).reshape((-1,) + shape)


def random_weights(rng, shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)


def random_samples(rng, sample_type, shape, rms=20.0):
    """Gaussian noise of a type: [...], of complex integers [...][2]."""
    pairs = tuple(shape) + (2,)
    if sample_type == "fc32":
        noise = rms * rng.standard_normal(pairs, dtype=np.float32)
        return noise.view(np.complex64)[..., 0]
    if sample_type == "f32":
        return rms * rng.standard_normal(shape, dtype=np.float32)
    dtype, components = reference.SAMPLE_TYPES[sample_type]
    bits = reference.PACKED_BITS.get(sample_type, 8 * dtype.itemsize)
    limit = 2 ** (bits - 1) - 1
    if sample_type in reference.PACKED_BITS:
        rms = min(rms, limit / 3)
    noise = rms * rng.standard_normal(pairs if components == 2 else shape)
    return np.clip(np.rint(noise), -limit, limit).astype(dtype)
