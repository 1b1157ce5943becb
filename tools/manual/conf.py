# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration of Sphinx for the manual, of sources by tools/manual/site_sources.py."""

import os

project = "gr-aperture"
author = "gr-aperture's authors"
copyright = "2026, gr-aperture's authors; GPL-3.0-or-later"
version = release = os.environ["APERTURE_VERSION"]

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["files"]

# links to headings, as GitHub names them
myst_heading_anchors = 4
# options of commands: a term, and on the next line ": its meaning"
myst_enable_extensions = ["deflist"]
# "--option" and quotes stay what they are
smartquotes = False

html_theme = "furo"
html_title = f"gr-aperture {version}"
html_static_path = ["static"]
html_css_files = ["manual.css"]
html_copy_source = False
html_show_sphinx = False
# nothing is fetched from elsewhere; links lead to files of these pages
html_baseurl = ""
# code of many languages and none: plain unless it says what it is
highlight_language = "none"
