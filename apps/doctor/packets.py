#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Packets as they come: who sends them, how many, what their headers say, and whether that is what
a layout says. Nothing of them is read by the rules of a flowgraph, so a wrong layout shows."""

import collections
import functools
import ipaddress
import math
import socket
import struct
import time
from dataclasses import dataclass, field

from ..aperture_python import packet_layouts
from ..inputs.input_format import InputError, Option
from ..inputs.registry import find_kind
from ..network.addresses import listening_socket
from ..parameters.input_files import look_for
from ..parameters.rules import whole_reader
from .findings import Examination, notice, problem

SECONDS = 2.0
MOST_PACKETS = 1 << 16
MOST_BYTES = 1 << 26  # bytes of all packets that are kept
BUFFER = 1 << 26
SO_TIMESTAMPNS, SO_RXQ_OVFL = 35, 40
KINDS = ("udp", "pcap")
LARGEST_STEP = 1 << 20  # packets: further away is another place, and no gap
SHOWN = 64  # bytes of a packet in hexadecimal
PER_ROW = 16
FITS = 0.9  # share of packets that fit a layout which is called the right one
FOLLOWS = 0.5  # share of them that follow the one before

#: counts of a stream
COUNTED = ("next", "lost", "late", "repeated", "jumps")
BITS = {"sc4": 4, "s8": 8, "u8": 8, "offset1": 1, "offset2": 2, "offset4": 4}
SHAPE = ("channels", "samples", "inputs")


@dataclass(frozen=True)
class Packet:
    """A datagram. arrival: ns since 1970; sender: as text; address: index of the one it came to."""

    arrival: int
    sender: str
    address: int
    data: bytes


@dataclass
class Capture:
    """
    Packets that came in a time.

    others: packets of other protocols, in a file; dropped: packets that the system threw away;
    cut: packets of which only a part is in a file; error: why a file ended early, or "".
    """

    packets: list = field(default_factory=list)
    seconds: float = 0.0
    others: int = 0
    dropped: int = 0
    cut: int = 0
    error: str = ""


# ---- what comes


def _capture_socket(names, interface, seconds):
    """Receives packets that come to addresses in a time, as many as there is memory for."""
    found, sockets = Capture(), []
    try:
        for name in names:
            host, _, port = name.rpartition(":")
            if not port.isdigit() or not 1 <= int(port) <= 65535:
                raise ValueError(f"{name}: expected ADDRESS:PORT, or a port from 1 to 65535")
            listener = listening_socket(host.strip("[]"), int(port), BUFFER, interface)
            sockets.append(listener)
            for option in (SO_TIMESTAMPNS, SO_RXQ_OVFL):
                listener.setsockopt(socket.SOL_SOCKET, option, 1)
            listener.settimeout(0.05 / len(names))
        begin, kept = time.monotonic(), 0
        dropped = [0] * len(sockets)
        while time.monotonic() - begin < seconds:
            for place, listener in enumerate(sockets):
                try:
                    data, more, _, sender = listener.recvmsg(65536, 256)
                except TimeoutError:
                    continue
                when = time.time_ns()
                for _, kind, value in more:
                    if kind == SO_TIMESTAMPNS:
                        whole, part = struct.unpack("@qq", value[:16])
                        when = whole * 10**9 + part
                    elif kind == SO_RXQ_OVFL:
                        dropped[place] = struct.unpack("@I", value[:4])[0]
                found.packets.append(Packet(when, _text_of(*sender[:2]), place, data))
                kept += len(data)
            if len(found.packets) >= MOST_PACKETS or kept > MOST_BYTES:
                break
        found.dropped = sum(dropped)
        found.seconds = time.monotonic() - begin
    finally:
        for listener in sockets:
            listener.close()
    return found


def _text_of(host, port):
    address = ipaddress.ip_address(host.split("%")[0])
    address = getattr(address, "ipv4_mapped", None) or address
    return f"{address}:{port}" if address.version == 4 else f"[{address}]:{port}"


def _capture_files(names):
    found = Capture()
    for name in names:
        packets, error, others = packet_layouts.packets_of(name, MOST_PACKETS)
        found.others += others
        found.error = found.error or error
        for arrival, host, port, data, cut in packets:
            found.cut += cut
            sender = _text_of(str(ipaddress.ip_address(host)), port)
            found.packets.append(Packet(arrival, sender, 0, data))
    if found.packets:
        found.seconds = (found.packets[-1].arrival - found.packets[0].arrival) / 1e9
    return found


# ---- what headers say


def value_of(entry, data):
    """Returns what a field of a layout says in a packet; None where the packet is too short."""
    part = data[entry["offset"] : entry["offset"] + entry["width"]]
    if len(part) < entry["width"]:
        return None
    return int.from_bytes(part, entry["byte_order"]) >> entry["lowest_bit"] & (
        (1 << entry["bits"]) - 1
    )


def expected_of(entry, quantities):
    """Returns what a field has to say by these quantities; None where they do not tell."""
    given = int(entry["value"]) if entry["value"].isdigit() else quantities.get(entry["value"])
    if given is None:
        return None
    if entry["log2"]:
        given = math.log2(given)
    return given / entry["unit"] + entry["add"]


def quantity_of(entry, said):
    """The quantity that a field says."""
    value = (said - entry["add"]) * entry["unit"]
    return 1 << value if entry["log2"] and 0 <= value < 31 else value


def by_role(layout):
    return {entry["role"]: entry for entry in layout["fields"] if entry["role"]}


@dataclass
class Fit:
    """
    A comparison of packets with a layout.

    quantities: the shape of packets, as far as it is known; good: packets that fit; reasons: why
    others do not, {text: packets}; streams: {(sender, channel, input): Steps}; follows: share of
    the good packets that are the next one of their stream.
    """

    layout: dict
    quantities: dict
    good: int = 0
    reasons: collections.Counter = field(default_factory=collections.Counter)
    streams: dict = field(default_factory=dict)

    @property
    def follows(self):
        steps = sum(stream.steps for stream in self.streams.values())
        return sum(stream.next for stream in self.streams.values()) / steps if steps else 0.0

    def settings(self):
        """The options that say this layout."""
        parts = [f"layout={self.layout['name']}"]
        for name in SHAPE:
            if self.quantities.get(name) and (name != "channels" or self.layout["channelised"]):
                parts.append(f"{name}={self.quantities[name]}")
        if self.quantities.get("coding"):
            parts.append(f"coding={self.quantities['coding']}")
        if self.quantities.get("complex") == 0:
            parts.append("complex=no")
        return ",".join(parts)


@dataclass
class Steps:
    """Numbers of a stream's packets, as they came."""

    numbers: list = field(default_factory=list)

    @functools.cached_property
    def _counted(self):
        """{name: number}, exact: numbers are compared with all that came since the last jump."""
        found = collections.Counter()
        place, newest = set(), None
        lowest = 0

        def end():
            if place:
                found["lost"] += newest - lowest + 1 - len(place)

        for before, number in zip([None, *self.numbers], self.numbers):
            if before is not None:
                found["next"] += number == before + 1
                if abs(number - newest) >= LARGEST_STEP:
                    end()
                    found["jumps"] += 1
                    place, newest = set(), None
            if newest is None:
                newest = lowest = number
            elif number in place:
                found["repeated"] += 1
            elif number < newest:
                found["late"] += 1
            newest, lowest = max(newest, number), min(lowest, number)
            place.add(number)
        end()
        return found

    @property
    def steps(self):
        return max(0, len(self.numbers) - 1)

    def __getattr__(self, name):
        if name in COUNTED:
            return self._counted[name]
        raise AttributeError(name)


