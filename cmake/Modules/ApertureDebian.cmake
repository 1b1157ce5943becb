# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Debian packages by `cpack` (tools/package makes the site before, and configures for /usr):
#
#   libgnuradio-aperture0.1     the libraries
#   gr-aperture                 Python, blocks of GNU Radio Companion, programs, manual pages
#   libgnuradio-aperture-dev    headers and the CMake package
#   gr-aperture-doc             the manual and the examples
#   gr-aperture-cuda            kernels for NVIDIA GPUs, of a build that has them
#   gr-aperture-dpdk            packets by DPDK, of a build that has it
#
# Installed files name their component: CMAKE_INSTALL_DEFAULT_COMPONENT_NAME in the
# CMakeLists.txt of the root. cmake/prepare_packages.cmake brings the files into Debian's places.

set(APERTURE_MAINTAINER "gr-aperture's authors <maintainers@gr-aperture.invalid>" CACHE STRING
    "Whom Debian packages name as their maintainer: a name and an address in angle brackets")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME gr-aperture)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${APERTURE_MAINTAINER}")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL library python devel docs)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION hamradio)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(same "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

# ---- the libraries
set(aperture_library_package libgnuradio-aperture${LIBVER})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${aperture_library_package})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
# the package of the libraries, for packages that link to them; and ldconfig by Debian's rules
configure_file(${PROJECT_SOURCE_DIR}/packaging/debian/library/shlibs.in
    ${CMAKE_CURRENT_BINARY_DIR}/packaging/shlibs @ONLY)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
    ${PROJECT_SOURCE_DIR}/packaging/debian/library/triggers
    ${CMAKE_CURRENT_BINARY_DIR}/packaging/shlibs)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
"Channelise, correlate and beamform arrays of antennas: libraries
An FX correlator and beamformer as blocks of GNU Radio: polyphase filter
bank, corner turn, X-engine with exact 8-bit arithmetic, beams, flagging,
dedispersion and the search for pulses, on CPUs.")

# ---- Python, blocks of GNU Radio Companion, programs
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME gr-aperture)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
string(REGEX MATCH "^([0-9]+)\\.([0-9]+)" python_version "${PYTHON_VERSION}")
math(EXPR next_python "${CMAKE_MATCH_2} + 1")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "${aperture_library_package} ${same}, gnuradio, \
python3 (>= ${python_version}), python3 (<< ${CMAKE_MATCH_1}.${next_python}), \
python3-astropy, python3-h5py, python3-jsonschema, python3-matplotlib, python3-numpy, \
python3-packaging, python3-pil, python3-scipy, python3-yaml, python3-pyqt5, python3-pyqtgraph")
# packages from PyPI; the page of an instrument in the browser; satellites
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS
    "python3-venv, python3-pip, python3-aiohttp, python3-prometheus-client, python3-sgp4, \
libjs-dygraphs")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "gr-aperture-doc, gr-aperture-cuda, gr-osmosdr, wsclean")
# byte code is made when it is installed, and removed with it
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
    ${PROJECT_SOURCE_DIR}/packaging/debian/python/postinst
    ${PROJECT_SOURCE_DIR}/packaging/debian/python/prerm)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION
"Channelise, correlate and beamform arrays of antennas in GNU Radio
Blocks for GNU Radio Companion and Python, and commands that need no
flowgraph: correlate receivers and recordings, form beams, calibrate, make
images of the sky, search for pulses, fold pulsars. With a simulator of
arrays, and a doctor for receivers, flowgraphs and recordings.")

# ---- headers
set(CPACK_DEBIAN_DEVEL_PACKAGE_NAME libgnuradio-aperture-dev)
set(CPACK_DEBIAN_DEVEL_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVEL_PACKAGE_DEPENDS "${aperture_library_package} ${same}, gnuradio-dev")
set(CPACK_COMPONENT_DEVEL_DESCRIPTION
"Channelise, correlate and beamform arrays of antennas: headers
Headers and a CMake package, for flowgraphs in C++ and for blocks of other
modules that keep their items on a device.")

# ---- the manual
set(CPACK_DEBIAN_DOCS_PACKAGE_NAME gr-aperture-doc)
# examples are scripts
set(CPACK_DEBIAN_DOCS_PACKAGE_DEPENDS python3)
set(CPACK_DEBIAN_DOCS_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOCS_PACKAGE_ARCHITECTURE all)
set(CPACK_COMPONENT_DOCS_DESCRIPTION
"Channelise, correlate and beamform arrays of antennas: manual
The manual of gr-aperture, with a reference of all blocks and commands, a
lab for students, flowgraphs, scripts and notebooks.")

# ---- kernels for GPUs
if(APERTURE_CUDA)
    list(APPEND CPACK_COMPONENTS_ALL cuda)
    find_package(CUDAToolkit REQUIRED)
    # dpkg-shlibdeps does not know NVIDIA's packages, which are named after the toolkit: what is
    # linked is cuFFT; the CUDA runtime is in the libraries, and the driver comes with the GPU
    set(toolkit ${CUDAToolkit_VERSION_MAJOR}-${CUDAToolkit_VERSION_MINOR})
    set(CPACK_DEBIAN_CUDA_PACKAGE_NAME gr-aperture-cuda)
    set(CPACK_DEBIAN_CUDA_PACKAGE_SECTION non-free/libs)
    set(CPACK_DEBIAN_CUDA_PACKAGE_SHLIBDEPS OFF)
    set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS
        "${aperture_library_package} ${same}, libc6, libgcc-s1, libstdc++6, libcufft-${toolkit}")
    # loaded where several GPUs of a host share the work
    set(CPACK_DEBIAN_CUDA_PACKAGE_RECOMMENDS libnccl2)
    set(CPACK_DEBIAN_CUDA_PACKAGE_ENHANCES "gr-aperture")
    set(CPACK_COMPONENT_CUDA_DESCRIPTION
"Channelise, correlate and beamform arrays of antennas: GPUs
Kernels for NVIDIA GPUs, which gr-aperture loads when a GPU is asked for.
cuFFT comes from NVIDIA's repository of CUDA.")
endif()

# ---- packets by DPDK, which has many libraries; what AF_XDP needs is small
if(APERTURE_DPDK)
    list(APPEND CPACK_COMPONENTS_ALL dpdk)
    set(CPACK_DEBIAN_DPDK_PACKAGE_NAME gr-aperture-dpdk)
    set(CPACK_DEBIAN_DPDK_PACKAGE_SECTION libs)
    set(CPACK_DEBIAN_DPDK_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_DPDK_PACKAGE_DEPENDS "${aperture_library_package} ${same}")
    # drivers, which DPDK loads
    set(CPACK_DEBIAN_DPDK_PACKAGE_RECOMMENDS
        "librte-meta-bus, librte-meta-mempool, librte-meta-net")
    set(CPACK_DEBIAN_DPDK_PACKAGE_ENHANCES "gr-aperture")
    set(CPACK_COMPONENT_DPDK_DESCRIPTION
"Channelise, correlate and beamform arrays of antennas: packets by DPDK
Receives packets of digitisers without the kernel, by the drivers of DPDK.")
endif()

set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/prepare_packages.cmake)
# for that script
set(CPACK_APERTURE_SOURCE ${PROJECT_SOURCE_DIR})
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER ${component} upper)
    list(APPEND CPACK_APERTURE_PACKAGES
        ${component}=${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
endforeach()
include(CPack)
