#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Files of a header and samples, to which whole samples are added."""

import contextlib
import errno
import os

from . import file_lock
from .checked_file import CheckedFile
from .growing_file import check_path


def check_names(path, *endings):
    """
    Refuses a file beside which something has one of the names that we need, and is no file;
    endings: of names that are needed beside that of the file.
    """
    path = os.path.realpath(path)
    more = (path + ending for ending in endings)
    for name in (_part_name(path), _old_name(path), *more, file_lock.lock_name(path)):
        file_lock.is_there(name)


def _part_name(path):
    return path + ".part"


def _old_name(path):
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.old")


class SampleFile(CheckedFile):
    """
    A file of a header and samples, to which whole samples are added. One that `replaces` another,
    which begins with these bytes, grows beside it, as PATH.part, until it takes its place. Nobody
    else can write it while it is open; what it holds is left alone until it begins. Without
    `overwrite`, nothing may be there.
    """

    def __init__(self, path, replaces=b"", overwrite=True):
        self.target = os.path.realpath(path)
        part = _part_name(self.target)
        self._replaces = bool(replaces)
        if replaces:
            _remove_part(part, path, replaces)
            super().__init__(path, part, file_lock.open_locked(part, path, exclusive=True))
            return
        try:
            file = file_lock.open_locked(
                self.target,
                path,
                others=(part, file_lock.lock_name(self.target)),
                exclusive=not overwrite,
            )
        except FileExistsError:
            check_path(path, overwrite)
            raise
        super().__init__(path, self.target, file)

    def begin(self, header):
        """Removes what was there."""
        self.empty()
        self.add(header)

    def take_place(self):
        os.replace(self.name, self.target)
        self.name, self._replaces = self.target, False

    def close(self):
        """Leaves nothing of a file that did not take its place."""
        try:
            if self._replaces:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.name)
        finally:
            super().close()


def _remove_part(part, path, begin):
    """Removes what a killed process left behind, and nothing that begins otherwise."""
    if not file_lock.is_there(part):
        return
    file_lock.check_unlocked(part, path)
    with open(part, "rb") as file:
        start = file.read(len(begin))
    if start != begin[: len(start)]:
        raise FileExistsError(
            errno.EEXIST,
            "a file of this name is needed, but there is one that "
            "is none of this format, which is left as it is",
            part,
        )
    file_lock.remove_leftover(part)


def take_places(files):
    """
    Each file takes the place of the one that it replaces; where one cannot, none does. Until all
    have, what they replace has a second name, .NAME.old, from which it comes back.

    Raises
    ------
    OSError
        One could not, which it names.
    """
    kept = []  # (path, second name) of those that may have lost their places
    try:
        for file in files:
            if len(files) > 1:
                kept.append((file.target, _second_name(file.target)))
            file.take_place()
    except OSError as error:
        text = "; ".join([error.strerror, *(f"what was there is {old}" for old in _put_back(kept))])
        raise OSError(error.errno, text, file.path) from None
    for _, old in kept:
        with contextlib.suppress(OSError):
            os.unlink(old)


def _second_name(path):
    """A hard link to a file, or its copy where there are none."""
    old = _old_name(path)
    file_lock.link_or_copy(path, old)
    return old


def _put_back(kept):
    """Gives files back their names; returns the second names of those that did not get theirs."""
    failed = []
    for path, old in kept:
        try:
            os.replace(old, path)
            # os.replace() leaves two names of one file as they are
            with contextlib.suppress(FileNotFoundError):
                os.unlink(old)
        except OSError:
            failed.append(old)
    return failed
