/* -*- c++ -*- */
/*
 * Copyright 2026 gr-aperture's authors.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */

#ifndef INCLUDED_APERTURE_VISIBILITY_AVERAGER_H
#define INCLUDED_APERTURE_VISIBILITY_AVERAGER_H

#include <gnuradio/aperture/api.h>
#include <gnuradio/aperture/device/block_on_device.h>
#include <gnuradio/aperture/folder.h>
#include <gnuradio/aperture/input_settings.h>
#include <gnuradio/aperture/parameter.h>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace gr::aperture {

/*!
 * \brief Averages visibilities in time and channels, about phase centres, and in gates.
 * \ingroup aperture
 *
 * In: fc32 `[channel][product]` from xengine, one item an integration, and with `counts`
 * on port 1 its counts, u32 of the same shape. Out: averages of chosen products, each
 * fc32 `[channel][product]`, on a port for each length, phase centre and gate: port
 * (length * centers + centre) * gates + gate, the shortest length first (no phase
 * centres, or no gates, count as one). With `counts` as many ports follow, which have the
 * counts of these items, u32.
 *
 * A product weighs as many spectra as were counted in it, and those of an average are the
 * sum of its items' and channels'. An item is as an X-engine with channels so much wider
 * would make it: of c channels averaged, `spectra`, `counted` and `spectrum_rate` are c
 * times as large, and rx_time lies (1 - 1/c)/2 of a spectrum before that of the input, so
 * that begin, length and middle of the integration are the same.
 *
 * A phase centre n has delays of its inputs, from the message port `delays` (of several
 * centres `delays0`, `delays1` ...), which takes what delay_tracker sends to an F-engine.
 * Each product is multiplied by what the F-engine's delays would have made of it at the
 * middle of its integration. Where the F-engine has delays of its own, its delay_tracker
 * is connected to the port `tracked`, too: these are taken out. While a centre has no
 * delays its items count as missing.
 *
 * An item belongs to a gate if the pulsar's phase at its middle does: integrations have
 * to be short beside the pulse. `spectra` is then the whole average, `counted` what was
 * in the gate.
 *
 * Averages end early where rx_freq, rx_rate or a setting changes; the next ones end when
 * they would have ended. One without any item is left out.
 */
class APERTURE_API visibility_averager : virtual public block_on_device
{
public:
    typedef std::shared_ptr<visibility_averager> sptr;

    struct parameters {
        int channels = 1024;
        int inputs = 2;
        double integration = 10;
        std::string integration_unit = "items";
        int average_channels = 1;
        std::vector<std::pair<int, int>> products = {};
        std::vector<int> lengths = {};
        int centers = 0;
        std::vector<folder::segment> segments = {};
        std::vector<std::pair<double, double>> gates = {};
        bool mean = true;
        bool counts = false;
        bool align = false;
        std::string device = "auto";
        double latency = 0.1;
    };

    //! Describes the parameters.
    static auto describe()
    {
        return std::make_tuple(
            parameter("channels", &parameters::channels, "of an item of the input")
                .range(1, 1 << 24),
            parameter("inputs", &parameters::inputs, "inputs of the X-engine")
                .range(1, 65536),
            parameter("integration",
                      &parameters::integration,
                      "length of the shortest averages in `integration_unit`")
                .above(0, 1e9),
            parameter("integration_unit",
                      &parameters::integration_unit,
                      "items of the input, or seconds (rounded to whole items, at least "
                      "one)")
                .one_of("items", "seconds"),
            parameter("average_channels",
                      &parameters::average_channels,
                      "neighbouring channels that become one, a divisor of channels")
                .range(1, 1 << 24),
            parameter("products",
                      &parameters::products,
                      "list of pairs of inputs (a, b), in the order of the output: "
                      "V[a,b], the conjugate of V[b,a] where a < b; none: all, in the "
                      "X-engine's order"),
            parameter("lengths",
                      &parameters::lengths,
                      "for each product how many times `integration` its averages are "
                      "long, a power of two; none: once"),
            parameter("centers",
                      &parameters::centers,
                      "phase centres, whose delays come as messages; 0: products are not "
                      "rotated")
                .range(0, 1024)
                .called("Phase Centers"),
            parameter("segments",
                      &parameters::segments,
                      "list of folder.segment, in order of time: the model of a pulsar's "
                      "phase; an item outside of them ends the flowgraph")
                .called("Phase Model"),
            parameter("gates",
                      &parameters::gates,
                      "list of gates (begin, end) in cycles of the pulsar's phase, 0 to "
                      "1; one whose end is before its begin goes through 0; none: all "
                      "items"),
            parameter("mean",
                      &parameters::mean,
                      "whether products are divided by their counts, as `normalise` of "
                      "the X-engine makes them; if not, input and output are sums")
                .called("Products Are Means"),
            parameter("counts",
                      &parameters::counts,
                      "whether input port 1 has the X-engine's counts of each channel "
                      "and product")
                .called("Counts Port"),
            parameter("align",
                      &parameters::align,
                      "whether averages end at multiples of their length since 1970; "
                      "the first one is then shorter")
                .called("Align to Multiples"),
            device_parameter<parameters>(),
            latency_parameter<parameters>());
    }

    /*!
     * \throws std::invalid_argument naming the parameter, its value and what is allowed
     */
    static sptr make(const parameters& p);

    //! Returns the number of averages that are made, on as many ports.
    virtual int outputs() const = 0;
    //! Returns the pairs of inputs of the products of a port, in their order.
    virtual std::vector<std::pair<int, int>> products(int port) const = 0;
    //! Returns how many times `integration` the averages of a port are long.
    virtual int length(int port) const = 0;
    //! Returns the phase centre of a port, or -1 where nothing is rotated.
    virtual int center(int port) const = 0;
    //! Returns the gate of a port, or -1 without gates.
    virtual int gate(int port) const = 0;
    //! Returns the items of the input in an average of a port; 0 while a length in
    //! seconds awaits rx_rate.
    virtual int64_t items_per_average(int port) const = 0;
    /*!
     * Takes a model of the delays towards a phase centre (-1: of the F-engine,
     * `tracked`), as set_delays() of an F-engine does, from the next item on, or from the
     * first item at or after a time. \throws std::invalid_argument
     */
    virtual void take_delays(int center,
                             const std::vector<double>& delays,
                             const std::vector<double>& delay_rates = {},
                             const std::vector<double>& phases = {},
                             const std::vector<double>& phase_rates = {},
                             const std::optional<setting_time>& time = {},
                             const std::string& model = "") = 0;
    //! Returns the name of the implementation, for example "host".
    virtual std::string implementation() const = 0;
};

} // namespace gr::aperture

#endif /* INCLUDED_APERTURE_VISIBILITY_AVERAGER_H */
