# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Decides whether the CUDA kernels (lib/kernels/*/*.cu) are built.
#
# In:  ENABLE_CUDA               AUTO: if there is an nvcc; ON: or it is an error; OFF
#      CMAKE_CUDA_ARCHITECTURES  (or the environment's CUDAARCHS) the user's choice
#      CMAKE_CUDA_COMPILER       (or the environment's CUDACXX) the user's nvcc
#      APERTURE_CUDA_FOR         all: GPUs from Turing on; here: those of this machine, which
#                                takes a fraction of the time (without one, Hopper)
# Out: APERTURE_CUDA             TRUE: the language CUDA is enabled, build the kernels
#      CMAKE_CUDA_ARCHITECTURES  by default those that APERTURE_CUDA_FOR says, as far as nvcc
#                                knows them

set(ENABLE_CUDA "AUTO" CACHE STRING "CUDA kernels: AUTO, ON or OFF")
set_property(CACHE ENABLE_CUDA PROPERTY STRINGS AUTO ON OFF)
string(TOUPPER "${ENABLE_CUDA}" _enable_cuda)
if(NOT _enable_cuda MATCHES "^(AUTO|ON|OFF|TRUE|FALSE|YES|NO|1|0)$")
    message(FATAL_ERROR "ENABLE_CUDA=${ENABLE_CUDA}: allowed are AUTO, ON and OFF")
endif()

set(APERTURE_CUDA_FOR "all" CACHE STRING "GPUs that CUDA kernels are built for: all or here")
set_property(CACHE APERTURE_CUDA_FOR PROPERTY STRINGS all here)
if(NOT APERTURE_CUDA_FOR MATCHES "^(all|here)$")
    message(FATAL_ERROR "APERTURE_CUDA_FOR=${APERTURE_CUDA_FOR}: allowed are all and here")
endif()

set(APERTURE_CUDA FALSE)

# One architecture of each group within which machine code is interchangeable upwards
# (8.7 runs code for 8.6, 10.3 code for 10.0, 12.1 code for 12.0).
set(_aperture_cuda_wanted 75 80 86 89 90 100 110 120)

# nvcc's own list of what it can compile for, as numbers
function(_aperture_cuda_known nvcc result)
    execute_process(COMMAND "${nvcc}" --list-gpu-arch
        OUTPUT_VARIABLE _output RESULT_VARIABLE _status ERROR_QUIET)
    set(_known "")
    if(_status EQUAL 0)
        string(REGEX MATCHALL "compute_[0-9]+" _names "${_output}")
        foreach(_name IN LISTS _names)
            string(REPLACE "compute_" "" _number "${_name}")
            list(APPEND _known ${_number})
        endforeach()
    endif()
    set(${result} "${_known}" PARENT_SCOPE)
endfunction()

# "90-real": those of this machine's GPUs that nvcc knows; empty where one is not known
function(_aperture_cuda_architectures_here known result)
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
        OUTPUT_VARIABLE _output RESULT_VARIABLE _status ERROR_QUIET)
    set(_found "90")
    if("${_status}" STREQUAL "0")
        string(REGEX MATCHALL "[0-9]+\\.[0-9]+" _found "${_output}")
        string(REPLACE "." "" _found "${_found}")
        list(REMOVE_DUPLICATES _found)
    endif()
    set(_architectures "")
    foreach(_number IN LISTS _found)
        if(_number IN_LIST known)
            list(APPEND _architectures ${_number}-real)
        elseif("${_status}" STREQUAL "0")
            set(_architectures "")
            break()
        endif()
    endforeach()
    set(${result} "${_architectures}" PARENT_SCOPE)
endfunction()

# "75-real;...;120": machine code for each, and PTX of the newest for GPUs to come
function(_aperture_cuda_default_architectures known result)
    set(_chosen "")
    foreach(_number IN LISTS _aperture_cuda_wanted)
        if(_number IN_LIST known)
            list(APPEND _chosen ${_number})
        endif()
    endforeach()
    set(_architectures "")
    if(_chosen)
        list(POP_BACK _chosen _newest)
        foreach(_number IN LISTS _chosen)
            list(APPEND _architectures ${_number}-real)
        endforeach()
        list(APPEND _architectures ${_newest})
    endif()
    set(${result} "${_architectures}" PARENT_SCOPE)
endfunction()

# an nvcc that the user names is the only one that is looked at
set(APERTURE_NVCC "")
if(CMAKE_CUDA_COMPILER)
    set(_aperture_named_nvcc "${CMAKE_CUDA_COMPILER}")
