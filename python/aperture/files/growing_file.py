#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A file that grows and is whole at any moment, whatever happens to its writer."""

import contextlib
import errno
import math
import os
import stat
import tempfile
import time

from ..parameters.rules import refuse
from ..system import linux
from . import file_lock
from .file_lock import NO_HARD_LINKS, LockFile
from .file_names import LONGEST_TIME, TIME

#: seconds within which who opens a file has read its beginning
SETTLED = 2.0
LEAST_AHEAD = 1 << 20  # bytes
#: seconds; tests have their own
clock, wait = time.monotonic, time.sleep
LONGEST_ADDITION = len(".settings")  # to a file's name, of those that are written beside it


class Space:
    """The bytes of a growing file, which contents write into; what is behind `end` is nothing."""

    def __init__(self):
        self.descriptor = None
        self.end = 0

    def write(self, data, address):
        """Writes all of the data, bytes or an array, at an address."""
        left = memoryview(data).cast("B")
        while len(left):
            written = os.pwrite(self.descriptor, left, address)
            left, address = left[written:], address + written

    def allocate(self, data):
        """Writes data at the end, and gives their address, a multiple of 8. After an OSError they
        are not there, and what was there is."""
        address = -(-self.end // 8) * 8
        self.write(data, address)
        self.end = address + memoryview(data).nbytes
        return address


class _Length:
    """
    The length of a growing file, which is always ahead of its contents.

    Who opens a file of HDF5's asks for its length first, then reads what is published, and takes a
    length that is less for damage. So what is published ends before the length that the file had
    when it was certainly not being opened: the room that comes next is there before it is needed,
    as a hole that takes no space.
    """

    def __init__(self):
        self._settled = 0  # a length that nobody who opens the file can have missed
        self._lengths = []  # (time, length) of later ones
        self._ends = []  # (time, end of the contents) of the last seconds

    @property
    def settled(self):
        """The length that everybody knows who opens the file now."""
        self._settle(clock() - SETTLED)
        return self._settled

    def nobody_opens(self):
        """Nobody has the file open: all lengths so far are known to who will."""
        self._settle(math.inf)

    def _settle(self, until):
        while self._lengths and self._lengths[0][0] <= until:
            self._settled = self._lengths.pop(0)[1]

    def extend(self, descriptor, end):
        """Makes the file longer where its contents have come near its end, as they grow."""
        now = clock()
        while len(self._ends) > 1 and self._ends[1][0] <= now - 2 * SETTLED:
            del self._ends[0]
        self._ends.append((now, end))
        ahead = max(LEAST_AHEAD, 2 * (end - self._ends[0][1]))
        last = self._lengths[-1][1] if self._lengths else self._settled
        if last >= end + ahead:
            return
        try:
            os.ftruncate(descriptor, max(last, end + 2 * ahead))
            self._lengths.append((now, max(last, end + 2 * ahead)))
        except OSError:
            # files have a limit here, or no holes: the contents are all there is
            self._lengths.append((now, max(last, end)))


class GrowingFile:
    """
    Keeps a file whole that grows in place, without its being written twice.

    Its contents (see `Uvh5Contents`) add what is new where no state that was published has
    anything, and publish a new state by writing one number. A process that is killed, and a full
    disk, therefore cost what was added since then and nothing else. A hidden file, `.NAME.lock`,
    keeps a second writer out; another one, `.NAME.new`, is the file until its first state is
    complete, and for a moment when it is copied.

    Readers and programs that copy (`cp`) may open the file at any time and keep it open, with
    HDF5's locks or without: they have the state of the moment when they opened it. A file that
    somebody has given another name, moved or removed is left to him, and a copy takes its place.
    The kernel tells whether somebody has the file open (a lease, see `linux.lease`); if not,
    contents may use the room of older states again, and who opens the file waits until a state is
    published. Where the file system has no leases (many network file systems), older states stay.
    While it grows, the file is longer than its contents by a hole, see `_Length`.

    Parameters
    ----------
    path : str
        The file. It is created, or replaced, when the first pieces come.
    begin : callable
        begin(space) writes contents without pieces into an empty Space and returns them, an object
        with write(piece), which changes nothing if it fails; flush(), which writes what write()
        has left for later; publish(alone), which publishes it (alone: nobody else has the file
        open, or can open it until then); and `roots`, which says what is published.
    overwrite : bool
        True if an existing file may be replaced.

    Raises
    ------
    FileNotFoundError, FileExistsError, PermissionError
        The folder is not there or not writable; the file is, and is not to be replaced; one of the
        hidden names is taken by a link, a folder or the like.
    """

    def __init__(self, path, begin, overwrite=True):
        self._path = os.path.realpath(path)
        self._begin, self._overwrite = begin, overwrite
        self._new = _hidden_name(self._path, "new")
        self._space, self._contents = None, None
        self._named = False  # the file has its name
        self._written = self._published = 0  # pieces
        self._whole = 0  # bytes of what is published
        self._length = None
        self._leases = True  # the kernel tells who has the file open
        self._lock = None  # held from the first pieces until it is closed
        check_path(path, overwrite)
        self.check_names(path)

    @staticmethod
    def check_names(path):
        """Refuses a file beside which something has one of the hidden names that is no file."""
        path = os.path.realpath(path)
        for key in ("new", "lock"):
            file_lock.is_there(_hidden_name(path, key))

    def add(self, pieces):
        """
        Adds pieces and publishes them.

        Raises
        ------
        OSError
            As `write` and `publish`; pieces in front of the one that failed are published.
        """
        try:
            for piece in pieces:
                self.write(piece)
        finally:
            self.publish()

    def write(self, piece):
        """
        Adds a piece, which readers see after the next `publish`.

        Raises
        ------
        OSError
            It was not added, for example because the disk is full, or because somebody else writes
            this file; what was added before is still there.
        """
        if self._lock is None:
            self._lock = LockFile(self._path)
        if self._space is None:
            self._create()
        elif self._named and not self._is_ours():
            self._copy()
        try:
            self._contents.write(piece)
            self._written += 1
        except BaseException:
            if not self._written:
                self._forget()
            raise

    def publish(self, now=True):
        """
        Publishes what was written; when this returns True it is in the file.

        Parameters
        ----------
        now : bool
            False: where somebody has the file open, and more was written than the file was long
            before, nothing is published yet, rather than waited for some seconds.

        Raises
        ------
        OSError
            It is not, and the file is as it was.
        """
        if self._space is None or self._published == self._written:
            return True
        descriptor = self._space.descriptor
        self._contents.flush()
        if not self._named:
            self._contents.publish(alone=True)
            self._length.extend(descriptor, self._space.end)
            self._length.nobody_opens()
            try:
                self._give_name()
            except FileExistsError:
                self._forget()
                raise
        elif not self._is_ours():
            self._copy()
        else:
            self._length.extend(descriptor, self._space.end)
            while not self._publish_in_place(descriptor):
                if not now:
                    return False
                wait(SETTLED / 20)
        self._published, self._whole = self._written, self._space.end
        return True

    def _publish_in_place(self, descriptor):
        """Returns whether what was written is published; otherwise somebody may be opening the
        file who does not know its length."""
        if self._claim(descriptor):
            try:
                self._length.nobody_opens()
                self._contents.publish(alone=True)
            finally:
                linux.end_lease(descriptor)
            return True
        if self._space.end > self._length.settled:
            return False
        self._contents.publish(alone=False)
        return True

    @property
    def size(self):
        """Bytes of the file, with what is not published yet."""
        return 0 if self._space is None else self._space.end

    def close(self):
        """
        Publishes what was written, and closes the file.

        Raises
        ------
        OSError
            It could not be published, or the hidden files are still there.
        """
        if self._lock is None:
            return  # the file is somebody else's
        try:
            self.publish()
            # nothing is behind the contents any more
            if self._named:
                os.ftruncate(self._space.descriptor, self._space.end)
        finally:
            self._forget()
            self._release()

    def _release(self):
        held, self._lock, problem = self._lock, None, None
        for remove in (lambda: file_lock.remove_leftover(self._new), held.release):
            try:
                # a pipe or a folder is not ours
                with contextlib.suppress(FileExistsError):
                    remove()
            except OSError as error:
                problem = problem or error
        if problem is not None:
            raise OSError(
                problem.errno,
                f"the hidden files beside it could not be removed: {problem.strerror}",
                self._path,
            )

    def _create(self):
        """Makes a file without pieces that has no name yet but a hidden one."""
        self._space, self._length = Space(), _Length()
        try:
            self._space.descriptor = self._open_new()
            # nobody else knows of this file yet
            self._leases = True
            self._leases = self._claim(self._space.descriptor)
            if self._leases:
                linux.end_lease(self._space.descriptor)
            self._contents = self._begin(self._space)
        except BaseException:
            self._forget()
            raise

    def _open_new(self):
        file_lock.remove_leftover(self._new)  # a killed process left it behind
        return file_lock.create(self._new)

    def _forget(self):
        """Closes the file, and removes it where it has not got its name."""
        space, self._space, self._contents = self._space, None, None
        named, self._named = self._named, False
        self._written = self._published = 0
        if space is None or space.descriptor is None:
            return
        os.close(space.descriptor)
        if not named:
            with contextlib.suppress(OSError):
                os.unlink(self._new)

    def _claim(self, descriptor):
        """Returns whether nobody else has the file open, nor can open it until it is released."""
        if not self._leases:
            return False
        try:
            linux.lease(descriptor)
        except OSError:
            return False
        return True

    def _is_ours(self):
        """Returns whether the file is still under its name, and under no other one."""
        try:
            found = os.lstat(self._path)
        except FileNotFoundError:
            return False
        return found.st_nlink == 1 and os.path.samestat(found, os.fstat(self._space.descriptor))

    def _give_name(self):
        """Gives the complete file its name."""
        if not self._overwrite:
            # fails if the file has come in the meantime
            try:
                os.link(self._new, self._path)
                os.unlink(self._new)
                self._named = True
                return
            except FileExistsError:
                check_path(self._path, False)
                raise
            except OSError as error:
                if error.errno not in NO_HARD_LINKS:
                    raise
            check_path(self._path, False)
        os.rename(self._new, self._path)
        self._named = True

    def _copy(self):
        """Publishes what was written in a copy of the file, which takes its place."""
        self._contents.flush()
        old, roots = self._space.descriptor, self._contents.roots
        new = self._open_new()
        try:
            file_lock.copy_bytes(old, new, self._space.end)
            self._space.descriptor = new
            self._contents.publish(alone=True)
            length = _Length()
            length.extend(new, self._space.end)
            length.nobody_opens()
            os.rename(self._new, self._path)
        except BaseException:
            self._space.descriptor, self._contents.roots = old, roots
            os.close(new)
            with contextlib.suppress(OSError):
                os.unlink(self._new)
            raise
        self._length = length
        # the other one gets nothing that was not published
        with contextlib.suppress(OSError):
            os.ftruncate(old, self._whole)
        os.close(old)
        self._published, self._whole = self._written, self._space.end


def _hidden_name(path, key):
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{key}")


def file_name(filename):
    """A parameter `filename` as a str."""
    if not isinstance(filename, (str, bytes, os.PathLike)):
        refuse("filename", filename, "the name of a file")
    return os.fsdecode(filename)


def check_path(path, overwrite):
    """
    Refuses, before anything is computed, a path that could not be written in the end.

    Raises
    ------
    ValueError
        It is no name.
    OSError
        Naming the path: FileNotFoundError, FileExistsError, PermissionError, or what the file
        system says when a file is to be made there.
    """
    if not os.path.basename(path):
        refuse("filename", os.fspath(path), "the name of a file")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "there is no folder for this file", str(path))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "the folder of this file is not writable", str(path))
    longest = os.pathconf(folder, "PC_NAME_MAX") - LONGEST_ADDITION
    # the name that a pattern becomes must fit, too
    name = os.path.basename(os.path.realpath(path)).replace(TIME, LONGEST_TIME)
    if len(os.fsencode(name)) > longest:
        raise OSError(
            errno.ENAMETOOLONG, f"the name of this file has more than {longest} bytes", str(path)
        )
    try:
        # some say that they are writable, and are not: /proc
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OSError(
            error.errno, f"no file can be made in its folder: {error.strerror}", str(path)
        ) from None
    if not os.path.exists(path):
        return
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise FileExistsError(errno.EEXIST, "there is something that is not a file", str(path))
    if not overwrite:
        raise FileExistsError(errno.EEXIST, "the file exists, and overwrite is False", str(path))
