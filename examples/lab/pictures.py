#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Makes the pictures of docs/lab: each step of the lab as it should look, from the simulator, and what
it looks like when something is wrong.
Run it with tools/run python3 examples/lab/pictures.py FOLDER [NAME ...]
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import drawing
import drift_scan
import measure
import numpy as np
import observing
import rotation
import simulated_faults as faults
from drawing import BLUE, GREEN, GREY, ORANGE, panels

NOON = "start=2024-06-21T11:00:00"


# --- the steps ------------------------------------------------------------------------------------


def recorded(folder, name, *options):
    """The Baseline of a file that aperture_fx makes of a simulation."""
    path = Path(folder) / "recorded.uvh5"
    subprocess.run(
        ["aperture_fx", "--input", f"sim:{faults.LAB / name}", *options, "-o", str(path)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return observing.read(path)


def noise(folder):
    return measure.picture(recorded(folder, "noise.yml", "--channels", "64"), "sun", False)


def cable(folder):
    return measure.picture(recorded(folder, "cable.yml", "--channels", "64"), "sun", False)


COARSE = ("--integration", "10", "--channels", "32")


def sun(folder):
    return measure.picture(
        recorded(folder, f"sun.yml,{NOON}", "--duration", "3600", *COARSE), "sun", False
    )


def tracked(folder):
    return measure.picture(
        recorded(folder, f"sun.yml,{NOON}", "--duration", "1200", *COARSE, "--track", "sun"),
        "sun",
        True,
    )


def resolved(_):
    baselines = tuple(range(0, 65, 5))
    figure, axis = panels(1, size=(5.2, 3.0))
    axis.plot(
        baselines,
        faults.resolved(0.53, baselines),
        "o",
        color=BLUE,
        markersize=4,
        label="the Sun, 0.53° wide",
    )
    finer = np.linspace(0, 62, 300)
    for diameter, style in ((0.53, "-"), (0.60, "--")):
        axis.plot(
            finer,
            np.abs(faults.visibility_of_disc(diameter, finer, 1415e6)),
            style,
            color=GREY,
            linewidth=1,
            label=f"2 J₁(x)/x of {diameter:.2f}°",
        )
    axis.set(xlabel="baseline to the east (m)", ylabel="visibility", ylim=(0, 1.05))
    axis.legend()
    return figure


# --- what is wrong --------------------------------------------------------------------------------


def clock(_):
    figure, (left, right) = panels(2)
    for ppm, colour in ((0.0, BLUE), (1.0, ORANGE)):
        baseline = faults.clock(ppm)
        mean, times = baseline.mean(), baseline.times - baseline.times[0]
        first = times < 5e-3
        left.plot(
            times[first] * 1e3,
            np.unwrap(np.angle(mean))[first] / (2 * np.pi),
            ".-",
            color=colour,
            linewidth=0.7,
            label=f"{ppm:g} ppm",
        )
        lengths = np.arange(1, len(mean) + 1)
        right.semilogx(
            lengths * (times[1] - times[0]) * 1e3,
            np.abs(np.cumsum(mean)) / lengths,
            color=colour,
            label=f"{ppm:g} ppm",
        )
    left.set(xlabel="milliseconds", ylabel="phase (cycles)")
    right.set(xlabel="integration (ms)", ylabel="coherence", ylim=(0, 1.05))
    left.legend()
    right.legend()
    return figure


def clipped(_):
    figure, (left, right) = panels(2)
    steps = np.geomspace(0.2, 3000, 15)
    power, coherence, clamped = np.transpose([faults.clipped(rms) for rms in steps])
    finer = np.geomspace(0.2, 3000, 200)
    model = np.array([faults.clipped_model(rms, 0.2) for rms in finer])
    left.loglog(steps, np.sqrt(np.abs(power) / 2), "o", color=BLUE, markersize=4)
    left.loglog(finer, finer, ":", color=GREY, linewidth=1, label="what goes in")
    left.loglog(finer, np.sqrt(model[:, 0] / 2), color=GREY, linewidth=1, label="clipped at 127")
    left.set(
        xlabel="rms in front of the converter (steps)",
        ylabel="rms behind it (steps)",
        ylim=(0.1, 1000),
    )
    left.legend(loc="lower right")
    right.semilogx(steps, np.abs(coherence), "o", color=BLUE, markersize=4, label="coherence")
    right.semilogx(finer, model[:, 1], color=GREY, linewidth=1)
    right.set(xlabel="rms in front of the converter (steps)", ylabel="coherence", ylim=(0, 0.25))
    other = right.twinx()
    other.semilogx(steps, np.real(clamped) * 100, "s-", color=ORANGE, linewidth=0.7)
    other.grid(False)
    other.set(ylabel="clamped (%)", ylim=(0, 125))
    other.yaxis.label.set_color(ORANGE)
    right.legend(loc="upper left")
    return figure


def swapped(_):
    figure, (left, right) = panels(2)
    for baseline, colour, label in zip(faults.swapped(), (BLUE, ORANGE), ("right", "swapped")):
        mean, expected = baseline.mean(), baseline.expected_phase()
        minutes = (baseline.times - baseline.times[0]) / 60
        part = minutes < 20
        drawing.phases(left, minutes[part], np.angle(mean[part]), colour, label)
        if label == "right":
            offset = np.angle(np.mean(mean * np.exp(-1j * expected)))
            drawing.curve(left, minutes[part], expected[part] + offset, GREY, "expected")
        drawing.phases(
            right, minutes[part], np.angle(mean * np.exp(-1j * expected))[part], colour, label
        )
    for axis, label in ((left, "phase (°)"), (right, "phase less the expected (°)")):
        drawing.phase_axis(axis, label)
        axis.set(xlabel="minutes")
        axis.legend(loc="upper right")
    return figure


def interference(_):
    baseline = faults.interference()
    coherence = baseline.coherence()
    clean = coherence.copy()
    clean[:, np.abs(coherence).mean(axis=0) > 0.2] = np.nan
    figure, (left, right) = panels(2)
    kilohertz = (baseline.frequencies - baseline.frequency) / 1e3
    minutes = (baseline.times - baseline.times[0]) / 60
    left.grid(False)
    mesh = left.pcolormesh(
        kilohertz,
        minutes,
        np.angle(coherence, deg=True),
        cmap="twilight",
        vmin=-180,
        vmax=180,
        rasterized=True,
    )
    left.set(xlabel="frequency − 1415 MHz (kHz)", ylabel="minutes")
    figure.colorbar(mesh, ax=left, label="phase (°)", ticks=drawing.QUARTERS)
    for values, colour, label in (
        (coherence, ORANGE, "all channels"),
        (clean, BLUE, "without that channel"),
    ):
        mean = np.nanmean(values, axis=1)
        right.plot(mean.real, mean.imag, ".-", color=colour, linewidth=0.5, label=label)
    right.plot(0, 0, "+", color="black", markersize=8)
    right.set(
        xlabel="real part of the coherence",
        ylabel="imaginary part",
        aspect="equal",
        xlim=(-0.11, 0.11),
        ylim=(-0.09, 0.14),
    )
    right.legend(loc="upper right")
    return figure


def crossed(_):
    figure, axis = panels(1, size=(5.2, 3.0))
    angles = np.arange(0, 91, 10)
    found = [faults.crossed(angle) for angle in angles]
    for pair, colour, marker in (("xx", BLUE, "o"), ("yy", GREEN, "^"), ("xy", ORANGE, "s")):
        axis.plot(
            angles,
            [abs(one[pair]) for one in found],
            marker,
            color=colour,
            markersize=4,
            label=f"{pair[0]} of A, {pair[1]} of B",
        )
    finer = np.radians(np.linspace(0, 90, 200))
    for law in (np.cos, np.sin):
        axis.plot(np.degrees(finer), 0.5 * law(finer), color=GREY, linewidth=1)
    axis.set(
        xlabel="angle between the antennas (°)",
        ylabel="coherence",
        ylim=(0, 0.75),
        xticks=np.arange(0, 91, 15),
    )
    axis.legend(loc="upper center", ncols=3)
    return figure


# --- hydrogen with one dish -----------------------------------------------------------------------

#: a dish that points to l=30, b=0, and what is common to all its spectra
L30 = "hydrogen:l=30,b=0"
LONGITUDES = (20, 25, 30, 35, 40, 50, 60, 70)


def spectrum(folder, name, source, *options):
    """Makes the spectrum NAME.ecsv with loads that are measured once, and returns its path."""
    path, loads = Path(folder) / f"{name}.ecsv", Path(folder) / "loads.ecsv"
    measured = ["--loads", str(loads)]
    if not loads.exists():
        measured += ["--hot", f"{L30},target=hot", "--cold", f"{L30},target=cold"]
    subprocess.run(
        ["aperture_spectrum", "--input", source, *options, *measured, "-o", str(path)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return path


def hydrogen(folder):
    """The spectrum of the first steps: with one gain for all channels, and calibrated."""
    path = Path(folder) / "assumed.ecsv"
    subprocess.run(
        ["aperture_spectrum", "--input", L30, "--direction", "l=30, b=0", "--duration", "10"]
        + ["-o", str(path)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    calibrated = spectrum(folder, "l30", L30, "--direction", "l=30, b=0", "--duration", "10")
    return over_velocity((path, "no loads", GREY), (calibrated, "hot and cold", BLUE))


def over_velocity(*spectra):
    """A figure of spectra: (path, label, colour) of each."""
    figure, axis = panels(1, size=(7.0, 3.4))
    for path, label, colour in spectra:
        _, speeds, kelvin = rotation.read(path)
        axis.plot(speeds, kelvin, color=colour, lw=0.9, label=label)
    axis.set(xlabel="velocity (km/s, LSR)", ylabel="antenna temperature (K)")
    axis.legend()
    return figure


def galaxy(folder):
    paths = [
        spectrum(
            *(folder, f"l{longitude}", f"hydrogen:l={longitude},b=0"),
            *("--direction", f"l={longitude}, b=0", "--duration", "5"),
        )
        for longitude in LONGITUDES
    ]
    return rotation.picture([rotation.read(path) for path in paths], 7.0)


def sun_drift(folder):
    dish = "rate=10e3,freq=1415e6"
    series = Path(folder) / "sun.ecsv"
    subprocess.run(
        ["aperture_spectrum", "--direction", "az=180,el=61.4", "--channels", "16"]
        + ["--input", f"hydrogen:az=180,el=61.4,{dish},start=2024-06-21T10:40:00"]
        + ["--integration", "10", "--duration", "7200", "--load-duration", "120"]
        + ["--hot", f"hydrogen:zenith,{dish},target=hot"]
        + ["--cold", f"hydrogen:zenith,{dish},target=cold", "--over-time", str(series)],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # the band has no hydrogen line, and is not to have it
    )
    return drift_scan.picture(drift_scan.read(series))


def gain_drift(folder):
    """Total power and load switching, where the gain has changed by 5 % since hot and cold."""
    drifting = f"{L30},drift=0.05,start=2024-06-21T11:01:00"
    options = "--direction", "l=30, b=0"
    total = spectrum(folder, "total", drifting, *options, "--duration", "10")
    switched = spectrum(
        folder, "load", f"{drifting},switching=load", *options, "--mode", "load", "--duration", "20"
    )
    return over_velocity((total, "total power", ORANGE), (switched, "load switching", BLUE))


def throw(folder):
    """Frequency switching, and its images."""
    path = spectrum(
        *(folder, "throw", f"{L30},freq=1419.8e6,switching=frequency,throw=1.2e6"),
        *("--direction", "l=30, b=0", "--mode", "frequency", "--duration", "20"),
    )
    return over_velocity((path, "frequency switching, 1.2 MHz", BLUE))


PICTURES = {
    "hydrogen": hydrogen,
    "galaxy": galaxy,
    "sun-drift": sun_drift,
    "gain-drift": gain_drift,
    "throw": throw,
    "noise": noise,
    "cable": cable,
    "sun": sun,
    "tracked": tracked,
    "resolved": resolved,
    "clock": clock,
    "clipped": clipped,
    "swapped": swapped,
    "interference": interference,
    "crossed": crossed,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"of pictures (default: all): {', '.join(PICTURES)}",
    )
    options = parser.parse_args()
    for name in options.names:
        if name not in PICTURES:
            parser.error(f"{name}: expected {', '.join(PICTURES)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or PICTURES:
            path = options.folder / f"{name}.png"
            drawing.save(PICTURES[name](folder), path)
            print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
