/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/makers.h"
#include "kernels/mask_counts/mask_counts.h"
#include <algorithm>
#include <cstring>

// APERTURE_SIMD for functions that count bits, by an instruction or vectors.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define APERTURE_POPCOUNT \
    __attribute__((target_clones("default", "popcnt", "arch=icelake-server")))
#else
#define APERTURE_POPCOUNT
#endif

namespace gr::aperture::kernels::host {

namespace {

//! Adds to sums[i] the bits that are set in both, for a word and each of many.
APERTURE_POPCOUNT void
add_common_bits(uint64_t word, const uint64_t* words, size_t count, uint32_t* sums)
{
    for (size_t i = 0; i < count; i++)
        sums[i] += uint32_t(__builtin_popcountll(word & words[i]));
}

class host_mask_counts : public mask_counts
{
public:
    explicit host_mask_counts(const parameters& p) : d_p(p), d_common(p.size()) {}

    std::string implementation() const override { return "host"; }

    void accumulate(const void* masks,
                    int frames,
                    const missing_spectra& missing,
                    stream&) override
    {
        const mask_layout& m = d_p.mask;
        d_spectra += int64_t(frames) * m.spectra_per_frame;
        std::vector<uint8_t> slices;
        if (!missing.empty())
            slices = missing.as_slices(m);
        const bool by_spectra = !missing.empty() && slices.empty();
        const uint32_t weight = by_spectra ? 1 : m.spectra_per_slice;
        const size_t bytes =
            by_spectra ? 4 * words_of(m.spectra_per_frame) : m.bytes_per_input();
        const auto* in = static_cast<const uint8_t*>(masks);
        // rows of about 128 bytes: many small frames are counted together
        const int most = int(std::max<size_t>(1, 128 / bytes));
        const bool worth_threads = double(frames) * double(m.item_bytes()) > 3e4;
#pragma omp parallel if (worth_threads)
        {
            room r(m.inputs, (most * bytes + 7) / 8);
#pragma omp for schedule(static)
            for (int channel = 0; channel < m.channels; channel++)
                for (int first = 0; first < frames; first += most) {
                    const int count = std::min(most, frames - first);
                    r.clear();
                    for (int i = 0; i < count; i++)
                        for (int input = 0; input < m.inputs; input++) {
                            const int frame = first + i;
                            const uint8_t* flags =
                                in + frame * m.item_bytes() + m.offset(channel, input);
                            const size_t at = i * bytes;
                            if (by_spectra)
                                r.put_spectra(input, at, flags, missing, frame, m);
                            else
                                r.put(input,
                                      at,
                                      flags,
                                      slices.empty()
                                          ? nullptr
                                          : slices.data() +
                                                (size_t(frame) * m.inputs + input) *
                                                    bytes,
                                      bytes);
                        }
                    add(r, channel, weight);
                }
        }
    }

    void dump(uint32_t* counts, stream& s) override
    {
        const int inputs = d_p.mask.inputs;
        const auto all = uint32_t(d_spectra);
        std::vector<uint32_t> alone(inputs);
        for (int channel = 0; channel < d_p.mask.channels; channel++) {
            const uint32_t* common = d_common.data() + channel * d_p.per_channel();
            uint32_t* to = counts + channel * d_p.per_channel();
            for (int a = 0; a < inputs; a++) {
                if (!d_p.products) {
                    to[a] = all - common[a];
                    continue;
                }
                alone[a] = common[int64_t(a) * (a + 1) / 2 + a];
                for (int b = 0; b <= a; b++) {
                    const int64_t product = int64_t(a) * (a + 1) / 2 + b;
                    to[product] = all - alone[a] - alone[b] + common[product];
                }
            }
        }
        clear(s);
    }

    void clear(stream&) override
    {
        std::fill(d_common.begin(), d_common.end(), 0);
        d_spectra = 0;
    }

private:
    //! The spectra that one channel's inputs lack over some frames, as rows of bits.
    struct room {
        room(int inputs, size_t row_words)
            : words(row_words), rows(inputs * row_words), lacking(inputs)
        {
        }
        void clear()
        {
            std::fill(rows.begin(), rows.end(), 0);
            std::fill(lacking.begin(), lacking.end(), 0);
        }
        uint8_t* row(int input)
        {
            return reinterpret_cast<uint8_t*>(rows.data() + input * words);
        }
        void put(int input,
                 size_t at,
                 const uint8_t* flags,
                 const uint8_t* missing,
                 size_t bytes)
        {
            uint8_t* to = row(input) + at;
            uint8_t any = 0;
            for (size_t i = 0; i < bytes; i++)
                any |= to[i] = flags[i] | (missing ? missing[i] : 0);
            lacking[input] |= any;
        }
        void put_spectra(int input,
                         size_t at,
                         const uint8_t* flags,
                         const missing_spectra& missing,
                         int frame,
                         const mask_layout& m)
        {
            const uint32_t* lost = missing.words().data() + missing.row(frame, input);
            for (int first = 0; first < m.spectra_per_frame; first += 32) {
                const uint32_t word =
                    lost[first / 32] |
                    flagged_spectra(flags,
                                    m.spectra_per_slice,
                                    first,
                                    std::min(32, m.spectra_per_frame - first));
                std::memcpy(row(input) + at + first / 8, &word, 4);
                lacking[input] |= word != 0;
            }
        }

        size_t words;
        std::vector<uint64_t> rows; // [input][word]
        std::vector<uint8_t> lacking;
        std::vector<int> inputs; // inputs that lack any spectra
        std::vector<uint64_t> columns;
        std::vector<uint32_t> sums;
    };

    //! Adds one channel's common bits.
    void add(room& r, int channel, uint32_t weight)
    {
        r.inputs.clear();
        for (size_t i = 0; i < r.lacking.size(); i++)
            if (r.lacking[i])
                r.inputs.push_back(int(i));
        const size_t count = r.inputs.size();
        if (count == 0)
            return;
        uint32_t* common = d_common.data() + channel * d_p.per_channel();
        // [word][input]
        r.columns.resize(r.words * count);
        for (size_t i = 0; i < count; i++)
            for (size_t w = 0; w < r.words; w++)
                r.columns[w * count + i] = r.rows[r.inputs[i] * r.words + w];
        r.sums.resize(count);
        for (size_t a = 0; a < count; a++) {
            const size_t first = d_p.products ? 0 : a;
            std::fill(r.sums.begin() + first, r.sums.begin() + a + 1, 0);
            for (size_t w = 0; w < r.words; w++)
                if (const uint64_t word = r.columns[w * count + a])
                    add_common_bits(word,
                                    r.columns.data() + w * count + first,
                                    a + 1 - first,
                                    r.sums.data() + first);
            const int64_t input = r.inputs[a];
            uint32_t* to = d_p.products ? common + input * (input + 1) / 2 : common;
            for (size_t b = first; b <= a; b++)
                to[r.inputs[b]] += weight * r.sums[b];
        }
    }

    const parameters d_p;
    std::vector<uint32_t> d_common; // spectra that both lack, in the order of the counts
    int64_t d_spectra = 0;
};

} // namespace

template <>
std::unique_ptr<mask_counts> make(const mask_counts::parameters& p, const std::string&)
{
    return std::make_unique<host_mask_counts>(p);
}

} // namespace gr::aperture::kernels::host
