#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Addresses of UDP, as MeerKAT's tools write them, sockets that listen there, and addresses of
servers of TCP."""

import ipaddress
import re
import socket
import struct

from ..parameters.rules import refuse
from ..system import linux

DEFAULT_PORT = 7148
MOST_ADDRESSES = 65536
SHAPE = (
    f"HOST:PORT, HOST+N:PORT for N+1 addresses in a row, or [IPv6]:PORT; several with commas "
    f"between them; :PORT is {DEFAULT_PORT} if it is left out"
)


def parse_addresses(name, text):
    """
    The (host, port) of each address of a text, or of a list of texts.

    `239.10.10.1+7:7148` are eight addresses in a row, from 239.10.10.1 on; an empty host is any
    of this computer's.
    """
    if not isinstance(text, str):
        try:
            texts = list(text)
        except TypeError:
            refuse(name, text, SHAPE)
        return [found for each in texts for found in parse_addresses(name, each)]
    found = []
    for part in text.split(","):
        match = re.fullmatch(
            r"\s*(?:\[([0-9a-fA-F:.%\w]+)\]|([^\s:\[\]+]*))(?:\+(\d{1,5}))?"
            r"(?::(\d{1,5}))?\s*",
            part,
        )
        if not match or not part.strip():
            refuse(name, text, SHAPE)
        host, more = match[1] or match[2], int(match[3] or 0)
        port = int(match[4] or DEFAULT_PORT)
        if not 1 <= port <= 65535:
            refuse(name, text, "of ports from 1 to 65535")
        if more:
            try:
                first = ipaddress.ip_address(host)
                found += [(str(first + i), port) for i in range(more + 1)]
            except ValueError:
                refuse(name, text, "a number (as 239.10.10.1) in front of +N")
        else:
            found.append((host, port))
    if len(found) > MOST_ADDRESSES:
        refuse(name, text, f"at most {MOST_ADDRESSES} addresses")
    return found


def server_address(name, text, default_port):
    """Returns host and port of HOST or HOST:PORT, [IPv6] or [IPv6]:PORT: a server of TCP."""
    match = isinstance(text, str) and re.fullmatch(
        r"(?:\[([0-9a-fA-F:.%\w]+)\]|([^\s:\[\]]+))(?::(\d{1,5}))?", text
    )
    if not match or not 1 <= int(match[3] or default_port) <= 65535:
        refuse(name, text, f"HOST:PORT; the port is {default_port} if it is left out")
    return match[1] or match[2], int(match[3] or default_port)


def address_text(host, port):
    """Returns the text that server_address() reads."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_senders(name, values):
    """The ipaddress objects of a list of texts: of hosts whose packets are taken."""
    found = []
    for value in [values] if isinstance(values, str) else values:
        try:
            found.append(ipaddress.ip_address(value))
        except ValueError:
            refuse(name, value, "an address as 10.0.0.1 or fd00::1")
    if len(found) > 64:
        refuse(name, values, "at most 64 addresses")
    return found


def _filter(senders):
    """Classic BPF that passes packets whose source address is one of these, of one family."""
    load, jump_equal, give = 0x20, 0x15, 0x06
    network = 0xFFF00000  # SKF_NET_OFF: what follows counts from the network header
    program = []
    for sender in senders:
        words = struct.unpack(f"!{len(sender.packed) // 4}I", sender.packed)
        start = 12 if len(words) == 1 else 8
        left = 2 * len(words)
        for place, word in enumerate(words):
            program.append((load, 0, 0, network + start + 4 * place))
            left -= 2
            # on to the next sender, behind the instruction that passes the packet
            program.append((jump_equal, 0, left + 1, word))
        program.append((give, 0, 0, 0xFFFFFFFF))
    program.append((give, 0, 0, 0))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program), len(program)


def _attach(listener, senders, family):
    of_family = [
        sender for sender in senders if (sender.version == 6) == (family == socket.AF_INET6)
    ]
    code, count = _filter(of_family)
    linux.attach_filter(listener, code, count)


def listening_socket(host, port, buffer_size, interface="", senders=()):
    """
    A socket that receives what comes for an address.

    Parameters
    ----------
    host, port : str, int
        A group of multicast is joined.
    buffer_size : int
        Bytes that wait in the kernel; as root also more than net.core.rmem_max.
    interface : str
        Address (or of IPv6, name) of the network interface for multicast; "": the system chooses.
    senders : list of ipaddress objects
        The only ones whose packets are taken; none: all are.

    Raises
    ------
    OSError
        With the address in its message.
    """
    try:
        family, _, _, _, where = socket.getaddrinfo(
            host or None,
            port,
            type=socket.SOCK_DGRAM,
            family=socket.AF_INET if not host else 0,
            flags=socket.AI_PASSIVE,
        )[0]
        listener = socket.socket(family, socket.SOCK_DGRAM)
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from None
    try:
        group = ipaddress.ip_address(where[0].split("%")[0])
        if group.is_multicast:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if senders:
            # before it is bound, so that nothing comes in between
            _attach(listener, senders, family)
        try:
            linux.force_receive_buffer(listener, buffer_size)
        except PermissionError:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_size)
        listener.bind(where)
        if group.is_multicast and group.version == 4:
            listener.setsockopt(
                socket.IPPROTO_IP,
                socket.IP_ADD_MEMBERSHIP,
                socket.inet_aton(where[0]) + socket.inet_aton(interface or "0.0.0.0"),
            )
        elif group.is_multicast:
            index = socket.if_nametoindex(interface) if interface else where[3]
            listener.setsockopt(
                socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group.packed + struct.pack("@I", index)
            )
    except OSError as error:
        listener.close()
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from None
    return listener
