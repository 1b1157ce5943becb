#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
aperture_doctor on recorded desks: folders like the kernel's, and drivers that play receivers.

The texts of a desk are as kernels, udev's rules and dongles have them.
"""

import functools
import json
import os
import threading
from types import SimpleNamespace
from unittest import mock

from gnuradio import gr_unittest

from gnuradio.aperture.commands import doctor as command
from gnuradio.aperture.doctor import receivers
from gnuradio.aperture.doctor.desk import Desk
from gnuradio.aperture.doctor.findings import NOTICE, PROBLEM
from gnuradio.aperture.doctor.receivers import examine_receivers
from gnuradio.aperture.doctor.soapy import try_receivers
from gnuradio.aperture.testing.folders import InFolder
from gnuradio.aperture.testing.observations import run

RULES = """# Copyright 2012-2013 Osmocom rtl-sdr project
SUBSYSTEMS=="usb", ATTRS{idVendor}=="0bda", ATTRS{idProduct}=="2838", \
ENV{ID_SOFTWARE_RADIO}="1", MODE="0660", GROUP="plugdev"
SUBSYSTEMS=="usb", ATTRS{idVendor}=="0ccd", ATTRS{idProduct}=="00a9", \
ENV{ID_SOFTWARE_RADIO}="1", MODE="0660", GROUP="plugdev"
"""
MODULES = "usr/lib/x86_64-linux-gnu/SoapySDR/modules0.8/"
LIBRARY = "usr/lib/x86_64-linux-gnu/librtlsdr.so.0"
SECONDS = 0.7  # duration of a trial


class Clock(threading.local):
    """The clock of a trial: each receiver's thread has its own time, which its reads move on. The
    computer's would tell of losses where a thread had to wait."""

    now = 0.0

    def __call__(self):
        return self.now


CLOCK = Clock()


class Receiver:
    """Plays SoapySDR.Device: sends `arriving` of the samples that it should. late: (after which
    time, for how long) it keeps its caller waiting with what it has, in seconds, once."""

    def __init__(
        self,
        error="",
        automatic=False,
        clocks=(),
        clock="",
        arriving=1.0,
        overflows=0,
        late=None,
        ranges=((225e3, 300e3), (900e3, 3.2e6)),
    ):
        self.error, self.automatic, self.clocks, self.clock = error, automatic, clocks, clock
        self.arriving, self.overflows, self.late = arriving, overflows, late
        self.ranges = [
            SimpleNamespace(minimum=lambda low=low: low, maximum=lambda high=high: high)
            for low, high in ranges
        ]
        self.rate, self.begin, self.sent, self.open_streams = None, None, 0, 0

    def hasGainMode(self, direction, channel):
        return True

    def getGainMode(self, direction, channel):
        return self.automatic

    def listClockSources(self):
        return self.clocks

    def getClockSource(self):
        return self.clock

    def getSampleRateRange(self, direction, channel):
        return self.ranges

    def setSampleRate(self, direction, channel, rate):
        self.rate = rate

    def setupStream(self, direction, format):
        self.open_streams += 1
        return self

    def activateStream(self, stream):
        self.begin = CLOCK()

    def readStream(self, stream, buffers, most, timeoutUs):
        CLOCK.now += 0.01
        if CLOCK() - self.begin > 0.4 and self.overflows:
            self.overflows -= 1
            return SimpleNamespace(ret=-4)
        due = int((CLOCK() - self.begin) * self.rate * self.arriving) - self.sent
        self.sent += due
        if self.late and CLOCK() - self.begin > self.late[0]:
            CLOCK.now += self.late[1]
            self.late = None
        return SimpleNamespace(ret=due or -1)

    def deactivateStream(self, stream):
        pass

    def closeStream(self, stream):
        self.open_streams -= 1


