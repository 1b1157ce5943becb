#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Faults of the receivers on a desk, and the remedy of each.

A check is a function of the Scene, all that was read before, which yields findings. They stand in
the order in which somebody has to mend what they find: a receiver that the kernel keeps for itself
cannot be opened, and one that cannot be opened loses no samples.
"""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from ..system import linux
from .findings import Examination, are, names, notice, problem
from .soapy import installed_modules, listed, try_receivers
from .usb import RTLSDR, rules, usb_receivers

LIBRARY_FOLDERS = ("/usr/local/lib", "/usr/local/lib/*", "/usr/lib", "/usr/lib/*")
BUFFERS_MB = 4  # memory of the kernel's that librtlsdr takes for a dongle: 15 × 256 kB
BUS_MBYTES = {480: 35, 5000: 400, 10000: 800}  # MB/s that fit, by a bus's speed in Mbit/s
SLOWEST_MBIT = 480  # USB 2, which 2.4 million samples a second need
DONGLE_RATE = 2.4e6  # samples a second, of receivers of a make that is not known here
BUSY = 0.9  # part of the processors' time from which on a computer has none left
LOST = 0.02  # part of the samples; 2 s can be measured no better


@dataclass
class Scene:
    """All that is known of the receivers: usb, those on USB; soapy: Python's module or None;
    listed: what SoapySDR lists; trials: what they did when they were run; busy: the part of the
    processors' time that was used meanwhile."""

    desk: object
    usb: list
    soapy: object = None
    listed: list = field(default_factory=list)
    trials: list = field(default_factory=list)
    busy: float = 0.0

    def of(self, make):
        return [receiver for receiver in self.usb if receiver.make is make]

    @property
    def count(self):
        """The number of receivers, as far as is known."""
        counts = Counter(receiver.make.driver for receiver in self.usb)
        for driver, number in Counter(entry.get("driver") for entry in self.listed).items():
            counts[driver] = max(counts[driver], number)
        return sum(counts.values())


# --- before anything is opened -----------------------------------------------------------------


def no_receiver(scene):
    """Nothing is plugged in, or this computer does not see it."""
    if scene.count == 0:
        yield problem(
            "no-receiver",
            [],
            "This computer sees no receiver on USB"
            + (", and SoapySDR lists none." if scene.soapy else "."),
            "Plug the receiver in, without a hub at first, and look whether lsusb shows one line "
            "more than before (an RTL-SDR has 0bda:2838 or 0bda:2832 in it). If it does not, try "
            "another socket and another cable. In a virtual machine, the window of the machine "
            "has a menu that hands USB devices over to it.",
            "lsusb",
        )


def kernel_driver(scene):
    """The kernel takes the dongle for the television receiver that it was made as."""
    held = [
        receiver
        for receiver in scene.usb
        if any(name.startswith("dvb_usb") for name in receiver.kernel_drivers)
    ]
    if held:
        modules = sorted(
            {
                name
                for receiver in held
                for name in receiver.kernel_drivers
                if name.startswith("dvb_usb")
            }
        )
        yield problem(
            "kernel-driver",
            held,
            f"The kernel's driver for television, {names(modules)}, holds the {names(held)}; "
            "programs may be refused it (usb_claim_interface error -6).",
            "Tell the kernel to leave it alone, now and after the next start of the computer; "
            "then unplug the receiver and plug it in again.",
            *(
                f"echo 'blacklist {name}' | sudo tee /etc/modprobe.d/{name}.conf"
                for name in modules
            ),
            *(f"sudo modprobe -r {name}" for name in modules),
        )


