/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "formats/recordings/columns.h"
#include "formats/recordings/recording_reader.h"
#include "formats/recordings/thread_pool.h"
#include "recordings.h"
#include <cppunit/extensions/HelperMacros.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>

using namespace gr::aperture::formats;
using namespace recordings;

namespace {

reading read_all(const recording_layout& layout,
                 const std::shared_ptr<recorded_files>& files,
                 const std::vector<std::vector<piece>>& list,
                 int64_t samples,
                 int threads,
                 int64_t call)
{
    recording_reader reader(
        layout, files, std::make_shared<listed_pieces>(list), int64_t(1) << 40, threads);
    return recordings::read_all(reader,
                                int(layout.inputs.size()),
                                layout.ports(),
                                size_t(layout.inputs_per_port) * size_of(layout.type()),
                                samples,
                                call);
}

} // namespace

class qa_recording_reader : public CppUnit::TestCase
{
    CPPUNIT_TEST_SUITE(qa_recording_reader);
    CPPUNIT_TEST(test_pool_does_each_job_once);
    CPPUNIT_TEST(test_pool_throws);
    CPPUNIT_TEST(test_columns);
    CPPUNIT_TEST(test_ports);
    CPPUNIT_TEST(test_conjugation_counts);
    CPPUNIT_TEST(test_gaps_and_not_numbers);
    CPPUNIT_TEST(test_file_that_becomes_shorter);
    CPPUNIT_TEST(test_two_files_that_become_shorter);
    CPPUNIT_TEST(test_nothing_behind_the_end);
    CPPUNIT_TEST(test_many_files);
    CPPUNIT_TEST(test_disk_is_read_ahead);
    CPPUNIT_TEST_SUITE_END();

public:
    void test_pool_does_each_job_once()
    {
        for (const int threads : threads_tried) {
            thread_pool pool(threads);
            CPPUNIT_ASSERT_EQUAL(threads, pool.threads());
            for (int64_t jobs = 0; jobs < 200 / fewer; jobs++) {
                std::vector<int> done(static_cast<size_t>(jobs), 0);
                std::vector<int> by(static_cast<size_t>(threads), 0);
                pool.run(jobs, [&](int64_t job, int thread) {
                    done[size_t(job)]++;
                    // no two threads have the same number, or this would be a race
                    by[size_t(thread)]++;
                });
                CPPUNIT_ASSERT(done == std::vector<int>(size_t(jobs), 1));
                CPPUNIT_ASSERT_EQUAL(int(jobs), std::accumulate(by.begin(), by.end(), 0));
            }
        }
        CPPUNIT_ASSERT(thread_pool(0).threads() >= 1);
        CPPUNIT_ASSERT(thread_pool(0).threads() <= thread_pool::most_by_default);
    }

    void test_pool_throws()
    {
        for (const int threads : threads_tried) {
            thread_pool pool(threads);
            for (int turn = 0; turn < 20 / fewer; turn++) {
                std::atomic<int> begun{ 0 };
                CPPUNIT_ASSERT_THROW(pool.run(1000000,
                                              [&](int64_t job, int) {
                                                  begun++;
                                                  if (job == 5)
                                                      throw std::runtime_error("job 5");
                                              }),
                                     std::runtime_error);
                CPPUNIT_ASSERT(begun < 1000000);
                // the pool is as good as before
                begun = 0;
                pool.run(30, [&](int64_t, int) { begun++; });
                CPPUNIT_ASSERT_EQUAL(30, begun.load());
            }
        }
    }

