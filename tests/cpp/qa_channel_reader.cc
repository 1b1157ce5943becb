/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/recordings/channel_reader.h"
#include "recordings.h"
#include <cppunit/extensions/HelperMacros.h>
#include <fcntl.h>
#include <algorithm>
#include <cstring>
#include <limits>

using namespace gr::aperture::formats;
using namespace recordings;

namespace {

using gaps = std::vector<std::array<int64_t, 3>>;

reading read_all(const channel_layout& layout,
                 const std::shared_ptr<recorded_files>& files,
                 const std::vector<std::vector<piece>>& list,
                 int64_t spectra,
                 int threads,
                 int64_t call)
{
    channel_reader reader(
        layout, files, std::make_shared<listed_pieces>(list), int64_t(1) << 40, threads);
    return recordings::read_all(reader,
                                layout.inputs,
                                layout.ports(),
                                size_t(layout.inputs_per_port * layout.channels) *
                                    size_of(layout.type()),
                                spectra,
                                call);
}

//! Reads sample by sample what channel_place describes, as [spectrum][input][channel]
//! of samples of so many bytes; zeros where there is no piece.
bytes model(const channel_layout& layout,
            const bytes& content,
            const std::vector<std::vector<piece>>& list,
            int64_t spectra,
            size_t size)
{
    bytes all(size_t(spectra * layout.inputs * layout.channels) * size, 0);
    for (const auto& place : layout.places)
        for (const auto& p : list[size_t(place.set)])
            for (int64_t t = 0; t < p.samples && p.first + t < spectra; t++)
                for (int c = 0; c < place.channels; c++)
                    std::memcpy(
                        &all[size_t(((p.first + t) * layout.inputs + place.input) *
                                        layout.channels +
                                    place.first_channel + c) *
                             size],
                        &content[size_t(p.offset) +
                                 size_t(place.at(c, t, p.row_samples())) * size],
                        size);
    return all;
}

//! Blocks [antenna][channel][time][2], one behind the other, of odd numbers.
struct rows_of_channels {
    static constexpr int antennas = 3, channels = 131, inputs = 2 * antennas;
    static constexpr int64_t row = 2001 / fewer, pieces = 3, spectra = pieces * row;
    channel_layout layout{ coding::s8, inputs, channels, {}, inputs, false };
    std::vector<std::vector<piece>> list{ 1 };

    rows_of_channels()
    {
        for (int i = 0; i < inputs; i++)
            layout.places.push_back(
                { 0, i, 0, channels, i % 2, 0, 2, int64_t(i / 2) * 2 * channels, 2 });
        for (int64_t n = 0; n < pieces; n++)
            list[0].push_back({ 0, n * row * inputs * channels * 2, row, n * row });
    }
    static size_t size() { return size_t(spectra) * inputs * channels * 2; }
};

} // namespace

class qa_channel_reader : public CppUnit::TestCase
{
    CPPUNIT_TEST_SUITE(qa_channel_reader);
    CPPUNIT_TEST(test_rows);
    CPPUNIT_TEST(test_places_far_apart);
    CPPUNIT_TEST(test_long_rows);
    CPPUNIT_TEST(test_conjugation_counts);
    CPPUNIT_TEST(test_gaps_and_not_numbers);
    CPPUNIT_TEST(test_file_that_becomes_shorter);
    CPPUNIT_TEST_SUITE_END();

public:
    // Calls that are shorter than rows, that end somewhere in a piece, and of everything.
    void test_rows()
    {
        const rows_of_channels all;
        const bytes content = noise(all.size(), 1);
        const memory_file file(content);
        const auto files =
            std::make_shared<recorded_files>(std::vector<std::string>{ file.name() });
        const bytes expected = model(all.layout, content, all.list, all.spectra, 2);
        for (const int threads : threads_tried)
            for (const int64_t call : { int64_t(97), int64_t(1500), all.spectra }) {
                const auto read =
                    read_all(all.layout, files, all.list, all.spectra, threads, call);
                CPPUNIT_ASSERT(read.ports[0] == expected);
                CPPUNIT_ASSERT(read.gaps.empty() && read.error.empty());
            }
    }

