/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_DEVICE_DEVICE_H
#define INCLUDED_APERTURE_DEVICE_DEVICE_H

#include <gnuradio/aperture/device/api.h>
#include <gnuradio/aperture/device/stream.h>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture {

class backend;

//! Memory that is freed with its owner.
using memory = std::unique_ptr<char, std::function<void(char*)>>;

/*!
 * Returns the devices that blocks can run on in this build and on this machine, by the
 * names that every block's `device` parameter takes: "cpu", and "cuda:N" for each usable
 * GPU.
 */
APERTURE_DEVICE_API std::vector<std::string> devices();

//! A place where kernels run: the CPU, a GPU, or the emulated device of tests.
class APERTURE_DEVICE_API device
{
public:
    enum class kind { cpu, emulated, cuda };

    /*!
     * Finds a device by its name.
     * \param name auto (a GPU if there is one), cpu, cuda or
     * cuda:N; for tests, emulated and emulated:1
     * \throws std::invalid_argument naming what was asked for and what was found
     */
    static device select(const std::string& name);

    kind type() const { return d_kind; }
    //! Returns which of several GPUs it is; otherwise 0.
    int index() const { return d_index; }
    //! Returns the name as select() takes it; for `auto`, that of the chosen device.
    std::string name() const;
    //! Returns the name of the GPU, for people; empty for the CPU.
    std::string description() const;

    std::unique_ptr<stream> make_stream() const;
    /*!
     * Allocates memory of the device; on the CPU, of the host, page-aligned and filled
     * with zeros.
     * \throws std::runtime_error saying how much was asked for and how much there is
     */
    memory allocate(size_t bytes) const;
    //! Makes this device the one that the calling thread uses where it calls CUDA itself.
    void make_current() const;

    //! Returns the interface to the device's own memory; nullptr on the CPU.
    const std::shared_ptr<const backend>& own_memory() const { return d_backend; }

    bool operator==(const device& other) const
    {
        return d_kind == other.d_kind && d_index == other.d_index;
    }
    bool operator!=(const device& other) const { return !(*this == other); }

private:
    device(kind type, int index, std::shared_ptr<const backend> b = nullptr);

    kind d_kind;
    int d_index;
    std::shared_ptr<const backend> d_backend;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_DEVICE_DEVICE_H */
