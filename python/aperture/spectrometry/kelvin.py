#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Kelvin of powers: hot and cold loads, load switching and frequency switching.

A receiver gives the power P = g (T + T_rx) in each channel: T is the antenna temperature, T_rx the
receiver's own, g its gain in units of power a kelvin. Two loads of known temperature give both
(the Y-factor method, as in Wilson, Rohlfs, Huettemeister, Tools of Radio Astronomy, section 4.2):

    Y = P_hot/P_cold,  T_rx = (T_hot - Y T_cold)/(Y - 1),  g = (P_hot - P_cold)/(T_hot - T_cold)

Powers are arrays [input][channel]; a channel without a finite answer is NaN.
"""

from dataclasses import dataclass

import numpy as np

#: Y-factor below which hot and cold are taken to be the same: 0.2 dB
LEAST_Y = 1.05


class KelvinError(ValueError):
    """Powers that do not give kelvin; the message says why."""


def middle(values):
    """The median over the channels, [input][1]; NaN are left out, and all of them give NaN."""
    values = np.asarray(values, float)
    there = np.isfinite(values).any(axis=-1, keepdims=True)
    return np.nanmedian(np.where(there, values, 0.0), axis=-1, keepdims=True) * np.where(
        there, 1.0, np.nan
    )


@dataclass(frozen=True)
class Scale:
    """
    The gains of a receiver.

    gain: power a kelvin [input][channel]; receiver: T_rx in kelvin [input][channel]; y: Y-factor of
    each input, the median of its channels; NaN where the scale is assumed; measured: whether it
    was, and not assumed.
    """

    gain: np.ndarray
    receiver: np.ndarray
    y: np.ndarray
    measured: bool = True

    def system(self, power):
        """T + T_rx in kelvin [input][channel] of a power: P/g."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return _finite(power / self.gain)


def _finite(values):
    return np.where(np.isfinite(values), values, np.nan)


def hot_and_cold(hot, cold, t_hot, t_cold):
    """
    The Scale that two loads give.

    Parameters
    ----------
    hot, cold : float [input][channel]
        Mean powers with the hot and the cold load.
    t_hot, t_cold : float
        Their temperatures in kelvin, t_hot above t_cold.

    Raises
    ------
    KelvinError
        Hot equals cold, or is below it, or the receiver would be colder than nothing.
    """
    hot, cold = np.asarray(hot, float), np.asarray(cold, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        y = _finite(hot / cold)
        gain = _finite((hot - cold) / (t_hot - t_cold))
        receiver = _finite((t_hot - y * t_cold) / (y - 1))
    typical = middle(y)[:, 0]
    for number, value in enumerate(typical):
        if not value >= LEAST_Y:
            raise KelvinError(
                f"input {number}: hot equals cold: the hot load gives {value:.3f} times the power "
                f"of the cold one, and {LEAST_Y} is the least that can be told; is the load "
                "before the antenna, or is the amplifier without power?"
            )
        if value >= t_hot / t_cold:
            raise KelvinError(
                f"input {number}: the hot load gives {value:.3f} times the power of the cold one, "
                f"more than {t_hot:g} K / {t_cold:g} K, which a receiver without any noise would "
                "give: one of the temperatures is wrong, or the gain has changed in between"
            )
    return Scale(np.where(gain > 0, gain, np.nan), receiver, typical)


def assumed(power, t_receiver, t_cold):
    """A Scale where no loads were measured: a receiver of t_receiver kelvin, with the same gain in
    all channels, whose median channel sees t_cold kelvin now."""
    gain = middle(power) / (t_receiver + t_cold)
    return Scale(
        np.broadcast_to(gain, np.shape(power)),
        np.full(np.shape(power), float(t_receiver)),
        np.full(len(power), np.nan),
        False,
    )


def total_power(power, scale):
    """The antenna temperature P/g - T_rx, [input][channel]. It has the drifts of the gain since hot
    and cold were measured."""
    return scale.system(power) - scale.receiver


def load_switched(sky, load, scale, t_load):
    """
    The antenna temperature from the ratio to a load that is measured every few seconds:

        T = (P_sky/P_load) (T_load + T_rx) - T_rx

    in which the gain and its drifts cancel (Dicke, 1946). T_rx is the median of the channels, so
    that the noise of hot and cold is not added.
    """
    receiver = middle(scale.receiver)
    with np.errstate(divide="ignore", invalid="ignore"):
        return _finite(np.asarray(sky, float) / load) * (t_load + receiver) - receiver


def frequency_switched(signal, reference, scale, shift):
    """
    The temperature that a line adds to its surroundings, from two tunings of the receiver:

        D = (P_sig - P_ref)/P_ref T_sys,  T_sys = P_ref/g

    with T_sys the median of the channels, so that no bandpass is needed. A line is there once in
    P_sig, and once more in P_ref, `shift` channels lower, where the quotient is by P_sig, which is
    the one without the line. Both are averaged (folded); where the second is outside of the band,
    the first stands alone.

    Parameters
    ----------
    shift : int
        Channels by which the reference is tuned higher than the signal.

    Returns
    -------
    float [input][channel]
        Kelvin, at the frequencies of the signal. It is 0 where there is no line, and a line leaves
        a negative image of half its strength `shift` channels to either side.
    """
    signal, reference = np.asarray(signal, float), np.asarray(reference, float)
    system = middle(scale.system(reference))
    with np.errstate(divide="ignore", invalid="ignore"):
        first = _finite((signal - reference) / reference) * system
        second = _finite((reference - signal) / signal) * system
    channels = first.shape[-1]
    if not 0 < abs(shift) < channels:
        return first
    here = slice(max(shift, 0), channels + min(shift, 0))
    there = slice(max(-shift, 0), channels - max(shift, 0))
    folded = first.copy()
    folded[:, here] = (first[:, here] + second[:, there]) / 2
    return folded


def radiometer_noise(t_system, width, seconds, mode="total"):
    """
    The standard deviation in kelvin that noise leaves in a channel of a width in Hz, by the
    radiometer equation: T_sys/sqrt(B t). seconds: of the signal; with load switching, a reference
    of the same length makes it larger by sqrt(2), and with frequency switching folding takes that
    back.
    """
    return t_system / np.sqrt(width * seconds) * (np.sqrt(2) if mode == "load" else 1.0)
