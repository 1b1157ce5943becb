#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""What aperture_doctor looks at, and the remedy of all that it finds."""
