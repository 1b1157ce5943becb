/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/registry/cuda_kernels.h"
#include "runtime/plugin.h"
#include <cppunit/TestAssert.h>
#include <cppunit/extensions/HelperMacros.h>
#include <fstream>

using namespace gr::aperture;

//! Tests what is loaded as the library of CUDA kernels, and the error where it is not.
class qa_cuda_library : public CppUnit::TestCase
{
    CPPUNIT_TEST_SUITE(qa_cuda_library);
    CPPUNIT_TEST(test_missing);
    CPPUNIT_TEST(test_no_library);
    CPPUNIT_TEST(test_another_library);
    CPPUNIT_TEST(test_another_version);
    CPPUNIT_TEST_SUITE_END();

    static void expect_refused(const std::string& path, const std::string& said)
    {
        const auto loaded = load_plugin(kernels::cuda_kernels_kind, path);
        CPPUNIT_ASSERT(!loaded.offers);
        CPPUNIT_ASSERT_MESSAGE(loaded.problem,
                               loaded.problem.find(said) != std::string::npos);
    }

public:
    void test_missing()
    {
        expect_refused("/nowhere/libgnuradio-aperture-cuda.so",
                       "there are no CUDA kernels here (no "
                       "/nowhere/libgnuradio-aperture-cuda.so)");
    }

    void test_no_library()
    {
        const std::string path = STUB_FOLDER "/no-library.so";
        std::ofstream(path) << "not a library";
        expect_refused(path, "the CUDA kernels cannot be loaded: " + path);
    }

    void test_another_library()
    {
        const std::string path = STUB_FOLDER "/libstub-empty.so";
        expect_refused(path, path + " is no library of CUDA kernels");
    }

    void test_another_version()
    {
        const std::string path = STUB_FOLDER "/libstub-version.so";
        expect_refused(path, path + " has version 0.0.9 (stub), but this library needs ");
        const std::string wanted = kernels::cuda_kernels_kind.version;
        expect_refused(path, wanted + ": install both from the same build");
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_cuda_library);
