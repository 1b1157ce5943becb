#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Blocks in Python whose items stay on the device."""

import contextlib
import functools
import warnings

import numpy as np
from gnuradio import gr

from .aperture_python import device_block_gateway
from .parameters.rules import as_whole, one_of, refuse
from .streams.block_array import BlockArray, Call, RestrictedArray
from .streams.python_block import keep_while_connected, let_go, text_with_place


def _cupy(stream):
    import cupy

    ours = cupy.cuda.ExternalStream(stream.handle, stream.device)
    return lambda: ours, cupy.from_dlpack


def _torch(stream):
    import torch

    ours = torch.cuda.ExternalStream(stream.handle, device=f"cuda:{stream.device}")
    return lambda: torch.cuda.stream(ours), torch.from_dlpack


def _numba(stream):
    from numba import cuda

    _ = stream.handle  # work is given to it by the kernel's launch: kernel[blocks, threads, stream]
    return contextlib.nullcontext, lambda array: cuda.as_cuda_array(array, sync=False)


#: library -> on a GPU: makes of the block's stream (a context in which it is the library's current
#: one, what takes an array), None: nothing is to be done
LIBRARIES = {"device": lambda stream: (None, None), "cupy": _cupy, "torch": _torch, "numba": _numba}


def _torch_on_host(array):
    import torch

    with warnings.catch_warnings():
        # PyTorch has no tensors that are not to be written, as inputs are
        warnings.simplefilter("ignore", UserWarning)
        return torch.from_numpy(array)


class _Outputs(tuple):
    """The arrays of the outputs, which are written and not replaced."""

    def __setitem__(self, port, value):
        raise TypeError(
            f"outputs[{port}] = ... would replace the array and write nothing: write "
            f"outputs[{port}][...] = ..."
        )


def _entries(name, signature):
    """An entry for each port, of in_sig or out_sig."""
    if signature is None or isinstance(signature, (list, tuple, gr.py_io_signature)):
        return list(signature or [])
    refuse(
        name,
        signature,
        "a list with an entry for each port, such as [numpy.float32]; [] or None: no ports",
    )


def _item(name, port, item):
    """(typestr, shape) of an entry of in_sig or out_sig, which is as gr.sync_block takes it."""
    kind, shape = item if isinstance(item, tuple) else (item, ())
    try:
        kind = np.dtype(kind)
    except TypeError:
        refuse(f"{name}[{port}]", item, "a type of NumPy, or (type, length) of vectors")
    base, inner = kind.subdtype or (kind, ())
    shape = (shape,) if np.isscalar(shape) else tuple(shape)
    # GNU Radio's vectors of length 1 are plain items
    shape = () if shape == (1,) else shape
    shape = tuple(int(n) for n in shape + inner)
    if base.kind not in "iufc" or any(n < 1 for n in shape):
        refuse(f"{name}[{port}]", item, "integers, floats or complex numbers, and lengths above 0")
    return base.str, list(shape)


def _signature(items):
    """Returns the signature of one side, as GNU Radio Companion asks for it: a vector is of one
    axis there."""
    types = [
        np.dtype((kind, (int(np.prod(shape)),))) if shape else np.dtype(kind)
        for kind, shape in items
    ]
    return gr.py_io_signature(len(types), len(types), types)


