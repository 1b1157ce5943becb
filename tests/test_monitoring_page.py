# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of monitoring in a real browser, of an array that is simulated and of made-up values."""

import asyncio
import functools
import tempfile
import unittest

from gnuradio.aperture.testing.tiers import ALL, long_test
from places import fresh_folder, main, need_program

#: updates of the page in which nothing may grow, after as many to begin with
UPDATES = 400
#: bytes and nodes that may come and go
HEAP, NODES = 1.5e6, 400

SKY_IS_DRAWN = """(async () => {
    const image = document.querySelector('#sky image');
    if (!image) return false;
    const picture = new Image();
    picture.src = image.getAttribute('href');
    await picture.decode();
    return picture.naturalWidth > 100;
})()"""
#: parts of the canvases of a plot that are not empty
DRAWN = """[...document.querySelectorAll('#%s canvas')].some((canvas) => {
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    return pixels.filter((value, place) => place %% 4 === 3 && value > 0).length > 500; })"""


def type_into(selector, text):
    """JavaScript that fills a field and sends its form."""
    return (
        f"(() => {{ const field = document.querySelector({selector!r}); field.value = {text!r};"
        " field.closest('form').requestSubmit(); return true; })()"
    )


def in_loop(test):
    """A test that is a coroutine as a test."""

    @functools.wraps(test)
    def run_test(self):
        asyncio.run(test(self))

    return run_test


