# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Decides which transports of packets are built beside sockets.
#
# In:  ENABLE_XDP, ENABLE_DPDK    AUTO: if its libraries are there; ON: or it is an error; OFF
# Out: APERTURE_XDP, APERTURE_DPDK  TRUE: PkgConfig::XDP or PkgConfig::DPDK is there

# aperture_transport(NAME WHAT PACKAGES MODULE...): modules as pkg-config names them
function(aperture_transport name what packages)
    set(ENABLE_${name} "AUTO" CACHE STRING "${what}: AUTO, ON or OFF")
    set_property(CACHE ENABLE_${name} PROPERTY STRINGS AUTO ON OFF)
    set(wanted "${ENABLE_${name}}")
    string(TOUPPER "${wanted}" upper)
    set(APERTURE_${name} FALSE PARENT_SCOPE)
    if(NOT upper MATCHES "^(AUTO|ON|OFF|TRUE|FALSE|YES|NO|1|0)$")
        message(FATAL_ERROR "ENABLE_${name}=${wanted}: allowed are AUTO, ON and OFF")
    elseif(upper MATCHES "^(OFF|FALSE|NO|0)$")
        message(STATUS "${what}: switched off (ENABLE_${name}=${wanted})")
        return()
    endif()
    pkg_check_modules(${name} QUIET IMPORTED_TARGET GLOBAL ${ARGN})
    if(${name}_FOUND)
        message(STATUS "${what}: built")
        set(APERTURE_${name} TRUE PARENT_SCOPE)
    elseif(upper STREQUAL "AUTO")
        message(STATUS "${what}: not built, as ${packages} is not there")
    else()
        message(FATAL_ERROR "ENABLE_${name}=${wanted}, but ${packages} is not there")
    endif()
endfunction()

aperture_transport(XDP "Packets by AF_XDP" "libxdp-dev" libxdp>=1.2 libbpf>=1.0)
aperture_transport(DPDK "Packets by DPDK" "libdpdk-dev" libdpdk>=22.11)
