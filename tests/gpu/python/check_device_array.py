#!/usr/bin/env python3
#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
The array type of blocks on GPUs, as PyTorch, JAX, CuPy and Numba take it, in any Python.

    check_device_array.py FOLDER

FOLDER has the extension device_array, built for this Python. Exit code 77: PyTorch or a GPU is
missing. What orders streams and copies is PyTorch here.
"""

import importlib
import sys

sys.path.insert(0, sys.argv[1])
import device_array

assert "numpy" not in sys.modules and "gnuradio" not in sys.modules

try:
    import torch
except ImportError:
    print("skipped: PyTorch is not installed")
    sys.exit(77)
if not torch.cuda.is_available():
    print("skipped: there is no GPU")
    sys.exit(77)

failures = 0


def check(what, right):
    global failures
    failures += not right
    print(f"{'ok    ' if right else 'FAILED'} {what}", flush=True)


ours = torch.cuda.Stream()


def stream_of(handle):
    return torch.cuda.default_stream() if handle == 1 else torch.cuda.ExternalStream(handle)


def order(first, second):
    stream_of(second).wait_stream(stream_of(first))


copies = []


def copy(to, source, size):
    copies.append((to, source, size))


def array(tensor, typestr, read_only=False):
    stream = device_array.Stream(ours.cuda_stream, 0, order, copy)
    return device_array.DeviceArray(
        tensor.data_ptr(), list(tensor.shape), typestr, stream, read_only
    )


plain = torch.arange(3 * 5 * 7, device="cuda", dtype=torch.float32).reshape(3, 5, 7) * 1.5
voltages = torch.complex(plain, -plain).to(torch.complex64)

for tensor, typestr in ((plain, "<f4"), (voltages, "<c8"), (plain.to(torch.int8), "|i1")):
    a = array(tensor, typestr)
    check(
        f"shape and bytes, {typestr}",
        a.shape == (3, 5, 7) and a.nbytes == tensor.nbytes and len(a) == 3,
    )
    taken = torch.from_dlpack(a)
    check(
        f"PyTorch, {typestr}: the same memory",
        taken.data_ptr() == tensor.data_ptr() and torch.equal(taken, tensor),
    )
    a.stream.close()

# work of another stream is waited for, and waits
slow = torch.ones((4096, 4096), device="cuda")
result = torch.zeros(1000, device="cuda")
with torch.cuda.stream(ours):
    for _ in range(20):
        slow @ slow
    result += 1
a = array(result, "<f4")
taken = torch.from_dlpack(a)  # into the default stream
for _ in range(20):
    slow @ slow
taken *= 5
a.stream.close()
with torch.cuda.stream(ours):
    result += 2
ours.synchronize()
check("order of streams: (1) * 5 + 2", bool((result == 7).all()))

for name in ("cupy", "jax.numpy", "numba.cuda"):
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        print(f"not here: {name} ({error})")
        continue
    a = array(voltages, "<c8")
    if name == "cupy":
        taken = module.from_dlpack(a)
        check(
            "CuPy by DLPack",
            taken.data.ptr == voltages.data_ptr()
            and bool((taken.get() == voltages.cpu().numpy()).all()),
        )
        with module.cuda.ExternalStream(a.stream.handle):
            taken = module.asarray(a)
        check("CuPy by __cuda_array_interface__", taken.data.ptr == voltages.data_ptr())
        a.copy_from(module.zeros((3, 5, 7), module.complex64))
        check(
            "a copy of CuPy's array",
            copies[-1][0] == voltages.data_ptr() and copies[-1][2] == voltages.nbytes,
        )
    elif name == "jax.numpy":
        taken = module.from_dlpack(a)
        check(
            "JAX by DLPack",
            bool((module.asarray(taken).__array__() == voltages.cpu().numpy()).all()),
        )
        a.copy_from(taken * 2)
        check("a copy of JAX's array", copies[-1][0] == voltages.data_ptr())
    else:
        _ = a.stream.handle
        taken = module.as_cuda_array(a, sync=False)
        check("Numba", bool((taken.copy_to_host() == voltages.cpu().numpy()).all()))
    a.stream.close()

for what, function, text in (
    ("a forgotten stream", lambda a: a.__cuda_array_interface__, "the stream was forgotten"),
    ("an array on the host", lambda a: a.copy_from(torch.zeros(3, 5, 7)), "on the host"),
    ("a wrong shape", lambda a: a.copy_from(torch.zeros(3, 5, device="cuda")), "(3, 5)"),
    ("a wrong type", lambda a: a.copy_from(voltages), "<c8"),
    ("a list", lambda a: a.copy_from([1, 2]), "no array with DLPack"),
    ("part of an array", lambda a: a.__setitem__(0, plain), "only whole arrays"),
):
    try:
        function(array(plain, "<f4"))
        check(f"error of {what}", False)
    except Exception as error:
        check(f"error of {what}: {error}", text in str(error))
a = array(plain, "<f4")
a.expire()
try:
    torch.from_dlpack(a)
    check("error of an array that is used too late", False)
except RuntimeError as error:
    check(f"error of an array that is used too late: {error}", "after work()" in str(error))
print(f"{failures} failed")
sys.exit(failures > 0)
