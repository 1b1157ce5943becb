#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""YAML files that users write, with the line of each field for what is wrong with it."""

import yaml

MERGE = "tag:yaml.org,2002:merge"  # the key <<: what it names is taken where it is not given
MOST_VALUES = 1 << 18  # in a file; aliases of aliases make any number of them


class Scalar(str):
    """A value as it was written. YAML's own idea of numbers is not used: it takes 1e6 for text,
    5:30 for 330, and a name like 1 or no for something else."""

    quoted = False

    def __repr__(self):
        return repr(str(self))


class YamlReader:
    """Reads a file, and remembers on which line each field stands.

    name: of the file, for messages; error: a ParameterError's class, of what is wrong in it.

    A derived class for a kind of files says what they are called (`kind`) and names a `key` that
    each of them has: a file without it is of another kind, and no error repeats what is in it,
    which may be nobody else's business.
    """

    kind, key = "a file of YAML", ""

    def __init__(self, name, error):
        self.name = name
        self.error = error
        self.lines = {}
        self._values = 0

    def tree(self, file):
        """
        Returns the contents of the file: dict, list and Scalar.

        Raises
        ------
        self.error
            It is not YAML, a key comes twice, or there are too many values.
        """
        try:
            text = file.read()
            if self.key in text:
                node = yaml.compose(text, Loader=yaml.SafeLoader)
                found = self._plain(node, "") if node is not None else {}
                if not self.key or isinstance(found, dict):
                    return found
            raise self.error(self.key, f"missing: this is not {self.kind}", self.name)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            raise self.error(
                "", f"not YAML: {error.problem or error.context}", f"{self.name}:{line}"
            ) from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise self.error(
                "", f"not a text file: {str(error).splitlines()[0]}", self.name
            ) from None
        except RecursionError:
            raise self.error("", "lists or mappings are nested too deeply", self.name) from None

    def with_line(self, make, *arguments):
        """Returns what make(*arguments) returns; an error of this class gets the file and the
        line."""
        try:
            return make(*arguments)
        except self.error as error:
            raise self.error(
                error.field, error.problem, f"{self.name}:{self.line(error.field)}"
            ) from None

    def line(self, path):
        """The line of a field, or of what it is part of where it is not there itself."""
        while path and path not in self.lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.lines.get(path, 1)

    def _plain(self, node, path):
        self.lines.setdefault(path, node.start_mark.line + 1)
        self._values += 1
        if self._values > MOST_VALUES:
            raise self.error(
                path,
                f"too many values: at most {MOST_VALUES} are allowed, what "
                "aliases name counted each time",
                f"{self.name}:{node.start_mark.line + 1}",
            )
        if isinstance(node, yaml.SequenceNode):
            return [
                self._plain(child, f"{path}[{index}]") for index, child in enumerate(node.value)
            ]
        if isinstance(node, yaml.ScalarNode):
            scalar = Scalar(node.value)
            scalar.quoted = node.style is not None
            return scalar
        values, merged = {}, {}
        for key, child in node.value:
            if key.tag == MERGE:
                # the first of several counts
                for other in child.value if isinstance(child, yaml.SequenceNode) else [child]:
                    found = self._plain(other, path)
                    if not isinstance(found, dict):
                        raise self.error(
                            path,
                            f"<<: {found!r} is not allowed; it must be a "
                            "mapping, or a list of such",
                            f"{self.name}:{key.start_mark.line + 1}",
                        )
                    merged = {**found, **merged}
                continue
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            child_path = f"{path}.{name}" if path else name
            if name in values:
                raise self.error(
                    child_path,
                    f"given twice, first on line {self.lines[child_path]}",
                    f"{self.name}:{key.start_mark.line + 1}",
                )
            self.lines[child_path] = key.start_mark.line + 1
            values[name] = self._plain(child, child_path)
        return {**merged, **values}