    // All numbers of columns around those of vectors, of samples that are no multiple of
    // anything, in memory of just that size.
    void test_columns()
    {
        for (const size_t size : { 1, 2, 4, 8 })
            for (const int stride : { 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 64 })
                for (const int64_t n : { 1, 7, 16, 95, 1031 / fewer }) {
                    const bytes items = noise(size_t(n * stride) * size, unsigned(n));
                    std::vector<int64_t> columns;
                    for (int i = 0; i < stride; i++)
                        // some in other orders, and one twice
                        columns.push_back(i % 11 == 10 ? stride - 1 - i / 2 : i);
                    std::vector<bytes> out(columns.size(), bytes(size_t(n) * size, 0x5a));
                    std::vector<char*> to;
                    for (auto& o : out)
                        to.push_back(o.data());
                    take_columns(items.data(), stride, columns, n, size, to);
                    for (int i = 0; i < stride; i++)
                        for (int64_t t = 0; t < n; t++)
                            CPPUNIT_ASSERT(
                                std::memcmp(out[size_t(i)].data() + size_t(t) * size,
                                            items.data() +
                                                size_t(t * stride + columns[size_t(i)]) *
                                                    size,
                                            size) == 0);

                    const int64_t distance = n + 3;
                    const bytes planes =
                        noise(size_t((stride - 1) * distance + n) * size, unsigned(n));
                    bytes again(size_t(n * stride) * size, 0x5a);
                    interleave_columns(
                        planes.data(), distance, stride, n, size, again.data());
                    for (int i = 0; i < stride; i++)
                        for (int64_t t = 0; t < n; t++)
                            CPPUNIT_ASSERT(
                                std::memcmp(again.data() + size_t(t * stride + i) * size,
                                            planes.data() +
                                                size_t(i * distance + t) * size,
                                            size) == 0);
                }
    }

    // 16-bit samples of 1 to 64 inputs, interleaved or one behind the other, with all
    // inputs in a port or a port each.
    void test_ports()
    {
        const bytes content = noise(2000001 / fewer, 1);
        const memory_file file(content);
        const auto files =
            std::make_shared<recorded_files>(std::vector<std::string>{ file.name() });
        constexpr int64_t before = 3;
        for (const int inputs : { 1, 2, 3, 13, 16, 64 })
            for (const bool apart : { false, true })
                for (const int in_port : { 1, inputs }) {
                    recording_layout layout;
                    const int64_t samples =
                        (int64_t(content.size()) - before) / (2 * inputs);
                    for (int i = 0; i < inputs; i++)
                        layout.inputs.push_back(apart ? input_place{ 0, i * samples, 1 }
                                                      : input_place{ 0, i, inputs });
                    layout.inputs_per_port = in_port;
                    reading expected;
                    expected.clamped.resize(size_t(inputs));
                    for (int port = 0; port < layout.ports(); port++) {
                        bytes items(size_t(samples * in_port * 2));
                        for (int64_t t = 0; t < samples; t++)
                            for (int i = 0; i < in_port; i++) {
                                const auto& of =
                                    layout.inputs[size_t(port * in_port + i)];
                                std::memcpy(items.data() + (t * in_port + i) * 2,
                                            content.data() + before +
                                                (of.offset + t * of.stride) * 2,
                                            2);
                            }
                        expected.ports.push_back(items);
                    }
                    for (const int threads : threads_tried)
                        CPPUNIT_ASSERT(expected ==
                                       read_all(layout,
                                                files,
                                                { { { 0, before, samples, 0 } } },
                                                samples,
                                                threads,
                                                140001 / fewer));
                    if (inputs == 1)
                        break;
                }
    }

    void test_conjugation_counts()
    {
        constexpr int inputs = 5;
        constexpr int64_t samples = 200003 / fewer;
        bytes content = noise(size_t(2 * inputs * samples), 2);
        const memory_file file(content);
        const auto files =
            std::make_shared<recorded_files>(std::vector<std::string>{ file.name() });
        reading expected;
        expected.clamped.resize(inputs);
        for (size_t i = 1; i < content.size(); i += 2) {
            expected.clamped[i / 2 % inputs] += int8_t(content[i]) == -128;
            content[i] = char(std::min(127, -int8_t(content[i])));
        }
        CPPUNIT_ASSERT(expected.clamped[3] > 0);
        recording_layout layout;
        layout.conjugated = true;
        for (int i = 0; i < inputs; i++)
            layout.inputs.push_back({ 0, i, inputs });
        for (const int in_port : { 1, inputs }) {
            layout.inputs_per_port = in_port;
            expected.ports.clear();
            for (int port = 0; port < layout.ports(); port++) {
                bytes items;
                for (int64_t t = 0; t < samples; t++)
                    items.insert(items.end(),
                                 content.begin() + 2 * (t * inputs + port),
                                 content.begin() + 2 * (t * inputs + port + in_port));
                expected.ports.push_back(items);
            }
            for (const int threads : threads_tried)
                CPPUNIT_ASSERT(expected == read_all(layout,
                                                    files,
                                                    { { { 0, 0, samples, 0 } } },
                                                    samples,
                                                    threads,
                                                    180001 / fewer));
        }
    }

