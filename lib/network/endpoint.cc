/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "kernels/common/types.h"
#include "network/endpoint.h"
#include <algorithm>
#include <optional>

namespace gr::aperture::network {

namespace {

namespace ip = boost::asio::ip;

std::optional<int> number_of(const std::string& text, int most)
{
    if (text.empty() || text.size() > 5 ||
        !std::all_of(
            text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
        return {};
    const int number = std::stoi(text);
    return number <= most ? std::optional(number) : std::nullopt;
}

std::optional<ip::address> address_of(std::string text)
{
    if (text.size() > 2 && text.front() == '[' && text.back() == ']')
        text = text.substr(1, text.size() - 2);
    boost::system::error_code error;
    const auto address = ip::make_address(text, error);
    return error ? std::nullopt : std::optional(address);
}

std::optional<ip::udp::endpoint> endpoint_of(const std::string& text)
{
    const auto colon = text.rfind(':');
    if (colon == std::string::npos)
        return {};
    const std::string host = text.substr(0, colon);
    // an IPv6 address without a port ends with something that looks like one
    if (host.find(':') != std::string::npos && host.front() != '[')
        return {};
    const auto address = address_of(host);
    const auto port = number_of(text.substr(colon + 1), 65535);
    if (!address || !port || *port == 0)
        return {};
    return ip::udp::endpoint(*address, uint16_t(*port));
}

} // namespace

sender to_sender(const ip::udp::endpoint& endpoint)
{
    const auto address = endpoint.address();
    const auto bytes =
        address.is_v4() ? ip::make_address_v6(ip::v4_mapped, address.to_v4()).to_bytes()
                        : address.to_v6().to_bytes();
    sender s;
    std::copy(bytes.begin(), bytes.end(), s.address.begin());
    s.port = endpoint.port();
    return s;
}

std::string text_of(const ip::udp::endpoint& endpoint)
{
    const auto text = endpoint.address().to_string();
    return (endpoint.address().is_v4() ? text : "[" + text + "]") + ":" +
           std::to_string(endpoint.port());
}

std::string text_of(const sender& s)
{
    ip::address_v6::bytes_type bytes;
    std::copy(s.address.begin(), s.address.end(), bytes.begin());
    const ip::address_v6 address(bytes);
    return address.is_v4_mapped()
               ? text_of({ ip::make_address_v4(ip::v4_mapped, address), s.port })
               : text_of({ address, s.port });
}

ip::udp::endpoint parse_endpoint(const std::string& parameter, const std::string& text)
{
    const auto endpoint = endpoint_of(text);
    require(endpoint.has_value(),
            parameter,
            text,
            "an address in digits and a port from 1 to 65535, such as 0.0.0.0:4015, "
            "239.1.2.3:4015 or [ff15::1]:4015");
    return *endpoint;
}

sender_list::sender_list(const std::string& parameter,
                         const std::vector<std::string>& texts)
{
    for (const auto& text : texts) {
        std::optional<entry> made;
        if (const auto slash = text.find('/'); slash != std::string::npos) {
            const auto address = address_of(text.substr(0, slash));
            const auto bits =
                number_of(text.substr(slash + 1), address && address->is_v4() ? 32 : 128);
            if (address && bits)
                made = entry{ to_sender({ *address, 0 }),
                              *bits + (address->is_v4() ? 96 : 0) };
        } else if (const auto address = address_of(text)) {
            made = entry{ to_sender({ *address, 0 }), 128 };
        } else if (const auto endpoint = endpoint_of(text)) {
            made = entry{ to_sender(*endpoint), 128 };
        }
        require(
            made.has_value(),
            parameter,
            text,
            "an address in digits, a network such as 10.1.0.0/16, or an address and a "
            "port such as 10.1.2.3:4015 or [fd00::1]:4015");
        d_entries.push_back(*made);
    }
}

bool sender_list::has(const sender& s) const
{
    return d_entries.empty() ||
           std::any_of(d_entries.begin(), d_entries.end(), [&](const entry& e) {
               const auto& wanted = e.first.address;
               const auto whole = size_t(e.bits / 8);
               const int rest = e.bits % 8;
               return (e.first.port == 0 || e.first.port == s.port) &&
                      std::equal(
                          wanted.begin(), wanted.begin() + whole, s.address.begin()) &&
                      (rest == 0 ||
                       ((wanted[whole] ^ s.address[whole]) >> (8 - rest)) == 0);
           });
}

} // namespace gr::aperture::network
