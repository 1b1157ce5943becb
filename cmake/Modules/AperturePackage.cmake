# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
# aperture_install_package(PACKAGE FILE ...): installs modules of the Python package
# gnuradio.aperture.PACKAGE ("": gnuradio.aperture itself), and compiles them.
#
# This function is here because `gr_modtool add` edits the first call of GR_PYTHON_INSTALL in
# python/aperture/CMakeLists.txt: it would name the file of a new block once more, which is found
# there by a pattern, and Ninja refuses two rules for one compiled file.

include(GrPython)

function(aperture_install_package package)
    gr_python_install(
        FILES ${ARGN}
        DESTINATION ${GR_PYTHON_DIR}/gnuradio/aperture/${package}
    )
endfunction()
