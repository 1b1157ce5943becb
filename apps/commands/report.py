#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The report that aperture_plot -o report.html writes: one page, with its pictures in it."""

import base64
import html
import io
import os

import matplotlib.pyplot as plt
import numpy as np

from ..arrays.earth_rotation import sidereal_time, unix_seconds
from ..files.checked_file import whole_file
from ..formats.uvh5.reader import Product
from ..plots.plot_fringes import baseline_figure, closure_figure, coverage_figure, fringe_text
from ..plots.plot_inputs import HEAD, statistics_figure, statistics_rows
from ..visibilities.fringes import triangles
from ..visibilities.lags import find_products, spread

MOST_BASELINES = 10
STYLE = """body { font: 16px/1.5 sans-serif; max-width: 1180px; margin: 2em auto; padding: 0 1em; }
img { max-width: 100%; } h2 { margin-top: 2em; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; } td, th { padding: 2px 14px 2px 0; text-align: left; }"""


def picture(figure, text, dpi):
    """An img element with a figure in it, which is closed."""
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=dpi, bbox_inches="tight")
    plt.close(figure)
    return (
        f'<img alt="{html.escape(text)}" src="data:image/png;base64,'
        f'{base64.b64encode(data.getvalue()).decode()}">'
    )


def rows_table(head, rows):
    """A table of texts."""
    line = lambda cells, kind: (
        "<tr>" + "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in cells) + "</tr>"
    )
    return (
        "<table>"
        + (line(head, "th") if head else "")
        + "".join(line(row, "td") for row in rows)
        + "</table>"
    )


def sidereal_text(radians):
    """Hours, minutes and seconds."""
    seconds = round(float(radians) * 43200 / np.pi) % 86400
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def make_report(file, options, read_panels, overview, utc, zone):
    """
    The page as text.

    Parameters
    ----------
    file : VisibilityFile
    options : of aperture_plot
    read_panels, overview, utc : callable
        aperture_plot's: panels of products, the overview as a figure, and a time as text.
    zone : Zone
        Time zone of local times.
    """
    longitude = None if file.site is None else file.site[1]
    last = file.times[-1] + (file.times[0] - file.start)
    facts = [
        ("file", os.path.basename(options.files[0])),
        ("telescope", file.telescope),
        ("antennas", ", ".join(file.names[antenna] for antenna in file.antennas)),
        ("UTC", f"{utc(file.start)} to {utc(last)}"),
    ]
    facts.append(
        (
            "local time",
            " to ".join(zone.text(float(unix_seconds(time))) for time in (file.start, last)),
        )
    )
    if longitude is not None:
        facts.append(
            (
                "LST",
                " to ".join(
                    sidereal_text(sidereal_time(time, longitude)) for time in (file.start, last)
                ),
            )
        )
    facts += [
        (
            "integrations",
            f"{len(file.times)}"
            + (f" of {file.integration_time:.6g} s" if file.integration_time else ""),
        ),
        (
            "channels",
            f"{len(file.frequencies)} of {file.channel_width / 1e3:.6g} kHz, "
            f"{file.frequencies[0] / 1e6:.8g} to {file.frequencies[-1] / 1e6:.8g} MHz",
        ),
        ("polarisations", ", ".join(file.polarizations)),
    ]
    parts = [
        rows_table(None, facts),
        "<h2>Overview</h2>",
        picture(
            overview(file, options.baselines, options.integration, zone), "overview", options.dpi
        ),
    ]
    statistics = file.statistics()
    if statistics is not None:
        parts += [
            "<h2>Inputs</h2>",
            rows_table(HEAD, statistics_rows(statistics)),
            picture(statistics_figure(statistics, longitude, zone), "inputs", options.dpi),
        ]
    coverage = coverage_figure(file)
    if coverage is not None:
        parts += ["<h2>u, v coverage</h2>", picture(coverage, "u and v", options.dpi)]
    chosen = None if options.integration is None else [options.integration % len(file.times)]
    candidates = find_products(file, options.baselines) if options.baselines else file.crosses()
    products = spread(candidates, MOST_BASELINES, file)
    if products:
        panels = read_panels(file, products, chosen)
        times = file.start + panels.seconds / 86400
        table, pictures = [], []
        for index, product in enumerate(products):
            figure, fringe = baseline_figure(panels, index, times, longitude, zone)
            label = file.label(product).replace("\\$", "$")
            length = file.length(product)
            table.append(
                (
                    label,
                    f"{length:.4g} m" if length else "",
                    f"{fringe.amplitude:.3g}",
                    fringe_text(fringe, len(times) > 1),
                )
            )
            pictures += [f"<h3>{html.escape(label)}</h3>", picture(figure, label, options.dpi)]
        parts += [
            "<h2>Fringes</h2>",
            rows_table(
                ("baseline", "length", "amplitude", "peak of the delay and rate spectrum"), table
            ),
        ]
        parts += _closures(file, products, read_panels, chosen, longitude, zone, options.dpi)
        if len(candidates) > len(products):
            parts.append(
                f"<p>{len(products)} of {len(candidates)} baselines, evenly spread in "
                "length; --baselines chooses others.</p>"
            )
        parts += pictures
    title = html.escape(f"{file.telescope}, {utc(file.start)} UTC")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _closures(file, products, read_panels, chosen, longitude, zone, dpi):
    """Closure phases of the first parallel hand."""
    hand = products[0].polarization
    found = triangles([(a, b) for a, b in file.pairs if a != b])
    if not found or len(set(hand)) != 1:
        return []
    pairs = sorted({pair for a, b, c in found for pair in ((a, b), (b, c), (a, c))})
    panels = read_panels(file, [Product(a, b, hand) for a, b in pairs], chosen)
    place = {pair: index for index, pair in enumerate(pairs)}
    figure = closure_figure(
        file,
        lambda a, b: panels.values[place[a, b]],
        found,
        file.start + panels.seconds / 86400,
        longitude,
        zone,
    )
    return [
        "<h2>Closure phases</h2>",
        "<p>The sum of the phases around a triangle: nothing that "
        "an antenna does to its signal changes it, and of one point source it is 0.</p>",
        picture(figure, "closure phases", dpi),
    ]


def write_report(path, text):
    """Writes the page; it appears when it is whole."""
    with whole_file(path) as name, open(name, "w", encoding="utf-8") as file:
        file.write(text)
