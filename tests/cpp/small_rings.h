/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_TESTS_CPP_SMALL_RINGS_H
#define INCLUDED_APERTURE_TESTS_CPP_SMALL_RINGS_H

#include "qa_device.h"
#include "runtime/host_wait.h"
#include <cppunit/TestFixture.h>
#include <cppunit/extensions/HelperMacros.h>
#include <memory>
#include <vector>

namespace qa {

/*!
 * Tests with flowgraphs on the emulated device whose rings are small, so that they wrap
 * often. Its settings are as before after each test, and no memory of it is left.
 */
class small_rings : public CppUnit::TestFixture
{
public:
    void setUp() override
    {
        d_restored = std::make_unique<emulation>();
        emulated::current_settings().default_ring = 0;
        d_top = gr::make_top_block("test");
    }

    void tearDown() override
    {
        d_top.reset();
        d_restored.reset();
        CPPUNIT_ASSERT_EQUAL(size_t(0), emulated::memory_in_use());
        CPPUNIT_ASSERT_EQUAL(0l, working_thread::forbidden_waits());
    }

protected:
    //! A chain whose rings hold a page: 1023 items of 4 bytes and one that stays free.
    void chain(const std::vector<gr::basic_block_sptr>& blocks)
    {
        for (size_t i = 1; i < blocks.size(); i++)
            d_top->connect(blocks[i - 1], 0, blocks[i], 0);
        for (size_t i = 0; i + 1 < blocks.size(); i++)
            gr::cast_to_block_sptr(blocks[i])->set_max_output_buffer(1023);
    }

    gr::top_block_sptr d_top;

private:
    std::unique_ptr<emulation> d_restored;
};

} // namespace qa

#endif /* INCLUDED_APERTURE_TESTS_CPP_SMALL_RINGS_H */
