#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The guard against a full disk: the oldest files go, or nothing more is recorded."""

import os
import re
from dataclasses import dataclass

from ..files.file_names import TIME

WHEN_FULL = ("stop", "oldest")
#: the part of the space to be left that must be free before recording goes on
ENOUGH = 1.25
TIME_PATTERN = r"(?P<time>\d{8}T\d{6}Z)(?:-\d+)?"
#: endings -> what stands for them in the names of files on the disk
ENDINGS = {
    ".raw": r"(?:\.\d{4,})?\.raw",
    ".sigmf-meta": r"\.sigmf-(?:meta|data)",
    ".sigmf-data": r"\.sigmf-(?:meta|data)",
}
#: endings of files that go with the one beside which they are
BESIDE = (".missing", ".yml")


@dataclass(frozen=True)
class Group:
    """Files of one output and one time, which go together. time: as in the names."""

    time: str
    paths: tuple


def pattern_of(template):
    """A regular expression of the names, without folder, that files of this template have."""
    stem, ending = os.path.splitext(os.path.basename(template))
    parts = re.split(r"(\{\w+\})", stem)
    text = "".join(
        TIME_PATTERN
        if part == TIME and parts.index(part) == number
        else r"\d{8}T\d{6}Z"
        if part == TIME
        else r"[^/]*"
        if re.fullmatch(r"\{\w+\}", part)
        else re.escape(part)
        for number, part in enumerate(parts)
    )
    return re.compile(text + ENDINGS.get(ending, re.escape(ending)))


def folder_of(template):
    """The folder of files of a template."""
    return os.path.dirname(template) or "."


def mount_of(folder):
    """The folder in which the file system of a folder is mounted."""
    folder = os.path.realpath(folder)
    while not os.path.ismount(folder):
        folder = os.path.dirname(folder)
    return folder


def groups_of(template):
    """The Groups of files that are there, oldest first. template: a name with {time} in it."""
    folder, pattern = folder_of(template), pattern_of(template)
    found = {}
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return []
    for entry in entries:
        match = pattern.fullmatch(entry.name)
        if match and entry.is_file(follow_symlinks=False):
            found.setdefault(match["time"], []).append(os.path.join(folder, entry.name))
    return [Group(time, tuple(sorted(paths))) for time, paths in sorted(found.items())]


class DiskGuard:
    """
    Looks after the space on the disks that files of these templates are on.

    Parameters
    ----------
    templates : list of str
        Names of files with {time} in them.
    least_free : int
        Bytes that are to be left; 0: nothing is done.
    when_full : str
        "stop": nothing more is recorded until there is room again; "oldest": the oldest files
        go, of all that have such a name, also of earlier runs; where there are none, as "stop".
    statvfs : callable
        A function like os.statvfs.
    others : list of str
        Names of files that are written, too, and never removed.

    Attributes: `recording`, whether there is room; `removed`, files that went; `free`, bytes, of
    the disk with the least room, None before the first look; `free_of`, bytes of each file system
    that is written to, others included, by the folder where it is mounted.
    """

    def __init__(self, templates, least_free, when_full="stop", statvfs=os.statvfs, others=()):
        self._templates, self._least, self._when_full = templates, int(least_free), when_full
        self._statvfs, self._others = statvfs, others
        self.recording, self.removed, self.free, self.free_of = True, 0, None, {}
        self._gone = set()  # folders that were not there at the last look

    def look(self, growing=()):
        """
        Looks once; growing: paths that are being written, which stay.

        Returns
        -------
        list of str
            What was done, a line each.
        """
        done = []
        folders, others = self._by_device(self._templates, done), self._by_device(self._others, [])
        self.free, room = None, True
        self.free_of = {
            mount_of(folder_of(templates[0])): self._free(templates[0])
            for templates in {**others, **folders}.values()
        }
        for templates in folders.values():
            free = self._free(templates[0])
            if self._least and free < self._least and self._when_full == "oldest":
                free = self._make_room(templates, set(map(os.path.realpath, growing)), done)
            self.free = free if self.free is None else min(self.free, free)
            room = room and free >= self._least * (1 if self.recording else ENOUGH)
        if self._least and room != self.recording:
            self.recording = room
            done.append(
                f"recording {'goes on' if room else 'stops'}: {self.free} bytes are free, "
                f"and {self._least} are to be left"
            )
        return done

    def _by_device(self, templates, done):
        """Templates by the file systems of their folders; one whose folder is not there is told of
        once."""
        found, gone = {}, {}
        for template in templates:
            folder = folder_of(template)
            try:
                found.setdefault(os.stat(folder).st_dev, []).append(template)
            except OSError as error:
                gone[folder] = error.strerror
        done += [f"{folder}: {text}" for folder, text in gone.items() if folder not in self._gone]
        self._gone = (self._gone - set(map(folder_of, templates))) | set(gone)
        return found

    def _free(self, template):
        found = self._statvfs(folder_of(template))
        return found.f_bavail * found.f_frsize

    def _make_room(self, templates, growing, done):
        groups = sorted(
            (group for template in templates for group in groups_of(template)),
            key=lambda group: group.time,
        )
        free = self._free(templates[0])
        for group in groups:
            if growing & set(map(os.path.realpath, group.paths)):
                continue
            for path in group.paths:
                done += self._remove(path)
            free = self._free(templates[0])
            if free >= self._least:
                break
        return free

    def _remove(self, path):
        try:
            os.unlink(path)
        except OSError as error:
            return [f"{path}: cannot be removed: {error.strerror}"]
        for ending in BESIDE:
            try:
                os.unlink(path + ending)
            except OSError:
                pass
        self.removed += 1
        return [f"{path}: removed, because the disk is nearly full"]
