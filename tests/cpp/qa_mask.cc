/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/masks/mask.h"
#include <cppunit/extensions/HelperMacros.h>
#include <stdexcept>
#include <vector>

using gr::aperture::kernels::mask_layout;

//! Tests the layout of masks, which flagger, X-engine and power blocks agree about.
class qa_mask : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_mask);
    CPPUNIT_TEST(sizes);
    CPPUNIT_TEST(one_bit_is_in_its_place);
    CPPUNIT_TEST(wrong_parameters_are_refused);
    CPPUNIT_TEST_SUITE_END();

    void sizes()
    {
        const mask_layout odd{ 5, 3, 72, 4 };
        CPPUNIT_ASSERT_EQUAL(18, odd.slices());
        CPPUNIT_ASSERT_EQUAL(3, odd.bytes_per_input());
        CPPUNIT_ASSERT_EQUAL(int64_t(45), odd.item_bytes());
        const mask_layout whole{ 1024, 64, 256, 256 };
        CPPUNIT_ASSERT_EQUAL(1, whole.slices());
        CPPUNIT_ASSERT_EQUAL(int64_t(65536), whole.item_bytes());
    }

    //! Slice 10 of input 1 in channel 2 of 5 channels, 3 inputs, 18 slices: the third bit
    //! of the second of 3 bytes that are the row 2 * 3 + 1.
    void one_bit_is_in_its_place()
    {
        const mask_layout layout{ 5, 3, 72, 4 };
        std::vector<uint8_t> mask(layout.item_bytes());
        layout.set(mask.data(), 2, 1, 10);
        for (int i = 0; i < 45; i++)
            CPPUNIT_ASSERT_EQUAL(i == 7 * 3 + 1 ? 4 : 0, int(mask[i]));
        for (int c = 0; c < 5; c++)
            for (int i = 0; i < 3; i++)
                for (int s = 0; s < 18; s++)
                    CPPUNIT_ASSERT_EQUAL(c == 2 && i == 1 && s == 10,
                                         layout.flagged(mask.data(), c, i, s));
    }

    void wrong_parameters_are_refused()
    {
        mask_layout{ 5, 3, 72, 4 }.check();
        for (const mask_layout& wrong : { mask_layout{ 0, 3, 72, 4 },
                                          mask_layout{ 5, 0, 72, 4 },
                                          mask_layout{ 5, 3, 0, 1 },
                                          mask_layout{ 5, 3, 72, 0 },
                                          mask_layout{ 5, 3, 72, -4 },
                                          mask_layout{ 5, 3, 72, 5 },
                                          mask_layout{ 5, 3, 72, 144 },
                                          mask_layout{ 1 << 20, 1024, 32, 1 } })
            CPPUNIT_ASSERT_THROW(wrong.check(), std::invalid_argument);
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_mask);
