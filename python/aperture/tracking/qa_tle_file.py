#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of satellites' elements, and what names one in them."""

import re
import time
from pathlib import Path

from gnuradio import gr_unittest

from gnuradio.aperture.doctor.satellites import examine_satellites, is_of_satellites
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.satellites import ORBITS, elements
from gnuradio.aperture.tracking.directions import parse_direction

NAMED = (
    f"ISS (ZARYA)             \r\n{ORBITS['station']}\r\n\r\n"
    f"0 NOAA 19\n{ORBITS['weather']}\n{ORBITS['navigation']}\n"
)


class qa_tle_file(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        Path(self.path("all.txt")).write_text(NAMED)

    def parse(self, text):
        """The direction of a text, its file in the folder."""
        return parse_direction(re.sub(r"(\w+\.txt)", lambda found: self.path(found[1]), text))

    def test_names(self):
        for text, name, orbit in (
            ("tle=all.txt, ISS (ZARYA)", "ISS (ZARYA)", "station"),
            ("TLE: all.txt,iss", "ISS (ZARYA)", "station"),
            ("tle=all.txt,25544", "ISS (ZARYA)", "station"),
            (" tle = all.txt , noaa-19 ", "NOAA 19", "weather"),
            ("tle=all.txt,28874", "satellite 28874", "navigation"),
        ):
            found = self.parse(text)
            self.assertEqual((found.name, found.tle), (name, ORBITS[orbit]), text)
            self.assertTrue(found.moving)
        Path(self.path("one.txt")).write_text(ORBITS["weather"])
        self.assertEqual(self.parse("tle=one.txt").tle, ORBITS["weather"])

    def test_errors(self):
        Path(self.path("none.txt")).write_text("hello\n")
        first = ORBITS["station"].split("\n")[0]
        Path(self.path("half.txt")).write_text(f"{first}\nNOAA\n{ORBITS['weather']}\n")
        Path(self.path("bad.txt")).write_text(NAMED.replace("130.0000", "131.0000"))
        for text, problem in (
            ("tle=all.txt", r"which of its satellites is meant: it has ISS \(ZARYA\), NOAA 19"),
            ("tle=all.txt,Meteor", "'Meteor' is not in it"),
            ("tle=missing.txt", "missing.txt.*No such file"),
            ("tle=none.txt", "none.txt.*no elements"),
            ("tle=half.txt", "half.txt:1.*second line"),
            ("tle=bad.txt,iss", "line 2 of satellite 25544 has the checksum 1"),
            ("tle=", "must be a name"),
        ):
            with self.assertRaisesRegex(ValueError, problem, msg=text):
                self.parse(text)
        # the others are there
        self.assertEqual(self.parse("tle=bad.txt,noaa 19").name, "NOAA 19")

    def test_doctor(self):
        """Damaged, decayed and old elements are found, each by its name."""
        now = time.time()
        year = time.gmtime(now).tm_year % 100
        day = time.gmtime(now).tm_yday + (now % 86400) / 86400
        fresh = elements(77, year * 1000 + day, 51.6, 0.0, 0.001, 0.0, 0.0, 15.0)
        good = self.path("good.tle")
        Path(good).write_text(f"NEW\n{fresh}\n")
        found = examine_satellites(good)
        self.assertEqual((found.findings, found.things[0]["name"]), ([], "NEW"))
        self.assertLess(abs(found.things[0]["age_days"]), 0.1)
        bad = self.path("bad.txt")
        low = elements(78, year * 1000 + day, 51.6, 0.0, 0.001, 0.0, 0.0, 17.5)
        old = elements(79, 15001.0, 51.6, 0.0, 0.001, 0.0, 0.0, 15.0)
        torn = fresh.replace("51.6000", "51.7000")
        Path(bad).write_text(f"LOW\n{low}\nTORN\n{torn}\nOLD\n{old}\nNEW\n{fresh}\n")
        self.assertTrue(is_of_satellites(f"tle={bad}"))
        self.assertFalse(is_of_satellites(bad))
        found = {finding.name: finding for finding in examine_satellites(f"tle={bad}").findings}
        self.assertEqual(found["elements-damaged"].of, ("LOW", "TORN"))
        self.assertEqual(found["elements-old"].of, ("OLD",))
        self.assertRegex(found["elements-old"].what, r"of OLD are up to \d{4} days")


if __name__ == "__main__":
    gr_unittest.run(qa_tle_file)