class Soapy:
    """Plays the module SoapySDR; receivers: [(what is listed, Receiver)]."""

    SOAPY_SDR_RX, SOAPY_SDR_CF32, SOAPY_SDR_TIMEOUT, SOAPY_SDR_OVERFLOW = 1, "CF32", -1, -4

    SoapySDRKwargs = dict

    def __init__(self, *receivers):
        self.opened = []

        def device(entry):
            (found,) = [receiver for listed, receiver in receivers if listed == entry]
            if found.error:
                raise RuntimeError(found.error)
            self.opened.append(entry)
            return found

        device.enumerate = lambda: [listed for listed, _ in receivers]
        self.Device = device

    @staticmethod
    def errToStr(number):
        return str(number)


def listed(serial, driver="rtlsdr"):
    return {"driver": driver, "serial": serial, "label": f"a {driver} :: {serial}"}


class qa_doctor(InFolder, gr_unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.root = str(self.folder)
        self.numbers = {}
        self.groups, self.usable = {"plugdev"}, True
        trials = mock.patch.object(
            receivers, "try_receivers", functools.partial(try_receivers, clock=CLOCK)
        )
        trials.start()
        self.addCleanup(trials.stop)
        # a desk on which all is well, but for what a test changes
        self.write("usr/lib/udev/rules.d/60-librtlsdr0.rules", RULES)
        self.write(MODULES + "librtlsdrSupport.so", "\x7fELF librtlsdr.so.0 rtlsdr_open")
        self.write(LIBRARY, "\x7fELF RTLSDRBlog Blog V4")
        self.write("usr/bin/rtl_eeprom", "")
        self.write("sys/module/usbcore/parameters/usbfs_memory_mb", "16\n")

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def remove(self, name):
        os.unlink(os.path.join(self.root, name))

    def plug_in(
        self,
        place,
        serial="1",
        *,
        ids="0bda:2838",
        speed="480",
        driver=None,
        manufacturer="RTLSDRBlog",
        product="Blog V3",
    ):
        """A device on USB, with the kernel's driver for it if there is one."""
        bus = int(place.split("-")[0])
        number = self.numbers[bus] = self.numbers.get(bus, 1) + 1
        vendor, kind = ids.split(":")
        for name, text in (
            ("idVendor", vendor),
            ("idProduct", kind),
            ("busnum", str(bus)),
            ("devnum", str(number)),
            ("speed", speed),
            ("serial", serial),
            ("manufacturer", manufacturer),
            ("product", product),
        ):
            if text:
                self.write(f"sys/bus/usb/devices/{place}/{name}", text + "\n")
        for interface in range(2):
            self.write(f"sys/bus/usb/devices/{place}:1.{interface}/bInterfaceNumber", "00\n")
        self.write(f"dev/bus/usb/{bus:03}/{number:03}", "")
        if driver:
            os.symlink(
                f"../../../../bus/usb/drivers/{driver}",
                os.path.join(self.root, f"sys/bus/usb/devices/{place}:1.0/driver"),
            )

    def desk(self, soapy=None):
        return Desk(self.root, lambda: soapy, lambda path: self.usable, lambda: self.groups)

    def examine(self, soapy=None, seconds=SECONDS):
        return examine_receivers(self.desk(soapy), seconds)

    def found(self, examination, kind=PROBLEM):
        return {finding.name: finding for finding in examination.findings if finding.kind == kind}

    def only(self, examination):
        """The one problem there is."""
        problems = self.found(examination)
        self.assertEqual(len(examination.problems), 1, problems)
        return examination.problems[0]

    # desks

    def test_all_is_well(self):
        self.plug_in("1-1", "1")
        self.plug_in("2-1.3", "2")
        self.plug_in("1-4", ids="046d:c31c", manufacturer="Logitech", product="USB Keyboard")
        soapy = Soapy((listed("1"), Receiver()), (listed("2"), Receiver()))
        examination = self.examine(soapy)
        self.assertEqual(self.found(examination), {})
        self.assertEqual(
            [thing["name"] for thing in examination.things],
            ["RTL-SDR at USB 1-1", "RTL-SDR at USB 2-1.3"],
        )
        self.assertEqual(soapy.opened, [listed("1"), listed("2")])
        # all that can be told of clocks, and no more
        self.assertEqual(list(self.found(examination, NOTICE)), ["clocks-unknown"])

    def test_no_receiver(self):
        self.plug_in("1-4", ids="046d:c31c", manufacturer="Logitech", product="USB Keyboard")
        finding = self.only(self.examine(Soapy()))
        self.assertEqual(finding.name, "no-receiver")
        self.assertEqual(
            finding.what, "This computer sees no receiver on USB, and SoapySDR lists none."
        )
        self.assertEqual(finding.commands, ("lsusb",))

    def test_a_sound_card_is_no_receiver(self):
        self.assertEqual(
            self.only(
                self.examine(Soapy(({"driver": "audio", "label": "Built-in"}, Receiver())))
            ).name,
            "no-receiver",
        )

    def test_equal_serials(self):
        """Two dongles from the factory; none is opened, because it would be the first twice."""
        for place in ("1-1", "1-2"):
            self.plug_in(place, "00000001")
        soapy = Soapy((listed("00000001"), Receiver()))
        examination = self.examine(soapy)
        finding = self.only(examination)
        self.assertEqual(finding.name, "equal-serials")
        self.assertEqual(
            finding.what,
            "The RTL-SDR at USB 1-1 and RTL-SDR at USB 1-2 have the "
            "same serial number, 00000001. SoapyRTLSDR opens dongles by their serial "
            "number, so that every source gets the first of them.",
        )
        self.assertEqual(finding.commands, ("rtl_eeprom -s 1", "rtl_eeprom -s 2"))
        self.assertEqual(finding.of, ("RTL-SDR at USB 1-1", "RTL-SDR at USB 1-2"))
        self.assertEqual(soapy.opened, [])
        self.assertIn("not-tried", self.found(examination, NOTICE))
        # a tool that is not there comes first; a third one keeps the number that it has
        self.remove("usr/bin/rtl_eeprom")
        self.plug_in("1-3", "2")
        finding = self.only(self.examine(soapy))
        self.assertEqual(
            finding.commands, ("sudo apt install rtl-sdr", "rtl_eeprom -s 1", "rtl_eeprom -s 3")
        )
        self.assertIn("then are serial=1, serial=3 and so on.", finding.remedy)

    def test_no_serials(self):
        for place in ("1-1", "1-2"):
            self.plug_in(place, "")
        self.assertIn("have no serial number.", self.only(self.examine()).what)

    def test_dongle_too_new(self):
        """Debian 12's library does not know a V4; the one in /usr/local is found before it."""
        self.plug_in("1-1", product="Blog V4")
        soapy = Soapy((listed("1"), Receiver()))
        self.assertEqual(self.found(self.examine(soapy, 0)), {})
        self.write(LIBRARY, "\x7fELF Generic RTL2832U OEM")
        finding = self.only(self.examine(soapy, 0))
        self.assertEqual(finding.name, "dongle-too-new")
        self.assertIn(f"the library for it, /{LIBRARY}, is older than that", finding.what)
        self.assertIn(
            "git clone https://github.com/rtlsdrblog/rtl-sdr-blog && cd rtl-sdr-blog",
            finding.commands,
        )
        # a library with another number, which the module does not use
        self.write("usr/local/lib/librtlsdr.so.2", "RTLSDRBlog Blog V4")
        self.assertEqual(self.only(self.examine(soapy, 0)).name, "dongle-too-new")
        self.write("usr/local/lib/librtlsdr.so.0", "RTLSDRBlog Blog V4")
        self.assertEqual(self.found(self.examine(soapy, 0)), {})

    def test_kernel_driver(self):
        self.plug_in("1-1", "1", driver="dvb_usb_rtl28xxu")
        self.plug_in("1-2", "2", driver="usbfs")
        finding = self.only(
            self.examine(Soapy((listed("1"), Receiver()), (listed("2"), Receiver())))
        )
        self.assertEqual(finding.name, "kernel-driver")
        self.assertEqual(finding.of, ("RTL-SDR at USB 1-1",))
        self.assertEqual(
            finding.commands,
            (
                "echo 'blacklist dvb_usb_rtl28xxu' | "
                "sudo tee /etc/modprobe.d/dvb_usb_rtl28xxu.conf",
                "sudo modprobe -r dvb_usb_rtl28xxu",
            ),
        )

    def test_no_permission(self):
        """The remedy fits a computer without rules, without the group, and with both."""
        self.plug_in("1-1")
        self.usable = False
        finding = self.only(self.examine())
        self.assertEqual(
            (finding.name, finding.commands), ("no-permission", ("sudo udevadm control --reload",))
        )
        self.groups = {"users"}
        finding = self.only(self.examine())
        self.assertEqual(
            (finding.name, finding.commands), ("no-permission", ("sudo adduser $USER plugdev",))
        )
        self.assertIn("log out and in again", finding.remedy)
        # a rule that is commented out is none
        self.write("usr/lib/udev/rules.d/60-librtlsdr0.rules", "#" + RULES.split("\n")[1])
        finding = self.only(self.examine())
        self.assertEqual(
            (finding.name, finding.commands), ("no-permission", ("sudo apt install librtlsdr0",))
        )

    def test_soapy_missing(self):
        """The module of each make by its package; without Python's module, nothing is tried."""
        self.plug_in("1-1")
        self.plug_in(
            "2-1", ids="1d50:6089", manufacturer="Great Scott Gadgets", product="HackRF One"
        )
        self.remove(MODULES + "librtlsdrSupport.so")
        examination = self.examine()
        problems = list(examination.problems)
        self.assertEqual(
            [(finding.name, finding.commands) for finding in problems],
            [
                ("no-soapy-module", ("sudo apt install soapysdr-module-rtlsdr",)),
                ("no-soapy-module", ("sudo apt install soapysdr-module-hackrf",)),
            ],
        )
        self.assertEqual(
            self.found(examination, NOTICE)["no-soapy-python"].commands,
            ("sudo apt install python3-soapysdr",),
        )

    def test_usb_memory(self):
        """15 × 256 kB each: three fit into the kernel's 16 MB with room to spare, four do not."""
        for number in range(1, 4):
            self.plug_in(f"1-{number}", str(number))
        self.assertEqual(self.found(self.examine()), {})
        self.plug_in("1-4", "4")
        finding = self.only(self.examine())
        self.assertEqual(finding.name, "usb-memory")
        self.assertEqual(
            finding.commands[0], "echo 0 | sudo tee /sys/module/usbcore/parameters/usbfs_memory_mb"
        )
        self.write("sys/module/usbcore/parameters/usbfs_memory_mb", "0\n")
        self.assertEqual(self.found(self.examine()), {})

    def test_usb_buses(self):
        """USB 1 carries none; USB 2 seven dongles, and not one HackRF and four of them."""
        self.plug_in("1-1", "1", speed="12")
        self.plug_in("1-2", "2")
        finding = self.only(self.examine())
        self.assertEqual((finding.name, finding.of), ("slow-usb", ("RTL-SDR at USB 1-1",)))
        self.assertIn("runs at 12 Mbit/s (USB 1), and 2.4 million samples", finding.what)

        self.write("sys/module/usbcore/parameters/usbfs_memory_mb", "0\n")
        self.write("sys/bus/usb/devices/1-1/speed", "480\n")
        for number in range(3, 5):
            self.plug_in(f"1-{number}", str(number))
        examination = self.examine()
        self.assertEqual(self.found(examination), {})
        self.assertIn("19 of about 35 MB/s", self.found(examination, NOTICE)["shared-bus"].what)
        self.write(MODULES + "libHackRFSupport.so", "")
        self.plug_in(
            "1-5", ids="1d50:6089", manufacturer="Great Scott Gadgets", product="HackRF One"
        )
        finding = self.only(self.examine())
        self.assertEqual(finding.name, "crowded-bus")
        self.assertIn("39 MB/s", finding.what)
        self.assertEqual(len(finding.of), 5)

    def test_other_labels(self):
        """A television receiver of another maker, which librtlsdr's rules name; its oscillator."""
        self.plug_in("1-1", ids="0ccd:00a9", manufacturer="NEWMI", product="TerraTec Cinergy T")
        examination = self.examine()
        self.assertEqual(examination.things[0]["name"], "RTL-SDR at USB 1-1")
        finding = self.found(examination, NOTICE)["ppm"]
        self.assertIn("71 kHz at 1420 MHz", finding.what)
        self.assertEqual(finding.commands, ("rtl_test -p",))

    def test_not_listed(self):
        """One of two is held by another program."""
        self.plug_in("1-1", "1")
        self.plug_in("1-2", "2")
        finding = self.only(self.examine(Soapy((listed("2"), Receiver()))))
        self.assertEqual(
            (finding.name, finding.commands), ("not-listed", ("SoapySDRUtil --find=driver=rtlsdr",))
        )
        self.assertIn("SoapySDR lists 1.", finding.what)

    def test_does_not_open(self):
        """The driver's own words; the other one is run all the same."""
        self.plug_in("1-1", "1")
        self.plug_in("1-2", "2")
        busy = Receiver(error="Unable to open RTL-SDR device")
        other = Receiver(arriving=0)
        examination = self.examine(Soapy((listed("1"), busy), (listed("2"), other)))
        self.assertEqual(
            [(finding.name, finding.of) for finding in examination.problems],
            [("does-not-run", ("RTL-SDR at USB 1-1",)), ("does-not-run", ("RTL-SDR at USB 1-2",))],
        )
        self.assertIn("Unable to open RTL-SDR device.", examination.problems[0].what)
        self.assertIn("no samples come.", examination.problems[1].what)
        self.assertEqual(other.open_streams, 0)

    def test_automatic_gain(self):
        self.plug_in("1-1")
        finding = self.only(self.examine(Soapy((listed("1"), Receiver(automatic=True)))))
        self.assertEqual((finding.name, finding.of), ("automatic-gain", ("RTL-SDR at USB 1-1",)))

    def test_losses(self):
        """Losses are found by the driver's word, and by counting: dongles drop samples without a
        word."""
        self.plug_in("1-1", "1")
        self.plug_in("1-2", "2")
        self.plug_in("1-3", "3")
        examination = self.examine(
            Soapy(
                (listed("1"), Receiver(overflows=3)),
                (listed("2"), Receiver(arriving=0.9)),
                (listed("3"), Receiver()),
            )
        )
        self.assertEqual(
            [(finding.name, finding.of) for finding in examination.problems],
            [("losses", ("RTL-SDR at USB 1-1",)), ("losses", ("RTL-SDR at USB 1-2",))],
        )
        self.assertIn("its driver reported 3 losses", examination.problems[0].what)
        self.assertIn("2.16 of 2.4 million samples a second arrived", examination.problems[1].what)

    def test_slow_computer(self):
        """Losses of a computer that is busy are its own; one that is busy and loses nothing is fast
        enough, and one that is idle is not to blame."""
        self.plug_in("1-1", "1")
        for busy, arriving, told in ((97, 0.9, True), (97, 1.0, False), (40, 0.9, False)):
            times = iter(
                (
                    "cpu  1000 5 300 8000 40 0 10 0 0 0\ncpu0 1 2 3 4 5 6 7 8",
                    f"cpu  {1000 + 2 * busy} 5 300 {8000 + 190 - 2 * busy} 50 0 10 0 0 0\n",
                )
            )
            desk = self.desk(Soapy((listed("1"), Receiver(arriving=arriving))))
            read = desk.read
            desk.read = lambda name, times=times, read=read: (
                next(times) if name == "/proc/stat" else read(name)
            )
            with self.subTest(busy=busy, arriving=arriving):
                found = {entry.name: entry for entry in examine_receivers(desk, SECONDS).problems}
                self.assertEqual("slow-computer" in found, told)
                if told:
                    self.assertRegex(found["slow-computer"].what, "busy for 97% of .* 2.4 million")

    def test_late_calls(self):
        """A computer that is busy when the time is over has lost nothing."""
        self.plug_in("1-1", "1")
        examination = self.examine(Soapy((listed("1"), Receiver(late=(0.85, 0.4)))))
        self.assertEqual(examination.problems, [])

    def test_sample_rate(self):
        """The nearest that the driver has."""
        self.plug_in("1-1")
        receiver = Receiver()
        for wanted, taken in ((None, 2.4e6), (2.048e6, 2.048e6), (5e6, 3.2e6), (4e5, 3e5)):
            examine_receivers(self.desk(Soapy((listed("1"), receiver))), 0.01, wanted)
            self.assertEqual(receiver.rate, taken)

    def test_own_clocks(self):
        """USRPs on the network, of which SoapySDR tells; one reference for both is well."""
        for clock, names in (("internal", ["own-clocks"]), ("external", [])):
            soapy = Soapy(
                *(
                    (
                        listed(serial, "uhd"),
                        Receiver(
                            clocks=("internal", "external"), clock=clock, ranges=((2e5, 6e7),)
                        ),
                    )
                    for serial in ("A", "B")
                )
            )
            examination = self.examine(soapy)
            self.assertEqual(self.found(examination), {})
            self.assertEqual(list(self.found(examination, NOTICE)), names)
            self.assertEqual([thing["serial"] for thing in examination.things], ["A", "B"])

    # the command

    def run_command(self, *arguments, soapy=None):
        """Returns the command's exit status, and what it prints."""
        with mock.patch.object(command, "Desk", lambda: self.desk(soapy)):
            return run(command, *arguments)

    def test_command(self):
        self.plug_in("1-1", "00000001", product="Blog V3")
        soapy = Soapy((listed("00000001"), Receiver()))
        status, text, error = self.run_command("receivers", "--seconds", "0", soapy=soapy)
        self.assertEqual((status, error), (0, ""))
        self.assertEqual(
            text,
            "Receivers:\n  RTL-SDR at USB 1-1: RTLSDRBlog Blog V3, serial "
            "00000001, 480 Mbit/s\n\nNothing wrong was found.\n",
        )
        self.assertEqual(soapy.opened, [])

        self.plug_in("1-2", "00000001")
        status, text, error = self.run_command("receivers", soapy=soapy)
        self.assertEqual((status, error), (1, ""))
        self.assertIn("\n\nWrong:\n1. The RTL-SDR at USB 1-1 and RTL-SDR at USB 1-2 have", text)
        self.assertIn("\n   -> Give each a number of its own", text)
        self.assertIn("\n         rtl_eeprom -s 2\n", text)
        self.assertNotIn("Nothing wrong", text)
        self.assertLess(max(map(len, text.splitlines())), 100)

        status, text, error = self.run_command("receivers", "--json", soapy=soapy)
        self.assertEqual((status, error), (1, ""))
        found = json.loads(text)
        self.assertFalse(found["healthy"])
        self.assertEqual(found["receivers"][0]["serial"], "00000001")
        self.assertEqual(
            [(finding["kind"], finding["name"]) for finding in found["findings"]][0],
            ("problem", "equal-serials"),
        )

    def test_wrong_arguments(self):
        status, text, error = self.run_command("transmitters")
        self.assertEqual((status, text), (1, ""))
        self.assertRegex(
            error,
            "^aperture_doctor: error: transmitters: nothing .* what can be is "
            "receivers: the RTL-SDRs .*\n$",
        )
        for arguments in (
            ["receivers", "--seconds", "-1"],
            ["receivers", "--seconds", "nan"],
            ["receivers", "--sample-rate", "0"],
            [],
        ):
            self.assertEqual(self.run_command(*arguments)[0], 2)

    def test_this_computer(self):
        """This computer can be examined, whatever is plugged in."""
        examination = examine_receivers(Desk(), 0)
        self.assertEqual(examination.subject, "receivers")
        self.assertTrue(examination.things or examination.findings)


if __name__ == "__main__":
    gr_unittest.run(qa_doctor)
