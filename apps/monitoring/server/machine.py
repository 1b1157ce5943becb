#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Figures of GPUs, by nvidia-smi where there is one."""

import asyncio
import shutil

FIELDS = (
    "index",
    "name",
    "memory.used",
    "memory.total",
    "power.draw",
    "utilization.gpu",
    "temperature.gpu",
)
PERIOD, PATIENCE = 10.0, 5.0


async def gpu_figures(program):
    """A list of dictionaries, one for each GPU: bytes, watts, parts of 1, degrees Celsius."""
    process = await asyncio.create_subprocess_exec(
        program,
        f"--query-gpu={','.join(FIELDS)}",
        "--format=csv,noheader,nounits",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
    except asyncio.TimeoutError:
        process.kill()
        return []
    return [
        found
        for line in output.decode("utf-8", "replace").splitlines()
        if (found := _gpu(line.split(", "))) is not None
    ]


def _gpu(values):
    if len(values) != len(FIELDS):
        return None

    def number(text, factor=1.0):
        try:
            return float(text) * factor
        except ValueError:
            return None  # [N/A]

    return {
        "index": values[0].strip(),
        "name": values[1],
        "memory_used": number(values[2], 2**20),
        "memory_total": number(values[3], 2**20),
        "power": number(values[4]),
        "utilization": number(values[5], 0.01),
        "temperature": number(values[6]),
    }


async def watch_gpus(take):
    """Calls take(list) every ten seconds, for good; returns where there is no nvidia-smi."""
    program = shutil.which("nvidia-smi")
    while program is not None:
        try:
            take(await gpu_figures(program))
        except OSError:
            return
        await asyncio.sleep(PERIOD)
