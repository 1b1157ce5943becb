/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "network/endpoint.h"
#include <cppunit/TestCase.h>
#include <cppunit/TestSuite.h>
#include <cppunit/extensions/HelperMacros.h>
#include <stdexcept>

namespace gr::aperture::network {

class qa_endpoint : public CppUnit::TestCase
{
    CPPUNIT_TEST_SUITE(qa_endpoint);
    CPPUNIT_TEST(test_endpoints);
    CPPUNIT_TEST(test_sender_list);
    CPPUNIT_TEST_SUITE_END();

    static bool has(const std::vector<std::string>& list, const std::string& who)
    {
        return sender_list("senders", list).has(to_sender(parse_endpoint("who", who)));
    }

    void test_endpoints()
    {
        for (const std::string text :
             { "127.0.0.1:1", "239.1.2.3:65535", "[ff15::1]:80" })
            CPPUNIT_ASSERT_EQUAL(text, text_of(parse_endpoint("addresses", text)));
        for (const std::string text : { "",
                                        ":80",
                                        "1.2.3.4",
                                        "1.2.3.4:",
                                        "1.2.3.4:0",
                                        "1.2.3.4:65536",
                                        "1.2.3:80x",
                                        "::1",
                                        "ff15::1:80",
                                        "host:80" })
            CPPUNIT_ASSERT_THROW_MESSAGE(
                text, parse_endpoint("addresses", text), std::invalid_argument);
    }

    void test_sender_list()
    {
        CPPUNIT_ASSERT(has({}, "10.1.2.3:5"));
        CPPUNIT_ASSERT(has({ "10.1.2.3" }, "10.1.2.3:5"));
        CPPUNIT_ASSERT(!has({ "10.1.2.4" }, "10.1.2.3:5"));
        CPPUNIT_ASSERT(has({ "10.1.2.3:5" }, "10.1.2.3:5"));
        CPPUNIT_ASSERT(!has({ "10.1.2.3:5" }, "10.1.2.3:6"));
        CPPUNIT_ASSERT(has({ "10.1.0.0/21" }, "10.1.7.255:5"));
        CPPUNIT_ASSERT(!has({ "10.1.0.0/21" }, "10.1.8.0:5"));
        CPPUNIT_ASSERT(has({ "fd00::/9", "1.1.1.1" }, "[fd7f::1]:5"));
        CPPUNIT_ASSERT(!has({ "fd00::/9" }, "[fd80::1]:5"));
        CPPUNIT_ASSERT(has({ "[fd00::1]:5" }, "[fd00::1]:5"));
        for (const std::string text : { "", "10.1.2.3/33", "10.1.2/8", "::1/129", "x" })
            CPPUNIT_ASSERT_THROW_MESSAGE(
                text, sender_list("senders", { text }), std::invalid_argument);
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_endpoint);

} // namespace gr::aperture::network
