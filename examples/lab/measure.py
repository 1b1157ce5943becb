#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Measures the fringes of a baseline in a UVH5 file: coherence, delay, and the fringe rate beside the
one that the geometry asks for; and draws them.
Run it with tools/run python3 examples/lab/measure.py FILE.uvh5 -o PICTURE.png
"""

import argparse

import drawing
import numpy as np
import observing


def report(baseline, direction, tracked, fit=False):
    """Lines of text for the user."""
    east, north, up = baseline.vector
    mean = baseline.mean()
    lines = [
        f"{' to '.join(baseline.names)}: {east:.3f} m east, {north:.3f} m north, "
        f"{up:.3f} m up; {baseline.wavelengths():.1f} wavelengths",
        f"coherence       {np.abs(mean).mean():.4f}, channel by channel "
        f"{np.nanmean(np.abs(baseline.coherence())):.4f}",
    ]
    if baseline.missing:
        lines.append(
            f"missing         {baseline.missing} of {baseline.missing + len(mean)} "
            "integrations, which are left out"
        )
    if len(mean) < 4:
        seconds, error = observing.delay(baseline)
        lines.append(f"delay           {seconds * 1e9:.2f} +- {error * 1e9:.2f} ns")
        return lines
    noise = observing.noise_of(baseline)
    lines.append(
        f"noise           {noise:.4f} expected of an integration; signal to noise "
        f"{np.abs(mean).mean() / noise:.0f}"
    )
    expected = np.zeros(len(mean)) if tracked else baseline.expected_phase(direction)
    rate, error = observing.fringe_rate(baseline.times, np.angle(mean))
    model, _ = observing.fringe_rate(baseline.times, expected)
    lines.append(
        f"fringe rate     {rate * 1e3:.4f} +- {error * 1e3:.4f} mHz measured, "
        f"{model * 1e3:.4f} mHz expected"
    )
    if abs(rate) > 5 * error:
        lines.append(f"                one fringe in {1 / abs(rate) / 60:.2f} minutes")
    left = np.mean(mean * np.exp(-1j * expected))
    lines.append(f"phase           {np.degrees(np.angle(left)):.1f} degrees more than expected")
    if fit:
        (east, north), errors = observing.fit_baseline(baseline, direction)
        lines.append(
            f"baseline        {east:.4f} +- {errors[0]:.4f} m east, "
            f"{north:.4f} +- {errors[1]:.4f} m north, if it is {up:.3f} m up"
        )
    return lines


def picture(baseline, direction, tracked):
    """A figure: along the band of a short file, else over time."""
    if len(baseline.times) < 4:
        return drawing.band(baseline)
    return drawing.fringes(baseline, None if tracked else baseline.expected_phase(direction))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("file", help="visibilities, as aperture_fx writes them")
    parser.add_argument("-o", "--output", metavar="PNG", help="picture to write")
    parser.add_argument("--direction", default="sun", help="what is observed (default: sun)")
    parser.add_argument(
        "--tracked",
        action="store_true",
        help="the file was made with --track: no fringes are expected",
    )
    parser.add_argument(
        "--fit-baseline",
        action="store_true",
        help="measure the baseline; takes some hours that were not tracked",
    )
    options = parser.parse_args(arguments)
    baseline = observing.read(options.file)
    print("\n".join(report(baseline, options.direction, options.tracked, options.fit_baseline)))
    if options.output:
        drawing.save(picture(baseline, options.direction, options.tracked), options.output)


if __name__ == "__main__":
    main()
