/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#include "network/endpoint.h"
#include "network/xdp/redirection.h"
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <map>
#include <stdexcept>

namespace gr::aperture::network {

namespace {

// Linux 5.18; headers of older ones do not have it
constexpr uint32_t program_takes_pieces = 1 << 5; // BPF_F_XDP_HAS_FRAGS

struct address_key {
    uint8_t address[16];
    uint16_t port; // in the network's order
    uint16_t zero;
};
static_assert(sizeof(address_key) == 20);

/*!
 * Makes the instructions of a program, with labels for its jumps. A compiler for them,
 * clang, would be needed where this is built, for a program of 70 instructions.
 */
class assembler
{
public:
    void load(int size, int to, int from, int offset)
    {
        add(BPF_LDX | size | BPF_MEM, to, from, offset, 0);
    }
    void store(int size, int to, int offset, int from)
    {
        add(BPF_STX | size | BPF_MEM, to, from, offset, 0);
    }
    void store_number(int size, int to, int offset, int32_t number)
    {
        add(BPF_ST | size | BPF_MEM, to, 0, offset, number);
    }
    void move(int to, int from) { add(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
    void set(int to, uint32_t number)
    {
        add(BPF_ALU | BPF_MOV | BPF_K, to, 0, 0, int32_t(number));
    }
    void plus(int to, int32_t number)
    {
        add(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, number);
    }
    void mask(int to, int32_t number)
    {
        add(BPF_ALU64 | BPF_AND | BPF_K, to, 0, 0, number);
    }
    void jump(const char* label) { branch(BPF_JMP | BPF_JA, 0, 0, 0, label); }
    void jump_if(int comparison, int a, int32_t number, const char* label)
    {
        branch(BPF_JMP | comparison | BPF_K, a, 0, number, label);
    }
    void jump_if_above(int a, int b, const char* label)
    {
        branch(BPF_JMP | BPF_JGT | BPF_X, a, b, 0, label);
    }
    void map(int to, int handle)
    {
        add(BPF_LD | BPF_DW | BPF_IMM, to, BPF_PSEUDO_MAP_FD, 0, handle);
        add(0, 0, 0, 0, 0);
    }
    void call(int function) { add(BPF_JMP | BPF_CALL, 0, 0, 0, function); }
    void exit() { add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }
    void label(const std::string& name) { d_labels[name] = d_code.size(); }

    std::vector<bpf_insn> made()
    {
        for (const auto& [at, name] : d_jumps)
            d_code[at].off = int16_t(d_labels.at(name) - at - 1);
        return d_code;
    }

private:
    void add(int code, int to, int from, int offset, int32_t number)
    {
        bpf_insn i{};
        i.code = uint8_t(code);
        i.dst_reg = uint8_t(to & 15);
        i.src_reg = uint8_t(from & 15);
        i.off = int16_t(offset);
        i.imm = number;
        d_code.push_back(i);
    }
    void branch(int code, int a, int b, int32_t number, const char* label)
    {
        d_jumps.emplace_back(d_code.size(), label);
        add(code, a, b, 0, number);
    }

    std::vector<bpf_insn> d_code;
    std::vector<std::pair<size_t, std::string>> d_jumps;
    std::map<std::string, size_t> d_labels;
};

std::vector<bpf_insn> instructions(int addresses, int sockets)
{
    // registers: the context, words of an address, and those that calls may change
    constexpr int result = 0, context = 6, v4_mark = 7, stack = 10;
    constexpr int at = 2, end = 3, behind = 4, number = 5;
    // the key, on the stack
    constexpr int key = -24, key_port = key + 16;
    assembler a;
    const auto need = [&](int bytes) { // bytes at `at`
        a.move(behind, at);
        a.plus(behind, bytes);
        a.jump_if_above(behind, end, "pass");
    };
    const auto look_up = [&] {
        a.map(1, addresses);
        a.move(2, stack);
        a.plus(2, key);
        a.call(BPF_FUNC_map_lookup_elem);
    };
    a.move(context, 1);
    a.load(BPF_W, at, context, offsetof(xdp_md, data));
    a.load(BPF_W, end, context, offsetof(xdp_md, data_end));
    need(14);
    a.load(BPF_H, number, at, 12);
    a.move(at, behind);
    for (const char* vlan : { "first", "second" }) {
        const std::string tag = std::string(vlan) + " tag",
                          no_tag = std::string(vlan) + " none";
        for (const uint16_t type : { 0x8100, 0x88a8 })
            a.jump_if(BPF_JEQ, number, htons(type), tag.c_str());
        a.jump(no_tag.c_str());
        a.label(tag);
        need(4);
        a.load(BPF_H, number, at, 2);
        a.move(at, behind);
        a.label(no_tag);
    }
    a.jump_if(BPF_JEQ, number, htons(0x86dd), "v6");
    a.jump_if(BPF_JNE, number, htons(0x0800), "pass");
    need(28);
    a.load(BPF_B, number, at, 0);
    a.jump_if(BPF_JNE, number, 0x45, "pass"); // options are rare
    a.load(BPF_H, number, at, 6);
    a.mask(number, htons(0x3fff));
    a.jump_if(BPF_JNE, number, 0, "pass"); // fragments, which the kernel joins
    a.load(BPF_B, number, at, 9);
    a.jump_if(BPF_JNE, number, IPPROTO_UDP, "pass");
    a.store_number(BPF_DW, stack, key, 0);
    a.set(v4_mark, htonl(0xffff));
    a.store(BPF_W, stack, key + 8, v4_mark);
    a.load(BPF_W, number, at, 16);
    a.store(BPF_W, stack, key + 12, number);
    a.load(BPF_H, number, at, 22);
    a.jump("look up");
    a.label("v6");
    need(48);
    a.load(BPF_B, number, at, 6);
    a.jump_if(BPF_JNE, number, IPPROTO_UDP, "pass");
    for (int word = 0; word < 16; word += 4) {
        a.load(BPF_W, number, at, 24 + word);
        a.store(BPF_W, stack, key + word, number);
    }
    a.set(v4_mark, 0);
    a.load(BPF_H, number, at, 42);
    a.label("look up");
    a.store(BPF_H, stack, key_port, number);
    a.store_number(BPF_H, stack, key_port + 2, 0);
    look_up();
    a.jump_if(BPF_JNE, result, 0, "take");
    // any address of this host
    a.store_number(BPF_DW, stack, key, 0);
    a.store(BPF_W, stack, key + 8, v4_mark);
    a.store_number(BPF_W, stack, key + 12, 0);
    look_up();
    a.jump_if(BPF_JEQ, result, 0, "pass");
    a.label("take");
    a.map(1, sockets);
    a.load(BPF_W, 2, context, offsetof(xdp_md, rx_queue_index));
    a.set(3, XDP_PASS);
    a.call(BPF_FUNC_redirect_map);
    a.exit();
    a.label("pass");
    a.set(result, XDP_PASS);
    a.exit();
    return a.made();
}

} // namespace

descriptor& descriptor::operator=(descriptor&& other)
{
    std::swap(d_handle, other.d_handle);
    return *this;
}

descriptor::~descriptor()
{
    if (d_handle >= 0)
        ::close(d_handle);
}

std::runtime_error
xdp_trouble(const std::string& interface, const std::string& what, int error)
{
    std::string why = std::strerror(error);
    if (error == EPERM || error == EACCES)
        why =
            "it needs the rights CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, which root has";
    return std::runtime_error("transport xdp: " + interface + ": " + what + ": " + why);
}

redirection::redirection(const std::string& interface,
                         const std::vector<boost::asio::ip::udp::endpoint>& addresses,
                         int queues)
    : d_interface(interface)
{
    const auto made = [&](int handle, const char* what) {
        if (handle < 0)
            throw xdp_trouble(interface, what, -handle);
        return descriptor(handle);
    };
    d_addresses = made(bpf_map_create(BPF_MAP_TYPE_HASH,
                                      "addresses",
                                      sizeof(address_key),
                                      sizeof(uint32_t),
                                      uint32_t(addresses.size()),
                                      nullptr),
                       "the table of addresses cannot be made");
    d_sockets = made(bpf_map_create(BPF_MAP_TYPE_XSKMAP,
                                    "sockets",
                                    sizeof(uint32_t),
                                    sizeof(uint32_t),
                                    uint32_t(queues),
                                    nullptr),
                     "the table of sockets cannot be made");
    for (uint32_t i = 0; i < addresses.size(); i++) {
        const sender s = to_sender(addresses[i]);
        address_key key{};
        std::memcpy(key.address, s.address.data(), sizeof key.address);
        key.port = htons(s.port);
        if (bpf_map_update_elem(d_addresses.get(), &key, &i, BPF_ANY) != 0)
            throw xdp_trouble(interface, "the addresses cannot be set", errno);
    }
    const auto code = instructions(d_addresses.get(), d_sockets.get());
    int handle = -1;
    for (const uint32_t flags : { program_takes_pieces, 0u }) {
        LIBBPF_OPTS(bpf_prog_load_opts, options, .prog_flags = flags);
        handle = bpf_prog_load(
            BPF_PROG_TYPE_XDP, "aperture_udp", "GPL", code.data(), code.size(), &options);
        if (handle >= 0)
            break;
    }
    d_program = made(handle, "the program that redirects packets cannot be loaded");
    const unsigned index = if_nametoindex(interface.c_str());
    for (const uint32_t flags : { XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE }) {
        LIBBPF_OPTS(bpf_link_create_opts, options, .flags = flags);
        handle = bpf_link_create(d_program.get(), int(index), BPF_XDP, &options);
        d_in_driver = flags == XDP_FLAGS_DRV_MODE;
        if (handle >= 0 || handle == -EBUSY || handle == -EEXIST)
            break;
    }
    if (handle == -EBUSY || handle == -EEXIST)
        throw std::runtime_error(
            "transport xdp: " + interface +
            ": there is another program of XDP already, of another source or process: "
            "one source may have several addresses of an interface");
    d_link = made(handle, "the program that redirects packets cannot be attached");
}

void redirection::add(int queue, int socket)
{
    if (bpf_map_update_elem(d_sockets.get(), &queue, &socket, BPF_ANY) != 0)
        throw xdp_trouble(d_interface, "a socket cannot be made known", errno);
}

} // namespace gr::aperture::network
