#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The files of a SigMF recording: metadata, samples, archives of both, and collections."""

import json
import os
import tarfile
from dataclasses import dataclass

from ..recordings import check_recording
from ..voltages import SIGMF_ENDINGS

META, DATA = SIGMF_ENDINGS
ARCHIVE, COLLECTION = ".sigmf", ".sigmf-collection"
MOST_BYTES = 1 << 28  # most bytes of metadata, which is text


@dataclass(frozen=True)
class Files:
    """The files of a recording. name: what is said in messages; meta: metadata as a dictionary;
    data: file of the samples; first, size: bytes of it that are the samples' (None: metadata
    without samples); read: all files that were read."""

    name: str
    meta: dict
    data: str
    first: int
    size: int
    read: tuple


def parse_json(name, text):
    """A dictionary, of bytes; raises ValueError that names the file and the line."""
    try:
        tree = json.loads(text.decode("utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{name}: is no JSON: {error.msg} in line {error.lineno}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: is no JSON: byte {error.start} is no UTF-8") from None
    except (RecursionError, ValueError) as error:
        raise ValueError(f"{name}: is no JSON that can be read: {error}") from None
    if not isinstance(tree, dict):
        raise ValueError(f"{name}: must be a JSON object")
    return tree


def _read(name):
    check_recording(name)
    size = os.path.getsize(name)
    if size > MOST_BYTES:
        raise ValueError(f"{name}: has {size} bytes: expected metadata of at most {MOST_BYTES}")
    with open(name, "rb") as file:
        return parse_json(name, file.read())


def find_files(name):
    """
    A list of Files, of one name: that of metadata, of samples, of an archive of one or several
    recordings, or of a collection, whose streams are in their order.

    Raises ValueError, OSError.
    """
    root, ending = os.path.splitext(name)
    if ending == COLLECTION:
        return _of_collection(name)
    if ending == ARCHIVE:
        return _of_archive(name)
    if name.endswith((".sigmf.gz", ".sigmf.xz", ".sigmf.zip")):
        raise ValueError(
            f"{name}: is a compressed archive, which has to be unpacked before: "
            f"{'unzip' if name.endswith('.zip') else 'tar -xf'} {name}"
        )
    if ending not in (META, DATA):
        raise ValueError(
            f"{name}: expected the name of a file that ends in {META}, {DATA}, "
            f"{ARCHIVE} or {COLLECTION}"
        )
    return [_of_pair(root)]


def _of_pair(root):
    meta_name = root + META
    meta = _read(meta_name)
    data = _dataset(meta_name, meta) or root + DATA
    if not os.path.exists(data):
        raise ValueError(f"{meta_name}: its samples, {data}, are not there")
    check_recording(data)
    return Files(meta_name, meta, data, 0, os.path.getsize(data), (meta_name, data))


def _dataset(meta_name, meta):
    """The file that core:dataset names, or None."""
    part = meta.get("global")
    if not isinstance(part, dict) or "core:dataset" not in part:
        return None
    name = part["core:dataset"]
    # a file that came from somebody else is not to make us read what lies anywhere
    if not isinstance(name, str) or not name or name in (".", "..") or "/" in name or "\0" in name:
        raise ValueError(
            f"{meta_name}: global.core:dataset {str(name)[:60]!r}: must be the name "
            "of a file beside it"
        )
    return os.path.join(os.path.dirname(meta_name), name)


def _of_archive(name):
    """Reads an archive in place: it is not compressed, and its samples lie in a row."""
    check_recording(name)
    try:
        with tarfile.open(name, "r:") as archive:
            members = {member.name: member for member in archive if member.isreg()}
            # the last one of the files that end too early
            texts = {}
            for path, member in members.items():
                if path.endswith(META):
                    if member.size > MOST_BYTES:
                        raise ValueError(
                            f"{name}: {path} has {member.size} bytes: expected "
                            f"metadata of at most {MOST_BYTES}"
                        )
                    texts[path] = archive.extractfile(member).read()
    except (tarfile.TarError, EOFError, OverflowError) as error:
        raise ValueError(f"{name}: is no archive of SigMF (an uncompressed tar): {error}") from None
    found = []
    whole = os.path.getsize(name)
    for path, text in sorted(texts.items()):
        data = members.get(path[: -len(META)] + DATA)
        if data is None:
            raise ValueError(f"{name}: has {path} without its {DATA}")
        size = max(0, min(data.size, whole - data.offset_data))
        found.append(
            Files(
                f"{name}: {path}",
                parse_json(f"{name}: {path}", text),
                name,
                data.offset_data,
                size,
                (name,),
            )
        )
    if not found:
        raise ValueError(f"{name}: has no file that ends in {META}")
    return found


def _of_collection(name):
    import sigmf

    tree = _read(name)
    part = tree.get("collection")
    streams = part.get("core:streams") if isinstance(part, dict) else None
    if (
        not isinstance(streams, list)
        or not streams
        or not all(
            isinstance(stream, dict) and isinstance(stream.get("name"), str) for stream in streams
        )
    ):
        raise ValueError(f"{name}: collection.core:streams must be a list of objects with a name")
    names = sigmf.SigMFCollection(metadata=tree, skip_checksums=True).get_stream_names()
    found = []
    for stream in names:
        if not stream or "/" in stream or "\0" in stream:
            raise ValueError(
                f"{name}: collection.core:streams {stream[:60]!r}: must be the name "
                "of a recording beside it"
            )
        root = os.path.join(os.path.dirname(name), stream)
        files = _of_pair(root[: -len(META)] if root.endswith(META) else root)
        found.append(
            Files(files.name, files.meta, files.data, files.first, files.size, (name, *files.read))
        )
    return found
