#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Receivers that are plugged into USB, as the kernel lists them below /sys/bus/usb/devices."""

import re
from dataclasses import dataclass

from ..system.linux import USB_DEVICES

UDEV_RULES = (
    "/etc/udev/rules.d",
    "/run/udev/rules.d",
    "/usr/lib/udev/rules.d",
    "/lib/udev/rules.d",
)


@dataclass(frozen=True)
class Make:
    """
    A make of receivers.

    name: what people call it; driver: its name in SoapySDR; module: the file of its driver for
    SoapySDR, and package: that which has it ("": Debian has none); rules: the package whose
    udev rules let users open it; rate: samples a second, and sample_bytes: bytes of a complex
    sample on USB, as it is commonly run.
    """

    name: str
    driver: str
    module: str
    package: str
    rules: str
    rate: float
    sample_bytes: int


RTLSDR = Make(
    "RTL-SDR", "rtlsdr", "librtlsdrSupport.so", "soapysdr-module-rtlsdr", "librtlsdr0", 2.4e6, 2
)
HACKRF = Make(
    "HackRF", "hackrf", "libHackRFSupport.so", "soapysdr-module-hackrf", "libhackrf0", 10e6, 2
)
AIRSPY = Make(
    "Airspy", "airspy", "libairspySupport.so", "soapysdr-module-airspy", "libairspy0", 10e6, 4
)
LIMESDR = Make(
    "LimeSDR", "lime", "libLMS7Support.so", "soapysdr-module-lms7", "limesuite-udev", 10e6, 3
)
BLADERF = Make(
    "bladeRF", "bladerf", "libbladeRFSupport.so", "soapysdr-module-bladerf", "libbladerf2", 10e6, 4
)
USRP = Make("USRP", "uhd", "libuhdSupport.so", "soapysdr-module-uhd", "uhd-host", 10e6, 4)
PLUTO = Make("PlutoSDR", "plutosdr", "", "", "libiio0", 2.4e6, 4)

MAKES = {
    ("0bda", "2832"): RTLSDR,
    ("0bda", "2838"): RTLSDR,
    ("1d50", "6089"): HACKRF,
    ("1d50", "60a1"): AIRSPY,
    ("1d50", "6108"): LIMESDR,
    ("1d50", "6066"): BLADERF,
    ("2cf0", "5246"): BLADERF,
    ("2cf0", "5250"): BLADERF,
    ("2500", "0020"): USRP,
    ("2500", "0021"): USRP,
    ("2500", "0022"): USRP,
    ("0456", "b673"): PLUTO,
}


@dataclass(frozen=True)
class UsbReceiver:
    """
    A receiver on USB.

    place: where it is plugged in, as the kernel says it ("1-2.3": bus 1, port 2 of the computer,
    port 3 of a hub); node: the file that programs open; speed: of its connection, in Mbit/s (0:
    unknown); kernel_drivers: the names of those that hold a part of it.
    """

    make: Make
    place: str
    bus: int
    node: str
    speed: float
    manufacturer: str
    product: str
    serial: str
    kernel_drivers: tuple

    @property
    def name(self):
        """The receiver's name in findings."""
        return f"{self.make.name} at USB {self.place}"

    @property
    def is_blog_v4(self):
        """True if the texts are those by which librtlsdr itself knows a Blog V4."""
        return (
            self.make is RTLSDR and self.manufacturer == "RTLSDRBlog" and self.product == "Blog V4"
        )

    def described(self):
        """Returns a dictionary, for people and programs."""
        return {
            "name": self.name,
            "make": self.make.name,
            "manufacturer": self.manufacturer,
            "product": self.product,
            "serial": self.serial,
            "bus": self.bus,
            "speed_mbit": self.speed,
            "driver": self.make.driver,
        }


def rules(desk):
    """The texts of all udev rules, without comments, by the names of their files."""
    names = [name for folder in UDEV_RULES for name in desk.find(folder + "/*.rules")]
    return {
        name: "\n".join(line for line in desk.read(name).splitlines() if not line.startswith("#"))
        for name in names
    }


def _rtlsdr_ids(desk):
    """Numbers of vendors and products of the dongles that librtlsdr's rules name: there are
    forty, of television receivers under many labels."""
    found = set()
    for name, text in rules(desk).items():
        for line in text.splitlines() if "rtl" in name.rsplit("/", 1)[1] else ():
            vendor = re.search(r'ATTRS?\{idVendor\}=="(\w{4})"', line)
            product = re.search(r'ATTRS?\{idProduct\}=="(\w{4})"', line)
            if vendor and product:
                found.add((vendor[1].lower(), product[1].lower()))
    return found


def _number(text):
    try:
        return float(text)
    except ValueError:
        return 0.0


def usb_receivers(desk):
    """All receivers that are known by their numbers of vendor and product, in order of place."""
    makes = {**dict.fromkeys(_rtlsdr_ids(desk), RTLSDR), **MAKES}
    found = []
    for path in desk.find(USB_DEVICES + "/*"):
        place = path.rsplit("/", 1)[1]
        make = makes.get((desk.read(path + "/idVendor"), desk.read(path + "/idProduct")))
        if make is None:
            continue
        bus = int(_number(desk.read(path + "/busnum")))
        number = int(_number(desk.read(path + "/devnum")))
        drivers = {
            desk.target(interface + "/driver")
            for interface in desk.find(f"{USB_DEVICES}/{place}:*")
        }
        found.append(
            UsbReceiver(
                make,
                place,
                bus,
                f"/dev/bus/usb/{bus:03}/{number:03}",
                _number(desk.read(path + "/speed")),
                desk.read(path + "/manufacturer"),
                desk.read(path + "/product"),
                desk.read(path + "/serial"),
                tuple(sorted(drivers - {""})),
            )
        )
    return found
