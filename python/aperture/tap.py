#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A look at the newest items of any edge, for notebooks."""

import time

import numpy as np

from .aperture_python import taps
from .parameters.rules import as_whole, one_of, refuse
from .streams.item_formats import item_format


class TappedArray(np.ndarray):
    """
    The copy that tap() makes: an array of NumPy, and where in the stream it was.

    Attributes:
        offset: number of the (first) item, since the start of the flowgraph; of what is made of
            the array, None
        tags: gr.tag_t of these items that the edge still had, in their order
    """

    offset = None
    tags = ()


def _edge(block, port):
    """The output's tap; the block that writes it, and its port."""
    while hasattr(block, "tapped_block"):  # a hierarchical block that knows
        block, port = block.tapped_block(port)
    return taps.tap(block.to_basic_block(), port), block, port


def _format(block, port, size, dtype, shape):
    if dtype is None:
        found = item_format(block, port, size)
        if found is None:
            raise ValueError(
                f"dtype: what the items of {type(block).__name__} are is not known: "
                f"name the type of their elements, which have {size} bytes together, "
                "as dtype=np.complex64"
            )
        dtype, own = found
    else:
        dtype = np.dtype(dtype)
        if size % dtype.itemsize:
            refuse(
                "dtype",
                dtype.name,
                f"a type of which the items, of {size} bytes, have a whole number",
            )
        own = (size // dtype.itemsize,) if size > dtype.itemsize else ()
    if shape is None:
        return dtype, own
    shape = (shape,) if np.isscalar(shape) else tuple(shape)
    if int(np.prod(shape)) * dtype.itemsize != size:
        refuse("shape", shape, f"a shape of {size // dtype.itemsize} elements, which an item has")
    return dtype, shape


def _host(edge, items):
    memory = np.empty((items, edge.item_size), np.uint8)
    return memory, edge.copy(items, memory.ctypes.data)


def _to_numpy(edge, items, dtype, shape):
    memory, (first, count) = _host(edge, items)
    return memory[:count].view(dtype).reshape(count, *shape).view(TappedArray), first, count


def _to_cupy(edge, items, dtype, shape):
    import cupy

    class TappedArray(cupy.ndarray):
        offset = None
        tags = ()

    if edge.device_name.startswith("cuda"):
        with cupy.cuda.Device(int(edge.device_name.split(":")[1])):
            memory = cupy.empty((items, edge.item_size), np.uint8)
            # the memory may have been another array's, which work on the GPU still uses
            cupy.cuda.get_current_stream().synchronize()
            first, count = edge.copy(items, memory.data.ptr, on_device=True)
    else:
        memory, (first, count) = _host(edge, items)
        memory = cupy.asarray(memory)
    taken = memory.reshape(-1)[: count * edge.item_size].view(dtype).reshape(count, *shape)
    return taken.view(TappedArray), first, count


def _to_torch(edge, items, dtype, shape):
    import torch

    kind = torch.from_numpy(np.empty(0, dtype)).dtype
    if edge.device_name.startswith("cuda"):
        memory = torch.empty(items * edge.item_size, dtype=torch.uint8, device=edge.device_name)
        torch.cuda.current_stream(memory.device).synchronize()
        first, count = edge.copy(items, memory.data_ptr(), on_device=True)
    else:
        memory, (first, count) = _host(edge, items)
        memory = torch.from_numpy(memory.reshape(-1))
    taken = memory[: count * edge.item_size].view(kind).reshape(count, *shape)
    return taken, first, count


ARRAYS = {"numpy": _to_numpy, "cupy": _to_cupy, "torch": _to_torch}


def tap(block, port=0, items=None, dtype=None, shape=None, arrays="numpy", timeout=5.0):
    """
    The newest items that a block has put out, of any edge of a flowgraph that runs.

    Nothing is connected for it, no block waits for it, and the flowgraph goes on as before. What
    is returned was in the stream as it is, whole, from its `offset` on. After the end it is the
    last items; of an edge on a GPU only if it was looked at before the end, since the GPU's memory
    is freed then.

        frame = aperture.tap(f_engine)  # [channel][input][time]
        plt.plot(np.mean(np.abs(frame) ** 2, axis=(1, 2)))

    Args:
        block: the one whose output it is
        port: of its outputs
        items: how many, up to half of the block's buffer; fewer come where there are no more.
            None: the newest one, without an axis for items
        dtype, shape: of an item, where it is not known what it is: of our blocks and of blocks in
            Python it is, and of those of GNU Radio whose names say it, as multiply_cc. sc8 and sc16
            have re and im as the last axis
        arrays: numpy: in host memory; cupy, torch: arrays of that library, of items on a GPU on
            that GPU, without a way through the host
        timeout: seconds to wait for the first item

    Returns:
        an array [item, ...] with two attributes: `offset`, the number of the first item since the
        start of the flowgraph, and `tags`, gr.tag_t of these items. Tags are those that the edge
        still has: GNU Radio drops them when all readers have passed. States that were said on items
        before, such as rx_time and counted, are not among them: snapshot, connected from the start,
        has those of each item

    Raises:
        ValueError: naming the parameter, its value and what is allowed
        RuntimeError: the flowgraph has not been started; no item has come within the timeout, or
            before the end; the device has failed
    """
    one_of("arrays", arrays, ARRAYS)
    one = items is None
    edge, block, port = _edge(block, port)
    if not one and as_whole("items", items, 1) > edge.most:
        refuse("items", items, f"at most {edge.most}, half of the block's buffer")
    kind = _format(block, port, edge.item_size, dtype, shape)
    give_up = time.monotonic() + timeout
    while edge.written == 0:
        name = block.to_basic_block().alias()
        if edge.done:
            raise RuntimeError(f"{name} has ended, and has put out no item")
        if time.monotonic() > give_up:
            raise RuntimeError(f"{name} has put out no item in {timeout:g} s")
        time.sleep(0.001)
    taken, first, count = ARRAYS[arrays](edge, 1 if one else int(items), *kind)
    tags = sorted(edge.tags(first, count), key=lambda tag: tag.offset)
    taken = taken[0, ...] if one else taken
    taken.offset, taken.tags = first, tags
    return taken
