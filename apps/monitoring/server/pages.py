#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The answers of the server, path by path."""

import asyncio
import json
import pathlib

from aiohttp import web

from ...parameters.rules import NAME_PATTERN
from ..schemas import InvalidValue, check
from . import openapi, strict_json
from .access import error, log
from .connections import LARGEST_BODY, Guard
from .metrics import CONTENT_TYPE

PAGE = pathlib.Path(__file__).resolve().parents[1] / "page"
#: Debian's libjs-dygraphs
DYGRAPHS = pathlib.Path("/usr/share/javascript/dygraphs")
#: path -> (file, type). Nothing else of the file system is served, whatever is asked for
FILES = {
    "/": (PAGE / "index.html", "text/html"),
    "/page/style.css": (PAGE / "style.css", "text/css"),
    **{
        f"/page/{name}.js": (PAGE / f"{name}.js", "text/javascript")
        for name in ("main", "api", "draw", "map", "plots", "beams", "sky", "controls")
    },
    "/page/icon.svg": (PAGE / "icon.svg", "image/svg+xml"),
    "/page/dygraph.js": (DYGRAPHS / "dygraph.min.js", "text/javascript"),
    "/page/dygraph.css": (DYGRAPHS / "dygraph.min.css", "text/css"),
}
#: s after which a page hears that all is well
SILENCE = 10.0
#: pages that are updated at the same time
MOST_PAGES = 32
BODY_TIME = 10.0


def answer(value, status=200):
    """An answer of JSON."""
    return web.Response(
        status=status,
        content_type="application/json",
        text=json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False),
    )


