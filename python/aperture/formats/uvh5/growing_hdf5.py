#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""An HDF5 file that grows, of which every published state stays whole for who reads it.

The HDF5 library changes a file's tables in place, where readers and copies see half of a change,
and a killed writer leaves it. Here the library makes all that does not change, in memory, and
nothing that a reader may look at is changed afterwards:

- New rows go behind what is there, or into room that no published state has reached.
- The headers of datasets that grow, and of the groups on the way to them, are written anew for
  each state, together (a *root*). A state is published by the one number in the file's superblock
  that says where its root is.
- Nodes of trees are filled where they are. What comes into them is behind the state before, but
  who walks through a tree sees it: when a writer is killed, all that they point to is there, and
  lies before the file's end that the superblock says.
- The room of a root is used again if nobody has had the file open since it was published.

A copy that is read from the front has therefore the state of its first block, and a reader that of
the moment when it opened the file. The structures are those of HDF5's file format specification
1.0 and 1.1 (superblock 0, object headers 1, trees 1), which every version of the library reads and
changes like its own.
"""

import struct

import h5py
import numpy as np

UNDEFINED = 2**64 - 1  # an address
# types of messages in an object header
NOTHING, DATASPACE, LINK_INFO, LINK, LAYOUT, GROUP_INFO, CONTINUATION = 0, 1, 2, 6, 8, 10, 16
# places in the superblock of the file's end, and of the address of the root's object header,
# which is followed by what may be cached of it
END, ROOT = 40, 64
ENTRIES = 64  # most of a node of a tree, as a superblock 0 implies
NODE_HEADER = 24  # bytes


def _padded(data):
    return data + bytes(-len(data) % 8)


def _messages(image, address):
    """The messages (type, flags, data) of an object header."""
    version, _, _, size = struct.unpack_from("<BxHII", image, address)
    if version != 1:
        raise RuntimeError(f"HDF5 made an object header of version {version}, and not 1")
    parts, found = [(address + 16, size)], []
    while parts:
        start, size = parts.pop(0)
        at = start
        while at + 8 <= start + size:
            kind, length, flags = struct.unpack_from("<HHB", image, at)
            data = bytes(image[at + 8 : at + 8 + length])
            if kind == CONTINUATION:
                parts.append(struct.unpack_from("<QQ", data))
            elif kind != NOTHING:
                found.append((kind, flags, data))
            at += 8 + length
    return found


def _object_header(messages):
    """The bytes of an object header."""
    parts = [
        struct.pack("<HHB3x", kind, len(_padded(data)), flags) + _padded(data)
        for kind, flags, data in messages
    ]
    size = sum(map(len, parts))
    return struct.pack("<BxHII4x", 1, len(parts), 1, size) + b"".join(parts)


class ChunkTree:
    """The index of a dataset's chunks: a B-tree of version 1 that is filled from its left to its
    right. Chunks that are not in it have the dataset's fill value."""

    def __init__(self, space, chunk):
        self._space = space
        # the last axis is that of a value's bytes
        self._chunk = np.array(chunk, np.uint64)
        self._record = np.dtype(
            [("size", "<u4"), ("mask", "<u4"), ("offset", "<u8", len(chunk)), ("child", "<u8")]
        )
        self._bytes = NODE_HEADER + (ENTRIES + 1) * self._record.itemsize - 8
        self._nodes = []  # [level], the one on the right: see _new_node
        #: address -> node, of those that were changed since the last state was published
        self.changed = {}
        self._spare = []  # addresses of room for nodes

    @property
    def root(self):
        """The address of the root node."""
        return self._nodes[-1]["address"] if self._nodes else UNDEFINED

    def reserve(self, count):
        """Makes room for so many chunks more, so that neither add() nor write() needs any."""
        needed, more = 0, count
        for node in self._nodes:
            more = max(0, -(-(node["used"] + more - ENTRIES) // ENTRIES))
            needed += more
        while more > 0:  # levels that are not there yet
            more = -(-(more + bool(self._nodes)) // ENTRIES)
            needed += more
            if more == 1:
                break
        while len(self._spare) < needed:
            self._spare.append(self._space.allocate(bytes(self._bytes)))

    def _new_node(self, level, left):
        node = {
            "address": self._spare.pop(),
            "level": level,
            "used": 0,
            "left": UNDEFINED if left is None else left["address"],
            "right": UNDEFINED,
            "records": np.zeros(ENTRIES + 1, self._record),
        }
        if left is not None:
            left["right"] = node["address"]
        return node

    def add(self, offsets, addresses, size, mask=0):
        """
        Adds chunks, for which there is room.

        Parameters
        ----------
        offsets : array of int
            [chunk][axis]: where they begin in the dataset, in ascending order.
        addresses : array of int
            [chunk], in the file.
        size : int
            Bytes of each as they are stored.
        mask : int
            Bits of filters that were left out, from the first one.
        """
        records = np.zeros(len(addresses), self._record)
        records["size"], records["mask"], records["child"] = size, mask, addresses
        records["offset"][:, :-1] = offsets
        self._add(0, records)

    def _add(self, level, records):
        while len(records):
            if level == len(self._nodes):
                self._nodes.append(self._new_node(level, None))
                if level:
                    # the root until now is the first child
                    first = self._nodes[level - 1]
                    entry = first["records"][:1].copy()
                    entry["child"] = first["address"]
                    records = np.concatenate([entry, records])
            node = self._nodes[level]
            room = ENTRIES - node["used"]
            if not room:
                full, entry = node, records[:1].copy()
                node = self._new_node(level, full)
                # the end of one is where the next begins
                full["records"]["offset"][ENTRIES] = entry["offset"][0]
                self.changed[full["address"]] = full
                entry["child"] = node["address"]
                if level + 1 == len(self._nodes):
                    self._add(level + 1, entry)
                    self._nodes[level] = node
                else:
                    self._nodes[level] = node
                    self._add(level + 1, entry)
                continue
            now, records = records[:room], records[room:]
            node["records"][node["used"] : node["used"] + len(now)] = now
            node["used"] += len(now)
            last = now["offset"][-1] + self._chunk
            # nothing is behind the last chunk, in any of the levels
            for each in self._nodes[level:]:
                each["records"]["offset"][each["used"]] = last
                self.changed[each["address"]] = each

    def write(self):
        """Writes the nodes that were changed, where the superblock says an end of the file that is
        behind them. For who has a dataset's older header open, which ends before it, nothing
        changes: the number of entries comes after them, and a node after those that it names,
        children and the one on its right."""
        newest_first = list(self.changed.values())[::-1]
        for node in sorted(newest_first, key=lambda node: node["level"]):
            records = node["records"].tobytes()[: self._bytes - NODE_HEADER]
            self._space.write(records, node["address"] + NODE_HEADER)
            header = struct.pack(
                "<4sBBHQQ", b"TREE", 1, node["level"], node["used"], node["left"], node["right"]
            )
            self._space.write(header, node["address"])


class _Growing:
    """A dataset that grows along its first axis."""

    def __init__(self, space, image, address, dataset):
        self.dtype, self.row = dataset.dtype, dataset.shape[1:]
        self.chunk = dataset.chunks
        self.rows = 0
        self.chunks = []  # numbers and addresses of those that rows will go into
        self.tree = ChunkTree(space, (*self.chunk, self.dtype.itemsize))
        self.next = 0  # number of the next chunk
        self.messages = _messages(image, address)


class GrowingHdf5:
    """
    The contents of an HDF5 file whose datasets grow.

    Parameters
    ----------
    space : files.growing_file.Space
        Of an empty file.
    fill : callable
        fill(file) makes groups and datasets in an h5py.File. Datasets that are unlimited along the
        first axis, and empty, are those that grow.
    values : tuple of str
        Names of single numbers that change from one state to the next.
    """

    def __init__(self, space, fill, values=()):
        self._space, self._values = space, {}
        # made in memory: HDF5 is in an undefined state after a write that failed. It knows files by
        # their names, and other threads begin some, too
        name = f"new {id(self)}"
        with h5py.File(name, "w", driver="core", backing_store=False, libver="earliest") as file:
            fill(file)
            file.flush()
            image = file.id.get_file_image()
            self._growing, self._groups = {}, {"": {}}
            for name, entry in self._objects(file):
                address = h5py.h5o.get_info(entry.id).addr
                if isinstance(entry, h5py.Group):
                    continue
                if name in values:
                    self._values[name] = [entry[()], _messages(image, address)]
                elif entry.maxshape[:1] == (None,):
                    self._growing[name] = _Growing(space, image, address, entry)
                else:
                    continue
                path = name
                while path:
                    path = path.rpartition("/")[0]
                    self._groups.setdefault(path, {})
            for path, links in self._groups.items():
                group = file[path or "/"]
                links.update({key: h5py.h5o.get_info(group[key].id).addr for key in group})
        if image[8] != 0:
            raise RuntimeError(f"HDF5 made a superblock of version {image[8]}, and not 0")
        self._template, self._places, self._of_rows, self._of_values = self._make_template()
        self._places_of_roots = []
        # the address of what is published, and of all that somebody may have open
        self._roots = None, frozenset()
        # until something is published, a reader finds the empty file that the library made
        space.allocate(image)
        # one is published, one was so before, and one is free
        for _ in range(3):
            self._places_of_roots.append(space.allocate(self._template))

    @property
    def roots(self):
        """The published state, to be set again where a file that got a later one is given up."""
        return self._roots, [growing.tree.changed for growing in self._growing.values()]

    @roots.setter
    def roots(self, roots):
        self._roots, changed = roots
        for growing, nodes in zip(self._growing.values(), changed, strict=True):
            growing.tree.changed = nodes

    @staticmethod
    def _objects(group):
        found = []
        group.visititems(lambda name, entry: found.append((name, entry)))
        return found

    def _make_template(self):
        """
        The bytes of a root, of which the first is the root group, and the places of numbers in it:
        of addresses that count from its beginning, and by name of the length and the tree's
        address of a dataset, and of a value.
        """
        sizes, made, at, places, rows, numbers = {}, {}, 0, [], {}, {}
        for path, links in self._groups.items():
            messages = [
                (LINK_INFO, 0, struct.pack("<BBQQ", 0, 0, UNDEFINED, UNDEFINED)),
                # most links that stand in a header, and fewest that do not
                (GROUP_INFO, 1, struct.pack("<BBHH", 0, 1, 0xFFFF, 0)),
            ]
            for name in sorted(links):
                text = name.encode("ascii")
                messages.append((LINK, 0, struct.pack("<BBB", 1, 0, len(text)) + text + bytes(8)))
            made[path] = messages, links
            sizes[path] = len(_object_header(messages))
        for name, growing in self._growing.items():
            sizes[name] = len(_object_header(growing.messages))
        for name, (_, messages) in self._values.items():
            sizes[name] = len(_object_header(messages)) + 8
        start = {}
        for name, size in sizes.items():
            start[name], at = at, at + size
        template = bytearray(at)
        for path, (messages, links) in made.items():
            template[start[path] : start[path] + sizes[path]] = _object_header(messages)
            place = start[path] + 16
            # behind the information on the group each message is a link
            for number, (_, _, data) in enumerate(messages):
                if number >= 2:
                    key = data[3:-8].decode()
                    address = place + 8 + len(data) - 8
                    child = f"{path}/{key}".lstrip("/")
                    if child in start:
                        places.append(address)
                        links[key] = start[child]
                    struct.pack_into("<Q", template, address, links[key])
                place += 8 + len(_padded(data))
        for name, growing in self._growing.items():
            template[start[name] : start[name] + sizes[name]] = _object_header(growing.messages)
            place, found = start[name] + 16, {}
            for kind, _, data in growing.messages:
                if kind == DATASPACE:
                    found["length"] = place + 8 + (8 if data[0] == 1 else 4)
                elif kind == LAYOUT and data[:2] == b"\x03\x02":
                    found["tree"] = place + 8 + 3
                place += 8 + len(_padded(data))
            rows[name] = found["length"], found["tree"]
        for name, (value, messages) in self._values.items():
            header = _object_header(messages)
            template[start[name] : start[name] + len(header)] = header
            place = start[name] + 16
            for kind, _, data in messages:
                if kind == LAYOUT and data[:2] == b"\x03\x01":
                    places.append(place + 8 + 2)
                    numbers[name] = start[name] + len(header)
                    struct.pack_into("<Q", template, place + 8 + 2, numbers[name])
                place += 8 + len(_padded(data))
            assert value.dtype.itemsize == 8
        return template, places, rows, numbers

    def chunk(self, name):
        """Returns the shape of a dataset's chunks."""
        return self._growing[name].chunk

    def set(self, name, value):
        """Sets one of the values."""
        self._values[name][0] = self._values[name][0].dtype.type(value)

    def reserve(self, rows, chunks):
        """
        Makes room, so that to add what comes needs no more than its own bytes.

        Parameters
        ----------
        rows : dict
            Name of a dataset -> rows that will come behind it by write_rows().
        chunks : dict
            Name of a dataset -> chunks that it will get by add_chunks().
        """
        if not self._free_roots(self._roots[1]):
            self._places_of_roots.append(self._space.allocate(self._template))
        for name, count in chunks.items():
            self._growing[name].tree.reserve(count)
        for name, count in rows.items():
            self._reserve_rows(self._growing[name], count)

    def _reserve_rows(self, growing, count):
        """Makes the chunks that so many more rows need."""
        needed = -(-(growing.rows + count) // growing.chunk[0]) - growing.next
        if needed <= 0:
            return
        size = int(np.prod(growing.chunk)) * growing.dtype.itemsize
        growing.tree.reserve(needed)
        for _ in range(needed):
            address = self._space.allocate(bytes(size))
            growing.tree.add(
                [[growing.next * growing.chunk[0], *[0] * len(growing.row)]], [address], size
            )
            growing.chunks.append((growing.next, address))
            growing.next += 1

    def write_rows(self, name, values):
        """Writes rows behind those of a dataset without filters, where room was reserved; grow()
        counts them."""
        growing = self._growing[name]
        values = np.ascontiguousarray(values, growing.dtype)
        size = growing.dtype.itemsize * int(np.prod(growing.row))
        most = growing.chunk[0]
        for number, address in growing.chunks:
            begin = max(growing.rows, number * most)
            end = min(growing.rows + len(values), (number + 1) * most)
            if begin < end:
                self._space.write(
                    values[begin - growing.rows : end - growing.rows],
                    address + (begin - number * most) * size,
                )

    def add_chunks(self, name, offsets, addresses, size, mask=0):
        """Adds chunks of a dataset that were written, as ChunkTree.add; its rows are counted by
        grow()."""
        self._growing[name].tree.add(offsets, addresses, size, mask)

    def grow(self, name, rows):
        """Says that a dataset has so many rows more."""
        growing = self._growing[name]
        growing.rows += rows
        while growing.chunks and (growing.chunks[0][0] + 1) * growing.chunk[0] <= growing.rows:
            del growing.chunks[0]

    def _free_roots(self, seen):
        """The room for roots that nobody can have open."""
        return [address for address in self._places_of_roots if address not in seen]

    def publish(self, alone):
        """
        Publishes what was added, for which reserve() has made room.

        Parameters
        ----------
        alone : bool
            True if nobody else has the file open, nor can open it until this returns.

        Raises
        ------
        OSError
            The state before is still published.
        """
        current, seen = self._roots
        if alone:
            seen = {current}
        root, base = bytearray(self._template), self._free_roots(seen)[0]
        for place in self._places:
            struct.pack_into("<Q", root, place, struct.unpack_from("<Q", root, place)[0] + base)
        for name, (length, tree) in self._of_rows.items():
            growing = self._growing[name]
            struct.pack_into("<Q", root, length, growing.rows)
            struct.pack_into("<Q", root, tree, growing.tree.root)
        for name, place in self._of_values.items():
            root[place : place + 8] = self._values[name][0].tobytes()
        self._space.write(root, base)
        # one after the other, for who reads in between, and for a writer that is killed: the end
        # first, as the library refuses what a tree names behind it
        self._space.write(struct.pack("<Q", self._space.end), END)
        for growing in self._growing.values():
            growing.tree.write()
        if current is None:
            # nothing of the root is cached here
            self._space.write(struct.pack("<Q24x", base), ROOT)
        else:
            self._space.write(struct.pack("<Q", base), ROOT)
        self._roots = base, seen | {base}
        for growing in self._growing.values():
            growing.tree.changed = {}
