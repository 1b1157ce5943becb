# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Makes DESTINATION/gnuradio/aperture the image of the Python packages in the folders SOURCES
# (modules, tests, shipped arrays, versions of packages, the page of monitoring; the bindings are
# built there): copies what has changed, and removes what is no longer in SOURCES, so that no test
# runs against a module that is gone. MADE are modules that CMake makes, with their paths below
# MADE_IN.
# Run as: cmake -DSOURCES=... -DDESTINATION=... -DMADE_IN=... -DMADE=... -P sync_package.cmake

cmake_minimum_required(VERSION 3.19)

set(package "${DESTINATION}/gnuradio/aperture")

# files_of(RESULT FOLDER): paths below the folder of all that belongs to the package
function(files_of result folder)
    set(patterns *.py *.yml *.yaml packages/*.txt monitoring/page/*)
    list(TRANSFORM patterns PREPEND "${folder}/")
    file(GLOB_RECURSE found RELATIVE "${folder}" ${patterns})
    set(${result} "${found}" PARENT_SCOPE)
endfunction()

set(kept "")
foreach(source IN LISTS SOURCES)
    files_of(files "${source}")
    list(FILTER files EXCLUDE REGEX "^bindings/|__pycache__")
    foreach(file IN LISTS files)
        if(file IN_LIST kept)
            message(FATAL_ERROR "${file} is in more than one of ${SOURCES}")
        endif()
        get_filename_component(folder "${package}/${file}" DIRECTORY)
        file(MAKE_DIRECTORY "${folder}")
        # newer than the copy, or not there: configure_file compares contents
        configure_file("${source}/${file}" "${package}/${file}" COPYONLY)
    endforeach()
    list(APPEND kept ${files})
endforeach()

foreach(file IN LISTS MADE)
    configure_file("${MADE_IN}/${file}" "${package}/${file}" COPYONLY)
endforeach()

files_of(copies "${package}")
foreach(file IN LISTS copies)
    if(NOT file IN_LIST kept AND NOT file IN_LIST MADE)
        file(REMOVE "${package}/${file}")
    endif()
endforeach()
