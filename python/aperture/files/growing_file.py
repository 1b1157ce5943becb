#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""A file that grows and is whole at any moment, whatever happens to its writer."""

import contextlib
import errno
import os
import stat
import tempfile

from ..parameters.rules import refuse
from . import file_lock
from .file_lock import NO_HARD_LINKS, LockFile
from .file_names import LONGEST_TIME, TIME

LONGEST_ADDITION = len(".settings")  # to a file's name, of those that are written beside it


class GrowingFile:
    """
    Keeps a file of a format that cannot be written safely in place (HDF5) whole.

    There are two copies, `.NAME.a` and `.NAME.b` beside the file; the file is a second name
    (a hard link) of one of them, always a closed one. What is new is appended to the other,
    together with what that had missed, and then the file's name is moved to it, which is
    atomic. A process that is killed, and a full disk, therefore cost what was being added at
    that moment and nothing else. Until `close`, twice the space is used and all is written
    twice. Where there are no hard links the file is copied instead of linked. A third hidden file,
    `.NAME.lock`, keeps a second writer out.

    Readers and programs that copy (`cp`) may open the file at any time and keep it open, with
    HDF5's locks or without: a copy that somebody still has open, or has given another name, is left
    to him, and a new one is made, which costs one copying of the file for each reading that
    outlasts an integration. The kernel tells who has a file open (a lease, see `file_lock.claim`);
    complete files are renamed, rather than HDF5's single-writer mode used, because in that a plain
    reader is refused and `cp` tears what is being written. Where the file system has no leases
    (many network file systems), and for readers on other machines, HDF5's locks must do, and `cp`
    needs a moment without writing.

    Parameters
    ----------
    path : str
        The file. It is created, or replaced, when the first pieces come.
    create : callable
        create() gives the bytes of a file without pieces.
    append : callable
        append(path, pieces, claim) opens the file, calls claim(descriptor of it) before anything is
        written, adds pieces, and closes the file; BlockingIOError, of its own or of claim(), says
        that somebody has this copy open.
    size : callable
        size(pieces): bytes that these add at most. They are reserved first, because the HDF5
        library is in an undefined state after a write that failed.
    overwrite : bool
        True if an existing file may be replaced.

    Raises
    ------
    FileNotFoundError, FileExistsError, PermissionError
        The folder is not there or not writable; the file is, and is not to be replaced; one of the
        hidden names is taken by a link, a folder or the like.
    """

    def __init__(self, path, create, append, size, overwrite=True):
        self._path = os.path.realpath(path)
        self._create, self._append, self._size = create, append, size
        self._overwrite = overwrite
        # descriptors of the copies that this object made: while they are open, no other file
        # can get the same inode number
        self._copies = {}
        self._names = {key: _hidden_name(self._path, key) for key in ("a", "b", "new")}
        self._current = None  # copy that is published
        self._missed = []  # pieces that the other one lacks
        self._begun = False
        self._leases = True  # true if the kernel tells who has a copy open
        self._lock = None  # held from the first pieces until it is closed
        check_path(path, overwrite)
        self.check_names(path)

    @staticmethod
    def check_names(path):
        """Refuses a file beside which something has one of the hidden names that is no file."""
        path = os.path.realpath(path)
        for key in ("a", "b", "new", "lock"):
            file_lock.is_there(_hidden_name(path, key))

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
            for name in self._names.values():  # a killed process left them behind
                file_lock.remove_leftover(name)
            target, late = "a", []
            self._make(target, self._begin_file)
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
        """
        Removes the copies, not the file.

        Raises
        ------
        OSError
            Some of them are still there.
        """
        if self._lock is None:
            return  # the file is somebody else's
        held, self._lock, problem = self._lock, None, None
        for remove in (
            *(lambda name=name: file_lock.remove_leftover(name) for name in self._names.values()),
            held.release,
        ):
            try:
                # a pipe or a folder is not ours
                with contextlib.suppress(FileExistsError):
                    remove()
            except OSError as error:
                problem = problem or error
        for key in list(self._copies):
            self._forget(key)
        self._current, self._begun, self._missed = None, False, []
        if problem is not None:
            raise OSError(
                problem.errno,
                f"the hidden files beside it could not be removed: {problem.strerror}",
                self._path,
            )

    def _begin_file(self, descriptor):
        # nobody else knows of this file yet
        try:
            file_lock.claim(descriptor)
            self._leases = True
        except OSError:
            self._leases = False
        with open(descriptor, "wb", closefd=False) as file:
            file.write(self._create())

    def _claim(self, descriptor):
        if self._leases:
            file_lock.claim(descriptor)

    def _forget(self, key):
        if key in self._copies:
            os.close(self._copies.pop(key))

    def _is_ours(self, key):
        """Returns whether this object's copy is there and has no other name; another one's is an
        error."""
        if key not in self._copies:
            return False
        try:
            found = os.lstat(self._names[key])
        except FileNotFoundError:
            return False
        if not os.path.samestat(found, os.fstat(self._copies[key])):
            raise FileExistsError(
                errno.EEXIST, "another program writes this file at the same time", self._path
            )
        return found.st_nlink == 1

    def _make(self, key, write):
        """A new file under a hidden name, complete or not there."""
        self._forget(key)
        self._copies[key] = file_lock.create_with(self._names[key], write)

    def _copy(self, key):
        """Makes the copy anew, from the published one; nothing is missing in it."""
        source = self._names[self._current]
        self._make(key, lambda descriptor: file_lock.copy_into(descriptor, source))
        return []

    def _grow(self, key, pieces):
        name = self._names[key]
        try:
            descriptor = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                self._claim(descriptor)
                # HDF5 cuts off at the end what it did not need
                os.posix_fallocate(descriptor, os.fstat(descriptor).st_size, self._size(pieces))
            finally:
                os.close(descriptor)
            # in between somebody may have opened it
            self._append(name, pieces, self._claim)
        except BlockingIOError:
            raise
        except BaseException:
            # half of it may be there
            self._forget(key)
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise

    def _publish(self, key):
        name, new = self._names[key], self._names["new"]
        if not self._begun and not self._overwrite:
            # fails if the file has come in the meantime
            try:
                os.link(name, self._path)
                return
            except FileExistsError:
                check_path(self._path, False)
                raise
            except OSError as error:
                if error.errno not in NO_HARD_LINKS:
                    raise
            check_path(self._path, False)
        file_lock.link_or_copy(name, new)
        os.rename(new, self._path)


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
