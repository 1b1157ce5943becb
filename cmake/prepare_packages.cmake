# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs in cpack, between the installation into a folder for each component and the making of
# packages: leaves out byte code, and brings the rest into the places that Debian has for it.

cmake_minimum_required(VERSION 3.19)

foreach(entry IN LISTS CPACK_APERTURE_PACKAGES)
    string(REGEX MATCH "^(.*)=(.*)$" _ "${entry}")
    set(package ${CMAKE_MATCH_2})
    set(usr ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${CMAKE_MATCH_1}/usr)
    if(NOT EXISTS ${usr})
        message(FATAL_ERROR "Nothing is installed for ${package}: ${usr} is not there")
    endif()

    # made for another folder than this, with paths of this machine in it
    file(GLOB_RECURSE compiled ${usr}/*.pyc ${usr}/*.pyo)
    if(compiled)
        file(REMOVE ${compiled})
    endif()

    # Python's modules do not depend on its minor version, and extensions say theirs
    file(GLOB versioned ${usr}/lib/python3.*/*-packages/gnuradio)
    foreach(folder IN LISTS versioned)
        file(MAKE_DIRECTORY ${usr}/lib/python3/dist-packages)
        file(RENAME ${folder} ${usr}/lib/python3/dist-packages/gnuradio)
        get_filename_component(old ${folder} DIRECTORY)
        file(GLOB metadata ${old}/*.dist-info)
        foreach(info IN LISTS metadata)
            get_filename_component(name ${info} NAME)
            file(RENAME ${info} ${usr}/lib/python3/dist-packages/${name})
        endforeach()
        get_filename_component(old ${old} DIRECTORY)
        file(REMOVE_RECURSE ${old})
    endforeach()

    # programs start the Python that the package depends on
    file(GLOB programs ${usr}/bin/*)
    foreach(program IN LISTS programs)
        file(READ ${program} text)
        string(REGEX REPLACE "^#![^\n]*python[^\n]*" "#!/usr/bin/python3" text "${text}")
        file(WRITE ${program} "${text}")
    endforeach()

    # the licence, what changed, and manual pages, compressed
    set(doc ${usr}/share/doc/${package})
    file(MAKE_DIRECTORY ${doc})
    configure_file(${CPACK_APERTURE_SOURCE}/packaging/debian/copyright ${doc}/copyright COPYONLY)
    configure_file(${CPACK_APERTURE_SOURCE}/CHANGELOG.md ${doc}/changelog COPYONLY)
    string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
    file(WRITE ${doc}/changelog.Debian
"gr-aperture (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * See changelog.gz: packages of cpack.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
    file(GLOB compress ${doc}/changelog ${doc}/changelog.Debian ${usr}/share/man/man1/*.1)
    foreach(file IN LISTS compress)
        execute_process(COMMAND gzip -9nf ${file} RESULT_VARIABLE status)
        if(status)
            message(FATAL_ERROR "gzip cannot compress ${file}")
        endif()
    endforeach()

    # Debian has the licence once
    file(REMOVE ${usr}/share/doc/gr-aperture/COPYING)
endforeach()
