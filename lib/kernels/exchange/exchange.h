/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_KERNELS_EXCHANGE_EXCHANGE_H
#define INCLUDED_APERTURE_KERNELS_EXCHANGE_EXCHANGE_H

#include "kernels/common/types.h"
#include <gnuradio/aperture/device/device.h>
#include <memory>
#include <string>
#include <vector>

namespace gr::aperture::kernels {

/*!
 * Exchanges frames between devices: frames `[channel][input][time]` that have all
 * channels of some of the inputs, a port for each range of inputs, become frames that
 * have all inputs of some of the channels, a port for each range of channels. A row is
 * one channel and input of a frame; its contents do not matter.
 */
class exchange
{
public:
    //! A range of inputs or channels.
    struct range {
        int first, count;
        int end() const { return first + count; }
    };
    //! Returns a range of so many parts, whose sizes differ by 1 at most.
    //! \param total size of all parts
    static range range_of(int part, int parts, int total);

    //! The means by which items move between GPUs.
    enum class way { automatic, copies, nccl };

    struct parameters {
        int channels, inputs; //!< extents of all ports
        int row;              //!< bytes
        //! The indices of the devices, all of one kind, of each port's frames.
        std::vector<int> input_devices, output_devices;
        way by = way::automatic;

        int inputs_ports() const { return int(input_devices.size()); }
        int outputs_ports() const { return int(output_devices.size()); }
        range inputs_of(int port) const;
        range channels_of(int port) const;
        //! Returns the bytes of a frame.
        size_t input_frame(int port) const;
        size_t output_frame(int port) const;
        //! Returns all devices, each once: those of the inputs come first.
        std::vector<int> devices() const;
        //! Returns the index of a device among them.
        int place_of(int device) const;
        //! \throws std::invalid_argument
        void check() const;
    };

    /*!
     * Picks the implementation.
     * \param d one of the devices: they are of its kind
     * \throws std::invalid_argument
     * \throws std::runtime_error if GPUs cannot access each other in the way asked for
     */
    static std::unique_ptr<exchange> make(const parameters& p, const device& d);
    virtual ~exchange() = default;
    virtual std::string implementation() const = 0;

    /*!
     * Moves some frames of each port.
     * \param in frames of each input port; nullptr: zeros
     * \param out frames of each output port
     * \param streams one stream for each of devices(): frames are read and written in the
     * order of the stream of their device
     */
    virtual void execute(const std::vector<const void*>& in,
                         const std::vector<void*>& out,
                         int frames,
                         const std::vector<stream*>& streams) = 0;

protected:
    explicit exchange(const parameters& p) : d_p(p) {}

    //! A block of items from one port to another: `[frame][row of bytes]`, with the
    //! strides of rows and frames in bytes at either end.
    struct piece {
        const char* from; //!< nullptr: zeros
        char* to;
        size_t from_row, from_frame, to_row, to_frame;
        size_t bytes; //!< bytes of a row: one channel and all inputs of the input port
        int rows, frames;
    };
    piece piece_of(int input, int output, const void* in, void* out, int frames) const;

    const parameters d_p;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_EXCHANGE_EXCHANGE_H */