def no_permission(scene):
    """The device's file belongs to root, as it does without a rule for udev."""
    shut = [
        receiver
        for receiver in scene.usb
        if scene.desk.exists(receiver.node) and not scene.desk.may_use(receiver.node)
    ]
    texts = rules(scene.desk).values()
    for make in dict.fromkeys(receiver.make for receiver in shut):
        mine = [receiver for receiver in shut if receiver.make is make]
        what = f"You are not allowed to use the {names(mine)}: usb_open error -3."
        vendors = {
            scene.desk.read(f"{linux.USB_DEVICES}/{receiver.place}/idVendor") for receiver in mine
        }
        fitting = [
            line
            for text in texts
            for line in text.splitlines()
            if any(f'=="{vendor}"' in line for vendor in vendors)
        ]
        groups = set(re.findall(r'GROUP:?="(\w+)"', "\n".join(fitting)))
        if not fitting:
            yield problem(
                "no-permission",
                mine,
                what,
                "Nothing tells this computer that users may open it. "
                f"The package {make.rules} has the rules for that; unplug the receiver after that, "
                "and plug it in again.",
                f"sudo apt install {make.rules}",
            )
        elif groups and not groups & scene.desk.groups():
            group = sorted(groups)[0]
            yield problem(
                "no-permission",
                mine,
                what,
                f"Users of the group {group} may use it, and you are "
                "not in it. Join, and log out and in again, because a session keeps the groups "
                "that it began with.",
                f"sudo adduser $USER {group}",
            )
        else:
            yield problem(
                "no-permission",
                mine,
                what,
                "The rules that allow it are installed, but came "
                "after the receiver was plugged in. Unplug it and plug it in again.",
                "sudo udevadm control --reload",
            )


def soapy_missing(scene):
    """GNU Radio's Soapy sources need a module for each make of receivers."""
    modules = [path.rsplit("/", 1)[1].lower() for path in installed_modules(scene.desk)]
    for make in dict.fromkeys(receiver.make for receiver in scene.usb):
        if make.module and make.module.lower() not in modules:
            mine = scene.of(make)
            yield problem(
                "no-soapy-module",
                mine,
                f"SoapySDR has no module for the {names(mine)}, so that "
                "GNU Radio's Soapy sources do not find it.",
                f"Install the package {make.package}.",
                f"sudo apt install {make.package}",
            )
    if scene.soapy is None:
        yield notice(
            "no-soapy-python",
            [],
            "Python's module SoapySDR is not installed, so that no driver "
            "was asked, and no receiver was tried.",
            "Install it, and run this command again.",
            "sudo apt install python3-soapysdr",
        )


def _library(desk):
    """The path of the librtlsdr that SoapySDR's module uses, or programs would; "" for none."""
    module = next(
        (
            path
            for path in installed_modules(desk)
            if path.lower().endswith("/" + RTLSDR.module.lower())
        ),
        None,
    )
    wanted = re.search(rb"librtlsdr\.so\.\d+", desk.read_bytes(module)) if module else None
    pattern = wanted[0].decode() if wanted else "librtlsdr.so.*"
    return next(
        (path for folder in LIBRARY_FOLDERS for path in desk.find(f"{folder}/{pattern}")), ""
    )


def dongle_too_new(scene):
    """The library knows a Blog V4 by name, or takes it for a V3 and tunes it wrongly."""
    new = [receiver for receiver in scene.usb if receiver.is_blog_v4]
    library = _library(scene.desk)
    if new and library and b"Blog V4" not in scene.desk.read_bytes(library):
        yield problem(
            "dongle-too-new",
            new,
            f"The {names(new)} {are(new)} of the fourth version (Blog V4), "
            f"and the library for it, {library}, is older than that: it tunes to wrong frequencies "
            "and hears next to nothing.",
            "Debian 13's librtlsdr knows the V4, Debian 12's does not. There, build the one of its "
            "makers; it goes to /usr/local, where programs find it first.",
            "sudo apt install git cmake pkg-config build-essential libusb-1.0-0-dev",
            "git clone https://github.com/rtlsdrblog/rtl-sdr-blog && cd rtl-sdr-blog",
            "cmake -B build -DDETACH_KERNEL_DRIVER=ON && cmake --build build",
            "sudo cmake --install build && sudo ldconfig",
        )


