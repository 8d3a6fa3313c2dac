# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Several plans as one: heed_program_plan()."""

from __future__ import annotations

import ctypes
from typing import Sequence

from ._abi import CONSTANTS
from ._native import STRUCT, call, fail, library, new
from ._types import ArrayLike
from .arrays import SIZES, Array, as_array
from .runtime import Plan, Run, joined, place

__all__ = ["program"]


class Arguments:
    """What heed_plan_run() takes."""

    def __init__(self, count):
        self.arrays, self.run = (STRUCT["heed_buf"] * count)(), new("heed_run")


class Steps:
    """The operation of a program: its arrays have the names that program() was given."""

    def __init__(self, count, paths):
        self.count, self.paths, self.run_name = count, paths, "heed_plan_run"

    def flatten(self, given):
        return given

    def args(self, arrays):
        made = Arguments(self.count)
        for path, array in arrays.items():
            place(made, path, array.address)
        return made


class ProgramRun(Run):
    def _start(self):
        status = library.heed_plan_run(self.plan.handle, self.plan.device.queue, self.args.arrays,
                                       self.plan.operation.count, ctypes.byref(self.args.run), None,
                                       ctypes.byref(self._report))
        if status < 0:
            fail(status, self._report)


class Program(Plan):
    """The plan of program()."""

    def bind(self, **given):
        return ProgramRun(self, self.changed(given))


def span(array):
    """The bytes of an array: the first one's address, and the one's behind the last."""
    ends = [(n - 1) * s * SIZES[array.dtype] for n, s in zip(array.shape, array.strides)]
    return (array.address + sum(e for e in ends if e < 0),
            array.address + sum(e for e in ends if e > 0) + SIZES[array.dtype])


def uses(plans):
    """low, high, plan and path of every array of the plans."""
    return [(plan.arrays[x["name"]].address + x["low"], plan.arrays[x["name"]].address + x["high"],
             number, x["name"])
            for number, plan in enumerate(plans) for x in plan.operands()
            if x["name"] in plan.arrays and x["low"] != x["high"]]


def groups_of(plans, named, temporaries):
    """Memory of the program: low, name or None, and its uses; arguments, and temporaries."""
    marks = [(*span(array), None, name) for name, array in named.items()]
    marks += [(*span(as_array(array)), None, None) for array in temporaries]
    arguments, temps = [], []
    for low, high, members in joined(sorted(uses(plans) + marks, key=lambda m: m[:2])):
        own = [mark for mark in members if mark[2] is None]
        found = [member for member in members if member[2] is not None]
        if own and (len(own) > 1 or own[0][:2] != (low, high)):
            raise ValueError(f"{own[0][3] or 'a temporary'} shares memory with what lies beyond it, "
                             "or with another array that was named")
        if own and own[0][3] is None:
            temps += [(low, None, found)] if found else []
        else:
            arguments.append((low, high, own[0][3] if own else None, found))
    return arguments, temps


def steps_of(plans, arrays):
    """The steps of the plans, whose uses are numbered, and the arguments that they point to."""
    made = (STRUCT["heed_program_step"] * len(plans))()
    args = [plan.operation.args(plan.arrays) for plan in plans]
    for number, (low, members) in enumerate(arrays):
        for _, _, at, path in members:
            offset = plans[at].arrays[path].address - low
            place(getattr(args[at], "places", args[at]), path, number + 1, offset % 2**64)
    for step, plan, given in zip(made, plans, args):
        step.op = plan.operation.run_name.removeprefix("heed_").removesuffix("_run").encode()
        step.desc, step.args = ctypes.addressof(plan.desc.struct), ctypes.addressof(given)
    return made, args


def program(plans: Sequence[Plan], temporaries: Sequence[ArrayLike] = (),
            **arrays: ArrayLike) -> Program:
    """Plans one after another as one plan, which computes what they would, with one workspace.

    plans: of one device, in their order, such as heed.linear.plan() makes; a plan that is a program
    itself is refused. temporaries: arrays that they hand on to each other; the program has its own
    memory for these, and theirs is not touched. arrays: arrays by name, which a run can have others
    in place of, as in made(x=other), and of which it returns those that it writes. Memory that has
    no name is that of the plans.
    """
    plans = list(plans)
    if not plans or any(plan.device is not plans[0].device for plan in plans):
        raise ValueError("plans of one device are wanted, at least one")
    named = {name: as_array(array) for name, array in arrays.items()}
    arguments, temps = groups_of(plans, named, temporaries)
    steps, _keeps = steps_of(plans, [(low, found) for low, _, _, found in arguments] +
                            [(low, found) for low, _, found in temps])
    desc = new("heed_program_desc", flags=0, n_args=len(arguments), n_temps=len(temps),
               n_steps=len(plans), step_size=ctypes.sizeof(steps[0]))
    handle = ctypes.c_void_p()
    desc.steps = ctypes.addressof(steps)
    call("heed_program_plan", plans[0].device.handle, ctypes.byref(desc), ctypes.byref(handle))
    own, paths = {}, {}
    for number, (low, high, name, _) in enumerate(arguments):
        path = f"arrays[{number}]"
        own[path] = named[name] if name else Array("uint8", [high - low], [1], low, plans)
        if name:
            paths[name] = [path]
    made = Program(plans[0].device, handle.value, Steps(len(arguments), paths), own, [])
    made.outputs = [paths[name][0] for name in arrays if name in paths and any(
        x["name"] == paths[name][0] and x["role"] != CONSTANTS["HEED_ROLE_IN"]
        for x in made.operands())]
    return made
