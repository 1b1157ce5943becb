#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
A GPU's bus and its power, by the driver's own libraries, libcuda.so.1 and libnvidia-ml.so.1, and
nothing else: neither needs CUDA's toolkit, nor a package.
"""

import contextlib
import ctypes
import threading
import time

SAMPLE_TIME = 0.05  # s between two readings of the counter of energy


class MeterError(RuntimeError):
    """A call of the driver that failed; the message names it."""


def library(name):
    """The driver's library; MeterError: it is not there."""
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise MeterError(f"{name}: {error}") from None


class Driver:
    """
    One GPU, to which threads copy.

    Parameters
    ----------
    number : int
        Of the GPU, as in cuda:N.

    Raises
    ------
    MeterError
        There is no driver, or no such GPU.
    """

    def __init__(self, number):
        self._cuda = library("libcuda.so.1")
        self._call("cuInit", 0)
        self._device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(self._device), number)
        self._context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), self._device)

    def _call(self, name, *arguments):
        code = getattr(self._cuda, name)(*arguments)
        if code:
            raise MeterError(f"{name} failed with error {code}")

    def name(self):
        """The GPU's name."""
        text = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", text, len(text), self._device)
        return text.value.decode()

    def bus_address(self):
        """The GPU's address on the bus, by which other libraries know it."""
        text = ctypes.create_string_buffer(32)
        self._call("cuDeviceGetPCIBusId", text, len(text), self._device)
        return text.value.decode()

    def enter(self):
        """Makes the GPU that of the calling thread."""
        self._call("cuCtxSetCurrent", self._context)

    @contextlib.contextmanager
    def copier(self, size):
        """
        Gives two pinned buffers of `size` bytes, as memoryviews, and a function copy(number, bytes)
        that begins the copy of the first bytes of one of them to the device, and begins nothing
        before the last copy out of the *other* one is done, so that this one may be written then.
        The copies of a thread are done when the context ends.
        """
        self.enter()
        pointers = [ctypes.c_void_p() for _ in range(2)]
        events = [ctypes.c_void_p() for _ in range(2)]
        device, stream = ctypes.c_uint64(), ctypes.c_void_p()
        self._call("cuStreamCreate", ctypes.byref(stream), 1)  # others do not hold it up
        self._call("cuMemAlloc_v2", ctypes.byref(device), ctypes.c_size_t(2 * size))
        for pointer, event in zip(pointers, events):
            self._call("cuMemAllocHost_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
            self._call("cuEventCreate", ctypes.byref(event), 2)  # without times

        def copy(number, count):
            self._call(
                "cuMemcpyHtoDAsync_v2",
                ctypes.c_uint64(device.value + number * size),
                pointers[number],
                ctypes.c_size_t(count),
                stream,
            )
            self._call("cuEventRecord", events[number], stream)
            self._call("cuEventSynchronize", events[1 - number])

        try:
            yield [(ctypes.c_char * size).from_address(each.value) for each in pointers], copy
            self._call("cuStreamSynchronize", stream)
        finally:
            for pointer, event in zip(pointers, events):
                self._cuda.cuMemFreeHost(pointer)
                self._cuda.cuEventDestroy_v2(event)
            self._cuda.cuMemFree_v2(device)
            self._cuda.cuStreamDestroy_v2(stream)


class Energy:
    """
    The energy that a GPU has taken, read in a thread as long as this is entered.

    Parameters
    ----------
    bus_address : str
        As Driver gives it.

    Raises
    ------
    MeterError
        There is no NVML, or this GPU (a part of one, for example) does not tell its energy.
    """

    def __init__(self, bus_address):
        self._nvml = library("libnvidia-ml.so.1")
        self._call("nvmlInit_v2")
        self._handle = ctypes.c_void_p()
        self._call(
            "nvmlDeviceGetHandleByPciBusId_v2", bus_address.encode(), ctypes.byref(self._handle)
        )
        self._readings, self._end = [], threading.Event()
        self._thread = threading.Thread(target=self._read_on, daemon=True)
        self._read()

    def _call(self, name, *arguments):
        code = getattr(self._nvml, name)(*arguments)
        if code:
            raise MeterError(f"{name} failed with error {code}")

    def _read(self):
        joules = ctypes.c_ulonglong()
        self._call("nvmlDeviceGetTotalEnergyConsumption", self._handle, ctypes.byref(joules))
        self._readings.append((time.monotonic(), joules.value / 1e3))

    def _read_on(self):
        while not self._end.wait(SAMPLE_TIME):
            self._read()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def watts(self, begin, end):
        """The mean power between two times of time.monotonic(), as the readings allow."""
        inside = [reading for reading in self._readings if begin <= reading[0] <= end]
        if len(inside) < 2:
            return None
        (first, less), (last, more) = inside[0], inside[-1]
        return (more - less) / (last - first)