    // Gaps across blocks are one, and are said in the same order by all threads.
    void test_gaps_and_not_numbers()
    {
        constexpr int inputs = 3;
        constexpr int64_t samples = 40001, lost = 30003;
        std::vector<float> values(inputs * samples, 0.5f);
        for (const int64_t t : { int64_t(5), int64_t(20000), samples - 1 })
            values[size_t(t * inputs + 1)] = std::numeric_limits<float>::quiet_NaN();
        bytes content(values.size() * sizeof(float));
        std::memcpy(content.data(), values.data(), content.size());
        const memory_file file(content);
        const auto files =
            std::make_shared<recorded_files>(std::vector<std::string>{ file.name() });
        recording_layout layout;
        layout.written = coding::f32;
        layout.complex = false;
        layout.inputs_per_port = inputs;
        for (int i = 0; i < inputs; i++)
            layout.inputs.push_back({ 0, i, inputs });
        const int64_t end = 2 * samples + lost;
        for (const int threads : threads_tried) {
            const auto all =
                read_all(layout,
                         files,
                         { { { 0, 0, samples, 0 }, { 0, 0, samples, samples + lost } } },
                         end,
                         threads,
                         end);
            CPPUNIT_ASSERT_EQUAL(size_t(end) * inputs * sizeof(float),
                                 all.ports[0].size());
            auto gaps = all.gaps;
            std::sort(gaps.begin(), gaps.end());
            const std::vector<std::array<int64_t, 3>> expected{
                { 0, samples, lost },
                { 1, 5, 1 },
                { 1, 20000, 1 },
                // the last sample before the gap is a part of it
                { 1, samples - 1, lost + 1 },
                { 1, samples + lost + 5, 1 },
                { 1, samples + lost + 20000, 1 },
                { 1, end - 1, 1 },
                { 2, samples, lost }
            };
            CPPUNIT_ASSERT(gaps == expected);
            CPPUNIT_ASSERT_EQUAL(size_t(6), all.not_numbers.size());
            const auto* read = reinterpret_cast<const float*>(all.ports[0].data());
            for (int64_t t = 0; t < end; t++)
                for (int i = 0; i < inputs; i++) {
                    const bool gone =
                        std::any_of(expected.begin(), expected.end(), [&](const auto& g) {
                            return g[0] == i && t >= g[1] && t < g[1] + g[2];
                        });
                    CPPUNIT_ASSERT(read[t * inputs + i] == (gone ? 0 : 0.5f));
                }
        }
    }

    // The samples before the end are read, none behind it, and the error is the first.
    void test_file_that_becomes_shorter()
    {
        constexpr int inputs = 16;
        constexpr int64_t samples = 100003 / fewer, left = samples * 5 / 8;
        const bytes content = noise(2 * inputs * samples, 3);
        for (const bool apart : { false, true })
            for (const int in_port : { 1, inputs }) {
                memory_file file(content);
                const auto files = std::make_shared<recorded_files>(
                    std::vector<std::string>{ file.name() });
                // in the middle of a sample; apart: of the last input
                const size_t bytes_left =
                    apart ? size_t((inputs - 1) * samples + left) * 2 + 1
                          : size_t(left * inputs) * 2 + 7;
                file.shorten(bytes_left);
                recording_layout layout;
                layout.inputs_per_port = in_port;
                for (int i = 0; i < inputs; i++)
                    layout.inputs.push_back(apart ? input_place{ 0, i * samples, 1 }
                                                  : input_place{ 0, i, inputs });
                for (const int threads : threads_tried) {
                    const auto all = read_all(layout,
                                              files,
                                              { { { 0, 0, samples, 0 } } },
                                              samples,
                                              threads,
                                              samples);
                    CPPUNIT_ASSERT_EQUAL(files->name(0) + ": cannot be read at byte " +
                                             std::to_string(bytes_left) +
                                             ": the file became shorter",
                                         all.error);
                    for (int i = 0; i < inputs; i++) {
                        const auto& port = all.ports[size_t(i / in_port)];
                        CPPUNIT_ASSERT_EQUAL(size_t(left) * size_t(in_port) * 2,
                                             port.size());
                        for (int64_t t = 0; t < left; t++)
                            CPPUNIT_ASSERT(
                                std::memcmp(&port[size_t(t * in_port + i % in_port) * 2],
                                            content.data() +
                                                2 * (layout.inputs[size_t(i)].offset +
                                                     t * layout.inputs[size_t(i)].stride),
                                            2) == 0);
                    }
                }
            }
    }

