/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_COMMON_EMULATED_KERNEL_H
#define INCLUDED_APERTURE_KERNELS_COMMON_EMULATED_KERNEL_H

#include "kernels/common/makers.h"
#include "runtime/emulated.h"
#include "runtime/host_stream.h"
#include <type_traits>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

namespace gr::aperture::kernels::emulated {

using aperture::emulated::copy_masked;

//! An argument of a call that the kernel of the host gets as its plain(). done() comes
//! after the call.
struct argument {
    void done() const {}
};

/*!
 * Memory of the emulated device that a call reads (of const T) or writes. The kernel of
 * the host gets a copy that is not masked.
 */
template <class T>
class span : public argument
{
    using element = std::conditional_t<std::is_void_v<T>, char, std::remove_const_t<T>>;

public:
    //! \param memory nullptr: the kernel gets nullptr
    //! \param count of elements, or bytes of void
    span(T* memory, size_t count) : d_memory(memory), d_count(memory ? count : 0) {}

    T* plain()
    {
        d_plain.resize(d_count);
        if constexpr (std::is_const_v<T>)
            copy_masked(d_plain.data(), d_memory, d_count * sizeof(element));
        return d_memory ? d_plain.data() : nullptr;
    }
    void done() const
    {
        if constexpr (!std::is_const_v<T>)
            copy_masked(d_memory, d_plain.data(), d_count * sizeof(element));
    }

private:
    T* d_memory;
    size_t d_count;
    std::vector<element> d_plain;
};

//! A span for each port, as the kernel's list of pointers.
template <class T>
class spans : public argument
{
public:
    spans(T* const* memory, size_t ports, size_t count)
    {
        for (size_t port = 0; port < ports; port++)
            d_ports.emplace_back(memory[port], count);
    }
    T* const* plain()
    {
        for (auto& port : d_ports)
            d_plain.push_back(port.plain());
        return d_plain.data();
    }
    void done() const
    {
        for (const auto& port : d_ports)
            port.done();
    }

private:
    std::vector<span<T>> d_ports;
    std::vector<T*> d_plain;
};

//! Bytes of a port, from its source's samples on.
struct bytes_of_port {
    int64_t first;
    size_t count;
};

//! The sources [port] of a call, structs with `samples`, of which it reads some memory.
template <class Source>
class sources_of_ports : public argument
{
public:
    sources_of_ports(const Source* sources, std::vector<bytes_of_port> ports)
        : d_sources(sources, sources + ports.size()), d_bytes(std::move(ports))
    {
        for (size_t port = 0; port < d_bytes.size(); port++) {
            const auto* from = static_cast<const char*>(d_sources[port].samples);
            d_spans.emplace_back(from ? from + d_bytes[port].first : nullptr,
                                 d_bytes[port].count);
        }
    }
    const Source* plain()
    {
        for (size_t port = 0; port < d_bytes.size(); port++)
            if (d_sources[port].samples)
                d_sources[port].samples = d_spans[port].plain() - d_bytes[port].first;
        return d_sources.data();
    }

private:
    std::vector<Source> d_sources;
    std::vector<bytes_of_port> d_bytes;
    std::vector<span<const char>> d_spans;
};

//! Values in memory of the host, which may go before the kernel is called.
template <class T>
class kept : public argument
{
public:
    //! \param values nullptr: the kernel gets nullptr
    kept(const T* values, size_t count) : d_there(values)
    {
        if (values)
            d_values.assign(values, values + count);
    }
    const T* plain() const { return d_there ? d_values.data() : nullptr; }

private:
    bool d_there;
    std::vector<T> d_values;
};

//! Work for a stream of the emulated device.
inline void run_on(stream& s, std::function<void()> work)
{
    dynamic_cast<aperture::emulated::stream&>(s).run(std::move(work));
}

/*!
 * Base of all kernels on the emulated device: they call that of the host, in the thread
 * of the stream, with copies of the device's memory.
 */
template <class Kernel>
class emulated_kernel : public Kernel
{
public:
    //! \param base what the interface itself is made with, if anything
    template <class... Base>
    explicit emulated_kernel(const typename Kernel::parameters& p, const Base&... base)
        : Kernel(base...), d_p(p), d_host(host::make<Kernel>(p))
    {
    }

    //! Overrides that of kernels which have it.
    std::string implementation() const { return "emulated, " + d_host->implementation(); }

protected:
    /*!
     * Calls a function of the host's kernel, or one that gets this kernel first, in the
     * thread of a stream.
     * \param arguments but for the stream, which is the last one
     */
    template <class Function, class... Arguments>
    void run(stream& s, Function function, Arguments... arguments) const
    {
        run_on(s, call(function, std::move(arguments)...));
    }
    //! The work that run() gives to the stream.
    template <class Function, class... Arguments>
    auto call(Function function, Arguments... arguments) const
    {
        return [function,
                host = d_host,
                all = std::make_tuple(std::move(arguments)...)]() mutable {
            host_stream own;
            std::apply(
                [&](auto&... each) {
                    std::invoke(function, *host, plain(each)..., own);
                    (done(each), ...);
                },
                all);
        };
    }

    const typename Kernel::parameters d_p;
    const std::shared_ptr<Kernel> d_host; // work that is not done yet holds it, too

private:
    template <class T>
    static decltype(auto) plain(T& a)
    {
        if constexpr (std::is_base_of_v<argument, T>)
            return a.plain();
        else
            return (a);
    }
    template <class T>
    static void done(const T& a)
    {
        if constexpr (std::is_base_of_v<argument, T>)
            a.done();
    }
};

} // namespace gr::aperture::kernels::emulated

#endif /* INCLUDED_APERTURE_KERNELS_COMMON_EMULATED_KERNEL_H */
