#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Locks that keep two writers from one file. Who is killed loses them, too."""

import contextlib
import errno
import fcntl
import os

# what flock() says on file systems without locks
NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def lock(descriptor, path):
    """
    Locks an open file until it is closed; where there are no locks, nothing is done.

    Raises
    ------
    FileExistsError
        Naming `path`: somebody else writes it.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise FileExistsError(errno.EEXIST, "another program or block writes this file at the same "
                              "time; give it another name", str(path)) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise


def open_locked(name, path, successor=None):
    """
    A descriptor of the file `name`, for writing, which is made if it is not there, locked and not
    cut; `path` is what the error names. A locked `successor`, which is to take the place of the
    file, is as good as a locked file.
    """
    while True:
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            lock(descriptor, path)
            if successor is not None:
                _check_unlocked(successor, path)
            # between the two calls, its writer may have removed or replaced it
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(name)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _check_unlocked(name, path):
    with contextlib.suppress(FileNotFoundError):
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            lock(descriptor, path)
        finally:
            os.close(descriptor)


class LockFile:
    """A hidden file beside one that cannot be locked itself, which says that it is written."""

    def __init__(self, path):
        folder, name = os.path.split(path)
        self._name = os.path.join(folder, f".{name}.lock")
        self._file = open_locked(self._name, path)

    def release(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._name)
        os.close(self._file)