    // Two files end within a block: the one that ends first counts.
    void test_two_files_that_become_shorter()
    {
        constexpr int64_t samples = 10000;
        const bytes content = noise(samples, 6);
        for (const int first : { 0, 1 }) {
            memory_file a(content), b(content);
            const auto files = std::make_shared<recorded_files>(
                std::vector<std::string>{ a.name(), b.name() });
            (first == 0 ? a : b).shorten(1001);
            (first == 0 ? b : a).shorten(2001);
            recording_layout layout;
            layout.complex = false;
            layout.inputs = { { 0, 0, 1 }, { 1, 0, 1 } };
            const auto all =
                read_all(layout,
                         files,
                         { { { 0, 0, samples, 0 } }, { { 1, 0, samples, 0 } } },
                         samples,
                         2,
                         samples);
            CPPUNIT_ASSERT_EQUAL(files->name(first) +
                                     ": cannot be read at byte 1001: the file became "
                                     "shorter",
                                 all.error);
            for (const auto& port : all.ports)
                CPPUNIT_ASSERT(port == bytes(content.begin(), content.begin() + 1001));
        }
    }

    // One file ends within a block: values of another behind that place do not count.
    void test_nothing_behind_the_end()
    {
        constexpr int64_t samples = 1000, left = 400;
        std::vector<float> values(samples, 1);
        values[10] = values[left + 7] = std::numeric_limits<float>::infinity();
        bytes content(values.size() * sizeof(float));
        std::memcpy(content.data(), values.data(), content.size());
        memory_file a(content), b(content);
        const auto files = std::make_shared<recorded_files>(
            std::vector<std::string>{ a.name(), b.name() });
        b.shorten(left * sizeof(float));
        recording_layout layout;
        layout.written = coding::f32;
        layout.complex = false;
        layout.inputs = { { 0, 0, 1 }, { 1, 0, 1 } };
        const auto all = read_all(layout,
                                  files,
                                  { { { 0, 0, samples, 0 } }, { { 1, 0, samples, 0 } } },
                                  samples,
                                  2,
                                  samples);
        const std::vector<std::array<int64_t, 3>> expected{ { 0, 10, 1 }, { 1, 10, 1 } };
        CPPUNIT_ASSERT(all.not_numbers == expected);
        CPPUNIT_ASSERT(all.gaps == expected);
        CPPUNIT_ASSERT_EQUAL(size_t(left) * sizeof(float), all.ports[0].size());
    }

    // More files than are open at a time, by several threads.
    void test_many_files()
    {
        constexpr int count = 150 / (fewer > 1 ? 2 : 1);
        constexpr int64_t samples = 5003 / fewer;
        const bytes content = noise(size_t(2 * samples * count), 4);
        std::vector<std::unique_ptr<memory_file>> all;
        std::vector<std::string> names;
        std::vector<piece> list;
        for (int i = 0; i < count; i++) {
            const auto begin = content.begin() + 2 * samples * i;
            all.push_back(
                std::make_unique<memory_file>(bytes(begin, begin + 2 * samples)));
            names.push_back(all.back()->name());
            list.push_back({ i, 0, samples, i * samples });
        }
        const auto files = std::make_shared<recorded_files>(names);
        recording_layout layout;
        layout.inputs.push_back({ 0, 0, 1 });
        for (const int threads : threads_tried) {
            const auto read = read_all(
                layout, files, { list }, count * samples, threads, 600000 / fewer);
            CPPUNIT_ASSERT(read.ports[0] == content);
            CPPUNIT_ASSERT(read.error.empty());
        }
    }

