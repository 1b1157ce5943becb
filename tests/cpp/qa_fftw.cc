/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/measured_fft.h"
#include "kernels/common/quantise.h"
#include "kernels/common/wisdom_file.h"
#include <cppunit/extensions/HelperMacros.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <vector>

using namespace gr::aperture::kernels::host;
namespace fs = std::filesystem;

//! Transforms with measured plans, the file that keeps them, and the rounding to sc8.
class qa_fftw : public CppUnit::TestFixture
{
    CPPUNIT_TEST_SUITE(qa_fftw);
    CPPUNIT_TEST(transforms_equal_the_sum);
    CPPUNIT_TEST(plans_are_kept);
    CPPUNIT_TEST(damaged_files_are_replaced);
    CPPUNIT_TEST(no_file_is_no_harm);
    CPPUNIT_TEST(the_place_of_the_file);
    CPPUNIT_TEST(quantise_rounds_and_counts);
    CPPUNIT_TEST_SUITE_END();

    std::string d_folder;

    static std::string content(const std::string& name)
    {
        std::ostringstream all;
        all << std::ifstream(name).rdbuf();
        return all.str();
    }
    static void write(const std::string& name, const std::string& text)
    {
        std::ofstream(name, std::ios::binary) << text;
    }
    //! Returns whether FFTW knows a plan for so many points without measuring.
    static bool knows(int points)
    {
        auto in = make_fft_buffer(2 * points), out = make_fft_buffer(2 * points);
        return plan_ptr(fftwf_plan_dft_1d(points,
                                          reinterpret_cast<fftwf_complex*>(in.get()),
                                          reinterpret_cast<fftwf_complex*>(out.get()),
                                          FFTW_FORWARD,
                                          FFTW_MEASURE | FFTW_WISDOM_ONLY)) != nullptr;
    }

public:
    void setUp() override
    {
        char name[] = "/tmp/qa_fftw-XXXXXX";
        CPPUNIT_ASSERT(mkdtemp(name));
        d_folder = name;
        setenv("XDG_CACHE_HOME", name, 1);
    }
    void tearDown() override { fs::remove_all(d_folder); }

    void transforms_equal_the_sum()
    {
        // single precision: 1e-6 of the rms of some hundred summed terms
        std::mt19937 random(1);
        std::normal_distribution<float> normal;
        for (int points : { 6, 35, 128, 240 })
            for (bool real : { false, true }) {
                const auto& fft = measured_fft::of(points, real);
                CPPUNIT_ASSERT(&fft == &measured_fft::of(points, real));
                auto in = make_fft_buffer(2 * points),
                     out = make_fft_buffer(2 * points + 2);
                std::vector<std::complex<double>> x;
                for (int j = 0; j < points; j++) {
                    const float re = normal(random), im = real ? 0 : normal(random);
                    x.emplace_back(re, im);
                    in[real ? j : 2 * j] = re;
                    if (!real)
                        in[2 * j + 1] = im;
                }
                CPPUNIT_ASSERT(measured_fft::aligned(out.get()));
#ifdef __x86_64__
                // on ARM, FFTW takes memory as it is
                CPPUNIT_ASSERT(!measured_fft::aligned(out.get() + 1));
#endif
                fft.execute(in.get(), out.get());
                for (int k = 0; k < (real ? points / 2 + 1 : points); k++) {
                    std::complex<double> sum = 0;
                    for (int j = 0; j < points; j++)
                        sum += x[j] *
                               std::polar(1.,
                                          -2 * M_PI * (int64_t(j) * k % points) / points);
                    const std::complex<double> found(out[2 * k], out[2 * k + 1]);
                    CPPUNIT_ASSERT(std::abs(found - sum) < 1e-6 * std::sqrt(points) * 4);
                }
            }
    }

    void plans_are_kept()
    {
        const auto file = wisdom_file::of_this_computer();
        fftwf_forget_wisdom();
        CPPUNIT_ASSERT(!knows(9));
        measured_fft::of(9, false);
        CPPUNIT_ASSERT(fs::exists(file.path()));
        fftwf_forget_wisdom();
        // plans that another process has written meanwhile stay
        measured_fft::of(10, false);
        fftwf_forget_wisdom();
        CPPUNIT_ASSERT(!knows(9) && !knows(10));
        CPPUNIT_ASSERT(file.load());
        CPPUNIT_ASSERT(knows(9) && knows(10));
        // nothing else lies beside it
        CPPUNIT_ASSERT_EQUAL(
            ptrdiff_t(1),
            std::distance(fs::directory_iterator(d_folder + "/gr-aperture"), {}));
    }