def _known(layout, given):
    """The quantities that a layout and a user say."""
    known = {name: layout[name] for name in SHAPE if layout[name]}
    if layout["complex"] is not None:
        known["complex"] = int(layout["complex"])
    if len(layout["codings"]) == 1:
        known["coding"] = layout["codings"][0]
    if not layout["channelised"]:
        known["channels"] = 1
    known.update({name: value for name, value in given.items() if value})
    if "complex" in given:
        known["complex"] = given["complex"]
    return known


def _guess(layout, given, packets):
    """The quantities of packets, of what is known, what headers say and how long packets are."""
    known = _known(layout, given)
    bytes_ = collections.Counter(len(packet.data) for packet in packets).most_common(1)[0][0]
    typical = [packet for packet in packets if len(packet.data) == bytes_]
    for entry in layout["fields"]:
        name = entry["value"]
        if not name or name.isdigit() or name in known or not entry["checked"]:
            continue
        said = collections.Counter(value_of(entry, packet.data) for packet in typical)
        said = said.most_common(1)[0][0]
        if said is not None:
            known[name] = quantity_of(entry, said)
    if "coding" in known:
        known["bits"] = BITS.get(known["coding"]) or int(
            "".join(filter(str.isdigit, known["coding"]))
        )
    elif "bits" in known:
        fitting = [name for name in layout["codings"] if BITS.get(name) == known["bits"]]
        if len(fitting) == 1:
            known["coding"] = fitting[0]
    known.setdefault("bits", 8)
    known.setdefault("complex", 1)
    if known.get("coding") == "sc4":
        known["complex"] = 1
    if "samples" not in known and layout["counts"] == "samples":
        known["samples"] = _step(layout, typical)
    payload = 8 * (bytes_ - layout["header_bytes"])
    unknown = [name for name in SHAPE if not known.get(name)]
    for name in unknown[1:]:
        known[name] = 1
    product = (
        known["bits"]
        * (1 + known["complex"])
        * math.prod(known[name] for name in SHAPE if name not in unknown[:1])
    )
    if unknown and payload > 0 and product > 0 and payload % product == 0:
        known[unknown[0]] = payload // product
    if all(known.get(name) for name in SHAPE):
        bits = known["bits"] * (1 + known["complex"]) * math.prod(known[name] for name in SHAPE)
        known["payload_bytes"] = bits // 8 if bits % 8 == 0 else None
        if known["payload_bytes"]:
            known["packet_bytes"] = known["payload_bytes"] + layout["header_bytes"]
    return known