def equal_serials(scene):
    """Dongles leave the factory with one serial number, and are opened by it."""
    by_serial = defaultdict(list)
    for receiver in scene.of(RTLSDR):
        by_serial[receiver.serial].append(receiver)
    for serial, same in by_serial.items():
        if len(same) > 1:
            free = [
                own
                for own in map(str, range(1, len(by_serial) + len(same) + 1))
                if own not in by_serial
            ][: len(same)]
            number = f"the same serial number, {serial}" if serial else "no serial number"
            tools = (
                ()
                if scene.desk.find("/usr/bin/rtl_eeprom")
                or scene.desk.find("/usr/local/bin/rtl_eeprom")
                else ("sudo apt install rtl-sdr",)
            )
            yield problem(
                "equal-serials",
                same,
                f"The {names(same)} have {number}. SoapyRTLSDR opens "
                "dongles by their serial number, so that every source gets the first of them.",
                "Give each a number of its own, which it keeps: plug in one of them alone, type "
                "the command, unplug it; then the next with another number. Stick a label on each. "
                f"In GNU Radio, the device arguments then are serial={free[0]}, "
                f"serial={free[1]} and so on.",
                *tools,
                *(f"rtl_eeprom -s {own}" for own in free),
            )


def equal_serials_listed(scene):
    """Receivers of other makes, which their drivers list under one number."""
    by_serial = defaultdict(list)
    for entry in scene.listed:
        if entry.get("serial") and entry.get("driver") != RTLSDR.driver:
            by_serial[entry.get("driver"), entry["serial"]].append(
                entry.get("label") or entry["driver"]
            )
    for (driver, serial), same in by_serial.items():
        if len(same) > 1:
            yield problem(
                "equal-serials",
                same,
                f"The {names(same)} have the same serial number, {serial}: "
                f"driver={driver},serial={serial} opens the first of them only.",
                "Give each a number of its own by the maker's program, or open them by something "
                "else that SoapySDR lists of them.",
                f"SoapySDRUtil --find=driver={driver}",
            )


def usb_memory(scene):
    """The kernel gives all USB programs together so much memory."""
    dongles = scene.of(RTLSDR)
    text = scene.desk.read(linux.USB_MEMORY)
    limit = int(text) if text.isdecimal() else 0  # 0: there is no limit
    if limit and BUFFERS_MB * len(dongles) >= limit:
        yield problem(
            "usb-memory",
            dongles,
            f"{len(dongles)} dongles need {BUFFERS_MB} MB each of the "
            f"kernel's memory for USB, and all programs together get {limit} MB: the last ones "
            "fail to start, or lose samples.",
            "Lift the limit, now by the first command. For good, add usbcore.usbfs_memory_mb=0 to "
            "GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, and use the second.",
            f"echo 0 | sudo tee {linux.USB_MEMORY}",
            "sudo update-grub",
        )


def slow_usb(scene):
    """A receiver that got no fast connection, or too many on a bus."""
    slow = [receiver for receiver in scene.usb if 0 < receiver.speed < SLOWEST_MBIT]
    for receiver in slow:
        yield problem(
            "slow-usb",
            [receiver],
            f"The {receiver.name} runs at {receiver.speed:g} Mbit/s (USB "
            f"1), and {receiver.make.rate / 1e6:g} million samples a second need 480 (USB 2).",
            "Plug it directly into the computer, with another cable: an old hub, or a bad contact, "
            "slows it down.",
        )
    buses = defaultdict(list)
    for receiver in scene.usb:
        if receiver.speed >= SLOWEST_MBIT:
            buses[receiver.bus, receiver.speed].append(receiver)
    for (bus, speed), sharing in buses.items():
        load = sum(entry.make.rate * entry.make.sample_bytes for entry in sharing) / 1e6
        carried = BUS_MBYTES.get(int(speed), BUS_MBYTES[480])
        if load > carried and len(sharing) > 1:
            yield problem(
                "crowded-bus",
                sharing,
                f"The {names(sharing)} share USB bus {bus}. They send "
                f"{load:.0f} MB/s together, as commonly run, and such a bus carries about "
                f"{carried}.",
                "Use sockets of another bus (lsusb -t shows which is which; a card or another "
                "computer may be needed), or lower sample rates.",
                "lsusb -t",
            )
        elif len(sharing) > 1:
            yield notice(
                "shared-bus",
                sharing,
                f"The {names(sharing)} share USB bus {bus}, which carries "
                f"them: {load:.0f} of about {carried} MB/s. If samples are lost, a hub without a "
                "power supply of its own is the first thing to suspect.",
            )


