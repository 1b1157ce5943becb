# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Makes DESTINATION/gnuradio/aperture the image of the Python package in SOURCE (modules,
# tests, shipped arrays and versions of packages; the bindings are built there): copies what has changed, and
# removes what is no longer in SOURCE, so that no test runs against a module that is gone. MADE are
# modules that CMake makes, with their paths below MADE_IN.
# Run as: cmake -DSOURCE=... -DDESTINATION=... -DMADE_IN=... -DMADE=... -P sync_package.cmake

cmake_minimum_required(VERSION 3.19)

set(package "${DESTINATION}/gnuradio/aperture")

file(GLOB_RECURSE sources RELATIVE "${SOURCE}" "${SOURCE}/*.py" "${SOURCE}/*.yml"
    "${SOURCE}/*.yaml" "${SOURCE}/packages/*.txt" "${SOURCE}/monitoring/page/*")
list(FILTER sources EXCLUDE REGEX "^bindings/|__pycache__")
foreach(file IN LISTS sources)
    get_filename_component(folder "${package}/${file}" DIRECTORY)
    file(MAKE_DIRECTORY "${folder}")
    # newer than the copy, or not there: configure_file compares contents
    configure_file("${SOURCE}/${file}" "${package}/${file}" COPYONLY)
endforeach()

foreach(file IN LISTS MADE)
    configure_file("${MADE_IN}/${file}" "${package}/${file}" COPYONLY)
endforeach()

file(GLOB_RECURSE copies RELATIVE "${package}" "${package}/*.py" "${package}/*.yml"
    "${package}/*.yaml" "${package}/packages/*.txt" "${package}/monitoring/page/*")
foreach(file IN LISTS copies)
    if(NOT file IN_LIST sources AND NOT file IN_LIST MADE)
        file(REMOVE "${package}/${file}")
    endif()
endforeach()