    // Rows of so many channels and samples that their bits are 2^64.
    void test_long_rows()
    {
        const int channels = 1 << 18;
        channel_layout layout{ coding::f32, 1, channels, {}, 1, false };
        layout.places.push_back({ 0, 0, 0, channels, 0, 0, int64_t(1) << 40, 0, 2 });
        const memory_file file(bytes(64, 0));
        const auto files =
            std::make_shared<recorded_files>(std::vector<std::string>{ file.name() });
        const auto none =
            std::make_shared<listed_pieces>(std::vector<std::vector<piece>>(1));
        channel_reader(layout, files, none, int64_t(1) << 40, 1);
    }

    // [antenna][time][channel], and channels that fall in the second one: what is between
    // the antennas is not read, or the memory for it would not be there.
    void test_places_far_apart()
    {
        constexpr int channels = 37;
        constexpr int64_t spectra = 3001 / fewer, apart = int64_t(1) << 44;
        const bytes content = noise(2 * channels * spectra, 2);
        const memory_file file(content);
        CPPUNIT_ASSERT(
            truncate(file.name().c_str(), 2 * apart + 2 * channels * spectra) == 0);
        const int written = open(file.name().c_str(), O_WRONLY);
        CPPUNIT_ASSERT(pwrite(written, content.data(), content.size(), 2 * apart) ==
                       ssize_t(content.size()));
        close(written);
        channel_layout layout{ coding::s8, 2, channels, {}, 1, false };
        layout.places = { { 0, 0, 0, channels, 0, 1, channels },
                          { 0, 1, 0, channels, apart + channels - 1, -1, channels } };
        bytes falling = content;
        for (int64_t t = 0; t < spectra; t++)
            for (int c = 0; c < channels; c++)
                std::memcpy(&falling[size_t(t * channels + c) * 2],
                            &content[size_t(t * channels + channels - 1 - c) * 2],
                            2);
        const auto files =
            std::make_shared<recorded_files>(std::vector<std::string>{ file.name() });
        for (const int threads : threads_tried) {
            const auto read = read_all(
                layout, files, { { { 0, 0, spectra, 0 } } }, spectra, threads, 1000);
            CPPUNIT_ASSERT(read.ports[0] == content);
            CPPUNIT_ASSERT(read.ports[1] == falling);
        }
    }

    void test_conjugation_counts()
    {
        rows_of_channels all;
        all.layout.conjugated = true;
        all.layout.inputs_per_port = 2;
        const bytes content = noise(all.size(), 3);
        const memory_file file(content);
        const auto files =
            std::make_shared<recorded_files>(std::vector<std::string>{ file.name() });
        bytes whole = model(all.layout, content, all.list, all.spectra, 2);
        reading expected;
        expected.clamped.resize(all.inputs);
        expected.ports.resize(all.antennas);
        for (size_t i = 0; i < whole.size(); i += 2) {
            const size_t input = i / 2 / all.channels % all.inputs;
            expected.clamped[input] += int8_t(whole[i + 1]) == -128;
            auto& port = expected.ports[input / 2];
            port.push_back(whole[i]);
            port.push_back(char(std::min(127, -int8_t(whole[i + 1]))));
        }
        CPPUNIT_ASSERT(expected.clamped[3] > 0);
        for (const int threads : threads_tried)
            for (const int64_t call : { int64_t(97), all.spectra })
                CPPUNIT_ASSERT(
                    expected ==
                    read_all(all.layout, files, all.list, all.spectra, threads, call));
    }

