#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""An independent model of the noise of array_source, in float64."""

import numpy as np


def philox(counters, key):
    """Philox4x32-10 (Salmon et al. 2011): counters [n][4], key (2 words) -> [n][4]."""
    c = counters.astype(np.uint64)
    mask = np.uint64(0xFFFFFFFF)
    for number in range(10):
        k0, k1 = (
            (int(word) + number * weyl) & 0xFFFFFFFF
            for word, weyl in zip(key, (0x9E3779B9, 0xBB67AE85))
        )
        first, second = np.uint64(0xD2511F53) * c[:, 0], np.uint64(0xCD9E8D57) * c[:, 2]
        high = np.uint64(32)
        c = np.stack(
            [
                (second >> high) ^ c[:, 1] ^ np.uint64(k0),
                second & mask,
                (first >> high) ^ c[:, 3] ^ np.uint64(k1),
                first & mask,
            ],
            axis=1,
        )
    return c


def fnv(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


def model_noise(seed, name, first, count):
    """Samples first, ..., of the named process, in float64; first and count are even."""
    pairs = (np.arange(first // 2, (first + count) // 2, dtype=np.int64)).astype(np.uint64)
    process = fnv(name)
    mask, high = np.uint64(0xFFFFFFFF), np.uint64(32)
    counters = np.stack(
        [
            pairs & mask,
            pairs >> high,
            np.full_like(pairs, process & 0xFFFFFFFF),
            np.full_like(pairs, process >> 32),
        ],
        axis=1,
    )
    words = philox(counters, (seed & 0xFFFFFFFF, seed >> 32)).reshape(-1, 2).astype(float)
    radius = np.sqrt(-np.log((words[:, 0] // 2 + 0.5) / 2.0**31))
    return radius * np.exp(2j * np.pi * words[:, 1] / 2.0**32)