    void damaged_files_are_replaced()
    {
        const wisdom_file file(d_folder + "/deep/er/wisdom");
        measured_fft::of(12, false);
        CPPUNIT_ASSERT(file.save());
        const std::string good = content(file.path());
        CPPUNIT_ASSERT(!good.empty());
        std::vector<std::string> damaged{
            "", "\n", "(", std::string(100, '\0'), std::string(9 << 20, '(')
        };
        for (size_t length = 1; length < good.size(); length += 37)
            damaged.push_back(good.substr(0, length));
        std::string other_version = good;
        other_version.replace(good.find("3."), 2, "2.");
        damaged.push_back(other_version);
        for (const auto& text : damaged) {
            write(file.path(), text);
            fftwf_forget_wisdom();
            // FFTW may do without the last line break
            CPPUNIT_ASSERT(!file.load() || text.size() + 2 >= good.size());
            CPPUNIT_ASSERT(text.size() + 2 >= good.size() || !knows(12));
        }
        write(file.path(), "damaged");
        measured_fft::of(14, false);
        CPPUNIT_ASSERT(file.save());
        fftwf_forget_wisdom();
        CPPUNIT_ASSERT(file.load() && knows(14));
    }

    void no_file_is_no_harm()
    {
        CPPUNIT_ASSERT(!wisdom_file("").load() && !wisdom_file("").save());
        // a folder in its place, a file in its folder's place, a pipe that nobody feeds
        fs::create_directory(d_folder + "/wisdom");
        CPPUNIT_ASSERT(!wisdom_file(d_folder + "/wisdom").load());
        CPPUNIT_ASSERT(!wisdom_file(d_folder + "/wisdom").save());
        write(d_folder + "/file", "");
        CPPUNIT_ASSERT(!wisdom_file(d_folder + "/file/wisdom").save());
        CPPUNIT_ASSERT_EQUAL(0, mkfifo((d_folder + "/pipe").c_str(), 0600));
        CPPUNIT_ASSERT(!wisdom_file(d_folder + "/pipe").load());
        CPPUNIT_ASSERT_EQUAL(ptrdiff_t(3),
                             std::distance(fs::directory_iterator(d_folder), {}));
        setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
        measured_fft::of(15, false);
    }

    void the_place_of_the_file()
    {
        const std::string before = std::getenv("HOME") ? std::getenv("HOME") : "";
        const auto folder = [] {
            const fs::path path = wisdom_file::of_this_computer().path();
            CPPUNIT_ASSERT(path.empty() ||
                           path.filename().string().find(' ') == std::string::npos);
            return path.parent_path().string();
        };
        setenv("HOME", "/some/home", 1);
        CPPUNIT_ASSERT_EQUAL(d_folder + "/gr-aperture", folder());
        setenv("XDG_CACHE_HOME", "relative", 1);
        CPPUNIT_ASSERT_EQUAL(std::string("/some/home/.cache/gr-aperture"), folder());
        unsetenv("XDG_CACHE_HOME");
        CPPUNIT_ASSERT_EQUAL(std::string("/some/home/.cache/gr-aperture"), folder());
        unsetenv("HOME");
        CPPUNIT_ASSERT_EQUAL(std::string(), folder());
        if (!before.empty())
            setenv("HOME", before.c_str(), 1);
    }

    void quantise_rounds_and_counts()
    {
        const float none = std::numeric_limits<float>::quiet_NaN(),
                    endless = std::numeric_limits<float>::infinity();
        const struct {
            float re, im;
            int out_re, out_im;
            bool fits;
        } cases[] = { { .5f, 1.5f, 0, 2, true },
                      { -.5f, -1.5f, 0, -2, true },
                      { 2.5f, -3.5f, 2, -4, true },
                      { 127.49f, -127.49f, 127, -127, true },
                      { 127.5f, 0, 127, 0, false },
                      { 0, -127.5f, 0, -127, false },
                      { 1e30f, -1e30f, 127, -127, false },
                      { endless, -endless, 127, -127, false },
                      { none, 3, 0, 3, false },
                      { 3, -none, 3, 0, false },
                      { 1e-40f, -0.f, 0, 0, true } };
        // each case at each place of a vector, and more than are computed at once
        for (const auto& c : cases)
            for (size_t count : { 1, 7, 33, 1031 })
                for (size_t at = 0; at<count; at += count> 100 ? 41 : 1) {
                    std::vector<float> values(2 * count, 1.f);
                    values[2 * at] = c.re;
                    values[2 * at + 1] = c.im;
                    std::vector<int8_t> out(2 * count + 1, 77);
                    CPPUNIT_ASSERT_EQUAL(uint64_t(!c.fits),
                                         quantise(values.data(), count, out.data()));
                    for (size_t i = 0; i < count; i++) {
                        CPPUNIT_ASSERT_EQUAL(i == at ? c.out_re : 1, int(out[2 * i]));
                        CPPUNIT_ASSERT_EQUAL(i == at ? c.out_im : 1, int(out[2 * i + 1]));
                    }
                    CPPUNIT_ASSERT_EQUAL(77, int(out.back()));
                }
        const std::vector<float> far(2 * 70001, 1000.f);
        std::vector<int8_t> out(far.size());
        CPPUNIT_ASSERT_EQUAL(uint64_t(70001), quantise(far.data(), 70001, out.data()));
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_fftw);