def clocks(scene):
    """USB does not tell what the oscillators are connected to."""
    if scene.count < 2:
        return
    dongles = scene.of(RTLSDR)
    sources = {trial.name: trial.clock for trial in scene.trials if trial.clock}
    if len(sources) > 1 and all(source == "internal" for source in sources.values()):
        yield notice(
            "own-clocks",
            list(sources),
            f"The {names(list(sources))} run on clocks of their own "
            "unless told otherwise: their phases drift apart within seconds.",
            "Connect a 10 MHz reference, and PPS, to all of them, and set the clock source and the "
            "time source to external in each.",
        )
    elif len(dongles) > 1:
        yield notice(
            "clocks-unknown",
            dongles,
            f"Whether the {names(dongles)} run on one clock cannot be "
            "seen from here. As they are sold, each has its own: the phase between two rotates "
            "by a thousand cycles a second at 1 GHz for each ppm between them, and an "
            "interferometer sees nothing.",
            "Let one dongle's oscillator drive all others (two wires, with the others' removed), "
            "or buy receivers that have one clock. Even then each starts at its own time and "
            "phase, which has to be measured.",
        )


def crystals(scene):
    """Examines how far a dongle's oscillator may be off."""
    dongles = [receiver for receiver in scene.of(RTLSDR) if receiver.manufacturer != "RTLSDRBlog"]
    if dongles:
        yield notice(
            "ppm",
            dongles,
            f"The oscillator of the {names(dongles)} may be off by some 50 ppm, "
            "which is 71 kHz at 1420 MHz; cheap ones drift for half an hour after they are "
            "switched on.",
            "Let it warm up, measure it for ten minutes, and set what comes out as the frequency "
            "correction (ppm) of the source. On one clock, all get the same number.",
            "rtl_test -p",
        )


# --- by trying them ----------------------------------------------------------------------------


def not_listed(scene):
    """SoapySDR should list what is plugged in."""
    if scene.soapy is None:
        return
    counts = Counter(entry.get("driver") for entry in scene.listed)
    for make in dict.fromkeys(receiver.make for receiver in scene.usb):
        mine = scene.of(make)
        if make.module and counts[make.driver] < len(mine):
            yield problem(
                "not-listed",
                mine,
                f"Of the {names(mine)}, SoapySDR lists {counts[make.driver]}.",
                "Close programs that may use it (a flowgraph that runs, gqrx, rtl_tcp); if that is "
                "not it, see what SoapySDR says itself.",
                f"SoapySDRUtil --find=driver={make.driver}",
            )


def not_opened(scene):
    for trial in scene.trials:
        if trial.error:
            yield problem(
                "does-not-run",
                [trial.name],
                f"The {trial.name} does not run: {trial.error}.",
                "Close programs that may use it (a flowgraph that runs, gqrx, rtl_tcp), unplug it, "
                "plug it in again, and try this again.",
            )


def automatic_gain(scene):
    automatic = [trial for trial in scene.trials if trial.automatic_gain]
    if automatic:
        yield problem(
            "automatic-gain",
            automatic,
            f"The {names(automatic)} {are(automatic)} set to "
            "automatic gain when nobody asks for anything else. It follows every satellite and "
            "every car, and powers and amplitudes mean nothing.",
            "Switch it off in the source of the flowgraph (AGC: False, gain mode: manual), and set "
            "a gain, the same at all receivers: 30 to 40 dB for an RTL-SDR.",
        )


def _lacks_samples(trial):
    """True if fewer samples came than should."""
    rate = trial.measured_rate
    return rate is not None and rate < (1 - LOST) * trial.sample_rate


def losses(scene):
    """Samples that did not arrive, by the driver's word or by their number."""
    for trial in scene.trials:
        rate, lacking = trial.measured_rate, _lacks_samples(trial)
        if trial.error or not (trial.overflows or lacking):
            continue
        told = []
        if trial.overflows:
            told.append(f"its driver reported {trial.overflows} losses")
        if lacking:
            told.append(
                f"{rate / 1e6:.3g} of {trial.sample_rate / 1e6:.3g} million samples a "
                "second arrived"
            )
        yield problem(
            "losses",
            [trial.name],
            f"The {trial.name} loses samples: {' and '.join(told)}.",
            "Plug it directly into the computer, into a socket of its own; close other programs; "
            "lower the sample rate. Whatever is lost moves one receiver against the others for the "
            "rest of the run.",
        )


