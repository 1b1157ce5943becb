#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Opening and locking of files so that no two writers, and no file of somebody else, come to harm.

Locks keep two writers from one file; who is killed loses them, too. Names that we make up beside a
file (`.NAME.lock`, `NAME.part`, ...) may be taken: what is there is never followed, opened for long
or written, and only a regular file, as a killed process leaves it behind, is removed.
"""

import contextlib
import errno
import os
import stat

from ..system import linux

# errors of flock() on file systems without locks
NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
# errors of os.link() on file systems without hard links
NO_HARD_LINKS = (
    errno.EPERM,
    errno.EACCES,
    errno.ENOTSUP,
    errno.EOPNOTSUPP,
    errno.ENOSYS,
    errno.EMLINK,
)
# errors of copy_file_range() where it is not there, or not for these files
NO_COPIES = (
    errno.ENOSYS,
    errno.ENOTSUP,
    errno.EOPNOTSUPP,
    errno.EXDEV,
    errno.EINVAL,
    errno.EPERM,
    errno.EBADF,
)
COPIED_AT_ONCE = 1 << 24  # bytes
KINDS = ((stat.S_ISLNK, "a symbolic link"), (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a FIFO"))


def is_there(name):
    """
    Returns whether there is a file of this name, which we made up.

    Raises
    ------
    FileExistsError
        Naming it: there is something that we do not make.
    """
    try:
        mode = os.lstat(name).st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(mode):
        kind = next((text for is_kind, text in KINDS if is_kind(mode)), "something that is no file")
        raise FileExistsError(
            errno.EEXIST,
            f"a file of this name is needed, but there is {kind}, which is left as it is",
            name,
        )
    return True


def remove_leftover(name):
    """Removes a file that a killed process left behind; as `is_there`."""
    if is_there(name):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def create(name):
    """A descriptor, to read and write, of a new file; FileExistsError if there is anything."""
    return os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def copy_bytes(source, target, count):
    """Copies the first bytes of an open file to the beginning of another one."""
    at = 0
    while at < count:
        copied = _copy_some(source, target, min(COPIED_AT_ONCE, count - at), at)
        if not copied:
            raise OSError(errno.EIO, f"the file ends after {at} of {count} bytes")
        at += copied


def _copy_some(source, target, count, at):
    """Copies bytes, without their coming here where the file system can share or copy them."""
    try:
        return linux.copy_range(source, target, count, at)
    except OSError as error:
        if error.errno not in NO_COPIES:
            raise
    return os.pwrite(target, os.pread(source, count, at), at)


def link_or_copy(old, new):
    """Gives a file a second name, or where there are no hard links a copy."""
    remove_leftover(new)
    try:
        os.link(old, new)
        return
    except OSError as error:
        if error.errno not in NO_HARD_LINKS:
            raise
    descriptor = create(new)
    try:
        with open(old, "rb") as source:
            copy_bytes(source.fileno(), descriptor, os.fstat(source.fileno()).st_size)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise
    finally:
        os.close(descriptor)


# ---- writers


def lock(descriptor, path, shared=False):
    """
    Locks an open file until it is closed; where there are no locks, nothing is done.

    Raises
    ------
    FileExistsError
        Naming `path`: somebody else writes it.
    """
    try:
        linux.try_lock(descriptor, shared)
    except BlockingIOError:
        raise FileExistsError(
            errno.EEXIST,
            "another program or block writes this file at the same time; give it another name",
            str(path),
        ) from None
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise


def open_locked(name, path, others=(), exclusive=False):
    """
    A descriptor of the file `name`, for writing, which is made if it is not there (`exclusive`:
    which must not be there), locked and not cut. `path` is what an error names. None of the files
    `others`, which writers of `path` may have locked instead, is locked.
    """
    for other in others:
        check_unlocked(other, path)  # before anything is made
    while True:
        if exclusive:
            descriptor = create(name)
        else:
            is_there(name)
            # a link or pipe that has come since then is not followed, and not waited for
            descriptor = os.open(
                name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666
            )
        try:
            lock(descriptor, path)
            for other in others:
                check_unlocked(other, path)
            # between the two calls, its writer may have removed or replaced it
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(name)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def check_unlocked(name, path):
    """Raises as `lock` if somebody writes the file `name`, if it is there. Readers' locks are
    none."""
    if not is_there(name):
        return
    with contextlib.suppress(FileNotFoundError):
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            lock(descriptor, path, shared=True)
        finally:
            os.close(descriptor)


def lock_name(path):
    """The name of a file's `LockFile`."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.lock")


class LockFile:
    """A hidden file beside one that cannot be locked itself, which says that it is written."""

    def __init__(self, path):
        self._name = lock_name(path)
        self._file = open_locked(self._name, path)
        try:
            # by those that lock the file itself
            check_unlocked(path, path)
        except BaseException:
            self.release()
            raise

    def release(self):
        """Removes it, if that can be; the lock is gone in any case."""
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._name)
        finally:
            os.close(self._file)
