/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include <cppunit/CompilerOutputter.h>
#include <cppunit/TestListener.h>
#include <cppunit/TestResult.h>
#include <cppunit/extensions/TestFactoryRegistry.h>
#include <cppunit/ui/text/TestRunner.h>
#include <iostream>
#include <string>
#include <vector>

namespace {

//! Ends a run with its first failure.
struct stop_at_failure : CppUnit::TestListener {
    CppUnit::TestResult& result;

    explicit stop_at_failure(CppUnit::TestResult& result) : result(result) {}
    void addFailure(const CppUnit::TestFailure&) override { result.stop(); }
};

} // namespace

/*!
 * Runs the suites that the executable's other source files register, or those named in
 * its arguments; with --first-failure, until a test fails.
 */
int main(int argc, char** argv)
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
    stop_at_failure listener(runner.eventManager());
    std::vector<std::string> names;
    for (int i = 1; i < argc; i++)
        if (argv[i] == std::string("--first-failure"))
            runner.eventManager().addListener(&listener);
        else
            names.push_back(argv[i]);
    if (names.empty())
        names.push_back(""); // all
    bool good = true;
    for (const auto& name : names)
        good = runner.run(name, false) && good;
    return good ? 0 : 1;
}
