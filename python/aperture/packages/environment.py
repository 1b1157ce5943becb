#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""The virtual environment with packages from PyPI: where it is, how it is made and entered.

It lies over the system's packages, so that GNU Radio, gr-aperture and the NumPy that GNU Radio's
bindings were built for are those of the system, and adds what the distribution lacks or has in
versions that are too old. A command that needs it runs wholly in it: one h5py and one astropy in
a process. Groups of packages are installed when they are wanted, in exact versions and with the
hashes of their files.
"""

import importlib
import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path

PROGRAM = "aperture_packages"


class PackageError(RuntimeError):
    """A package that is not there or could not be installed; the message is for the user."""


@dataclass(frozen=True)
class Group:
    """A group of packages. modules: what can be imported when the group is there; purpose: what it
    is for."""

    modules: tuple
    purpose: str


#: name -> Group; the versions are in a file of the name beside this one
GROUPS = {
    "imaging": Group(("ducc0",), "aperture_image: dirty images of the sky (ducc0)"),
    "conversion": Group(
        ("pyuvdata", "casacore"),
        "aperture_convert and aperture_fx -o x.ms or x.uvfits (pyuvdata, python-casacore)",
    ),
    "formats": Group(
        ("sigmf", "baseband"),
        "recordings as inputs: sigmf:, vdif:, guppi:, mark4:, mark5b: and gsb: (sigmf, baseband)",
    ),
    "digitalrf": Group(("digital_rf",), "recordings of Digital RF as inputs: drf: (digital_rf)"),
    "network": Group(
        ("spead2",),
        "spead_source and spead_sink, inputs spead: and hosts that share "
        "the channels of an array (spead2)",
    ),
    "timing": Group(("pint",), "timing models of pulsars in binaries (pint-pulsar)"),
    "compression": Group(("hdf5plugin",), "UVH5 files compressed with bitshuffle (hdf5plugin)"),
}


def folder():
    """The environment's folder: APERTURE_VENV, or one below the user's data folder."""
    given = os.environ.get("APERTURE_VENV")
    if given:
        return Path(given).absolute()
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    if data.startswith("~"):  # nobody knows whose this process is, as in a container
        data = "/nonexistent"
    return Path(data) / "gr-aperture" / "venv"


def locked_versions(group):
    """The file with exact versions and hashes of a group's packages."""
    return Path(__file__).parent / f"{group}.txt"


def _stamp(group):
    """A copy of the file that the group was installed from; absent if it was not."""
    return folder() / f"{group}.txt"


def is_installed(group):
    """Returns whether the environment has the group in the versions of this gr-aperture."""
    stamp = _stamp(group)
    return os.path.exists(stamp) and stamp.read_bytes() == locked_versions(group).read_bytes()


def missing_modules(group):
    """Names of modules of a group that this process cannot import."""
    return [name for name in GROUPS[group].modules if importlib.util.find_spec(name) is None]


def make_importable(group):
    """
    Lets this process import packages of a group that it lacks from the environment, behind those
    of the system; for flowgraphs, which are processes of their own and do not enter it.
    """
    packages = (
        folder() / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    )
    if missing_modules(group) and os.path.isdir(packages) and str(packages) not in sys.path:
        sys.path.append(str(packages))
        importlib.invalidate_caches()


def enter():
    """
    Replaces the process by the same command in the environment, if there is one and it is not
    there already. To be called first, before anything that the environment has in another
    version is imported.
    """
    python = folder() / "bin" / "python"
    # another user's folder may be unreadable
    if os.path.exists(python) and os.path.realpath(sys.prefix) != os.path.realpath(folder()):
        if sys.stdout is not None:  # stdout is None where the descriptor is closed
            sys.stdout.flush()
        os.execv(python, [str(python), *sys.argv])


def command_to_install(group):
    """Returns what a user types to get the group."""
    # tools/run names the build folder, and what is below it is set up by tools/setup
    return (
        f"tools/setup --with {group}" if os.environ.get("APERTURE_BUILD") else f"{PROGRAM} {group}"
    )


