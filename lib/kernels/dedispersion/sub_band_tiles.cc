/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/dedispersion/sub_band_tiles.h"
#include <algorithm>
#include <limits>
#include <map>

namespace gr::aperture::kernels {

namespace {

constexpr int most_shared_words =
    20 * 1024; // for at least two thread blocks of a multiprocessor
constexpr int most_path_places = 2048;      // words of the table of a tile
constexpr int most_piece_words = 12 * 1024; // words of the rows of a step

int64_t to_multiple(int64_t value, int64_t of) { return (value + of - 1) / of * of; }

} // namespace

path_tiles::path_tiles(const sub_band_plan& plan, int channels, int64_t words)
    : times(plan.width > 32   ? 256
            : plan.width > 16 ? 512
                              : 1024),
      shared_size(0),
      places(plan.path_delays.size()),
      most_paths(0)
{
    const int width = plan.width;
    for (int b = 0; b < plan.sub_bands; ++b) {
        const int here = plan.channels_of(b, channels);
        for (int path = plan.first_path[b]; path < plan.first_path[b + 1];) {
            std::vector<int> least(here, std::numeric_limits<int>::max()), most(here, 0);
            tile t{ b, here, path, 0, std::numeric_limits<int>::max(), 0 };
            const auto laid_out = [&] {
                std::vector<channel> made(width, channel{ 0, 0, 0 });
                int place = 0;
                for (int k = 0; k < here; ++k) {
                    // A warp writes some times of one channel of each four: to banks that
                    // differ.
                    const int fours = std::max(1, width / 4);
                    const int bank = (32 / std::min(32, fours) * (k / 4) + least[k]) % 32;
                    place += (bank - place % 32 + 32) % 32;
                    made[k] = { least[k], place, times + most[k] - least[k] };
                    place += made[k].words;
                }
                return std::pair(made, place);
            };
            std::vector<channel> best;
            int size = 0;
            for (; path < plan.first_path[b + 1]; ++path) {
                const auto before = std::pair(least, most);
                for (int k = 0; k < here; ++k) {
                    const int delay = plan.path_delays[size_t(path) * width + k];
                    least[k] = std::min(least[k], delay);
                    most[k] = std::max(most[k], delay);
                }
                const auto [made, words_of] = laid_out();
                if (t.paths > 0 && (words_of > most_shared_words ||
                                    (t.paths + 1) * width > most_path_places)) {
                    std::tie(least, most) = before;
                    break;
                }
                best = made;
                size = words_of;
                t.paths++;
                t.first = std::min(t.first, int(plan.paths[path].first));
                t.last = std::max(t.last, int(plan.paths[path].last));
            }
            for (int p = t.first_path; p < t.first_path + t.paths; ++p)
                for (int k = 0; k < here; ++k)
                    places[size_t(p) * width + k] =
                        best[k].place + plan.path_delays[size_t(p) * width + k] -
                        best[k].delay;
            for (int64_t word = 0; word < t.last - t.first + words; word += times)
                blocks.push_back({ int(tiles.size()), int(word) });
            tiles.push_back(t);
            this->channels.insert(this->channels.end(), best.begin(), best.end());
            shared_size = std::max(shared_size, size);
            most_paths = std::max(most_paths, t.paths);
        }
    }
}

path_rows::path_rows(const sub_band_plan& plan, int64_t words)
{
    int64_t place = 0;
    for (const auto& path : plan.paths) {
        rows.push_back({ place, path.first, path.last - path.first });
        place += to_multiple(words + path.last - path.first, 4);
    }
    // words that thread blocks read behind the last ones of a call, and do not use
    size = place + 2 * trial_tiles::times;
}

trial_tiles::trial_tiles(const sub_band_plan& plan, const path_rows& rows)
    : steps((plan.sub_bands + step - 1) / step), shared_size(4)
{
    const int trials = int(plan.trials.size());
    struct window {
        int first, last; // offsets
    };
    using windows = std::map<int, window>; // window of each path
    const auto words_of = [](const window& w, int row_first) {
        const int begin = (w.first - row_first) / 4 * 4;
        return int(to_multiple(times + w.last - row_first - begin, 4));
    };
    first_piece.push_back(0);
    for (int trial = 0; trial < trials;) {
        tile t{ trial, 0 };
        std::vector<windows> used(steps);
        for (; trial < trials && t.trials < most_trials; ++trial) {
            auto more = used;
            int most = 0;
            for (int s = 0; s < steps; ++s) {
                const int end = std::min(plan.sub_bands, (s + 1) * step);
                for (int b = s * step; b < end; ++b) {
                    const size_t at = size_t(trial) * plan.sub_bands + b;
                    const int offset = plan.offset_of[at];
                    const auto [place, made] =
                        more[s].insert({ plan.path_of[at], { offset, offset } });
                    place->second.first = std::min(place->second.first, offset);
                    place->second.last = std::max(place->second.last, offset);
                }
                int size = 0;
                for (const auto& [path, w] : more[s])
                    size += words_of(w, rows.rows[path].first);
                most = std::max(most, size);
            }
            if (t.trials > 0 && most > most_piece_words)
                break;
            used = std::move(more);
            t.trials++;
            shared_size = std::max(shared_size, most);
        }
        for (int s = 0; s < steps; ++s) {
            int place = 0;
            std::map<int, std::pair<int, int>>
                begins; // place and first offset of each path
            for (const auto& [path, w] : used[s]) {
                const auto& row = rows.rows[path];
                const int begin = (w.first - row.first) / 4 * 4;
                const int words = words_of(w, row.first);
                pieces.push_back({ row.place + begin, place, words });
                begins[path] = { place, row.first + begin };
                place += words;
            }
            first_piece.push_back(int(pieces.size()));
            for (int i = 0; i < most_trials; ++i)
                for (int b = s * step; b < (s + 1) * step; ++b) {
                    int found = 0;
                    if (i < t.trials && b < plan.sub_bands) {
                        const size_t at = size_t(t.first_trial + i) * plan.sub_bands + b;
                        const auto [base, offset] = begins.at(plan.path_of[at]);
                        found = base + plan.offset_of[at] - offset;
                    }
                    places.push_back(found);
                }
        }
        tiles.push_back(t);
    }
}

} // namespace gr::aperture::kernels
