# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""
make.py site FOLDER: the manual as a site, in FOLDER/html, of sources that it puts into
FOLDER/source.
make.py man FOLDER: manual pages of all commands.

Both need the package gnuradio.aperture to be imported: tools/run python3 tools/manual/make.py ...
"""

import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from gnuradio import aperture


def make_site(folder):
    """Returns the exit status of Sphinx, whose warnings are errors."""
    import site_sources

    try:
        site = site_sources.Site(SOURCE)
    except site_sources.SiteError as error:
        print(f"tools/site: {error}", file=sys.stderr)
        return 1
    sources = folder / "source"
    site.write(sources)
    site_sources.add_theme(sources, SOURCE)
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-q",
            "-W",
            "--keep-going",
            "-b",
            "html",
            "-d",
            str(folder / "doctrees"),
            str(sources),
            str(folder / "html"),
        ],
        env={**os.environ, "APERTURE_VERSION": aperture.__version__},
    ).returncode


def make_man(folder):
    """Writes NAME.1 for each command."""
    import commands

    folder.mkdir(parents=True, exist_ok=True)
    made = commands.all_commands(SOURCE)
    names = [command.name for command in made]
    for path in folder.glob("*.1"):
        if path.stem not in names:
            path.unlink()
    for command in made:
        text = commands.manual_page(command, aperture.__version__, names)
        (folder / f"{command.name}.1").write_text(text)
    return 0


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("site", "man"):
        sys.exit(__doc__.strip())
    make = make_site if sys.argv[1] == "site" else make_man
    sys.exit(make(pathlib.Path(sys.argv[2]).absolute()))


if __name__ == "__main__":
    main()