def _step(layout, packets):
    """The commonest step of a stream's counter from one packet to the next; None without any."""
    roles, newest, steps = by_role(layout), {}, collections.Counter()
    for packet in packets:
        said = [
            value_of(roles[name], packet.data)
            for name in ("channel", "input", "counter")
            if name in roles
        ]
        if None in said:
            continue  # shorter than the header
        place = (packet.sender, packet.address, *said[:-1])
        step = said[-1] - newest.get(place, said[-1])
        if step > 0:
            steps[step] += 1
        newest[place] = said[-1]
    return steps.most_common(1)[0][0] if steps else None


def _reason(layout, quantities, data, roles):
    """Says why a packet does not fit; "" if it does."""
    if len(data) < layout["header_bytes"]:
        return f"the header has {layout['header_bytes']} bytes, the packet {len(data)}"
    for entry in layout["fields"]:
        if not entry["value"] or not entry["checked"]:
            continue
        wanted = expected_of(entry, quantities)
        said = value_of(entry, data)
        if wanted is not None and said != wanted:
            of = "" if entry["value"].isdigit() else f" ({entry['value']})"
            return f"field {entry['name']} says {said}, not {wanted:g}{of}"
    whole = quantities.get("packet_bytes")
    if whole is None:
        return "no packet has so many samples, inputs and channels"
    if len(data) != whole:
        return f"packets have {len(data)} bytes, not {whole}"
    counter = value_of(roles["counter"], data) - layout["first"]
    if counter < 0 or (layout["counts"] == "samples" and counter % quantities["samples"]):
        return f"the counter {roles['counter']['name']} is no multiple of samples"
    return ""