class Pages:
    """Handlers of a server (serve.Server)."""

    def __init__(self, server):
        self._server = server
        self._files = {
            path: (file.read_bytes(), kind)
            for path, (file, kind) in FILES.items()
            if file.is_file()
        }
        self._open_pages = 0

    def routes(self):
        """Returns all routes."""
        api = "/api/v1"
        return [
            *[web.get(path, self._file) for path in FILES],
            web.get("/openapi.json", self._openapi),
            web.get("/metrics", self._metrics),
            web.get(f"{api}/about", self._about),
            web.get(f"{api}/state", self._state),
            web.get(f"{api}/status", self._status),
            web.get(f"{api}/status/{{block:{NAME_PATTERN}}}", self._status_of),
            web.get(f"{api}/fringes", self._fringes),
            web.get(f"{api}/beams", self._beams),
            web.get(f"{api}/log", self._log),
            web.get(f"{api}/candidates", self._candidates),
            web.get(f"{api}/candidates/{{id:{NAME_PATTERN}}}.png", self._picture),
            web.get(f"{api}/sky.png", self._sky),
            web.get(f"{api}/events", self._events),
            web.post(
                f"{api}/blocks/{{block:{NAME_PATTERN}}}/{{port:{NAME_PATTERN}}}", self._command
            ),
        ]

    # ---- what can be read

    async def _file(self, request):
        found = self._files.get(request.path)
        if found is None:
            return error(404, "this file is not installed: Debian's package libjs-dygraphs has it")
        return web.Response(body=found[0], content_type=found[1], charset="utf-8")

    async def _openapi(self, _):
        observed = self._server.observed
        return answer(openapi.description(observed, str(observed.about.get("version", ""))))

    async def _metrics(self, _):
        return web.Response(
            body=self._server.metrics.text(), headers={"Content-Type": CONTENT_TYPE}
        )

    async def _about(self, _):
        observed, server = self._server.observed, self._server
        return answer(
            {
                "instrument": observed.about,
                "controls": observed.controls,
                "can_change": server.access.can_change,
                "reading_needs_token": server.access.reading_needs_token,
            }
        )

    async def _state(self, _):
        return answer(self._now())

    def _now(self):
        observed, drawings = self._server.observed, self._server.drawings
        return {
            "version": observed.version,
            "connected": self._server.connected,
            "state": observed.about.get("state", ""),
            "name": observed.about.get("name", ""),
            "figures": observed.figures,
            "gpus": self._server.gpus,
            "correlates": observed.correlates,
            "bandpasses": drawings.bandpasses,
            "fringes": drawings.fringes,
            "beams": self._server.beams.now,
            "sky": drawings.sky,
            "tracking": self._tracking(),
            "skipped": self._server.skipped,
        }

    def _tracking(self):
        for name, events in self._server.observed.status.items():
            found = [
                events[key]
                for key in ("tracking", "below_horizon", "above_horizon")
                if key in events
            ]
            if found:
                newest = max(found, key=lambda entry: entry["time"])["value"]
                return {
                    "block": name,
                    **{key: newest.get(key) for key in ("direction", "azimuth", "elevation")},
                }
        return None

    async def _status(self, _):
        return answer(self._server.observed.status)

    async def _status_of(self, request):
        observed, name = self._server.observed, request.match_info["block"]
        if name not in observed.blocks():
            return error(404, "there is no such block")
        return answer(observed.status.get(name, {}))

    async def _fringes(self, _):
        return answer({"baselines": self._server.drawings.history()})

    async def _beams(self, _):
        return answer(self._server.beams.history())

    async def _log(self, _):
        return answer({"lines": list(self._server.observed.log)})

    async def _candidates(self, _):
        return answer({"candidates": list(self._server.observed.candidates)})

    async def _picture(self, request):
        found = self._server.observed.pictures.get(request.match_info["id"])
        if found is None:
            return error(404, "there is no such picture")
        return web.Response(body=found, content_type="image/png")

    async def _sky(self, _):
        found = self._server.drawings.picture
        if not found:
            return error(404, "there is no picture of the sky yet")
        return web.Response(body=found, content_type="image/png")

    # ---- what is sent as it comes

    async def _events(self, request):
        if self._open_pages >= MOST_PAGES:
            return error(503, "too many pages are open")
        self._open_pages += 1
        try:
            return await self._send_events(request)
        finally:
            self._open_pages -= 1

    async def _send_events(self, request):
        """Only the newest is sent: a page that is slow gets less, and nothing waits for it."""
        observed, server = self._server.observed, self._server
        guard = request.transport.get_protocol() if request.transport is not None else None
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        version, serial = -1, 0
        while not server.ending.is_set():
            text = ": \n\n"
            if await observed.changed(version, SILENCE):
                version = observed.version
                now = self._now()
                now["log"] = [line for line in observed.log if line["serial"] > serial][-100:]
                now["candidates"] = list(observed.candidates)[-20:]
                serial = max((line["serial"] for line in now["log"]), default=serial)
                text = "data: " + json.dumps(now, separators=(",", ":"), allow_nan=False) + "\n\n"
            # Guard ends what is not taken in time
            await response.write(text.encode())
            if isinstance(guard, Guard):
                guard.go_on()
            await asyncio.sleep(server.pause)
        return response

    # ---- what can be changed

    async def _command(self, request):
        observed = self._server.observed
        block, port = request.match_info["block"], request.match_info["port"]
        control = observed.controls.get(block, {}).get(port)
        if control is None:
            return error(404, "there is no such control")
        if request.content_type != "application/json":
            return error(415, "the body must be application/json")
        if request.headers.get("Content-Encoding", "identity") != "identity":
            return error(415, "the body must not be compressed")
        try:
            data = await asyncio.wait_for(request.read(), BODY_TIME)
        except asyncio.TimeoutError:
            return error(408, "the body did not come in time")
        except web.HTTPRequestEntityTooLarge:
            return error(413, f"the body must have at most {LARGEST_BODY} bytes")
        except (web.HTTPException, ValueError, asyncio.IncompleteReadError):
            return error(400, "the body is not whole")
        try:
            value = strict_json.load(data)
        except strict_json.InvalidJson as wrong:
            return error(400, str(wrong))
        try:
            # a list of all channels takes a second, in which others are answered
            await asyncio.to_thread(check, value, control["schema"])
        except InvalidValue as wrong:
            return error(422, str(wrong))
        status, text = await self._server.command(block, port, value)
        log(
            f"{request.remote} sets {block} {port} to {json.dumps(value)[:200]}: "
            + (text or "done")
        )
        observed.add_log(
            self._server.now(),
            "info" if status == 200 else "alarm",
            block,
            f"{port} set by hand" + ("" if status == 200 else f": {text}"),
        )
        observed.touch()
        return answer({"done": True}) if status == 200 else error(status, text)
