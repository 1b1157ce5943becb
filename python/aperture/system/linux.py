#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Calls and files of Linux, or of Unix beyond what Python has everywhere.

Nothing else in the package calls them, or names the files (tests/test_source_tree.py). Each says
what another system would do in its place; errors are those of the system.
"""

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
from pathlib import Path

# ---- files


def try_lock(descriptor, shared=False):
    """
    Locks an open file until it is closed, with flock(2): BSD and macOS have the same.

    Raises
    ------
    BlockingIOError
        Somebody else has locked it.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    fcntl.flock(descriptor, kind | fcntl.LOCK_NB)


def lease(descriptor):
    """
    Makes sure that nobody else has an open file open, and lets those that come wait until it is
    closed, or the kernel's lease-break-time (45 s) is over. Elsewhere there are no leases: an
    OSError, as of a file system without them, makes the caller do without.

    Raises
    ------
    BlockingIOError
        Somebody has. Some network file systems say so always.
    """
    # the signal that tells of a waiting writer; SIGIO, the default, would end a process that does
    # not expect it
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)


def end_lease(descriptor):
    """Gives up what lease() got."""
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def copy_range(source, target, count, at):
    """Copies bytes within the kernel, from and to the offset `at`; returns how many. Elsewhere an
    OSError of ENOSYS makes the caller read and write them."""
    return os.copy_file_range(source, target, count, at, at)


def reserve_disk(descriptor, at, count):
    """Reserves bytes of the disk (posix_fallocate). macOS has F_PREALLOCATE of fcntl."""
    os.posix_fallocate(descriptor, at, count)


def most_open_files():
    """Returns how many files the process may have open. Any Unix has this."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def limit_process(open_files):
    """Lets the process open so many files, and leave no image of its memory behind. Any Unix has
    this."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# ---- cores, memory, threads


def usable_cores():
    """Returns how many cores the process may use. Elsewhere: os.cpu_count()."""
    return len(os.sched_getaffinity(0))


def free_memory():
    """Returns the bytes of memory that can be had. macOS tells them by host_statistics64()."""
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def name_thread(thread, name):
    """Names a thread, by its native number, where the system lists threads. macOS names the
    calling thread by pthread_setname_np()."""
    Path(f"/proc/self/task/{thread}/comm").write_text(name, encoding="ascii")


def process_figures(process):
    """
    {resident (bytes), threads, descriptors, seconds (of processors)} of a process; {} where that is
    gone. Elsewhere psutil has them.
    """
    try:
        with open(f"/proc/{int(process)}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        descriptors = len(os.listdir(f"/proc/{int(process)}/fd"))
    except (OSError, ValueError):
        return {}
    return {
        "resident": int(fields[21]) * os.sysconf("SC_PAGE_SIZE"),
        "threads": int(fields[17]),
        "descriptors": descriptors,
        "seconds": (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
    }


# ---- sockets

_RCVBUFFORCE = 33
_ATTACH_FILTER = 26


def force_receive_buffer(listener, size):
    """
    Sets the bytes that wait in the kernel for a socket, beyond what users may have
    (net.core.rmem_max). Elsewhere SO_RCVBUF is all there is.

    Raises
    ------
    PermissionError
        Only root may.
    """
    listener.setsockopt(socket.SOL_SOCKET, _RCVBUFFORCE, size)


def attach_filter(listener, code, count):
    """Gives a socket a filter of so many instructions of the classic BPF, of which it takes what
    they pass. Elsewhere the caller would look at the senders of all packets itself."""
    memory = ctypes.create_string_buffer(code)
    listener.setsockopt(
        socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("HL", count, ctypes.addressof(memory))
    )


# ---- files in which the kernel tells of the machine; without them nothing is found out

#: limits of System V shared memory, and more
KERNEL_SETTINGS = "/proc/sys/kernel"
#: units of time of all processors, see proc(5)
PROCESSOR_TIMES = "/proc/stat"
#: devices on USB, a folder each
USB_DEVICES = "/sys/bus/usb/devices"
#: MB of memory that the kernel lends to USB
USB_MEMORY = "/sys/module/usbcore/parameters/usbfs_memory_mb"