def fit(layout, given, packets, rate=None):
    """Compares packets with a layout; given: {quantity: value} that a user said."""
    found = Fit(layout, _guess(layout, given, packets))
    roles = by_role(layout)
    unit = found.quantities.get("samples") or 1 if layout["counts"] == "samples" else 1
    a_second = round(rate / (found.quantities.get("samples") or 1)) if rate else None
    if layout["begins"] == "each_second" and not a_second:
        # the highest counter that was seen is that of the second's last packet, or near to it
        counters = [value_of(roles["counter"], packet.data) or 0 for packet in packets]
        a_second = max(counters) + 1
    for packet in packets:
        reason = _reason(layout, found.quantities, packet.data, roles)
        if reason:
            found.reasons[reason] += 1
            continue
        found.good += 1
        number = (value_of(roles["counter"], packet.data) - layout["first"]) // unit
        if layout["begins"] == "each_second":
            number += value_of(roles["seconds"], packet.data) * a_second
        place = [
            value_of(roles[name], packet.data) if name in roles else 0
            for name in ("channel", "input")
        ]
        if layout["input_is_address"]:
            place[1] = packet.address
        found.streams.setdefault((packet.sender, *place), Steps()).numbers.append(number)
    return found


def fitting(packets, given):
    """The layouts that are built in and fit, the one that says most of its headers first."""
    found = []
    for name in packet_layouts.names():
        layout = packet_layouts.find(name)
        candidate = fit(layout, given, packets)
        if candidate.good >= FITS * len(packets) and candidate.follows >= FOLLOWS:
            checked = sum(
                entry["bits"] for entry in layout["fields"] if entry["value"] and entry["checked"]
            )
            found.append((checked, candidate.follows, candidate))
    return [entry[2] for entry in sorted(found, key=lambda entry: entry[:2], reverse=True)]


# ---- the page


def hexadecimal(data):
    """Lines of bytes in hexadecimal, and as letters where they are."""
    for at in range(0, min(len(data), SHOWN), PER_ROW):
        row = data[at : at + PER_ROW]
        halves = [row[:8].hex(" "), row[8:].hex(" ")]
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"  {at:04x}  {halves[0]:<23}  {halves[1]:<23}  {letters}"


def field_lines(layout, quantities, data):
    """A line of each field: its place, its name, what it says and what is to be known of that."""
    yield f"  {'bytes':<8}{'bits':<7}{'field':<20}{'says':>14}"
    for entry in layout["fields"]:
        said = value_of(entry, data)
        last = entry["offset"] + entry["width"] - 1
        where = f"{entry['offset']}" + (f"-{last}" if last > entry["offset"] else "")
        whole = entry["bits"] == 8 * entry["width"]
        high = entry["lowest_bit"] + entry["bits"] - 1
        bits = "" if whole else f"{high}" + (f"-{entry['lowest_bit']}" if entry["bits"] > 1 else "")
        remark = entry["role"]
        wanted = expected_of(entry, quantities) if entry["value"] else None
        if entry["value"] and entry["checked"] and said is not None:
            name = "" if entry["value"].isdigit() else f" by {entry['value']}"
            if wanted is not None and said != wanted:
                remark = f"WRONG, {wanted:g}{name}"
            elif name:
                remark = entry["value"]
        text = "not there" if said is None else str(said)
        yield f"  {where:<8}{bits:<7}{entry['name'][:19]:<20}{text:>14}  {remark}".rstrip()[:79]


def _rate_text(bits):
    unit, name = next(
        (entry for entry in ((1e9, "Gbit/s"), (1e6, "Mbit/s")) if bits >= entry[0]), (1e3, "kbit/s")
    )
    return f"{bits / unit:.3g} {name}"


