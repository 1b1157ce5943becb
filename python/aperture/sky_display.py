#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that shows the sky above a small array while a flowgraph runs."""

import threading
import time

import numpy as np

from .arrays.array_description import load_array
from .imaging.visibilities import ImagingError
from .parameters.description import Anything, Integer, Number, Text
from .parameters.rules import as_number, inputs_of, item_bytes
from .streams.integration_tags import IntegrationTags
from .streams.python_block import printable, python_block, text_of, vector_of
from .tracking.directions import age_warnings
from .tracking.satellite_files import satellites_of

#: images a second that a window can show
MOST_RATE = 5.0


class sky_display(python_block):
    """
    Shows dirty images of the sky above a small array, live.

    In: `[channel][product]` of fc32 from `xengine`, one item an integration, with the tags
    rx_time, rx_freq, bandwidth, spectra and counted.

    The image is of the whole sky above the horizon, seen from the ground, looking up: north is at
    the top, east on the left; or of a field around a direction. Named sources, the Sun and the
    Moon are marked where they are at the time of the data, whether or not they are seen, and so
    are `satellites` while they are above the horizon. What is brightest is said in words.
    Visibilities are divided by the root of the powers of both inputs, so that the unit is a
    correlation coefficient; autocorrelations are left out; what is missing has no weight. Sums
    are exact (see `imaging.direct_image`).

    All integrations count, whatever the rate of the images, which are made in a thread of their
    own: the flowgraph does not wait for them. `qwidget()` makes the window, which needs a
    QApplication; without one the block computes all the same, and `picture()` gives the result.

    Raises:
        ValueError, OSError: A parameter is not allowed; the array's file cannot be read.
    """

    def __init__(
        self,
        array: Text(
            "An array description, or the file or shipped name of one; its inputs are the "
            "X-engine's."
        ) = "two-dish",
        channels: Integer("Channels of an item.", 1, 2**31 - 1) = 1024,
        inputs: Anything("If given, how many inputs the array must have.") = None,
        centre: Text(
            '"sky": all that is above the horizon; otherwise what a field is around: "Cas A", '
            '"sun", "23:23:24 +58:48:54", "az=180, el=45".',
            settable=True,
        ) = "sky",
        width: Number("Of a field; 0: 64 beams.", 0, 110, unit="degrees", settable=True) = 0.0,
        pixels: Integer(
            "Along each side; 0: enough for the longest baseline, as far as two images a "
            "second allow. Baselines whose fringes pixels cannot show are left out, and the "
            "window says so.",
            0,
        ) = 0,
        weight: Text(
            "natural, uniform, briggs, or briggs=R with R from -2 to 2.", settable=True
        ) = "briggs",
        averaging: Number(
            "Seconds of visibilities in an image; 0: the newest only.",
            0,
            3600,
            unit="s",
            settable=True,
        ) = 2.0,
        dynamic_range: Number(
            "dB from the brightest to the darkest colour; 0: linear, all values.",
            0,
            100,
            unit="dB",
            settable=True,
        ) = 0.0,
        rate: Number("Images a second at most.", 0, 5, open=True) = 2.5,
        tracked: Text(
            'The direction that the F-engine\'s delays track (see `delay_tracker`); "" or '
            "None: nothing."
        ) = "",
        title: Text('Title of the window; "": that of the array.') = "",
        satellites: Text(
            "Files of satellites' elements (TLE) that are marked, too: FILE, or FILE,NAME for one, "
            "with ; between several."
        ) = "",
    ):
        array = load_array(array)
        inputs = inputs_of(array, inputs)
        products = inputs * (inputs + 1) // 2
        item_bytes("channels", 8, channels=channels, products=products)
        # not at the top: SciPy takes as long to load as all else of gnuradio.aperture
        from .displays.sky_view import SkyView

        texts = [text.strip() for text in satellites.split(";")] if satellites else []
        shown, self._remarks = satellites_of(texts)
        self._satellites = shown
        self._view = SkyView(
            array, int(channels), centre, width, pixels, weight, averaging, tracked, shown
        )
        self._shape = int(channels), products
        self._rate = float(rate)
        self._title = title or array.name
        self._condition = threading.Condition()
        self._widget = None
        self.set_dynamic_range(dynamic_range)
        self._tags, self._thread = IntegrationTags(*self._shape), None
        self._picture, self._text, self._images = None, "", 0
        self._clear()
        super().__init__(
            "sky_display", out_sig=None, in_sig=[vector_of(np.complex64, self._shape[0] * products)]
        )

    # ---- what can be asked for and set

    def qwidget(self):
        """The window, a QWidget, made when it is first asked for; in Qt's thread."""
        if self._widget is None:
            from .displays.sky_widget import SkyPanel

            self._widget = SkyPanel(self._newest, self._title, self._dynamic_range)
        return self._widget

    def picture(self):
        """The newest SkyPicture, or None."""
        with self._condition:
            return self._picture

    def images(self):
        """Returns how many have been made since the start."""
        with self._condition:
            return self._images

    def set_centre(self, centre):
        """Shows another part of the sky: "sky", or a direction."""
        self._view.set_centre(centre)

    def set_width(self, width):
        """Sets the width of a field, in degrees; 0: 64 beams."""
        self._view.set_width(width)

    def set_weight(self, weight):
        """Sets natural, uniform, briggs, or briggs=R."""
        self._view.set_weight(weight)

    def set_averaging(self, averaging):
        """Sets seconds of visibilities in an image; 0: the newest only."""
        self._view.set_averaging(averaging)

    def set_dynamic_range(self, dynamic_range):
        """Sets dB from the brightest to the darkest colour; 0: linear."""
        as_number("dynamic_range", dynamic_range, 0, 100, "dB, 0 being linear")
        self._dynamic_range = float(dynamic_range)
        if self._widget is not None:
            self._widget.set_dynamic_range(self._dynamic_range)

    # ---- the block

    def _clear(self):
        """Empties what waits for an image."""
        self._sum = self._weights = None
        self._begin = self._end = 0.0
        self._frequencies = None

    def _say_remarks(self, time):
        """Says once which satellites are damaged or old, at a time of the data."""
        for remark in [*self._remarks, *age_warnings(self._satellites, time)]:
            self.logger.warn(printable(remark))
        self._remarks, self._satellites = [], []

    def _start(self):
        self._tags = IntegrationTags(*self._shape)
        self._view.forget()
        with self._condition:
            self._clear()
            self._picture, self._text, self._images = None, "", 0
            self._running = True
        self._thread = threading.Thread(target=self._make_images, name="sky_display", daemon=True)
        self._thread.start()

    def _stop(self):
        with self._condition:
            self._running = False
            self._condition.notify()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _work(self, input_items, output_items):
        found = self.described(0, len(input_items[0]))
        for item, here in zip(input_items[0], found):
            self._take(np.reshape(item, self._shape), self._tags.take(here))
        return len(input_items[0])

    def _take(self, values, integration):
        """Adds an integration to what waits for an image."""
        if self._satellites:
            self._say_remarks(integration.begin)
        counted = integration.counted.astype(np.float32)
        with self._condition:
            if self._frequencies is not integration.frequencies:
                self._clear()
                self._frequencies = integration.frequencies
            if self._sum is None:
                self._sum, self._weights = values * counted, counted
                self._begin = integration.begin
            else:
                self._sum += values * counted
                self._weights = self._weights + counted
            self._end = integration.end
            self._condition.notify()

    def _make_images(self):
        """Makes images in the thread: one whenever something has come, at the rate at most."""
        following = time.monotonic()
        while True:
            with self._condition:
                while self._running and (self._sum is None or time.monotonic() < following):
                    left = following - time.monotonic()
                    self._condition.wait(max(left, 1e-3) if self._sum is not None else None)
                if self._sum is None:
                    return  # the stream ended, and all of it is seen
                total, weights, frequencies = self._sum, self._weights, self._frequencies
                begin, end = self._begin, self._end
                self._clear()
                self._frequencies = frequencies
            following = time.monotonic() + 1 / self._rate
            picture, text = None, ""
            try:
                total /= np.maximum(weights, 1)
                picture = self._view.picture(
                    total, weights, frequencies, (begin + end) / 2, end - begin
                )
            except ImagingError as error:
                text = text_of(error)
            except Exception as error:  # an image less, and not a thread that is gone
                text = text_of(error)
                self.logger.error(text)
            with self._condition:
                self._picture, self._text = picture or self._picture, text
                self._images += picture is not None

    def _newest(self):
        """Returns for the window the newest picture, and what is to be said instead."""
        with self._condition:
            return self._picture, self.error() or self._text
