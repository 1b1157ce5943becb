/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "common/number_text.h"
#include "formats/dada/dada.h"
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace gr::aperture::formats {

namespace {

// The largest header that is accepted; usual ones have 4096 bytes.
constexpr int64_t largest_header = int64_t(1) << 24;
// TSAMP and BW are often rounded, but never as coarsely as this.
constexpr double rate_tolerance = 1e-3;
constexpr double hertz_per_megahertz = 1e6;

// Reads the values of a header; every error names file, key, value and what is allowed.
class reader
{
public:
    reader(const std::string& name, const std::map<std::string, std::string>& header)
        : d_name(name), d_header(header)
    {
    }

    [[noreturn]] void fail(const std::string& key, const std::string& rule) const
    {
        const auto found = d_header.find(key);
        throw std::invalid_argument(
            d_name + ": " + key +
            (found == d_header.end() ? " is missing" : " " + found->second) + ": " +
            rule);
    }

    // "unset" is in the template of PSRDADA headers where no value was filled in.
    bool has(const std::string& key) const
    {
        const auto found = d_header.find(key);
        return found != d_header.end() && found->second != "unset";
    }

    std::string text(const std::string& key) const { return d_header.at(key); }

    int64_t integer(const std::string& key, int64_t low, int64_t high) const
    {
        const std::string rule = "must be an integer from " + std::to_string(low) +
                                 " to " + std::to_string(high);
        if (!has(key))
            fail(key, rule);
        size_t used = 0;
        int64_t value = 0;
        try {
            value = std::stoll(text(key), &used);
        } catch (const std::logic_error&) {
            fail(key, rule);
        }
        if (used != text(key).size() || value < low || value > high)
            fail(key, rule);
        return value;
    }

    decimal number(const std::string& key, const std::string& rule) const
    {
        if (!has(key))
            fail(key, rule);
        const auto value = decimal::parse(text(key));
        if (!value)
            fail(key, rule);
        return *value;
    }

private:
    const std::string& d_name;
    const std::map<std::string, std::string>& d_header;
};

std::string read_text(std::ifstream& stream, int64_t bytes)
{
    std::string text(size_t(bytes), '\0');
    stream.clear();
    stream.seekg(0);
    stream.read(text.data(), bytes);
    text.resize(size_t(stream.gcount()));
    return text;
}

void read_rate(const reader& header, dada_file& file)
{
    const std::string bandwidth_rule = "must be the bandwidth in MHz, not 0";
    const std::string interval_rule =
        "must be the time between samples in microseconds, from 0.001 to 1e6";
    const decimal bandwidth = header.number("BW", bandwidth_rule);
    const decimal interval = header.number("TSAMP", interval_rule);
    if (bandwidth.mantissa == 0)
        header.fail("BW", bandwidth_rule);
    if (!(interval.to_double() >= 1e-3 && interval.to_double() <= 1e6))
        header.fail("TSAMP", interval_rule);

    // real samples come at twice the bandwidth
    const int samples_per_hertz = file.complex() ? 1 : 2;
    const double product =
        std::abs(bandwidth.to_double()) * samples_per_hertz * interval.to_double();
    if (std::abs(product - 1) > rate_tolerance)
        header.fail("TSAMP",
                    std::string("disagrees with BW ") + header.text("BW") +
                        ": with NDIM " + std::to_string(file.dimensions) +
                        ", TSAMP must be 1/" + (file.complex() ? "BW" : "(2 BW)") +
                        " within 0.1%");
    file.rate = bandwidth.digits() < interval.digits()
                    ? to_ratio(bandwidth, samples_per_hertz * 1000000)
                    : to_inverse_ratio(interval, 1000000);
    file.bandwidth =
        std::copysign(file.rate.to_double() / samples_per_hertz, bandwidth.to_double());
}

std::string upper_case(std::string text)
{
    for (char& c : text)
        c = char(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

// Returns whether samples are big-endian.
bool read_endian(const reader& header)
{
    if (!header.has("ENDIAN"))
        return false;
    const std::string text = upper_case(header.text("ENDIAN"));
    if (text != "BIG" && text != "LITTLE")
        header.fail("ENDIAN", "must be LITTLE or BIG");
    return text == "BIG";
}

// Checks ORDER: antennas have to be in the order of the samples.
void read_inputs(const reader& header, dada_file& file)
{
    const int64_t polarizations = header.integer("NPOL", 1, 65536);
    if (header.has("NANT"))
        file.antennas = header.integer("NANT", 1, 65536);
    file.inputs = file.antennas * polarizations;
    if (file.inputs > 65536)
        header.fail("NANT",
                    "must be such that NANT NPOL, " + std::to_string(file.inputs) +
                        ", is at most 65536");
    if (!header.has("ORDER")) {
        if (file.antennas > 1)
            file.warnings.push_back(
                "NANT " + header.text("NANT") +
                ", and no ORDER: a sample of each polarisation of each antenna is "
                "taken to follow the other, antenna by antenna");
        return;
    }
    std::string order;
    for (const char axis : upper_case(header.text("ORDER"))) {
        const bool one = axis == 'F' || (axis == 'A' && file.antennas == 1) ||
                         (axis == 'P' && polarizations == 1);
        // an axis of length one may stand anywhere
        if (!one && !(axis == 'T' && !order.empty() && order.back() == 'T'))
            order += axis;
    }
    const std::string expected = std::string("T") + (file.antennas > 1 ? "A" : "") +
                                 (polarizations > 1 ? "P" : "");
    if (order != expected)
        header.fail("ORDER",
                    "must be such that time is the slowest axis, then antennas (A), then "
                    "polarisations (P), " +
                        expected + " here");
}

exact_time read_start(const reader& header, dada_file& file)
{
    const std::string utc_rule = "must be yyyy-mm-dd-hh:mm:ss[.f] (UTC, after 1970)";
    const std::string mjd_rule = "must be a modified Julian date after 1970";
    std::optional<exact_time> mjd;
    if (header.has("MJD_START")) {
        mjd = parse_mjd(header.text("MJD_START"));
        if (!mjd)
            header.fail("MJD_START", mjd_rule);
    }
    if (!header.has("UTC_START")) {
        if (!mjd)
            header.fail("UTC_START", utc_rule + ", or MJD_START must be there");
        return *mjd;
    }
    auto utc = parse_utc(header.text("UTC_START"));
    if (!utc)
        header.fail("UTC_START", utc_rule);
    if (header.has("PICOSECONDS"))
        *utc = *utc +
               exact_time{ 0, header.integer("PICOSECONDS", 0, 999999999999) * 1000000 };
    if (mjd) {
        const double difference = (*mjd - *utc).to_double();
        const std::string date = header.text("MJD_START");
        const size_t point = date.find('.');
        const size_t digits = point == std::string::npos ? 0 : date.size() - point - 1;
        // a second, and the precision of the digits of the date
        if (std::abs(difference) > 1 + 86400 * std::pow(10.0, -double(digits)))
            file.warnings.push_back("MJD_START " + header.text("MJD_START") + " is " +
                                    text_of(difference) + " s after UTC_START " +
                                    header.text("UTC_START") + ": UTC_START is used");
    }
    return *utc;
}

// BYTES_PER_SECOND tells of inputs that no other key has.
void check_byte_rate(const reader& header, dada_file& file)
{
    if (!header.has("BYTES_PER_SECOND"))
        return;
    const double said =
        header.number("BYTES_PER_SECOND", "must be a number of bytes").to_double();
    const double expected = file.rate.to_double() * double(file.item_bytes());
    if (said > 0 && std::abs(said / expected - 1) > rate_tolerance)
        file.warnings.push_back(
            "BYTES_PER_SECOND " + header.text("BYTES_PER_SECOND") + " is not the " +
            text_of(expected) +
            " that TSAMP, NBIT, NDIM, NPOL and NANT make: other inputs or channels may "
            "be among the samples");
}

// Finds how many samples there are, and what is missing.
void read_size(const reader& header, int64_t file_bytes, dada_file& file)
{
    const int64_t data_bytes = file_bytes - file.header_bytes;
    const int64_t rest = data_bytes % file.item_bytes();
    file.samples = data_bytes / file.item_bytes();
    const size_t warnings = file.warnings.size();
    if (header.has("FILE_SIZE")) {
        const int64_t expected =
            header.integer("FILE_SIZE", 0, std::numeric_limits<int64_t>::max());
        // PSRDADA's own programs count the bytes behind the header, MeerKAT's recorders
        // those of the whole file
        if (data_bytes < expected && file_bytes != expected)
            file.warnings.push_back(
                std::to_string(expected - data_bytes) + " of " +
                std::to_string(expected) + " bytes (FILE_SIZE) are missing" +
                (file_bytes < expected ? ", or " + std::to_string(expected - file_bytes) +
                                             " if FILE_SIZE counts the header"
                                       : ""));
        if (0 < expected && expected < data_bytes)
            file.warnings.push_back(
                "FILE_SIZE is " + std::to_string(expected) + ", and " +
                std::to_string(data_bytes) +
                " bytes are behind the header: all of them are taken");
    }
    if (rest != 0)
        file.warnings.push_back("the last " + std::to_string(rest) +
                                " bytes are not the " +
                                std::to_string(file.item_bytes()) + " of a whole sample");
    if (file.warnings.size() > warnings)
        file.warnings.push_back(std::to_string(file.samples) +
                                " samples of each input are used");
    if (file.samples == 0)
        throw std::invalid_argument(file.name + ": holds " + std::to_string(data_bytes) +
                                    " bytes after its header: at least one sample of " +
                                    std::to_string(file.item_bytes()) +
                                    " bytes must be there");
}

} // namespace

std::map<std::string, std::string> parse_dada_header(const std::string& text)
{
    std::map<std::string, std::string> header;
    std::istringstream lines(text.substr(0, text.find('\0')));
    std::string line;
    while (std::getline(lines, line)) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string key, value;
        if (words >> key) {
            words >> std::ws;
            std::getline(words, value);
            value.erase(value.find_last_not_of(" \t\r") + 1);
            header.emplace(key, value);
        }
    }
    return header;
}

dada_file open_dada(const std::string& filename)
{
    errno = 0;
    std::ifstream stream(filename, std::ios::binary);
    stream.seekg(0, std::ios::end);
    const int64_t file_bytes = stream.tellg();
    // a directory can be opened, but has no size
    if (!stream || file_bytes < 0 || file_bytes == std::numeric_limits<int64_t>::max())
        throw std::runtime_error(filename + ": cannot be read: " +
                                 (errno ? std::strerror(errno) : "not a file"));

    dada_file file;
    file.name = filename;
    // HDR_SIZE stands in the header itself; it is in the first 4096 bytes of all of them
    file.header = parse_dada_header(read_text(stream, 4096));
    const reader header(file.name, file.header);
    if (!header.has("HDR_SIZE"))
        header.fail("HDR_SIZE", "must be in the first 4096 bytes of a PSRDADA file");
    file.header_bytes = header.integer("HDR_SIZE", 1, largest_header);
    if (file.header_bytes > file_bytes)
        header.fail("HDR_SIZE",
                    "must not exceed the size of the file, " +
                        std::to_string(file_bytes) + " bytes");
    file.header = parse_dada_header(read_text(stream, file.header_bytes));

    file.bits = int(header.integer("NBIT", 1, 64));
    if (file.bits != 8 && file.bits != 16 && file.bits != 32)
        header.fail("NBIT", "must be 8, 16 or 32");
    file.dimensions = int(header.integer("NDIM", 1, 2));
    read_inputs(header, file);
    file.big_endian = read_endian(header);
    if (header.integer("NCHAN", 1, std::numeric_limits<int>::max()) != 1)
        header.fail(
            "NCHAN",
            "must be 1 here: channel_source reads channels, as the input dada: does");
    const std::string center_rule =
        "must be the centre of the band in MHz, from 0 to 1e9";
    file.center = header.number("FREQ", center_rule).to_double() * hertz_per_megahertz;
    if (!(file.center >= 0 && file.center <= 1e15))
        header.fail("FREQ", center_rule);
    read_rate(header, file);
    const exact_time recording = read_start(header, file);
    int64_t offset = 0;
    if (header.has("OBS_OFFSET"))
        offset = header.integer("OBS_OFFSET", 0, std::numeric_limits<int64_t>::max());
    if (offset % file.item_bytes() != 0)
        header.fail("OBS_OFFSET",
                    "must be a multiple of the " + std::to_string(file.item_bytes()) +
                        " bytes of one sample of each input");
    file.start = after(recording, file.rate.duration(offset / file.item_bytes()));
    check_byte_rate(header, file);
    read_size(header, file_bytes, file);
    return file;
}

} // namespace gr::aperture::formats
