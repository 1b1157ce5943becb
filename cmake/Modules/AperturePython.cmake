# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Sets PYTHON_EXECUTABLE, unless the user did: the first of python3 in PATH and
# /usr/bin/python3 that can import GNU Radio. GrPython would take the first python3 in
# PATH, which with pyenv, conda or a venv is usually one that knows nothing of GNU Radio.

if(NOT PYTHON_EXECUTABLE)
    find_program(APERTURE_PATH_PYTHON python3)
    mark_as_advanced(APERTURE_PATH_PYTHON)
    foreach(_python IN ITEMS "${APERTURE_PATH_PYTHON}" /usr/bin/python3)
        if(EXISTS "${_python}")
            execute_process(COMMAND "${_python}" -c "from gnuradio import gr"
                RESULT_VARIABLE _result OUTPUT_QUIET ERROR_QUIET)
            if(_result EQUAL 0)
                set(PYTHON_EXECUTABLE "${_python}" CACHE FILEPATH "python interpreter")
                break()
            endif()
        endif()
    endforeach()
endif()