def _numbers_text(numbers):
    numbers = sorted(numbers)
    if len(numbers) > 6:
        return f"{', '.join(map(str, numbers[:3]))} ... {numbers[-1]} ({len(numbers)})"
    return ", ".join(map(str, numbers))


MOST_SENDERS = 6


def sender_lines(capture, found):
    """Lines about each sender: how much it sends, of which streams, and what is lost of them."""
    senders = collections.defaultdict(list)
    for packet in capture.packets:
        senders[packet.sender].append(packet)
    for sender, packets in sorted(senders.items(), key=lambda entry: -len(entry[1]))[:MOST_SENDERS]:
        seconds = (packets[-1].arrival - packets[0].arrival) / 1e9
        rates = ""
        if len(packets) > 1 and seconds > 0:
            a_second = (len(packets) - 1) / seconds
            bits = 8 * sum(len(packet.data) for packet in packets[1:]) / seconds
            rates = f", {a_second:.4g} a second, {_rate_text(bits)}"
        yield f"  {sender}: {len(packets)} packets{rates}"[:79]
        streams = {key: steps for key, steps in found.streams.items() if key[0] == sender}
        if not streams:
            continue
        roles = by_role(found.layout)
        parts = []
        if "channel" in roles:
            parts.append("channels " + _numbers_text({key[1] for key in streams}))
        if "input" in roles:
            parts.append("inputs " + _numbers_text({key[2] for key in streams}))
        counts = {
            name: sum(getattr(steps, name) for steps in streams.values())
            for name in ("lost", "late", "repeated", "jumps")
        }
        told = [
            f"{counts[name]} {text}"
            for name, text in (
                ("lost", "lost"),
                ("late", "out of order"),
                ("repeated", "repeated"),
                ("jumps", "far jumps"),
            )
            if counts[name]
        ]
        parts.append(", ".join(told) or "none lost")
        yield f"    {'; '.join(parts)}"[:79]
    if len(senders) > MOST_SENDERS:
        yield f"  and {len(senders) - MOST_SENDERS} more senders"


def _lengths_text(packets):
    lengths = collections.Counter(len(packet.data) for packet in packets).most_common()
    if len(lengths) == 1:
        return f"{lengths[0][0]} bytes each"
    text = ", ".join(f"{bytes_} bytes ({number})" for bytes_, number in lengths[:3])
    return text + (f" and {len(lengths) - 3} more lengths" if len(lengths) > 3 else "")


def page(capture, found, said):
    """Lines of at most 79 letters: a packet and its fields, and who sends; said: the layout is one
    that a user said."""
    packets = capture.packets
    seconds = (packets[-1].arrival - packets[0].arrival) / 1e9
    line = f"{len(packets)} packets in {capture.seconds:.3g} s, {_lengths_text(packets)}"
    if len(packets) > 1 and seconds > 0:
        bits = 8 * sum(len(packet.data) for packet in packets[1:]) / seconds
        line += f", {_rate_text(bits)}"
    yield line[:79]
    shown = packets[0]
    if found:
        # one that does not fit, where there is one
        roles = by_role(found.layout)
        shown = next(
            (
                packet
                for packet in packets
                if _reason(found.layout, found.quantities, packet.data, roles)
            ),
            shown,
        )
    yield ""
    yield f"One of them, from {shown.sender}, {len(shown.data)} bytes:"
    yield from hexadecimal(shown.data)
    if found:
        yield ""
        how = "" if said else ", which fits"
        yield f"Its fields by layout {found.layout['name']}{how}:"
        yield from field_lines(found.layout, found.quantities, shown.data)
        yield (
            f"  {found.layout['header_bytes']}-{len(shown.data) - 1}: payload "
            f"[{', '.join(found.layout['order'])}], the last axis fastest"
        )
    yield ""
    yield "Senders:"
    yield from sender_lines(capture, found or Fit({"fields": []}, {}))


