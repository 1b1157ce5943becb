#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
A small neural network between F-engine and X-engine finds bursts of interference, and blanks
them: a block of your own with PyTorch. The network is trained here, in seconds, on noise with
made-up interference. Frames stay on the GPU, if PyTorch has one; otherwise all runs on the CPU.
Run it with tools/run python3 examples/blank_with_torch.py
"""

import numpy as np
import torch
from gnuradio import aperture, blocks, gr

CHANNELS, INPUTS, SPECTRA = 64, 2, 128


def features(voltages):
    """Returns the network's input, of [frame][channel][input][time]: the logarithm of the power of
    each channel and spectrum, in units of that of most of the frame; [frame][1][channel][time]."""
    power = (voltages.real**2 + voltages.imag**2).mean(dim=2)
    usual = power.flatten(1).median(dim=1).values[:, None, None]
    return torch.log(power / usual + 0.01)[:, None]


def trained(device, steps=120):
    """
    A network that says how likely there is interference in each channel and spectrum: above 0, more
    likely than not.
    """
    torch.manual_seed(1)
    layers = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, (5, 5), padding=2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 8, (3, 3), padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 1, 1),
    ).to(device)
    optimizer = torch.optim.Adam(layers.parameters(), lr=0.01)
    for _ in range(steps):
        # rectangles of channels and time, in noise: a carrier that is on for a while, a spark
        where = torch.zeros(8, CHANNELS, 1, SPECTRA)
        for frame in where:
            for _ in range(torch.randint(0, 4, ())):
                channel, begin = torch.randint(0, CHANNELS, ()), torch.randint(0, SPECTRA, ())
                wide = torch.rand(()) < 0.3
                frame[
                    channel : channel + (16 if wide else 2), :, begin : begin + (4 if wide else 60)
                ] = 1
        amplitude = 1 + 3 * torch.rand(8, 1, 1, 1)
        noise = torch.randn(8, CHANNELS, INPUTS, SPECTRA, dtype=torch.complex64)
        bursts = amplitude * where * torch.randn(8, CHANNELS, 1, SPECTRA, dtype=torch.complex64)
        answer = layers(features((noise + bursts).to(device)))
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            answer, where.permute(0, 2, 1, 3).to(device)
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return layers.eval()


class learned_blanker(aperture.device_block):
    """Sets to zero what the network takes for interference."""

    def __init__(self, network, device):
        frame = (np.complex64, (CHANNELS, INPUTS, SPECTRA))
        super().__init__("learned_blanker", [frame], [frame], device=device, arrays="torch")
        self.network = network

    def work(self, inputs, outputs):
        with torch.no_grad():
            good = self.network(features(inputs[0])) < 0  # [frame][1][channel][time]
            torch.mul(inputs[0], good.permute(0, 2, 1, 3), out=outputs[0])


def interference(samples):
    """A carrier that is on for a tenth of the time."""
    time = np.arange(samples)
    on = time // (20 * CHANNELS) % 10 == 0
    return (2 * on * np.exp(2j * np.pi * 10 / CHANNELS * time)).astype(np.complex64)


def correlate(network, device, samples=1_000_000):
    """Mean products [channel] of A with B, and the part of the voltages that was blanked."""
    top = gr.top_block()
    sky = aperture.array_source("two-dish", samples=samples)
    bursts = blocks.vector_source_c(interference(20 * CHANNELS * 10), True)
    f_engine = aperture.f_engine(
        channels=CHANNELS, inputs=INPUTS, spectra_per_frame=SPECTRA, device=device
    )
    x_engine = aperture.xengine(
        channels=CHANNELS, inputs=INPUTS, spectra_per_frame=SPECTRA, integration=10, device=device
    )
    sink = blocks.vector_sink_c(CHANNELS * 3)
    for port in range(INPUTS):
        add = blocks.add_cc()
        top.connect((sky, port), (add, 0))
        top.connect(bursts, (add, 1))
        top.connect(add, (f_engine, port))
    between = [learned_blanker(network, device)] if network else []
    top.connect(f_engine, *between, x_engine, sink)
    top.run()
    for block in between:
        if block.error():
            raise RuntimeError(block.error())
    products = np.reshape(sink.data(), (-1, CHANNELS, 3))
    return products[:-1].mean(axis=0)  # the last one is shorter


def main():
    gpu = torch.cuda.is_available() and "cuda:0" in aperture.devices()
    network = trained("cuda" if gpu else "cpu")
    device = "cuda" if gpu else "cpu"
    for name, chosen in (("as it comes", None), ("blanked", network)):
        products = correlate(chosen, device)
        amplitude = np.abs(products[:, 1])
        powers = products[:, 0].real
        print(
            f"{name}: amplitude in the carrier's channel {amplitude[CHANNELS // 2 + 10]:.2f}, in "
            f"most channels {np.median(amplitude):.2f}, where the power is "
            f"{np.median(powers):.3f}"
        )


if __name__ == "__main__":
    main()
