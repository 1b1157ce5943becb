#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The section `monitoring` of a configuration: who may reach the server, and how."""

import ipaddress
import os
import re
import socket
import ssl
import stat
from dataclasses import dataclass, fields

from ..parameters.description import Text
from ..parameters.errors import ParameterError
from ..parameters.rules import check_mapping, refuse

NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
#: lengths of a token: 128 bits of hexadecimal digits at least
SHORTEST_TOKEN, LONGEST_TOKEN = 32, 512
LARGEST_FILE = 1 << 16
#: keys of names of files, which are relative to the folder in which the program is started: the
#: server is in another one
FILES = ("token_file", "tls_certificate", "tls_key")


class SectionError(ParameterError):
    """The section is not allowed as it is; the message names the key."""


@dataclass(frozen=True)
class Section:
    """The section `monitoring` of a configuration."""

    listen: Text("address of the server, ADDRESS:PORT") = "127.0.0.1:8080"
    token_file: Text("file with the token with which settings are changed, mode 0600 or 0400") = ""
    tls_certificate: Text("certificate, a PEM file, needed off loopback") = ""
    tls_key: Text("key of that certificate, a PEM file, mode 0600 or 0400") = ""
    proxy: Text(
        "the only proxy from which connections are taken, an address or a name; it has TLS"
    ) = ""
    hosts: Text(
        "names by which browsers call the server, beside its address, with commas between them"
    ) = ""

    @classmethod
    def of(cls, values):
        """A checked Section of a mapping; raises SectionError."""
        known = {field.name for field in fields(cls)}
        check_mapping("monitoring", values, sorted(known), error=SectionError)
        for key, value in values.items():
            if value is not None and not isinstance(value, str):
                refuse(f"monitoring.{key}", value, "a text", SectionError)
        section = cls(
            **{
                key: os.path.abspath(os.path.expanduser(value)) if key in FILES and value else value
                for key, value in values.items()
                if value is not None
            }
        )
        section.check()
        return section

    def check(self):
        """Raises SectionError unless what is asked for is allowed, and files are as they must."""
        address, _ = self.address()
        for name in self.names():
            if not NAME.fullmatch(name):
                refuse(
                    "monitoring.hosts",
                    name,
                    "names of hosts, with commas between them",
                    SectionError,
                )
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise SectionError(
                "monitoring.tls_key", "needs tls_certificate, and the other way round"
            )
        if self.tls_key:
            check_private("monitoring.tls_key", self.tls_key)
            self.tls_context()
        if self.token_file:
            read_token(self.token_file)
        if self.proxy:
            self.proxy_addresses()
            if not self.hosts:
                raise SectionError(
                    "monitoring.hosts",
                    "missing: behind a proxy, the name by which browsers call it",
                )
        if not self.open_to_readers and not self.token_file:
            raise SectionError(
                "monitoring.token_file",
                f"missing: who reaches {address} "
                + ("by way of a proxy " if self.proxy else "")
                + "must show a token",
            )
        if not is_loopback(address) and not self.tls_key and not self.proxy:
            raise SectionError(
                "monitoring.tls_certificate",
                f"missing: off loopback ({address}) "
                "either TLS (tls_certificate, tls_key) or a proxy that has it "
                "(proxy) is needed",
            )

    def address(self):
        """(IP address, port) of listen."""
        host, colon, port = self.listen.rpartition(":")
        host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        host = "127.0.0.1" if host == "localhost" else host
        try:
            address = str(ipaddress.ip_address(host))
        except ValueError:
            address = None
        if (
            not colon
            or address is None
            or not re.fullmatch(r"[0-9]{1,5}", port)
            or int(port) > 65535
        ):
            refuse(
                "monitoring.listen",
                self.listen,
                "ADDRESS:PORT, such as 127.0.0.1:8080 or [::1]:8080",
                SectionError,
            )
        return address, int(port)

    def tls_context(self):
        """The server's context of TLS; None without a certificate."""
        if not self.tls:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        open_regular("monitoring.tls_certificate", self.tls_certificate).close()
        try:
            # nobody is there to be asked for the password of a key
            context.load_cert_chain(self.tls_certificate, self.tls_key, lambda: b"")
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            reason = getattr(error, "reason", None) or error
            raise SectionError(
                "monitoring.tls_certificate",
                f"{self.tls_certificate}: it and tls_key ({self.tls_key}) must be a certificate "
                f"and its key, without a password, in PEM: {reason}",
            ) from None
        return context

    def names(self):
        """The names of hosts."""
        return [name.strip().lower() for name in self.hosts.split(",") if name.strip()]

    def proxy_addresses(self):
        """IP addresses of the proxy, as they are called on a connection."""
        try:
            found = {entry[4][0] for entry in socket.getaddrinfo(self.proxy, None)}
        except (OSError, UnicodeError):
            refuse(
                "monitoring.proxy", self.proxy, "an address, or a name that has one", SectionError
            )
        return found

    @property
    def open_to_readers(self):
        """True if reading needs no token: all who come are on this machine."""
        return is_loopback(self.address()[0]) and not self.proxy

    @property
    def tls(self):
        """True if the server speaks TLS itself."""
        return bool(self.tls_key)


def is_loopback(address):
    """Returns whether an IP address can only be reached from this machine."""
    return ipaddress.ip_address(address).is_loopback


def open_regular(field, path, flags=0, rule="it must be a file"):
    """Opens a regular file to read its bytes; raises SectionError for what is none. A FIFO is not
    waited for, and what is checked is what is read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SectionError(field, f"{path}: {reason} ({rule})") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SectionError(field, f"{path}: must be a regular file")
    return os.fdopen(descriptor, "rb")


def check_private(field, path):
    """Raises SectionError unless a file is regular, of this user or root, and of mode 0600 or
    0400; returns what is in it."""
    with open_regular(field, path, os.O_NOFOLLOW, "it must be a file, and no link") as file:
        about = os.fstat(file.fileno())
        if about.st_uid not in (os.geteuid(), 0):
            raise SectionError(
                field,
                f"{path}: belongs to user {about.st_uid}; it must be that of "
                f"the server, {os.geteuid()}, or of root",
            )
        mode = stat.S_IMODE(about.st_mode)
        if mode not in (0o600, 0o400):
            raise SectionError(
                field,
                f"{path}: has mode {mode:04o}; it must have 0600 or 0400, "
                "so that nobody else can read it",
            )
        data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise SectionError(field, f"{path}: is larger than {LARGEST_FILE} bytes")
    return data


def read_token(path):
    """The token in a file, bytes of 32 to 512 letters, digits and - . _ ~ + / =."""
    token = check_private("monitoring.token_file", path).strip()
    if not re.fullmatch(rb"[A-Za-z0-9._~+/=-]{%d,%d}" % (SHORTEST_TOKEN, LONGEST_TOKEN), token):
        raise SectionError(
            "monitoring.token_file",
            f"{path}: must have {SHORTEST_TOKEN} to "
            f"{LONGEST_TOKEN} letters, digits, and - . _ ~ + / =; make it with "
            "`openssl rand -hex 32`",
        )
    return token