def slow_computer(scene):
    """Losses while the computer had nothing left to give."""
    lost = [
        trial
        for trial in scene.trials
        if not trial.error and (trial.overflows or _lacks_samples(trial))
    ]
    if lost and scene.busy > BUSY:
        rate = sum(trial.sample_rate for trial in scene.trials if not trial.error)
        yield problem(
            "slow-computer",
            lost,
            f"This computer is too slow for that: its processors were busy for {scene.busy:.0%} of "
            f"the time while {rate / 1e6:.4g} million samples a second came, and some were lost.",
            "Close other programs, lower the sample rate, or use fewer receivers; a correlator "
            "needs more than reading the samples does. If it is idle otherwise, let it not save "
            "power.",
        )


BEFORE = (
    no_receiver,
    kernel_driver,
    no_permission,
    soapy_missing,
    dongle_too_new,
    equal_serials,
    equal_serials_listed,
    usb_memory,
    slow_usb,
)
HINDERS = {"no-receiver", "kernel-driver", "no-permission", "no-soapy-module", "equal-serials"}
TRIED = (not_listed, not_opened, automatic_gain, losses, slow_computer)
AFTER = (clocks, crystals)


def _entries(scene, rate):
    """Returns what is to be tried: [(name, rate, what SoapySDR lists of it)]."""
    by_serial = {(receiver.make.driver, receiver.serial): receiver for receiver in scene.usb}
    single = {
        make.driver: mine[0]
        for make in {receiver.make for receiver in scene.usb}
        if len(mine := scene.of(make)) == 1
    }
    entries = []
    for entry in scene.listed:
        driver = entry.get("driver", "")
        receiver = by_serial.get((driver, entry.get("serial"))) or single.get(driver)
        name = receiver.name if receiver else entry.get("label") or driver
        entries.append((name, rate or (receiver.make.rate if receiver else DONGLE_RATE), entry))
    return entries


def _processor_times(desk):
    """Units of time of all processors since the start, by what they did: user, nice, system, idle,
    waiting for disks, and more, as proc(5) has them; empty where nobody says."""
    words = desk.read(linux.PROCESSOR_TIMES).partition("\n")[0].split()
    if words[:1] != ["cpu"] or not all(word.isdigit() for word in words[1:]):
        return []
    return [int(word) for word in words[1:9]]


def _busy(before, after):
    """The part of the time between two _processor_times() in which processors worked, 0 where
    nobody knows."""
    spent = [b - a for a, b in zip(before, after)]
    if len(spent) < 5 or sum(spent) <= 0:
        return 0.0
    return 1 - (spent[3] + spent[4]) / sum(spent)


def examine_receivers(desk, seconds=2.0, sample_rate=None):
    """
    Looks at a desk's receivers.

    Parameters
    ----------
    desk : Desk
    seconds : float
        Time for which all receivers are run together to see whether samples are lost; 0: none is
        opened.
    sample_rate : float or None
        Samples a second in that; None: what is common for each make.

    Returns
    -------
    Examination
    """
    scene = Scene(desk, usb_receivers(desk), desk.soapy())
    if scene.soapy is not None:
        scene.listed = listed(scene.soapy)
    findings = [found for check in BEFORE for found in check(scene)]
    hindered = any(found.name in HINDERS for found in findings)
    if scene.soapy is not None and seconds > 0 and not hindered:
        before = _processor_times(desk)
        scene.trials = try_receivers(scene.soapy, _entries(scene, sample_rate), seconds)
        scene.busy = _busy(before, _processor_times(desk))
    if not hindered:
        findings += [found for check in TRIED for found in check(scene)]
    elif scene.count:
        findings.append(
            notice(
                "not-tried",
                [],
                "No receiver was tried, because of what is wrong.",
                "Mend that, and run this command again.",
            )
        )
    findings += [found for check in AFTER for found in check(scene)]
    things = [receiver.described() for receiver in scene.usb]
    drivers = {receiver.make.driver for receiver in scene.usb}
    things += [
        {"name": entry.get("label") or entry.get("driver", ""), **entry}
        for entry in scene.listed
        if entry.get("driver") not in drivers
    ]
    return Examination("receivers", things, findings)
