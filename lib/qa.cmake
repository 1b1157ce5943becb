# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Every lib/qa_*.cc becomes a CppUnit test of that name. Included by lib/CMakeLists.txt.

find_package(PkgConfig REQUIRED)
pkg_check_modules(CPPUNIT IMPORTED_TARGET cppunit)
if(NOT CPPUNIT_FOUND)
    message(STATUS "CppUnit not found: the C++ tests are not built")
    return()
endif()

# The library hides all symbols but those of the public classes; kernels are tested by
# themselves, so the tests link the library's object files.
add_library(aperture_for_tests STATIC $<TARGET_OBJECTS:gnuradio-aperture>)
target_include_directories(aperture_for_tests
    PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/../include)
target_link_libraries(aperture_for_tests
    PUBLIC $<TARGET_PROPERTY:gnuradio-aperture,LINK_LIBRARIES>)

# name: of the test; source: a file with CPPUNIT_TEST_SUITE_REGISTRATION
function(add_cppunit_test name source)
    add_executable(${name} ${source} cppunit_main.cc)
    target_link_libraries(${name} PRIVATE aperture_for_tests PkgConfig::CPPUNIT)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS cpp)
endfunction()

file(GLOB aperture_cppunit_tests CONFIGURE_DEPENDS qa_*.cc)
foreach(source IN LISTS aperture_cppunit_tests)
    get_filename_component(name ${source} NAME_WE)
    # Python's tests have names like these too
    add_cppunit_test(${name}_cc ${source})
endforeach()

# Kernels on a GPU against those on the CPU; needs no GNU Radio.
if(APERTURE_CUDA)
    add_executable(check_cuda_kernels check_cuda_kernels.cc)
    target_link_libraries(check_cuda_kernels PRIVATE aperture_for_tests)
    add_test(NAME check_cuda_kernels COMMAND check_cuda_kernels)
    set_tests_properties(check_cuda_kernels PROPERTIES
        TIMEOUT 300 LABELS "cpp;gpu" SKIP_RETURN_CODE 77)
endif()

# The runtime on a GPU; CUPTI, a part of the CUDA Toolkit, shows it every call of CUDA.
if(APERTURE_CUDA)
    find_package(CUDAToolkit REQUIRED)
    if(TARGET CUDA::cupti)
        find_package(Gnuradio REQUIRED COMPONENTS blocks)
        add_executable(check_cuda_runtime check_cuda_runtime.cc)
        target_link_libraries(check_cuda_runtime PRIVATE
            aperture_for_tests gnuradio::gnuradio-blocks CUDA::cupti)
        add_test(NAME check_cuda_runtime COMMAND check_cuda_runtime)
        set_tests_properties(check_cuda_runtime PROPERTIES
            TIMEOUT 300 LABELS "cpp;gpu" SKIP_RETURN_CODE 77)
    else()
        message(STATUS "CUPTI not found: check_cuda_runtime is not built")
    endif()
endif()