    // Once a read had to wait for the disk, each call lets the system read as much behind
    // what it reads itself; and between pieces only where most of that is read.
    void test_disk_is_read_ahead()
    {
        constexpr int64_t megabyte = 1 << 20, size = 12 * megabyte;
        const std::string name = "qa_recording_reader." + std::to_string(getpid());
        const int file = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
        CPPUNIT_ASSERT(file >= 0);
        const bytes content = noise(size, 5);
        CPPUNIT_ASSERT(pwrite(file, content.data(), size, 0) == size && fsync(file) == 0);
        void* const mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
        CPPUNIT_ASSERT(mapped != MAP_FAILED);
        // Returns whether so many bytes from one on are in memory.
        const auto there = [&](int64_t from, int64_t count) {
            const auto page = int64_t(sysconf(_SC_PAGESIZE));
            std::vector<unsigned char> pages(size_t(count / page));
            mincore(static_cast<char*>(mapped) + from, size_t(count), pages.data());
            return std::all_of(
                pages.begin(), pages.end(), [](unsigned char p) { return p & 1; });
        };
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        // QEMU has no such call, and then a reader does not see that it waits
        char first;
        iovec to{ &first, 1 };
        const bool asks = preadv2(file, &to, 1, 0, RWF_NOWAIT) == 1 || errno == EAGAIN;
        const bool on_disk = asks && !there(0, size);
        const recorded_files files({ name });
        files.read_ahead(0, 10 * megabyte, megabyte);
        for (int i = 0; !there(10 * megabyte, megabyte); i++) {
            CPPUNIT_ASSERT(i < 60000);
            usleep(1000);
        }
        using ranges = std::vector<std::array<int64_t, 2>>;
        struct example {
            std::vector<input_place> inputs;
            std::vector<std::vector<piece>> pieces;
            int64_t samples; // samples of a call
            ranges expected; // (from, bytes)
        };
        const int64_t half = megabyte / 2;
        std::vector<std::vector<piece>> frames(2);
        for (int i = 0; i < 8; i++)
            frames[i % 2].push_back(
                { 0, i * half / 2 + 100, half / 2 - 100, (i / 2) * (half / 2 - 100) });
        const std::vector<example> examples{
            // one input, and two that lie one behind the other
            { { { 0, 0, 1 } },
              { { { 0, 0, size, 0 } } },
              megabyte + half,
              { { 3 * megabyte, megabyte }, { 4 * megabyte, half } } },
            { { { 0, 0, 1 }, { 0, 6 * megabyte, 1 } },
              { { { 0, 0, 6 * megabyte, 0 } } },
              megabyte,
              { { 2 * megabyte, megabyte }, { 8 * megabyte, megabyte } } },
            // up to the end of the file
            { { { 0, 0, 1 } },
              { { { 0, 7 * megabyte, 5 * megabyte, 0 } } },
              2 * megabyte,
              { { 11 * megabyte, megabyte } } },
            // two sets whose pieces alternate, with little between them
            { { { 0, 0, 1 }, { 1, 0, 1 } },
              frames,
              2 * (half / 2 - 100),
              { { 2 * megabyte, megabyte - 400 } } },
            // one of four channels, one behind the other in each block of the file
            { { { 0, 0, 1 } },
              { { { 0, megabyte, megabyte, 0 },
                  { 0, 5 * megabyte, megabyte, megabyte },
                  { 0, 9 * megabyte, megabyte, 2 * megabyte } } },
              3 * half / 2,
              { { 5 * megabyte + half, half } } },
        };
        for (const auto& e : examples) {
            const auto again =
                std::make_shared<recorded_files>(std::vector<std::string>{ name });
            recording_layout layout;
            layout.complex = false;
            layout.inputs = e.inputs;
            recording_reader reader(
                layout, again, std::make_shared<listed_pieces>(e.pieces), size, 2);
            posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
            reader.restart(0);
            std::vector<bytes> out(e.inputs.size(), bytes(size_t(e.samples)));
            std::vector<char*> ports;
            for (auto& o : out)
                ports.push_back(o.data());
            for (int i = 0; i < 2; i++)
                CPPUNIT_ASSERT_EQUAL(e.samples,
                                     reader.read(ports, e.samples, size).samples);
            // a file system in memory has nothing to wait for
            CPPUNIT_ASSERT_EQUAL(on_disk, again->waited());
            ranges ahead;
            for (const auto& a : reader.read_ahead())
                ahead.push_back({ a.from, a.bytes });
            CPPUNIT_ASSERT(ahead == (on_disk ? e.expected : ranges()));
        }
        munmap(mapped, size);
        close(file);
        std::remove(name.c_str());
    }
};

CPPUNIT_TEST_SUITE_REGISTRATION(qa_recording_reader);