# ---- the examination


def _any_layout(text):
    if text.endswith((".yml", ".yaml")):
        text = look_for(text) or text
    packet_layouts.find(text)
    return text


def is_of_packets(text):
    """Returns whether an input's text names packets."""
    return text.partition(":")[0] in KINDS


def request_of(text):
    """The Request of packets, whose options need not be all there; layouts may have channels."""
    kind, rest = find_kind(text)
    reader = type("PacketsOf", (type(kind),), {"parse": type(kind).__mro__[1].parse})()
    reader.options = {
        **kind.options,
        "layout": Option(_any_layout, "", ""),
        "channels": Option(whole_reader(1, 65536), "", ""),
    }
    return reader.parse(rest)


def _layout_findings(capture, found, others):
    """Findings about a layout that a user said, or the ones that fit."""
    packets = capture.packets
    better = [entry for entry in others if not found or entry.settings() != found.settings()]
    fits = [f"{entry.settings()} fits" for entry in better[:2]]
    if found and found.good < len(packets):
        wrong = len(packets) - found.good
        reasons = "; ".join(
            f"{text} ({number} packet{'s' if number > 1 else ''})"
            for text, number in found.reasons.most_common(3)
        )
        whole = found.good < FITS * len(packets)
        text = (
            f"{wrong} of {len(packets)} packets contradict layout {found.layout['name']}: "
            f"{reasons}."
        )
        if whole and fits:
            remedy = "Another layout does: " + ", or ".join(fits) + "."
        elif whole:
            remedy = (
                "No layout that is built in fits. docs/packets.md says how a file of your own "
                "says where fields are."
            )
        else:
            remedy = (
                "Is there another sender, or one with other settings? senders= says who is allowed."
            )
        yield (problem if wrong > 1e-3 * len(packets) else notice)(
            "packets-layout", [], text, remedy
        )
    elif found and found.follows < FOLLOWS and any(s.steps for s in found.streams.values()):
        yield problem(
            "packets-counter",
            [],
            f"Headers fit layout {found.layout['name']}, but only {100 * found.follows:.0f} % of "
            "the packets are the next one of their stream: the counter may be another field.",
            "Another layout does better: " + ", or ".join(fits) + "."
            if fits
            else "Compare the layout's counter, and what it counts, with what the sender does.",
        )
    elif not found and others:
        yield notice(
            "packets-fit",
            [],
            "No layout was given. "
            + ", or ".join(f"{entry.settings()} fits" for entry in others[:2])
            + ".",
            "rate= and freq= are to be added: packets do not say them.",
        )
    elif not found:
        yield problem(
            "packets-unknown",
            [],
            "None of the layouts that are built in fits: "
            + ", ".join(packet_layouts.names())
            + ".",
            "docs/packets.md says how a file of your own says where fields are.",
        )


def _stream_findings(capture, found):
    """Findings about streams whose packets fit."""
    counts = {
        name: sum(getattr(steps, name) for steps in found.streams.values())
        for name in ("lost", "late", "repeated", "jumps")
    }
    if counts["lost"]:
        share = counts["lost"] / (counts["lost"] + found.good)
        yield (problem if share > 1e-3 else notice)(
            "packets-lost",
            [],
            f"{counts['lost']} packets are missing between others, {100 * share:.2g} %.",
            "docs/packets.md says where packets are lost: in the network, in the card "
            "(`ethtool -S`), or in the socket.",
        )
    if counts["late"] or counts["repeated"]:
        yield notice(
            "packets-order",
            [],
            f"{counts['late']} packets came behind a later one, {counts['repeated']} twice.",
            "window= is how many packets one may be late.",
        )
    if counts["jumps"]:
        yield problem(
            "packets-jumps",
            [],
            f"The counter jumped far {counts['jumps']} times.",
            "Was a sender started anew, or are there two of one stream? senders= says who is "
            "allowed.",
        )
    of = collections.defaultdict(set)
    for sender, *place in found.streams:
        of[tuple(place)].add(sender)
    twice = {place: senders for place, senders in of.items() if len(senders) > 1}
    if twice:
        place, senders = next(iter(twice.items()))
        yield problem(
            "packets-senders",
            [],
            f"{len(twice)} streams come from more than one sender: channel {place[0]}, input "
            f"{place[1]} from {', '.join(sorted(senders)[:3])}.",
            "senders= says who is allowed; a field may say whose packets they are, which "
            "the layout does not name as its input.",
        )


