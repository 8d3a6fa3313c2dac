# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms and programs by name. Each function is made from the descriptor of its builder: its
parameters are the fields, and its text is the header's."""

import ctypes
import inspect

import numpy

from . import descriptors
from ._abi import BUILDERS, CONSTANTS, PROGRAMS, STRUCTS
from ._docs import DOCS
from ._native import call, new
from ._signature import COMMON, OF_ATTENTION, parameters
from .arrays import as_array, dtype_name
from .attention import Attention, give_outputs, output_shape, plan_attention, set_common
from .descriptors import Filled, parts
from .operations import made_like, operation, plan_simple
from .runtime import device_of

# The slot of a mechanism that an array of its descriptor lies in; lengths and masks of sets of keys
# are numbered by the set.
SLOTS = {
    "globals": "LIST", "random": "LIST", "list": "LIST", "table": "TABLE", "kr": "TABLE",
    "relative.r": "TABLE", "side_table": "TABLE_2", "qr": "TABLE_2", "relative.shift": "TABLE_2",
    "map": "MAP", "block_ids": "COORD", "memory_head": "HEAD", "compressed_head": "HEAD_2",
    "rows": "LEN_2", "mask": "MASK", "global_kr": "GLOBAL_TABLE", "global_qr": "GLOBAL_TABLE_2",
    "global_map": "GLOBAL_MAP",
}


def key_sets(struct):
    return [name for name, kind, _ in STRUCTS[struct] if kind == "heed_keys"]


class Mechanism(Attention):
    """The attention that a builder filled, by the names of the builder's descriptor."""

    def __init__(self, builder, filled):
        super().__init__()
        self.made, self.given = new("heed_mechanism"), filled
        call(builder, ctypes.byref(filled.struct), ctypes.byref(self.made))
        self.struct, self.n_sources = self.made.desc, self.made.desc.n_sources
        self.sets = key_sets(filled.name)
        for name, array in filled.arrays.items():
            for path in self.places_of(name):
                self.arrays[path] = array
                self.paths.setdefault(name, []).append(path)

    def places_of(self, name):
        """The paths that an array of the builder's descriptor has in the arguments of a run."""
        first, _, last = name.partition(".")
        slot = SLOTS.get(name)
        if name in ("q", "o"):
            return [name]
        if name in ("w", "pages"):
            return ["q"] if name == "w" else ["kv[0].k", "kv[0].v"]
        if slot is None and last in ("k", "v"):
            number = self.sets.index(first)
            return [f"kv[{i}].{last}" for i in range(self.n_sources)
                    if self.made.keys[i] == number]
        if slot is None:
            number = self.sets.index(first)
            slot = last.upper() + (f"_{number + 1}" if number else "")
        return [f"slots[{CONSTANTS['HEED_MECHANISM_' + slot] - 1}]"]

    def flatten(self, given):
        return descriptors.flatten(self.given.name, given)


def block_list(struct, given):
    """Memory for the list that heed_lsg() writes, in the fields that the others leave alone."""
    number = descriptors.enum_value(["HEED_LSG_"], "block_stride")
    sparsity = given.get("sparsity") or 0
    if isinstance(sparsity, str):
        sparsity = descriptors.enum_value(["HEED_LSG_"], sparsity)
    if struct != "heed_lsg_desc" or sparsity != number:
        return None
    *_, heads, n, _ = (1, 1, *as_array(given["q"]).shape)
    block = given.get("block") or 128
    per_block = block // max(given.get("factor") or 2, 1)
    sparse = given.get("sparse_block") or block
    return numpy.empty(heads * -(-n // block) * 2 * (sparse // max(per_block, 1)), "int32")


def output_of(struct, given, dtype):
    """The o of a mechanism that was not given one."""
    if struct == "heed_pagesum_desc":
        return made_like(given["pages"], as_array(given["pages"]).shape[1:], dtype)
    sets = [parts("heed_keys", given[name]) for name in key_sets(struct)
            if given.get(name) is not None]
    values = [one["v"] for one in sets]
    d_v = as_array(values[0]).shape[-1]
    return made_like(given["q"], output_shape(given["q"], values, d_v), dtype)


def plan_mechanism(builder, struct, given, device, threads):
    own = {name: given.pop(name, None) for name in (*OF_ATTENTION, "dtype", "numerics")}
    dtype = own["dtype"] and dtype_name(own["dtype"])
    if given.get("o") is None:
        given["o"] = output_of(struct, given, dtype)
    room = block_list(struct, given)
    if room is not None:
        given.update(list=room.ctypes.data, list_room=room.size)
    filled = Filled(struct, given)
    filled.keeps.append(room)
    made = Mechanism(builder, filled)
    set_common(made, own["scale"], own["softcap"], own["sinks"], own["numerics"] or 0, 0)
    if own["lse"] is not None and own["lse"] is not False:
        give_outputs(made, given["o"], own["lse"], made_like, None)
    return plan_attention(made, device_of(device, threads), ["o", "lse"])


def plan_program(name, struct, given, device, threads):
    dtype = given.pop("dtype", None)
    if given.get("o") is None:
        given["o"] = output_of(struct, given, dtype and dtype_name(dtype))
    stem = name[len("heed_"):-len("_plan")]
    return plan_simple(stem, "heed_program_args", given, ["o"], device, threads,
                       "heed_program_run")


def signature_of(struct, more):
    """Of the function that is made from a descriptor."""
    needed, optional, named = parameters(struct, STRUCTS[struct], more)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    made = [inspect.Parameter(name, kind) for name in needed]
    made += [inspect.Parameter(name, kind, default=None) for name in optional]
    made += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY,
                               default=0 if name in (*COMMON, "threads") else None)
             for name in named]
    return inspect.Signature(made)


NOTE = """

A set of keys is a pair (k, v) or Keys(k, v, len, mask). Arrays are NumPy's, torch's or DLPack's;
index lists, tables and lengths may be constant(array). flags and enums are numbers or names.
Without o one is made, and returned. {name}.plan(...) takes the same and returns the Plan.
"""


def make(name, function, struct, planned, more):
    """The function of a builder or a program."""
    signature = signature_of(struct, more)

    def plan(*arguments, **keywords):
        bound = signature.bind(*arguments, **keywords)
        given = {key: value for key, value in bound.arguments.items() if value is not None}
        for key in parameters(struct, STRUCTS[struct], more)[0]:
            if key not in given:
                raise TypeError(f"{name} wants {key}")
        device, threads = given.pop("device", None), given.pop("threads", 0)
        return planned(function, struct, given, device, threads)

    plan.__name__ = plan.__qualname__ = name
    plan.__signature__ = signature
    plan.__doc__ = DOCS[struct] + NOTE.format(name=name)
    return operation(plan)


FUNCTIONS = {}
for _builder, _struct in BUILDERS.items():
    _name = _builder[len("heed_"):]
    FUNCTIONS[_name] = make(_name, _builder, _struct, plan_mechanism, OF_ATTENTION)
for _plan, _struct in PROGRAMS.items():
    _name = _plan[len("heed_"):-len("_plan")]
    FUNCTIONS[_name] = make(_name, _plan, _struct, plan_program, ())
globals().update(FUNCTIONS)
__all__ = list(FUNCTIONS)
