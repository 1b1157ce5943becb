/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <cppunit/CompilerOutputter.h>
#include <cppunit/extensions/TestFactoryRegistry.h>
#include <cppunit/ui/text/TestRunner.h>
#include <iostream>

//! Runs all suites that the executable's other source file registers.
int main()
{
    CppUnit::Test* suite = CppUnit::TestFactoryRegistry::getRegistry().makeTest();
    if (suite->countTestCases() == 0) {
        // an unregistered suite would look like a success
        std::cerr << "no test is registered in this executable" << std::endl;
        return 1;
    }

    CppUnit::TextUi::TestRunner runner;
    runner.addTest(suite); // the runner owns it from here on
    runner.setOutputter(new CppUnit::CompilerOutputter(&runner.result(), std::cerr));
    return runner.run("", false) ? 0 : 1;
}
