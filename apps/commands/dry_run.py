#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""
A dry run of a plan finds all that would make its start fail.

All that a plan names is read, and where its input is a simulation or a recording its flowgraph is
made, and not started. Receivers and networks are left alone, because an instrument may run that has
them.
"""

import os
import socket
import time

from .. import copy
from ..arrays.array_description import load_array
from ..builder.beams import beams_to_form
from ..builder.input import open_input
from ..calibration.calibration_file import load_calibration
from ..calibration.sources import sky_model
from ..inputs.registry import find_kind
from ..parameters.regular_file import check_regular
from ..plan.plan import PlanError
from ..transients.par_file import read_par
from .observe_chain import make_chain
from .running import error_text


def dry_run(configuration):
    """
    Makes all that a Configuration needs, and lets go of it.

    Raises
    ------
    ValueError, RuntimeError, OSError, MemoryError
        It could not be started; the error is what starting would end with.
    """
    plan = configuration.plan

    def named(field, work, *arguments):
        """Returns what work(*arguments) returns; an error of it is one of a field of the plan."""
        try:
            return work(*arguments)
        except (ValueError, OSError, RuntimeError, MemoryError) as error:
            if isinstance(error, PlanError):
                raise
            raise plan.error(field, error_text(error)) from None

    field = "device.name" if plan.device.several is None else "device.names"
    for name in plan.device.several or [plan.device.name]:
        named(field, lambda device: copy(item_size=8, device=device), name)
    if plan.monitoring is not None:
        named("monitoring.listen", check_address, *plan.monitoring.address())
    array = None
    if plan.array.description:
        array = named("array.description", load_array, plan.array.description)
    if plan.calibration.file is not None:
        named("calibration.file", check_regular, plan.calibration.file, "a calibration")
        named("calibration.file", load_calibration, plan.calibration.file)
    if plan.calibration.measure is not None:
        named("calibration.measure", sky_model, plan.calibration.measure)
    model = None if plan.fold.by is None else plan.fold.wanted[2]
    if model is not None:
        named("fold.by", read_par, os.path.expanduser(model))
    start = time.time()
    described = plan.network.role == "fx" and not find_kind(plan.input.source)[0].live
    if described:
        signals = named("input.source", open_input, plan)
        array, start = signals.description, sum(signals.start_time)
    if plan.beams.directions is not None and array is not None:
        named("beams.directions", beams_to_form, plan.beams, array, start)
    if described:
        make_chain(configuration).release()


def check_address(address, port):
    """Raises OSError unless this machine has an address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        try:
            sock.bind((address, 0))
        except OSError as error:
            raise OSError(error.errno, error.strerror, f"{address}:{port}") from None
