#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files to which bytes are added, and which nobody else may change meanwhile."""

import contextlib
import errno
import os

from ..system import linux
from . import file_lock
from .growing_file import check_path


class CheckedFile:
    """
    A locked file to which whole pieces are added: what does not fit is not there at all.

    Parameters
    ----------
    path : str
        The file in messages.
    name : str
        The name of the file as long as it is written.
    descriptor : int
        The descriptor of that file, locked, for writing; it belongs to this object.
    """

    def __init__(self, path, name, descriptor):
        self.path, self.name, self._file, self._size = path, name, descriptor, None
        found = os.fstat(descriptor)
        self._identity = found.st_dev, found.st_ino

    def empty(self):
        """Removes what was there."""
        self.keep(0)

    def keep(self, size):
        """Removes what is behind so many bytes, to which others are added."""
        os.ftruncate(self._file, size)
        os.lseek(self._file, size, os.SEEK_SET)
        self._size = size

    def check(self):
        """Raises OSError if somebody else has removed, renamed, replaced, cut or extended the
        file."""
        try:
            found = os.lstat(self.name)
        except FileNotFoundError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._identity:
            raise FileNotFoundError(
                errno.ENOENT,
                "the file was removed, renamed or replaced while it was written",
                self.path,
            )
        if self._size is not None and found.st_size != self._size:
            raise OSError(
                errno.EIO,
                "somebody else changed the file while it was written: it has "
                f"{found.st_size} bytes instead of {self._size}",
                self.path,
            )

    def add(self, *pieces, over=0):
        """Adds all of these bytes, in place of the last `over` ones, which were zeros and are no
        more than these; on a full disk none, with an OSError that names the file."""
        self.check()
        begin = self._size - over
        try:
            if over:
                os.lseek(self._file, begin, os.SEEK_SET)
            for data in pieces:
                view = memoryview(data).cast("B")
                while len(view):
                    view = view[os.write(self._file, view) :]
        except OSError as error:
            os.ftruncate(self._file, begin)
            os.ftruncate(self._file, self._size)
            os.lseek(self._file, self._size, os.SEEK_SET)
            raise OSError(error.errno, error.strerror, self.path) from None
        self._size = begin + sum(memoryview(data).nbytes for data in pieces)

    def rewrite_begin(self, data):
        """Writes these bytes in place of those at the beginning of the file."""
        self.check()
        if os.pwrite(self._file, data, 0) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)

    def close(self):
        """The file stays where it is."""
        os.close(self._file)


class PartFile(CheckedFile):
    """
    A file that has its name only when it is whole: until then it is `.NAME.part` beside it, where
    what a process that was killed had written stays until the next writer of this name begins.
    Without `overwrite`, nothing may be there.

    Raises
    ------
    OSError
        Somebody else writes this file, or it could not be made.
    """

    def __init__(self, path, overwrite=True):
        check_path(path, overwrite)
        self._target, self._overwrite = os.path.realpath(path), overwrite
        name = part_name(path)
        super().__init__(
            path,
            name,
            file_lock.open_locked(
                name, path, others=(self._target, file_lock.lock_name(self._target))
            ),
        )
        self.empty()

    def reserve(self, size):
        """Reserves so many bytes of the disk for replace(), of a file to which nothing is added."""
        if size > self._size:
            try:
                linux.reserve_disk(self._file, self._size, size - self._size)
            except OSError as error:
                raise OSError(error.errno, error.strerror, self.path) from None
            self._size = size

    def replace(self, data):
        """Replaces the contents by these bytes; as many as were reserved always fit."""
        self.check()
        if os.pwrite(self._file, data, 0) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)
        os.ftruncate(self._file, len(data))
        self._size = len(data)

    def finish(self):
        """Gives the file its name, and closes it."""
        try:
            self.check()
            if self._overwrite:
                os.replace(self.name, self._target)
            else:
                self._take_free_name()
        finally:
            self.close()

    def _take_free_name(self):
        try:
            os.link(self.name, self._target)
        except FileExistsError:
            check_path(self.path, False)
            raise
        except OSError as error:
            if error.errno not in file_lock.NO_HARD_LINKS:
                raise
            check_path(self.path, False)
            os.rename(self.name, self._target)
            return
        os.unlink(self.name)

    def abandon(self):
        """The file never was."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.name)
        self.close()


@contextlib.contextmanager
def whole_file(path):
    """
    Gives the name of a hidden file beside `path`, for programs that write by name. It takes the
    place of what is there when the block ends, its bytes on the disk; after an error it is removed.

    Raises
    ------
    OSError
        It could not be written; the error names `path`.
    """
    check_path(path, overwrite=True)  # os.replace() would take the place of a device, too
    part = part_name(path)
    try:
        yield part
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        os.replace(part, os.path.realpath(path))
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(part)


def part_name(path):
    """Returns the path of a PartFile until it is whole."""
    folder, name = os.path.split(os.path.realpath(path))
    return os.path.join(folder, f".{name}.part")
