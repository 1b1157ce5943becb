#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Access rights: hosts, origins, tokens, and the headers of all answers."""

import asyncio
import hmac
import json
import re
import sys
import time

from aiohttp import web

from ..section import read_token
from .connections import Guard, plain_address

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
    "Server": "gr-aperture",
}
#: headers that a proxy adds, and nobody else does
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Via")
#: wrong tokens of an address in a minute, and addresses that are remembered
MOST_FAILURES, MOST_ADDRESSES = 10, 1024
CHANGING = {"POST"}


def error(status, text, **headers):
    """An answer that says what is wrong."""
    return web.Response(
        status=status,
        text=json.dumps({"error": text}),
        content_type="application/json",
        headers=headers,
    )


def log(text):
    """A line on standard error, without control characters, whatever is in the text."""
    line = "".join(
        letter
        if letter.isprintable()
        else letter.encode("unicode_escape", "backslashreplace").decode()
        for letter in text
    )
    print(f"monitoring: {line[:1000]}", file=sys.stderr, flush=True)


class Access:
    """
    Checks each request before anything else looks at it. section: a checked Section; port: that it
    listens on.
    """

    def __init__(self, section, port):
        self._section = section
        self._token = read_token(section.token_file) if section.token_file else None
        address = section.address()[0]
        scheme = "https" if section.tls or section.proxy else "http"
        names = set(section.names())
        if not section.proxy:
            names |= {f"[{address}]" if ":" in address else address}
            if section.open_to_readers:
                names |= {"localhost", "127.0.0.1", "[::1]"}
            names -= {"0.0.0.0", "[::]"}
            hosts = {f"{name}:{port}" for name in names}
            if port == (443 if section.tls else 80):
                hosts |= names
        else:
            # a proxy says the name, with its own port or without
            hosts = names | {f"{name}:443" for name in names}
        self._hosts = hosts
        self._origins = {f"{scheme}://{host}" for host in hosts}
        self._failures = {}
        self._tls = section.tls

    @property
    def can_change(self):
        """True if there is a token with which something can be changed."""
        return self._token is not None

    @property
    def reading_needs_token(self):
        """True if reading needs one, too."""
        return not self._section.open_to_readers

    @web.middleware
    async def check(self, request, handler):
        guard = request.transport.get_protocol() if request.transport is not None else None
        if isinstance(guard, Guard):
            guard.begin()
        try:
            answer = self.refusal(request)
            if answer is None:
                answer = await handler(request)
        except web.HTTPException as raised:
            answer = error(
                raised.status,
                raised.reason,
                **{key: value for key, value in raised.headers.items() if key == "Allow"},
            )
        except (asyncio.CancelledError, ConnectionError):
            raise
        except Exception as raised:  # nothing of it goes outside
            log(f"{type(raised).__name__}: {raised}")
            answer = error(500, "internal error")
        finally:
            if isinstance(guard, Guard):
                guard.end()
        return answer

    async def add_headers(self, request, answer):
        """Adds the headers of all answers, as a signal of aiohttp's."""
        for key, value in HEADERS.items():
            answer.headers[key] = value
        if self._tls:
            answer.headers["Strict-Transport-Security"] = "max-age=31536000"

    def refusal(self, request):
        """The answer to a request that is not allowed; None where it is."""
        hosts = request.headers.getall("Host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            # a name of the attacker's that leads here: DNS rebinding
            return error(
                421,
                "Host: this server is not called so; `hosts` in the section monitoring names it",
            )
        if self._section.open_to_readers and any(name in request.headers for name in FORWARDED):
            return error(
                403,
                "a proxy is in front of this server: `proxy` in the section "
                "monitoring must name it",
            )
        origins = request.headers.getall("Origin", [])
        changing = request.method in CHANGING
        if any(origin not in self._origins for origin in origins) or len(origins) > 1:
            return error(403, "Origin: another page must not ask this server")
        # a link on another page may lead to this one
        if not (is_open(request.path) and not changing) and request.headers.get(
            "Sec-Fetch-Site", "none"
        ) not in ("same-origin", "none"):
            return error(403, "Sec-Fetch-Site: another page must not ask this server")
        if request.query_string:
            return error(400, "no query is allowed, and tokens never belong into an address")
        if not is_open(request.path) and (changing or self.reading_needs_token):
            return self._wants_token(request, changing)
        return None

    def _wants_token(self, request, changing):
        if self._token is None:
            return error(
                403, "nothing can be changed: there is no token_file in the section monitoring"
            )
        given = request.headers.getall("Authorization", [])
        match = (
            re.fullmatch(r"Bearer +([A-Za-z0-9._~+/=-]{1,512})", given[0])
            if len(given) == 1
            else None
        )
        if match is None or not hmac.compare_digest(match[1].encode(), self._token):
            address = plain_address(request.remote or "")
            # the right one is always taken: nobody can lock others out
            if given and self._too_many(address):
                return error(
                    429, "too many wrong tokens from this address", **{"Retry-After": "60"}
                )
            if given:
                self._fail(address)
                log(f"wrong token from {address}")
            return error(
                401,
                "a token is needed: Authorization: Bearer TOKEN",
                **{"WWW-Authenticate": 'Bearer realm="gr-aperture"'},
            )
        return None

    def _too_many(self, address):
        count, since = self._failures.get(address, (0, 0.0))
        if time.monotonic() - since > 60:
            self._failures.pop(address, None)
            return False
        return count >= MOST_FAILURES

    def _fail(self, address):
        count, since = self._failures.get(address, (0, time.monotonic()))
        while len(self._failures) >= MOST_ADDRESSES:
            self._failures.pop(next(iter(self._failures)))
        self._failures[address] = count + 1, since


def is_open(path):
    """Returns whether a path has nothing of the instrument: the page itself."""
    return path == "/" or path.startswith("/page/")