def examine_packets(text, seconds=SECONDS):
    """
    Looks at packets of `udp:` or `pcap:`.

    Parameters
    ----------
    text : str
        The text of an input. Its options may be left out: then layouts that fit are sought.
    seconds : float
        How long packets are waited for; files are read up to 65536 packets.

    Raises
    ------
    ValueError, RuntimeError, OSError
        It cannot be read; the message says why.
    """
    request = request_of(text)
    values = request.values
    if text.startswith("udp:"):
        capture = _capture_socket(request.names, values.get("interface", ""), seconds)
    else:
        capture = _capture_files(request.names)
    findings = []
    if capture.error:
        findings.append(problem("packets-file", [], f"The file ends early: {capture.error}.", ""))
    if capture.cut:
        findings.append(
            problem(
                "packets-cut",
                [],
                f"Of {capture.cut} packets only a part was captured.",
                "`tcpdump -s 0` captures all of them.",
            )
        )
    if capture.dropped:
        findings.append(
            problem(
                "packets-dropped",
                [],
                f"{capture.dropped} packets were thrown away by the system while these were "
                "looked at, as the socket's buffer was full.",
                "Let it be larger: `sysctl -w net.core.rmem_max=67108864`.",
            )
        )
    if not capture.packets:
        nothing = f"No packets came in {capture.seconds:.3g} s."
        if text.startswith("pcap:"):
            nothing = f"There are no packets of UDP in it, and {capture.others} others."
        findings.append(
            problem(
                "packets-none",
                [],
                nothing,
                "Is it their address and port? Then the firewall, `rp_filter`, `ip maddr` (of "
                "multicast) and tcpdump are the next to look at.",
            )
        )
        return Examination("packets", [], findings)
    given = {name: values[name] for name in SHAPE if name in values}
    if "coding" in values:
        given["coding"] = values["coding"]
    if "complex" in values:
        given["complex"] = int(values["complex"] == "yes")
    found = None
    if "layout" in values:
        layout = packet_layouts.find(values["layout"])
        if "coding" not in given and not layout["codings"]:
            given["coding"] = "s8"
        if "samples" in given and not layout["channelised"] and not layout["inputs"]:
            given.setdefault("inputs", 1)
        found = fit(layout, given, capture.packets, values.get("rate"))
    others = fitting(capture.packets, {})
    findings += _layout_findings(capture, found, others)
    shown = found or (others[0] if others else None)
    if shown and shown.good:
        findings += _stream_findings(capture, shown)
    things = [
        {
            "name": "packets",
            "packets": len(capture.packets),
            "seconds": capture.seconds,
            "fit": [entry.settings() for entry in others],
            "senders": sorted({packet.sender for packet in capture.packets}),
        }
    ]
    return Examination(
        "packets", things, findings, lines=tuple(page(capture, shown, found is not None))
    )


def is_complete(text):
    """Returns whether packets can be read as samples: all options are there, and the layout has
    no channels."""
    try:
        kind, rest = find_kind(text)
        request = kind.parse(rest)
    except InputError:
        return False
    values = request.values
    return all(name in values for name in ("rate", "freq")) and (
        "samples" in values or bool(packet_layouts.find(values.get("layout", "plain"))["samples"])
    )
