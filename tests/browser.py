# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""A browser without a window, which tests steer by Chromium's remote debugging."""

import asyncio
import base64
import json
import pathlib
import shutil
import subprocess
import tempfile
import time

import aiohttp

from places import PATIENCE

#: events of the page that a test wants to know
WRONG = ("Runtime.exceptionThrown", "Log.entryAdded")


class Browser:
    """
    One page, to be used with `async with`. complaints: what the browser wrote on its console, as
    refused styles and scripts; requests: addresses that the page asked for; options: of chromium.
    """

    def __init__(self, width=1280, height=900, options=()):
        self._size, self._options = (width, height), options
        self.complaints, self.requests = [], []
        self._number = 0

    async def __aenter__(self):
        self._folder = tempfile.mkdtemp()
        self._process = subprocess.Popen(
            [
                shutil.which("chromium") or "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-dev-shm-usage",
                *self._options,
                f"--user-data-dir={self._folder}",
                "--window-size=%d,%d" % self._size,
                "--remote-debugging-port=0",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            port = await self._port()
            self._session = aiohttp.ClientSession()
            self._socket = await self._session.ws_connect(await self._page(port), max_msg_size=0)
        except BaseException:
            self._process.kill()
            raise
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=self._size[0],
            height=self._size[1],
            deviceScaleFactor=1,
            mobile=self._size[0] < 600,
        )
        return self

    async def __aexit__(self, *_):
        try:
            await asyncio.wait_for(self.call("Browser.close"), 5)
        except (asyncio.TimeoutError, ConnectionError, RuntimeError, TypeError):
            pass
        await self._session.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _port(self):
        file = pathlib.Path(self._folder, "DevToolsActivePort")
        end = time.monotonic() + PATIENCE
        while not (file.exists() and file.read_text().count("\n")):
            if time.monotonic() > end or self._process.poll() is not None:
                raise RuntimeError("chromium does not start")
            await asyncio.sleep(0.1)
        return int(file.read_text().split()[0])

    async def _page(self, port):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            async with self._session.get(f"http://127.0.0.1:{port}/json") as answer:
                pages = [one for one in await answer.json() if one["type"] == "page"]
            if pages:
                return pages[0]["webSocketDebuggerUrl"]
            await asyncio.sleep(0.1)
        raise RuntimeError("chromium has no page")

    async def call(self, method, **parameters):
        """The result of a method of Chromium's protocol."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            message = await asyncio.wait_for(self._socket.receive_json(), PATIENCE)
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            if message.get("method") in WRONG:
                self.complaints.append(json.dumps(message["params"])[:500])
            if message.get("method") == "Network.requestWillBeSent":
                # a stream that lasts has few, too
                self.requests = [*self.requests[-999:], message["params"]["request"]["url"]]

    async def open(self, url):
        """Goes to an address, and waits for what is there."""
        await self.call("Page.navigate", url=url)
        await self.wait_for(
            f"location.href.startsWith({json.dumps(url)}) && document.readyState === 'complete'"
        )

    async def value(self, expression):
        """The value of an expression of JavaScript in the page."""
        result = await self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    async def wait_for(self, expression, each=None):
        """Waits until an expression is true; calls each() in between. Returns its value."""
        end = time.monotonic() + PATIENCE
        while not (found := await self.value(expression)):
            if time.monotonic() > end:
                raise AssertionError(
                    f"{expression} is still {found!r}; the page says: "
                    + str(await self.value("document.body.innerText"))[:1000]
                )
            if each is not None:
                each()
            await asyncio.sleep(0.2)
        return found

    async def heap(self):
        """Bytes that JavaScript uses, and how many nodes there are, without garbage."""
        for _ in range(3):
            await self.call("HeapProfiler.collectGarbage")
        used = (await self.call("Runtime.getHeapUsage"))["usedSize"]
        counters = await self.call("Memory.getDOMCounters")
        return int(used), counters["nodes"], counters["jsEventListeners"]

    async def picture(self, path, whole=False):
        """Writes a picture of the page, PNG."""
        clip = {}
        if whole:
            size = (await self.call("Page.getLayoutMetrics"))["cssContentSize"]
            clip = {
                "captureBeyondViewport": True,
                "clip": {
                    "x": 0,
                    "y": 0,
                    "width": size["width"],
                    "height": size["height"],
                    "scale": 1,
                },
            }
        found = await self.call("Page.captureScreenshot", **clip)
        pathlib.Path(path).write_bytes(base64.b64decode(found["data"]))
