#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
Places of input files: in the working folder, or beside the flowgraph.

GNU Radio Companion starts a flowgraph in the folder of its .grc; a shell starts it wherever the
user is. A relative name in a flowgraph means the same file in both cases. Where it may not write
into that folder, as that of the installed examples, it writes and starts the flowgraph
in the folder of temporary files instead, and what an example reads stays beside its .grc.
"""

import errno
import functools
import os
import pathlib
import sys
import tempfile

COMPARED = 1 << 20  # bytes, from the start of two files of one length: noise differs at once


def find_file(name):
    """
    The name under which an input file can be opened.

    That is the name itself where it is absolute, or there in the working folder; else that of a
    file beside the script that runs (the flowgraph as GNU Radio Companion has written it; the
    programs of gr-aperture, whose names do not end in .py, have no files beside them). Where both
    are there and differ, a warning names the one that is taken, the first. A script in the folder
    of temporary files may be an installed example: then their folders are looked through, too.

    name: str, bytes or path, with ~ for the user's home; outputs need none of this: they go to the
    working folder. Raises FileNotFoundError that names both folders.
    """
    found = look_for(name)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, f"No such file{looked_in(name)}", os.fsdecode(name))
    return found


def look_for(name):
    """Finds a file as find_file() does, but None where there is none; a name that is looked for
    nowhere else is returned as it is, whether or not it is there."""
    name = os.path.expanduser(os.fspath(name))
    folder = _folder_of_script()
    if not name or os.path.isabs(name) or folder is None:
        return name
    folders = [folder, *(_example_folders() if _is_temporary(folder) else ())]
    beside, *examples = (
        os.path.join(os.fsencode(each) if isinstance(name, bytes) else each, name)
        for each in folders
    )
    if _is_there(name):
        if os.path.isfile(name) and os.path.isfile(beside) and not _equal(name, beside):
            _warn(os.path.abspath(name), beside)
        return name
    return next(filter(_is_there, [beside, *examples]), None)


def looked_in(name):
    """The end of a message about a file that is not there: where a relative name was looked for."""
    folder, started = _folder_of_script(), os.getcwd()
    if folder is None or os.path.isabs(os.path.expanduser(os.fspath(name))):
        return ""
    examples = ", or beside the installed examples" if _is_temporary(folder) else ""
    if _same(started, folder):
        return f" in {folder}{examples}"
    return f" in {started}, where the flowgraph was started, or in {folder}, where it is{examples}"


def _folder_of_script():
    """The folder of the script that runs, None where there is none: in a shell of Python."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.dirname(os.path.abspath(script)) if script and script.endswith(".py") else None


def _is_temporary(folder):
    """Returns whether a flowgraph in this folder may have its .grc elsewhere."""
    return _same(folder, tempfile.gettempdir())


@functools.cache
def _example_folders(package=__file__):
    """The folders of the examples that are installed under the same prefix as this package."""
    for prefix in pathlib.Path(package).resolve().parents:
        examples = prefix / "share/gnuradio/examples/gr-aperture"
        if examples.is_dir():
            return [str(path) for path in sorted(examples.rglob("*")) if path.is_dir()] + [
                str(examples)
            ]
    return []


def _is_there(name):
    """Returns whether there is something of this name, be it that it cannot be read: its reader
    says so."""
    try:
        os.stat(name)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        pass
    return True


def _same(one, other):
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _equal(one, other):
    """Returns whether two files are one, or have the same in them."""
    if _same(one, other):
        return True
    try:
        with open(one, "rb") as file, open(other, "rb") as second:
            return os.fstat(file.fileno()).st_size == os.fstat(
                second.fileno()
            ).st_size and file.read(COMPARED) == second.read(COMPARED)
    except OSError:
        return False


@functools.cache  # once, however many blocks read it
def _warn(taken, other):
    from gnuradio import gr

    taken, other = (ascii(os.fsdecode(name))[1:-1] for name in (taken, other))
    gr.logger("aperture").warn(
        f"{taken} is read, in the folder in which the flowgraph was "
        f"started; {other}, beside the flowgraph, is another file"
    )
