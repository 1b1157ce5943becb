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
 * The corner turn between devices: frames `[channel][input][time]` that have all channels
 * of some of the inputs, a port for each range of inputs, become frames that have all
 * inputs of some of the channels, a port for each range of channels. A row is what a
 * frame has of one channel and input; nothing looks into it.
 */
class exchange
{
public:
    //! Some in a row, of all.
    struct range {
        int first, count;
        int end() const { return first + count; }
    };
    //! The ranges of so many parts, which differ by 1 at most. \param total of all
    static range range_of(int part, int parts, int total);

    //! How items move between GPUs.
    enum class way { automatic, copies, nccl };

    struct parameters {
        int channels, inputs; //!< of all ports
        int row;              //!< bytes
        //! Where each port's frames are: numbers of devices of one kind.
        std::vector<int> input_devices, output_devices;
        way by = way::automatic;

        int inputs_ports() const { return int(input_devices.size()); }
        int outputs_ports() const { return int(output_devices.size()); }
        range inputs_of(int port) const;
        range channels_of(int port) const;
        //! Bytes of a frame.
        size_t input_frame(int port) const;
        size_t output_frame(int port) const;
        //! All devices, each once: those of the inputs come first.
        std::vector<int> devices() const;
        //! The place of a device among them.
        int place_of(int device) const;
        //! \throws std::invalid_argument
        void check() const;
    };

    /*!
     * Picks the implementation.
     * \param d one of the devices: they are of its kind
     * \throws std::invalid_argument
     * \throws std::runtime_error if GPUs cannot reach each other in the way asked for
     */
    static std::unique_ptr<exchange> make(const parameters& p, const device& d);
    virtual ~exchange() = default;
    virtual std::string implementation() const = 0;

    /*!
     * Moves some frames of each port.
     * \param in of each input port; nullptr: zeros
     * \param out of each output port
     * \param streams one of each of devices(): frames are read and written in the order
     * of the stream of their device
     */
    virtual void execute(const std::vector<const void*>& in,
                         const std::vector<void*>& out,
                         int frames,
                         const std::vector<stream*>& streams) = 0;

protected:
    explicit exchange(const parameters& p) : d_p(p) {}

    //! What moves from one port to another: `[frame][row of bytes]`, of which the next
    //! row, and the next frame, are further on by so many bytes at either end.
    struct piece {
        const char* from; //!< nullptr: zeros
        char* to;
        size_t from_row, from_frame, to_row, to_frame;
        size_t bytes; //!< of a row: those of one channel and all inputs of the input port
        int rows, frames;
    };
    piece piece_of(int input, int output, const void* in, void* out, int frames) const;

    const parameters d_p;
};

} // namespace gr::aperture::kernels

#endif /* INCLUDED_APERTURE_KERNELS_EXCHANGE_EXCHANGE_H */
