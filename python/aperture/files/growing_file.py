#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A file that grows and is whole at any moment, whatever happens to its writer."""

import errno
import os
import shutil
import stat
import tempfile

from ..parameters.errors import refuse
from .file_lock import LockFile

# what os.link says on file systems without hard links
NO_HARD_LINKS = (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS,
                 errno.EMLINK)
LONGEST_ADDITION = len(".missing")  # to a file's name, of those that are written beside it


class GrowingFile:
    """
    Keeps a file of a format that cannot be written safely in place (HDF5) whole.

    There are two copies, `.NAME.a` and `.NAME.b` beside the file; the file is a second name
    (a hard link) of one of them, always a closed one. What is new is appended to the other,
    together with what that had missed, and then the file's name is moved to it, which is
    atomic. A process that is killed, and a full disk, therefore cost what was being added at
    that moment and nothing else. Until `close`, twice the space is used and all is written
    twice. Readers may open the file at any time: one that still holds a copy when it is to be
    appended to keeps it, and a new copy is made. Where there are no hard links the file is
    copied instead of linked. A third hidden file, `.NAME.lock`, keeps a second writer out.

    Parameters
    ----------
    path : str
        The file. It is created, or replaced, when the first pieces come.
    create : callable
        create(path) writes a file without pieces.
    append : callable
        append(path, pieces) adds pieces, and closes the file; BlockingIOError, before anything
        is written, says that somebody reads this copy.
    size : callable
        size(pieces): bytes that these add at most. They are reserved first, because the HDF5
        library is in an undefined state after a write that failed.
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    FileNotFoundError, FileExistsError, PermissionError
        The folder is not there or not writable; the file is, and is not to be replaced.
    """

    def __init__(self, path, create, append, size, overwrite=True):
        self._path = os.path.realpath(path)
        self._create, self._append, self._size = create, append, size
        self._overwrite = overwrite
        folder, name = os.path.split(self._path)
        self._names = {key: os.path.join(folder, f".{name}.{key}") for key in ("a", "b", "new")}
        # descriptors of the copies that this object made: while they are open, no other file
        # can get the same inode number
        self._copies = {}
        self._current = None     # copy that is published
        self._missed = []        # pieces that the other one lacks
        self._begun = False
        self._lock = None        # held from the first pieces until it is closed
        check_path(path, overwrite)

    def add(self, pieces):
        """
        Adds pieces; when this returns they are in the file.

        Raises
        ------
        OSError
            They are not, for example because the disk is full, or because somebody else writes this
            file; it is as it was.
        """
        pieces = list(pieces)
        if self._lock is None:
            self._lock = LockFile(self._path)
        if not self._begun:
            self._remove_copies()  # what a killed process left behind
            target, late = "a", []
            self._make(target, self._create)
        else:
            target = "b" if self._current == "a" else "a"
            late = self._missed
            if not self._is_ours(target):
                late = self._copy(target)
        try:
            self._grow(target, late + pieces)
        except BlockingIOError:
            # somebody reads this copy: it is theirs now
            self._copy(target)
            self._grow(target, pieces)
        self._publish(target)
        self._current, self._missed, self._begun = target, pieces, True

    def close(self):
        """Removes the copies, not the file."""
        if self._lock is None:
            return               # what is there is somebody else's
        self._remove_copies()
        self._lock.release()
        self._lock = None

    def _remove_copies(self):
        for name in self._names.values():
            try:
                os.unlink(name)
            except FileNotFoundError:
                pass
        for key in list(self._copies):
            self._forget(key)
        self._current = None

    def _forget(self, key):
        if key in self._copies:
            os.close(self._copies.pop(key))

    def _is_ours(self, key):
        """Whether this object's copy is there; another one's is an error."""
        if key not in self._copies:
            return False
        try:
            found = os.stat(self._names[key])
        except FileNotFoundError:
            return False
        if not os.path.samestat(found, os.fstat(self._copies[key])):
            raise FileExistsError(errno.EEXIST, "another program writes this file at the same "
                                  "time", self._path)
        return True

    def _make(self, key, write):
        """A new file under a hidden name, complete or not there."""
        name = self._names[key]
        try:
            os.unlink(name)
        except FileNotFoundError:
            pass
        self._forget(key)
        try:
            write(name)
        except BaseException:
            if os.path.exists(name):
                os.unlink(name)
            raise
        self._copies[key] = os.open(name, os.O_PATH | os.O_CLOEXEC)

    def _copy(self, key):
        """Makes the copy anew; nothing is missing in it."""
        self._make(key, lambda name: shutil.copyfile(self._path, name))
        return []

    def _grow(self, key, pieces):
        name = self._names[key]
        try:
            with open(name, "r+b") as file:
                # HDF5 cuts off at the end what it did not need
                os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size,
                                   self._size(pieces))
            self._append(name, pieces)
        except BlockingIOError:
            raise
        except BaseException:
            # half of it may be there
            self._forget(key)
            os.unlink(name)
            raise

    def _publish(self, key):
        new = self._names["new"]
        try:
            os.unlink(new)
        except FileNotFoundError:
            pass
        try:
            os.link(self._names[key], new)
        except OSError as error:
            if error.errno not in NO_HARD_LINKS:
                raise
            shutil.copyfile(self._names[key], new)
        if not self._begun and not self._overwrite:
            check_path(self._path, False)
        os.rename(new, self._path)


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
        Naming the path: FileNotFoundError, FileExistsError, PermissionError, or what the file system
        says when a file is to be made there.
    """
    if not os.path.basename(path):
        refuse("filename", os.fspath(path), "the name of a file")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "there is no folder for this file", str(path))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "the folder of this file is not writable", str(path))
    longest = os.pathconf(folder, "PC_NAME_MAX") - LONGEST_ADDITION
    if len(os.fsencode(os.path.basename(os.path.realpath(path)))) > longest:
        raise OSError(errno.ENAMETOOLONG, f"the name of this file has more than {longest} bytes",
                      str(path))
    try:
        # some say that they are writable, and are not: /proc
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OSError(error.errno, f"no file can be made in its folder: {error.strerror}",
                      str(path)) from None
    if not os.path.exists(path):
        return
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise FileExistsError(errno.EEXIST, "there is something that is not a file", str(path))
    if not overwrite:
        raise FileExistsError(errno.EEXIST, "the file exists, and overwrite is False", str(path))