    // Two sets with the halves of a band, of which one has a gap: what lacks a half is
    // zeros, as is what has one value that is no number, and both are one gap where they
    // touch.
    void test_gaps_and_not_numbers()
    {
        constexpr int half = 5, inputs = 2;
        constexpr int64_t spectra = 9000 / fewer, from = spectra / 3,
                          until = from + 1234 / fewer;
        channel_layout layout{ coding::f32, inputs, 2 * half, {}, inputs, false };
        for (int set = 0; set < 2; set++)
            for (int i = 0; i < inputs; i++)
                layout.places.push_back(
                    { set, i, set * half, half, i * half, 1, inputs * half });
        const auto values = size_t(spectra * inputs * half * 2);
        std::vector<float> floats(values, 0.25f);
        const auto spoil = [&](int64_t t, int input) {
            floats[size_t((t * inputs + input) * half + 2) * 2] =
                std::numeric_limits<float>::quiet_NaN();
        };
        spoil(17, 1);
        spoil(18, 1);
        spoil(until, 0); // the first one behind the gap
        bytes content(values * sizeof(float));
        std::memcpy(content.data(), floats.data(), content.size());
        const memory_file file(content);
        const auto files =
            std::make_shared<recorded_files>(std::vector<std::string>{ file.name() });
        const int64_t of_spectrum = inputs * half * 2 * int64_t(sizeof(float));
        const std::vector<std::vector<piece>> list{
            { { 0, 0, spectra, 0 } },
            { { 0, 0, from, 0 }, { 0, until * of_spectrum, spectra - until, until } }
        };
        const gaps expected{ { 0, from, until - from + 1 },
                             { 1, 17, 2 },
                             { 1, from, until - from } };
        const gaps not_numbers{ { 0, until, 1 }, { 1, 17, 2 } };
        for (const int threads : threads_tried) {
            auto read = read_all(layout, files, list, spectra, threads, spectra);
            std::sort(read.gaps.begin(), read.gaps.end());
            std::sort(read.not_numbers.begin(), read.not_numbers.end());
            CPPUNIT_ASSERT(read.gaps == expected);
            CPPUNIT_ASSERT(read.not_numbers == not_numbers);
            const auto* found = reinterpret_cast<const float*>(read.ports[0].data());
            for (int64_t t = 0; t < spectra; t++)
                for (int i = 0; i < inputs; i++) {
                    const bool gone =
                        std::any_of(expected.begin(), expected.end(), [&](const auto& g) {
                            return g[0] == i && t >= g[1] && t < g[1] + g[2];
                        });
                    for (int k = 0; k < 4 * half; k++)
                        CPPUNIT_ASSERT(*found++ == (gone ? 0 : 0.25f));
                }
        }
    }

    // [time][input][channel]: all whole spectra before the end are read.
    void test_file_that_becomes_shorter()
    {
        constexpr int channels = 33, inputs = 2;
        constexpr int64_t spectra = 20011 / fewer, left = spectra * 5 / 8;
        const bytes content = noise(2 * channels * inputs * spectra, 4);
        channel_layout layout{ coding::s8, inputs, channels, {}, inputs, false };
        for (int i = 0; i < inputs; i++)
            layout.places.push_back(
                { 0, i, 0, channels, i * channels, 1, inputs * channels });
        memory_file file(content);
        const auto files =
            std::make_shared<recorded_files>(std::vector<std::string>{ file.name() });
        // in the middle of a spectrum
        const size_t bytes_left = size_t(left * inputs * channels) * 2 + 7;
        file.shorten(bytes_left);
        for (const int threads : threads_tried)
            for (const int64_t call : { int64_t(97), spectra }) {
                const auto read = read_all(
                    layout, files, { { { 0, 0, spectra, 0 } } }, spectra, threads, call);
                CPPUNIT_ASSERT_EQUAL(files->name(0) + ": cannot be read at byte " +
                                         std::to_string(bytes_left) +
                                         ": the file became shorter",
                                     read.error);
                CPPUNIT_ASSERT(read.ports[0] ==
                               bytes(content.begin(),
                                     content.begin() + 2 * channels * inputs * left));
            }
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_channel_reader);