else()
    set(_aperture_named_nvcc "$ENV{CUDACXX}")
endif()
if(_aperture_named_nvcc)
    if(EXISTS "${_aperture_named_nvcc}")
        set(APERTURE_NVCC "${_aperture_named_nvcc}")
    endif()
else()
    find_program(APERTURE_NVCC_FOUND nvcc
        HINTS ENV CUDA_PATH ENV CUDA_HOME
        PATHS /usr/local/cuda /opt/cuda
        PATH_SUFFIXES bin
        DOC "CUDA compiler")
    mark_as_advanced(APERTURE_NVCC_FOUND)
    if(APERTURE_NVCC_FOUND)
        set(APERTURE_NVCC "${APERTURE_NVCC_FOUND}")
    endif()
endif()

if(_enable_cuda MATCHES "^(OFF|FALSE|NO|0)$")
    message(STATUS "CUDA: switched off (ENABLE_CUDA=${ENABLE_CUDA}), building for the CPU")
elseif(NOT APERTURE_NVCC)
    if(_enable_cuda STREQUAL "AUTO")
        message(STATUS "CUDA: no nvcc found, building for the CPU")
    else()
        message(FATAL_ERROR "ENABLE_CUDA=${ENABLE_CUDA}, but there is no nvcc "
            "(looked at CMAKE_CUDA_COMPILER, CUDACXX, CUDA_PATH, CUDA_HOME, PATH, "
            "/usr/local/cuda and /opt/cuda). Install the CUDA toolkit, name its nvcc "
            "with -DCMAKE_CUDA_COMPILER=/path/to/nvcc, or set ENABLE_CUDA to AUTO or OFF.")
    endif()
else()
    if(NOT CMAKE_CUDA_ARCHITECTURES AND DEFINED ENV{CUDAARCHS})
        set(CMAKE_CUDA_ARCHITECTURES "$ENV{CUDAARCHS}")
    endif()
    if(NOT CMAKE_CUDA_ARCHITECTURES)
        _aperture_cuda_known("${APERTURE_NVCC}" _known)
        if(APERTURE_CUDA_FOR STREQUAL "here")
            _aperture_cuda_architectures_here("${_known}" CMAKE_CUDA_ARCHITECTURES)
        endif()
        if(NOT CMAKE_CUDA_ARCHITECTURES)
            _aperture_cuda_default_architectures("${_known}" CMAKE_CUDA_ARCHITECTURES)
        endif()
    endif()

    file(GLOB_RECURSE _cuda_sources CONFIGURE_DEPENDS
        ${PROJECT_SOURCE_DIR}/lib/kernels/*.cu)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
        if(NOT _enable_cuda STREQUAL "AUTO")
            message(FATAL_ERROR "ENABLE_CUDA=${ENABLE_CUDA}, but ${APERTURE_NVCC} compiles "
                "for none of ${_aperture_cuda_wanted}: use another, or name the "
                "architectures with -DCMAKE_CUDA_ARCHITECTURES=...")
        endif()
        message(STATUS "CUDA: ${APERTURE_NVCC} knows no GPU from Turing on, "
            "building for the CPU")
    elseif(NOT _cuda_sources)
        message(STATUS "CUDA: ${APERTURE_NVCC} found (architectures "
            "${CMAKE_CUDA_ARCHITECTURES}), no CUDA kernels yet: building for the CPU")
    else()
        set(CMAKE_CUDA_COMPILER "${APERTURE_NVCC}" CACHE FILEPATH "CUDA compiler")
        enable_language(CUDA)
        set(CMAKE_CUDA_STANDARD 17)
        set(CMAKE_CUDA_STANDARD_REQUIRED ON)
        # some packages bring the compiler without its libraries
        find_package(CUDAToolkit QUIET)
        if(TARGET CUDA::cufft AND TARGET CUDA::cudart_static)
            set(APERTURE_CUDA TRUE)
            message(STATUS "CUDA: ${APERTURE_NVCC}, "
                "architectures ${CMAKE_CUDA_ARCHITECTURES}")
        elseif(_enable_cuda STREQUAL "AUTO")
            message(STATUS "CUDA: ${APERTURE_NVCC} has no cuFFT or no static runtime, "
                "building for the CPU")
        else()
            message(FATAL_ERROR "ENABLE_CUDA=${ENABLE_CUDA}, but ${APERTURE_NVCC} has no "
                "cuFFT or no static runtime: install the whole CUDA toolkit")
        endif()
    endif()
endif()
