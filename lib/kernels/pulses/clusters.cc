/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "kernels/common/types.h"
#include "kernels/pulses/clusters.h"
#include "kernels/pulses/disjoint_sets.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace gr::aperture::kernels {

void clusters::parameters::check() const
{
    require(link_time >= 0 && link_time <= 100,
            "link_time",
            text_of(link_time),
            "0 to 100 of the wider boxcar");
    require(link_widths >= 1 && link_widths <= 1e4,
            "link_widths",
            text_of(link_widths),
            "1 to 10000");
    require_range("link_trials", link_trials, 1, 1 << 20);
}

clusters::clusters(const parameters& p) : d_p(p), d_ranks(p.dms.size())
{
    std::vector<int> order(p.dms.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(
        order.begin(), order.end(), [&](int a, int b) { return p.dms[a] < p.dms[b]; });
    for (size_t i = 0; i < order.size(); i++)
        d_ranks[order[i]] = int(i);
    reset();
}

void clusters::reset() { d_waiting.assign(d_p.beams, {}); }

void clusters::add(const cell& c) { d_waiting[c.beam].push_back(c); }

size_t clusters::waiting() const
{
    size_t all = 0;
    for (const auto& of_beam : d_waiting)
        all += of_beam.size();
    return all;
}

bool clusters::near_in_time(const cell& a, const cell& b) const
{
    const double begin = std::max(a.end - a.width, b.end - b.width);
    return begin - std::min(a.end, b.end) <= d_p.link_time * std::max(a.width, b.width);
}

double clusters::widest_friend(const cell& narrow) const
{
    const double brightness = narrow.snr / d_p.threshold;
    const double ratio = std::max(d_p.link_widths, 2 * brightness * brightness);
    // the ratio of widths is not always exact
    return std::min(ratio * narrow.width, d_p.widest) * (1 + 1e-9);
}

bool clusters::friends(const cell& a, const cell& b) const
{
    return std::abs(rank(a) - rank(b)) <= d_p.link_trials &&
           std::max(a.width, b.width) <= widest_friend(a.width < b.width ? a : b) &&
           near_in_time(a, b);
}

clusters::cluster clusters::make_cluster(std::vector<cell> cells) const
{
    constexpr double far = std::numeric_limits<double>::max();
    cluster c{
        std::move(cells), 0, far, -far, -far, std::numeric_limits<int>::max(), 0, false
    };
    for (size_t i = 0; i < c.cells.size(); i++) {
        const cell& one = c.cells[i];
        // the narrowest of several that are equally good
        if (std::make_pair(one.snr, -one.width) >
            std::make_pair(c.best_cell().snr, -c.best_cell().width))
            c.best = i;
        c.first = std::min(c.first, one.end - one.width);
        c.last = std::max(c.last, one.end);
        // a later cell begins at most this much before the front
        c.open_until =
            std::max(c.open_until, one.end + widest_friend(one) * (1 + d_p.link_time));
        c.low = std::min(c.low, rank(one));
        c.high = std::max(c.high, rank(one));
    }
    return c;
}

void clusters::group_beam(std::vector<cell>& cells, std::vector<cluster>& to) const
{
    auto place = [this](const cell& c) {
        return std::make_tuple(rank(c), c.end, c.width);
    };
    std::sort(cells.begin(), cells.end(), [&](const cell& a, const cell& b) {
        return place(a) < place(b);
    });
    double widest = 0;
    for (const auto& c : cells)
        widest = std::max(widest, c.width);
    disjoint_sets sets(cells.size());
    for (size_t i = 0; i < cells.size(); i++) {
        const cell& one = cells[i];
        const double most = widest;
        const double apart = d_p.link_time * std::max(one.width, most);
        for (int other = rank(one); other <= rank(one) + d_p.link_trials; other++) {
            // cells that end before it can be no friends, nor those that begin behind it
            auto from = std::lower_bound(
                cells.begin() + i + 1,
                cells.end(),
                std::make_tuple(other, one.end - one.width - apart, 0.),
                [&](const cell& c, const auto& wanted) { return place(c) < wanted; });
            for (; from != cells.end() && rank(*from) == other &&
                   from->end <= one.end + apart + most;
                 ++from)
                if (friends(one, *from))
                    sets.join(i, from - cells.begin());
        }
    }
    for (const auto& of_one : sets.sets()) {
        std::vector<cell> members;
        for (const size_t i : of_one)
            members.push_back(cells[i]);
        to.push_back(make_cluster(std::move(members)));
    }
}

bool clusters::alike(const cluster& a, const cluster& b) const
{
    const cell &x = a.best_cell(), &y = b.best_cell();
    return x.beam != y.beam &&
           std::max(x.width, y.width) <= widest_friend(x.width < y.width ? x : y) &&
           near_in_time(x, y);
}

bool clusters::close(const cluster& a, const cluster& b) const
{
    return a.low - b.high <= d_p.link_trials && b.low - a.high <= d_p.link_trials;
}

std::vector<clusters::candidate> clusters::finished(double front)
{
    return take(front, false);
}

std::vector<clusters::candidate> clusters::rest() { return take(0, true); }

std::vector<clusters::candidate> clusters::take(double front, bool all)
{
    std::vector<cluster> found;
    for (auto& cells : d_waiting) {
        const size_t before = found.size();
        group_beam(cells, found);
        if (cells.size() > d_p.most_cells)
            for (size_t i = before; i < found.size(); i++)
                found[i].full = true;
        cells.clear();
    }
    std::sort(found.begin(), found.end(), [](const cluster& a, const cluster& b) {
        return std::make_tuple(a.first, a.best_cell().beam, a.low) <
               std::make_tuple(b.first, b.best_cell().beam, b.low);
    });
    double longest = 0;
    for (const auto& c : found)
        longest = std::max(longest, c.last - c.first);
    // a complete cluster waits for those that could come close to it when they grow
    disjoint_sets sets(found.size()), waiting(found.size());
    for (size_t i = 0; i < found.size(); i++)
        for (size_t j = i + 1;
             j < found.size() &&
             found[j].first <= found[i].last + d_p.link_time * 2 * longest;
             j++)
            if (alike(found[i], found[j])) {
                waiting.join(i, j);
                if (close(found[i], found[j]))
                    sets.join(i, j);
            }
    std::vector<double> open_until(found.size(), -std::numeric_limits<double>::max());
    for (size_t i = 0; i < found.size(); i++) {
        double& until = open_until[waiting.root(i)];
        until = std::max(until, found[i].open_until);
    }

    std::vector<candidate> taken;
    for (const auto& of_one : sets.sets()) {
        double first = std::numeric_limits<double>::max();
        bool now = all;
        for (const size_t i : of_one) {
            now = now || found[i].full;
            first = std::min(first, found[i].first);
        }
        if (!now && open_until[waiting.root(of_one[0])] >= front &&
            first >= front - d_p.longest) {
            for (const size_t i : of_one)
                for (const auto& c : found[i].cells)
                    d_waiting[c.beam].push_back(c);
            continue;
        }
        candidate made{ found[of_one[0]].best_cell(), {}, 0 };
        for (const size_t i : of_one) {
            const cell& best = found[i].best_cell();
            if (best.snr > made.best.snr)
                made.best = best;
            made.beams.push_back(best.beam);
            made.cells += int(found[i].cells.size());
        }
        std::sort(made.beams.begin(), made.beams.end());
        made.beams.erase(std::unique(made.beams.begin(), made.beams.end()),
                         made.beams.end());
        taken.push_back(std::move(made));
    }
    std::sort(taken.begin(), taken.end(), [](const candidate& a, const candidate& b) {
        return std::make_tuple(a.best.end, a.best.beam, a.best.trial) <
               std::make_tuple(b.best.end, b.best.beam, b.best.trial);
    });
    return taken;
}

} // namespace gr::aperture::kernels
