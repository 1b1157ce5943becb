/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "recording_source_impl.h"
#include <gnuradio/aperture/tags.h>
#include <gnuradio/io_signature.h>
#include <algorithm>
#include <stdexcept>

namespace gr::aperture {

namespace {

// Bytes of all ports' buffers together, and at least so many for each thread: a call gets
// up to half of them, and each thread some blocks of it.
constexpr int64_t buffer_bytes = int64_t(1) << 22, bytes_of_thread = int64_t(1) << 20;
// Bytes of each of many ports' buffers, as each call wakes the readers of all of them;
// and what all have at most because of that.
constexpr int64_t bytes_of_port = int64_t(1) << 18, most_bytes = int64_t(1) << 26;
// Longest gap in seconds, as most_gap of the blocks that read the samples.
constexpr double most_gap = 60;

//! The class of recording_source that is made.
class made_recording_source : public recording_source_impl
{
public:
    explicit made_recording_source(const recording& r)
        : gr::sync_block(
              "recording_source", gr::io_signature::make(0, 0, 0), r.output_signature()),
          recording_source_impl(r)
    {
    }
};

// Returns a text for the row of a table, for errors.
std::string place_in(const char* table, size_t row)
{
    return std::string(table) + "[" + std::to_string(row) + "]";
}

formats::recording_layout layout_of(const recording_source::parameters& p)
{
    formats::recording_layout layout;
    layout.written = formats::parse_coding("coding", p.coding);
    layout.complex = p.complex;
    require(p.layout.empty() || int(p.layout.size()) == p.inputs,
            "layout",
            std::to_string(p.layout.size()) + " rows",
            "empty, or a row for each of the " + std::to_string(p.inputs) + " inputs");
    for (int i = 0; i < p.inputs && p.layout.empty(); i++)
        layout.inputs.push_back({ 0, i, p.inputs });
    for (size_t i = 0; i < p.layout.size(); i++) {
        const auto& row = p.layout[i];
        // a stride of that many bytes is more than any frame has
        constexpr int64_t most = int64_t(1) << 40;
        require(row.size() == 3 && row[0] >= 0 && row[0] < p.inputs && row[1] >= 0 &&
                    row[1] < most && row[2] >= 1 && row[2] < most,
                place_in("layout", i),
                text_of_row(row),
                "(set, offset, stride): a set below the number of inputs, an offset of 0 "
                "or more and a stride of 1 or more samples, below 2^40");
        layout.inputs.push_back({ int(row[0]), row[1], row[2] });
    }
    return layout;
}

// Returns the bytes from the beginning of a piece to the end of the last sample that is
// read of it, or nothing if there are more than can be counted.
std::optional<int64_t>
bytes_of_piece(const formats::recording_layout& layout, int set, int64_t samples)
{
    int64_t most = 0;
    for (const auto& input : layout.inputs) {
        int64_t bits;
        if (input.set == set) {
            if (__builtin_mul_overflow(samples - 1, input.stride, &bits) ||
                __builtin_add_overflow(bits, input.offset + 1, &bits) ||
                __builtin_mul_overflow(bits, layout.bits_of_sample(), &bits))
                return {};
            most = std::max(most, bits / 8 + (bits % 8 != 0));
        }
    }
    return most;
}

std::unique_ptr<formats::piece_reader> reader_of(const recording& r)
{
    const int64_t gap = int64_t(std::min(9e18, most_gap * r.rate.to_double()));
    if (r.channelised)
        return std::make_unique<formats::channel_reader>(
            *r.channelised, r.files, r.pieces, gap, r.readers);
    return std::make_unique<formats::recording_reader>(
        r.layout, r.files, r.pieces, gap, r.readers);
}

} // namespace

std::string text_of_row(const std::vector<int64_t>& row)
{
    std::string text = "(";
    for (size_t i = 0; i < row.size(); i++)
        text += (i ? ", " : "") + std::to_string(row[i]);
    return text + ")";
}

std::shared_ptr<formats::listed_pieces> pieces_of(
    const std::vector<std::vector<int64_t>>& rows,
    int sets,
    const formats::recorded_files& files,
    bool with_row,
    const std::function<std::optional<int64_t>(const formats::piece&, int)>& bytes_of)
{
    std::vector<std::vector<formats::piece>> list{ size_t(sets) };
    require(!rows.empty(), "pieces", "an empty list", "at least one row");
    for (size_t i = 0; i < rows.size(); i++) {
        const auto& row = rows[i];
        const auto refuse = [&](const std::string& rule) {
            require(false, place_in("pieces", i), text_of_row(row), rule);
        };
        // a sum of two of them can still be counted
        constexpr int64_t most = int64_t(1) << 62;
        if (row.size() != (with_row ? 6 : 5))
            refuse(with_row ? "(file, byte, spectra, first spectrum, set, row)"
                            : "(file, byte, samples, first sample, set)");
        const auto [file, offset, samples, first, set] =
            std::tie(row[0], row[1], row[2], row[3], row[4]);
        if (file < 0 || file >= files.count())
            refuse("of a file from 0 to " + std::to_string(files.count() - 1));
        if (set < 0 || set >= sets)
            refuse("of a set from 0 to " + std::to_string(sets - 1));
        if (samples < 1 || samples > most || first < 0 || first > most || offset < 0)
            refuse("of at least one sample, from byte 0 and sample 0 on, all below 2^62");
        formats::piece piece{ int(file), offset, samples, first };
        if (with_row)
            piece.row = row[5];
        if (piece.row < 0 || piece.row > most)
            refuse("of rows of 0 to 2^62 samples");
        const auto bytes = bytes_of(piece, int(set));
        int64_t end = 0;
        if (!bytes || __builtin_add_overflow(offset, *bytes, &end))
            refuse("of bytes that can be counted, from its beginning on, up to 2^63");
        if (end > files.size(int(file)))
            refuse("within the " + std::to_string(files.size(int(file))) + " bytes of " +
                   files.name(int(file)) + ": it would end behind byte " +
                   std::to_string(end));
        auto& others = list[size_t(set)];
        if (!others.empty() && others.back().end() > first)
            refuse("behind the last sample of the piece before it in its set, " +
                   std::to_string(others.back().end() - 1));
        others.push_back(piece);
    }
    return std::make_shared<formats::listed_pieces>(std::move(list));
}

formats::ratio rate_of(const std::pair<int64_t, int64_t>& rate)
{
    constexpr int64_t most = 1000000000000000000;
    require(rate.first > 0 && rate.second > 0 && rate.first <= most &&
                rate.second <= most,
            "rate",
            std::to_string(rate.first) + "/" + std::to_string(rate.second),
            "a numerator and a denominator from 1 to 10^18");
    return { rate.first, rate.second };
}

void set_length(recording& r, int64_t samples)
{
    const int64_t end = r.pieces->end(0);
    require_range("begin", r.begin, 0, end - 1);
    require_range("samples", samples, 0, end - r.begin);
    r.samples = samples ? samples : end - r.begin;
}

gr::io_signature::sptr recording::output_signature() const
{
    if (channelised)
        return gr::io_signature::make(
            ports(),
            ports(),
            item_size("a spectrum of each input",
                      { { "inputs", inputs_per_port() }, { "channels", channels() } },
                      size_of(type())));
    return gr::io_signature::make(ports(),
                                  ports(),
                                  item_size("a sample of each input",
                                            { { "inputs", inputs_per_port() } },
                                            size_of(type())));
}

recording_source::sptr recording_source::make(const parameters& p)
{
    check_parameters<recording_source>(p);
    const auto rate = rate_of(p.rate);
    recording r;
    r.layout = layout_of(p);
    set_common(r, p, rate);
    r.approximate = p.approximate;
    r.readers = p.readers;
    r.pieces = pieces_of(
        p.pieces, p.inputs, *r.files, false, [&](const formats::piece& piece, int set) {
            return bytes_of_piece(r.layout, set, piece.samples);
        });
    set_length(r, p.samples);
    return gnuradio::make_block_sptr<made_recording_source>(r);
}

recording_source_impl::recording_source_impl(recording r)
    : d_r(std::move(r)),
      d_reader(reader_of(d_r)),
      d_clamped(d_r.inputs()),
      d_missing(d_r.inputs()),
      d_not_numbers(d_r.inputs())
{
    const int64_t ports = d_r.ports();
    const int64_t wanted = d_reader->samples_wanted() * ports * int64_t(d_r.item_bytes());
    const int64_t bytes =
        std::max({ buffer_bytes,
                   bytes_of_thread * d_reader->threads(),
                   std::min(std::max(bytes_of_port * ports, 4 * wanted), most_bytes) });
    for (int port = 0; port < ports; port++)
        set_min_output_buffer(
            port, long(std::max<int64_t>(4, bytes / ports / int64_t(d_r.item_bytes()))));
}

std::pair<uint64_t, double> recording_source_impl::start_time() const
{
    const formats::exact_time time = d_r.start + d_r.rate.duration(d_r.begin);
    return { uint64_t(time.seconds), time.fraction() };
}

std::string recording_source_impl::error() const
{
    std::lock_guard<std::mutex> lock(d_error_mutex);
    return d_error;
}

void recording_source_impl::fail(const std::string& error)
{
    std::lock_guard<std::mutex> lock(d_error_mutex);
    if (d_error.empty())
        d_logger->error("{:s}", error);
    d_error = error;
}

std::vector<uint64_t> recording_source_impl::clamped() const
{
    return { d_clamped.begin(), d_clamped.end() };
}

std::vector<uint64_t> recording_source_impl::missing() const
{
    return { d_missing.begin(), d_missing.end() };
}

std::vector<uint64_t> recording_source_impl::not_numbers() const
{
    return { d_not_numbers.begin(), d_not_numbers.end() };
}

bool recording_source_impl::start()
{
    // lock and unlock of a flowgraph come through here, too; the stream goes on then
    if (nitems_written(0) == 0) {
        d_reader->restart(d_r.begin);
        d_passes = 0;
        d_told = false;
        for (auto* counts : { &d_clamped, &d_missing, &d_not_numbers })
            for (auto& count : *counts)
                count = 0;
        std::lock_guard<std::mutex> lock(d_error_mutex);
        d_error.clear();
    }
    return true;
}

bool recording_source_impl::stop()
{
    d_finish = false;
    return true;
}

void recording_source_impl::tag_clock(int64_t sample, uint64_t item)
{
    const auto time = d_r.start + d_r.rate.duration(sample);
    for (int port = 0; port < d_r.ports(); port++) {
        add_item_tag(port,
                     item,
                     pmt::mp(tags::rx_time),
                     pmt::make_tuple(pmt::from_uint64(uint64_t(time.seconds)),
                                     pmt::from_double(time.fraction())));
        if (d_r.approximate)
            add_item_tag(port, item, pmt::mp(tags::approximate), pmt::PMT_T);
        add_item_tag(
            port, item, pmt::mp(tags::rx_freq), pmt::from_double(center_frequency()));
        add_item_tag(port, item, pmt::mp(tags::rx_rate), pmt::from_double(sample_rate()));
        if (!d_r.channelised)
            continue;
        add_item_tag(port, item, pmt::mp(tags::bandwidth), pmt::from_double(bandwidth()));
        add_item_tag(port,
                     item,
                     pmt::mp(tags::samples_per_item),
                     pmt::from_uint64(uint64_t(d_r.channels())));
    }
}

void recording_source_impl::tag_missing(const formats::piece_reader::gap& gap)
{
    const int port = gap.input / inputs_per_port();
    const uint64_t item = nitems_written(port) + uint64_t(gap.first);
    auto dict = pmt::make_dict();
    dict = pmt::dict_add(
        dict, pmt::mp(tags::input), pmt::from_long(gap.input % inputs_per_port()));
    dict = pmt::dict_add(dict, pmt::mp(tags::first), pmt::from_uint64(item));
    dict =
        pmt::dict_add(dict, pmt::mp(tags::count), pmt::from_uint64(uint64_t(gap.count)));
    add_item_tag(port, item, pmt::mp(tags::missing), dict);
    d_missing[gap.input] += uint64_t(gap.count);
}

void recording_source_impl::note_not_numbers(const formats::piece_reader::gap& some)
{
    d_not_numbers[some.input] += uint64_t(some.count);
    if (!d_told)
        d_logger->warn("sample {:d} of input {:d} is no number (NaN or infinite): such "
                       "samples count as missing",
                       nitems_written(0) + uint64_t(some.first),
                       some.input);
    d_told = true;
}

int recording_source_impl::work(int noutput_items,
                                gr_vector_const_void_star&,
                                gr_vector_void_star& output_items)
{
    if (d_finish)
        return WORK_DONE;
    const int64_t end = d_r.begin + d_r.samples;
    std::vector<char*> ports;
    for (void* items : output_items)
        ports.push_back(static_cast<char*>(items));
    auto got = d_reader->read(ports, noutput_items, end);
    if (got.samples == 0 && d_r.repeat && d_reader->error().empty()) {
        d_reader->restart(d_r.begin);
        d_passes++;
        got = d_reader->read(ports, noutput_items, end);
    }
    // the samples before an error are sent first
    if (!d_reader->error().empty())
        fail(d_reader->error());
    if (got.samples == 0)
        return WORK_DONE;
    if (nitems_written(0) == 0 || got.jumped)
        tag_clock(d_reader->position() - got.samples + d_passes * d_r.samples,
                  nitems_written(0));
    for (const auto& gap : got.gaps)
        tag_missing(gap);
    for (const auto& some : got.not_numbers)
        note_not_numbers(some);
    for (const auto& [input, count] : got.clamped)
        d_clamped[size_t(input)] += count;
    return int(got.samples);
}

} // namespace gr::aperture