def require(*groups, modules=()):
    """
    Raises PackageError, with the command that installs them, if packages of these groups, or only
    some modules of them, cannot be imported by this process.
    """
    for group in groups:
        missing = missing_modules(group)
        if modules:
            missing = [name for name in missing if name in modules]
        if missing:
            raise PackageError(
                f"this needs {' and '.join(missing)} from PyPI: "
                f"{command_to_install(group)} installs it"
            )


def load(name, group):
    """
    A package of a group, for a process that may be outside of the environment, which it need not
    enter for it.

    Only for packages that do not care which versions of others the process has: hdf5plugin is a
    folder of shared libraries, which it gives to the HDF5 library of the h5py that is there.

    Raises
    ------
    PackageError
        With the command that installs it.
    """
    if name in sys.modules or importlib.util.find_spec(name) is not None:
        return importlib.import_module(name)
    for place in sorted(folder().glob(f"lib/python3*/site-packages/{name}/__init__.py")):
        spec = importlib.util.spec_from_file_location(
            name, place, submodule_search_locations=[str(place.parent)]
        )
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except ImportError:
            del sys.modules[name]
            raise
        return module
    require(group)


def require_installed(group):
    """Raises PackageError unless `command` starts a process that has the group."""
    if not os.path.exists(folder() / "bin" / "python"):
        require(group)
    elif not is_installed(group):
        raise PackageError(
            f"this needs {' and '.join(GROUPS[group].modules)} from PyPI: "
            f"{command_to_install(group)} installs it"
        )


def command(module, *arguments):
    """The command, for subprocess, that calls main() of a module in the environment (where there
    is none, with this Python)."""
    python = folder() / "bin" / "python"
    return [
        str(python if os.path.exists(python) else sys.executable),
        "-c",
        f"import sys; from {module} import main; sys.exit(main())",
        *map(str, arguments),
    ]


def _make():
    """The environment without packages, unless it is there for this version of Python."""
    path = folder()
    # not before they are needed: every flowgraph loads this module
    import subprocess  # pylint: disable=import-outside-toplevel
    import venv  # pylint: disable=import-outside-toplevel

    python = path / "bin" / "python"
    version = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}"
    if os.path.exists(python) and os.path.exists(path / version / "site-packages" / "pip"):
        return
    try:
        # the present environment was made for another Python, or is not whole
        venv.EnvBuilder(
            system_site_packages=True, clear=os.path.exists(path), symlinks=True, with_pip=True
        ).create(path)
    except subprocess.CalledProcessError:
        # pip for it is a package of its own in Debian and Ubuntu
        raise PackageError(
            f"{path}: could not be made: is python3-venv installed? (apt install python3-venv)"
        ) from None
    except OSError as error:
        raise PackageError(
            f"{path}: could not be made: {error.strerror}; APERTURE_VENV names "
            "another folder, HOME where your own are"
        ) from None


def install(groups):
    """
    Makes the environment where it is not there, and installs groups that it does not have.

    Returns
    -------
    list of str
        Groups that were installed just now.

    Raises
    ------
    PackageError, OSError
    """
    import subprocess  # pylint: disable=import-outside-toplevel

    wanted = [group for group in groups if not is_installed(group)]
    if not wanted:
        return []
    _make()
    for group in wanted:
        versions = locked_versions(group)
        _stamp(group).unlink(missing_ok=True)
        # Without dependencies: all are in the file, except for those of the system. pip would
        # otherwise take a NumPy that GNU Radio's bindings cannot use.
        result = subprocess.run(
            [
                str(folder() / "bin" / "python"),
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
                "--require-hashes",
                "--only-binary",
                ":all:",
                "--requirement",
                str(versions),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if result.returncode:
            last = " ".join(result.stdout.split("\n")[-6:]).strip()
            raise PackageError(f"{group}: pip could not install it: {last}")
        _stamp(group).write_bytes(versions.read_bytes())
    return wanted