class TestMonitoringPage(unittest.TestCase):
    def setUp(self):
        need_program(self, "chromium")
        # not before: they take a second
        from browser import Browser
        from gnuradio.aperture.testing import fed_server

        self.browser, self.fed = Browser, fed_server
        # the page complains of connections that are closed as the browser was late with a request
        self.server = functools.partial(fed_server.FedServer, request_time=60.0)

    def assert_content(self, browser, url):
        """Nothing was refused by the page's policy, and nothing asked of anybody else."""
        self.assertEqual([], browser.complaints)
        others = [
            address for address in browser.requests if not address.startswith((url, f"blob:{url}"))
        ]
        self.assertEqual([], others)
        self.assertNotIn(self.fed.TOKEN, " ".join(browser.requests))

    @in_loop
    async def test_a_simulated_array(self):
        """All parts are drawn, in both sizes (in the quick tier in one), and a setting is made by
        hand."""
        from gnuradio import gr

        from gnuradio.aperture import monitoring
        from gnuradio.aperture.testing.monitored import run, simulated, stop

        gr.logging().set_default_level(gr.log_levels.err)
        pictures = fresh_folder("monitoring_page")
        with tempfile.TemporaryDirectory() as folder:
            instrument = simulated(
                folder=folder,
                type="sc8",
                beams=["Cas A", {"name": "dark", "azimuth": 180, "elevation": 50}],
            )
            publisher = monitoring.start(
                instrument, {"listen": "127.0.0.1:0", "token_file": self.fed.write_token(folder)}
            )
            run(instrument)
            try:
                for size in ((1280, 900), (390, 844)) if ALL else ((1280, 900),):
                    async with self.browser(*size) as browser:
                        await self.look(browser, publisher.url, instrument)
                        await browser.picture(pictures / f"{size[0]}.png", True)
            finally:
                stop(instrument)
                publisher.stop()

    async def look(self, browser, url, instrument):
        await browser.open(url)
        await browser.wait_for("document.getElementById('state').textContent === 'running'")
        await browser.wait_for("document.querySelectorAll('#map circle.good').length === 8")
        for plot in ("bandpass-plot", "phase-plot", "coherence-plot", "beam-plot", "power-plot"):
            await browser.wait_for(DRAWN % plot)
        await browser.wait_for(SKY_IS_DRAWN)
        await browser.wait_for(
            "document.getElementById('fringe-words').textContent.includes('coherence 0.3')"
        )
        await browser.wait_for(
            "document.getElementById('tracking').textContent.startsWith('tracking Cas A, az 35')"
        )
        self.assertEqual(
            8, await browser.value("document.querySelectorAll('#inputs tbody tr').length")
        )
        on, off = await browser.value(
            "[...document.querySelectorAll('#beam-table tbody tr')].map((row) => row.innerText)"
        )
        self.assertRegex(on, r"^Cas A\s+ra 350\.\d+° dec \+58\.\d+°\s+\d+\.\d\d dB$")
        self.assertRegex(off, r"^dark\s+az 180\.000° el 50\.000°\s+\d+\.\d\d dB$")
        # power 5 and about 1.5, in units of an input's noise
        self.assertGreater(float(on.split()[-2]), float(off.split()[-2]) + 2)
        await browser.wait_for(
            "document.querySelectorAll('#beam-choices .c0, #beam-choices .c1').length === 2"
        )
        # nothing is wider than the screen
        self.assertLessEqual(
            *await browser.value(
                "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
            )
        )
        await browser.value(type_into("#controls input[type=password]", self.fed.TOKEN))
        before = instrument.blocks["tracker"].direction().name
        await browser.value(type_into("#controls input[type=text]", "nowhere"))
        await browser.wait_for(
            "document.getElementById('control-answer').textContent.includes('is not known')"
        )
        self.assertEqual(before, instrument.blocks["tracker"].direction().name)
        await browser.value(type_into("#controls input[type=text]", "Cas A"))
        await browser.wait_for(
            "document.getElementById('control-answer').textContent === 'direction: done'"
        )
        self.assert_refusals(browser, url)

    def assert_refusals(self, browser, url):
        """The browser writes of the one setting that was refused, and of nothing else."""
        browser.complaints = [text for text in browser.complaints if " 422 " not in text]
        self.assert_content(browser, url)

    @in_loop
    async def test_beams_only(self):
        """Without a correlator the page has no empty parts: its beams are beside the map."""
        with self.fed.FedServer(correlator=None) as server:
            async with self.browser(1280, 900) as browser:
                await browser.open(server.url)
                await browser.wait_for("!document.getElementById('beams').hidden", server.feed)
                for plot in ("beam-plot", "power-plot"):
                    await browser.wait_for(DRAWN % plot, server.feed)
                self.assertEqual(
                    [],
                    await browser.value(
                        "[...document.querySelectorAll('.card')]"
                        ".filter((card) => card.offsetParent)"
                        ".map((card) => card.className.split(' ')[1])"
                        ".filter((name) => ['bandpasses', 'fringes', 'sky'].includes(name))"
                    ),
                )
                self.assertEqual(
                    *await browser.value(
                        "['.map', '.beams'].map((name) =>"
                        " document.querySelector(name).getBoundingClientRect().top)"
                    )
                )
                await browser.picture(fresh_folder("monitoring_beams_only") / "1280.png", True)
                self.assert_content(browser, server.url)

    @in_loop
    async def test_names_are_no_markup(self):
        """Text that an attacker could have put into a name or a message is shown as it is."""
        evil = '<img src=x onerror="window.evil=1"><script>window.evil=1</script>'
        with self.server(name=evil, beams=(evil, "other")) as server:
            async with self.browser() as browser:
                await browser.open(server.url)
                server.status("f_engine", event="lost", reason=evil)
                server.send(
                    {
                        "kind": "candidate",
                        "block": "search",
                        "time": 1.7e9,
                        "value": {
                            "id": "a-1",
                            "dm": 56.7,
                            "snr": 12.0,
                            "width": 1e-3,
                            "beam": evil,
                            "beams": 1,
                        },
                    }
                )
                picture = self.png()
                server.send({"kind": "picture", "id": "a-1"}, picture)
                await browser.wait_for(
                    "document.getElementById('name').textContent.includes('onerror')", server.feed
                )
                await browser.wait_for(
                    "document.getElementById('log').textContent.includes('<script>')", server.feed
                )
                await browser.wait_for(
                    "document.querySelector('#candidates img')?.naturalWidth === 7", server.feed
                )
                await browser.wait_for(
                    "document.getElementById('beams').innerText.includes('at <img')", server.feed
                )
                self.assertEqual("undefined", await browser.value("typeof window.evil"))
                self.assertEqual(
                    0,
                    await browser.value(
                        "document.querySelectorAll('#log script, #log img, #name *, #beams img')"
                        ".length"
                    ),
                )
                self.assert_content(browser, server.url)

    @staticmethod
    def png():
        import numpy as np

        from gnuradio.aperture.displays.sky_image import png

        return png(np.arange(35.0).reshape(7, 5), 0, 35)

    @in_loop
    async def test_a_token_to_look(self):
        """Off loopback, with TLS, the page asks for the token, and shows nothing before."""
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = self.fed.write_certificate(folder)
            section = {
                "listen": "0.0.0.0:0",
                "hosts": "localhost",
                "tls_key": key,
                "token_file": self.fed.write_token(folder),
                "tls_certificate": certificate,
            }
            with self.server(section) as server:
                url = f"https://localhost:{server.url.rstrip('/').rpartition(':')[2]}/"
                async with self.browser(options=["--ignore-certificate-errors"]) as browser:
                    await browser.open(url)
                    await browser.wait_for("!document.getElementById('login').hidden")
                    self.assertNotIn("fed", await browser.value("document.body.innerText"))
                    await browser.value(type_into("#login-token", self.fed.TOKEN))
                    await browser.wait_for(
                        "document.getElementById('name').textContent === 'fed'", server.feed
                    )
                    await browser.wait_for(SKY_IS_DRAWN, server.feed)
                    self.assertNotIn(self.fed.TOKEN, await browser.value("location.href"))
                    browser.complaints = [
                        text for text in browser.complaints if " 401 " not in text
                    ]
                    self.assert_content(browser, url)

    @long_test
    @in_loop
    async def test_nothing_grows(self):
        """The page does not grow, as in bench/monitoring_page.py, which has a day's worth of
        updates."""
        with self.server(pause=0.0) as server:
            async with self.browser() as browser:
                found = await follow(browser, server, 2 * UPDATES, UPDATES)
        (heap, nodes, listeners), (last_heap, last_nodes, last_listeners) = found[-2:]
        self.assertLess(last_heap - heap, HEAP)
        self.assertLess(last_nodes - nodes, NODES)
        self.assertLess(last_listeners - listeners, NODES)


async def follow(browser, server, updates, between, together=10, drawn=1, new=True):
    """The browser's heap() after each `between` updates, of which so many are sent at once, and
    every so many have an integration."""
    if new:
        await browser.open(server.url)
        await browser.wait_for(
            "document.getElementById('state').textContent === 'running'", server.feed
        )
    found = []
    for number in range(updates):
        server.feed(1.0, draw=number % drawn == 0)
        if number % 7 == 0:
            server.status("f_engine", event="lost", count=number)
        # the server waits for the page, which is slower
        if number % together == together - 1:
            await browser.wait_for(
                f"document.querySelector('#tiles').textContent.includes("
                f"'{server.integrations - 1}integrations')"
            )
        if number % between == between - 1:
            found.append(await browser.heap())
    return found


if __name__ == "__main__":
    main()