class device_block(gr.gateway.gateway_block):
    """
    A block in Python whose items are on a device: subclass it as gr.sync_block, also in an Embedded
    Python Block of GNU Radio Companion.

        class conjugate(aperture.device_block):
            def __init__(self):
                super().__init__("conjugate", [np.complex64], [np.complex64], arrays="cupy")

            def work(self, inputs, outputs):
                cupy.conjugate(inputs[0], out=outputs[0])

    Args:
        name: of the block
        in_sig, out_sig: a list with an entry for each port: a type of NumPy, or a pair of a type
            and a shape, of vectors
        device: auto (a GPU if there is one), cpu, cuda, cuda:N; for tests, emulated
        arrays: what work() gets on a GPU: "cupy", "torch", "numba": arrays of that library, with
            the block's stream as its current one (Numba: kernel[blocks, threads, self.stream]),
            on the CPU and on the emulated device tensors for "torch", otherwise NumPy's arrays;
            "device": arrays with DLPack and __cuda_array_interface__, which are given to any
            library, and have no arithmetic of their own, on the emulated device likewise. On the
            CPU these are NumPy's, and outputs refuse what they refuse on a GPU
        decimation, interpolation: so many items of each input for so many of each output
        history: items that each input has before the new ones, plus 1, as GNU Radio counts

    Raises:
        ValueError: naming the parameter, its value and what is allowed
    """

    #: seconds that work() may take and make nothing, though nothing else can come
    most_idle = 10

    def __init__(
        self,
        name,
        in_sig,
        out_sig,
        device="auto",
        arrays="device",
        decimation=1,
        interpolation=1,
        history=1,
    ):
        # not gateway_block's __init__(): the gateway is another one
        let_go()
        one_of("arrays", arrays, LIBRARIES)
        as_whole("decimation", decimation, 1)
        as_whole("interpolation", interpolation, 1)
        as_whole("history", history, 1)
        signatures = [
            [_item(what, port, item) for port, item in enumerate(_entries(what, signature))]
            for what, signature in (("in_sig", in_sig), ("out_sig", out_sig))
        ]
        if not any(signatures):
            refuse("out_sig", out_sig, "at least one input or output")
        self._arrays = arrays
        self._adapter = None
        self._error = None
        self.gateway = device_block_gateway(
            name, self, *signatures, int(decimation), int(interpolation), device, arrays == "device"
        )
        self.gateway.set_most_idle(self.most_idle)
        self._in_sig, self._out_sig = map(_signature, signatures)
        #: (typestr, shape) of the items of each output
        self.item_formats = signatures[1]
        if history > 1:
            self.gateway.set_history(int(history))
        #: the block's stream on a GPU, in work(): libraries work on it
        self.stream = None
        #: in work(), with arrays="cupy": the module of the arrays, CuPy on a GPU, otherwise NumPy
        self.xp = np

    def work(self, inputs, outputs):
        """
        Does the work of a call, to be overridden.

        Args:
            inputs, outputs: an array for each port, of shape [item, ...]; inputs are not to be
                written, outputs[0][...] = result writes an output. They are valid until work()
                returns. On a GPU work is enqueued and not waited for

        Returns:
            how many items were written (a sink: read), or None: all; below 0 ends the stream
        """
        raise NotImplementedError("a subclass of device_block has a method work()")

    def in_sig(self):
        """GNU Radio's py_io_signature of the inputs."""
        return self._in_sig

    def out_sig(self):
        """Returns the types of the outputs."""
        return self._out_sig

    def start(self):
        """Is called before the first call of each run, in the block's thread."""

    def stop(self):
        """Is called after the last call."""

    def error(self):
        """Returns what ended the block; empty if there was no error since the last start."""
        return self.gateway.error()

    def _not_in_work(self, name):
        raise RuntimeError(
            f"{name}() is not for a device_block: work() returns how many items it "
            "has written, and what belongs to these is consumed"
        )

    def consume(self, port, items):
        """Not for a device_block: what belongs to the items that work() returns is consumed."""
        self._not_in_work("consume")

    def consume_each(self, items):
        """Raises the error of consume(): it is not for a device_block."""
        self._not_in_work("consume_each")

    def produce(self, port, items):
        """Not for a device_block: work() returns how many items it has written."""
        self._not_in_work("produce")

    def to_basic_block(self):
        keep_while_connected(self)
        return self.gateway.to_basic_block()

    def set_msg_handler(self, which_port, handler_function):
        """
        Has messages handled by a method, as with gr.sync_block.

        Args:
            which_port: of message_port_register_in(), a PMT symbol
            handler_function: a method of this object, which gets the message
        """
        self.gateway.handle_messages(which_port, handler_function.__name__)

    def __getattr__(self, name):
        # the rest is gr.block's: nitems_read(), add_item_tag(), message_port_pub(), ...
        if name == "gateway":
            raise AttributeError("device_block.__init__() must be called first")
        return getattr(self.gateway, name)

    # ---- for the gateway: they return None, or the text of an error

    def _guarded(self, function, *arguments):
        try:
            return function(*arguments)
        except BaseException as error:  # SystemExit, too
            return text_with_place(error, self.gateway.debug)

    def _begin(self):
        self._adapter = None
        return self._guarded(lambda: self.start() and None)

    def _end(self):
        return self._guarded(lambda: self.stop() and None)

    def _handle(self, method, message):
        return self._guarded(lambda: getattr(self, method)(message) and None)

    def _call(self, inputs, outputs):
        # every microsecond here is one in which no other block in Python can go on
        try:
            if self._adapter is None:
                self._adapter = self._make_adapter((inputs or outputs)[0])
            context, convert = self._adapter
            if context is None:
                made = self.work(inputs, _Outputs(outputs))
            else:
                with context() as call:
                    take = convert or call.take
                    made = self.work(list(map(take, inputs)), _Outputs(map(take, outputs)))
            if made is None:
                self._need_taken(outputs)
            elif not isinstance(made, (int, np.integer)):
                raise TypeError(
                    f"work() returned {made!r}: it must be a number of items, or None: all"
                )
            elif made > 0:
                self._need_taken(outputs)
            return made
        except BaseException as error:  # SystemExit, too
            return text_with_place(error, self.gateway.debug)

    def _need_taken(self, outputs):
        """Raises for an output of the device that nobody has asked for."""
        for port, array in enumerate(outputs):
            if not getattr(array, "taken", True):
                raise RuntimeError(
                    f"work() has made items of outputs[{port}] and written none: it "
                    f"must write them, outputs[{port}][...] = result, or return "
                    "how many there are, 0"
                )

    def _make_adapter(self, array):
        if not isinstance(array, np.ndarray):
            self.stream = array.stream
            if self._arrays == "cupy":
                import cupy

                self.xp = cupy
            return LIBRARIES[self._arrays](array.stream)
        if self._arrays == "torch":
            return contextlib.nullcontext, _torch_on_host
        kind = RestrictedArray if self._arrays == "device" else BlockArray
        return functools.partial(Call, kind), None
