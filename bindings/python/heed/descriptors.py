# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptors from keywords: arrays, sets of keys, names of enums. One walk over the table of
structs serves every operation, mechanism and program."""

import collections
import ctypes
import dataclasses
from typing import Any

from ._abi import CONSTANTS, STRUCTS
from ._native import STRUCT, new
from .arrays import Constant, argument

OWN_FIELDS = ("size", "reserved", "reserved1")
# What a list of Python becomes, by the field it is given for.
LIST_KINDS = collections.defaultdict(lambda: "float32", {
    name: "int32" for name in (
        "len", "globals", "random", "map", "block_ids", "list", "rows", "memory_head",
        "compressed_head", "from", "to", "at", "head", "table", "ranges", "ids", "x_len")})
LIST_KINDS["mask"] = "uint8"


@dataclasses.dataclass
class Keys:
    """A set of keys and values, and what of it is there: k [batch...][H_k][n][d], v
    [batch...][H_k][n][d_v], len [B], mask [B][1, H_k or H][n] of bytes. A pair (k, v) will do."""
    k: Any
    v: Any
    len: Any = None
    mask: Any = None


@dataclasses.dataclass
class Relative:
    """Relative positions as heed_relative has them: r [1 or H][len][d], shift [1 or H][len]."""
    r: Any = None
    shift: Any = None
    zero: int = 0


def parts(kind, value):
    """A value of a nested struct as a dict of its fields."""
    if isinstance(value, (tuple, list)) and kind == "heed_keys":
        value = Keys(*value)
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return value
    raise TypeError(f"{kind} wants its parts, or a dict of them, not {type(value).__name__}")


NESTED = ("heed_keys", "heed_relative")


def flatten(struct, given, prefix=""):
    """Arrays by their path in the descriptor, such as "text.k" or "rounds[0]"."""
    kinds = {name: (kind, count) for name, kind, count in STRUCTS[struct]}
    found = {}
    for name, value in given.items():
        name = name.rstrip("_")
        kind, count = kinds.get(name, ("", 0))
        if value is None:
            continue
        if kind in NESTED:
            found.update(flatten(kind, parts(kind, value), prefix + name + "."))
        elif count and kind == "heed_tensor":
            found.update({f"{prefix}{name}[{i}]": one for i, one in enumerate(value)})
        elif kind in ("heed_tensor", "heed_slot") or not kind:
            found[prefix + name] = value
    return found


def enum_value(prefixes, text):
    """The number of names such as "mean", or "causal|own_workspace", behind one of the prefixes."""
    total = 0
    for word in text.split("|"):
        for prefix in prefixes:
            name = prefix + word.strip().upper().replace("-", "_")
            if name in CONSTANTS:
                total |= CONSTANTS[name]
                break
        else:
            raise ValueError(f"{word!r} is no name behind {' or '.join(prefixes)}")
    return total


def prefixes(struct, field):
    """Where the names of an enum field are looked up."""
    named = {"numerics": "HEED_NUMERICS_", "tail": "HEED_TAIL_"}
    if field in named:
        return [named[field]]
    # Of heed_lsg_program_desc HEED_LSG_PROGRAM_ and HEED_LSG_.
    words = struct[len("heed_"):-len("_desc")].upper().split("_")
    own = ["_".join(["HEED", *words[:end], ""]) for end in range(len(words), 0, -1)]
    return own + ["HEED_PLAN_", "HEED_ATTN_"] if field == "flags" else own


class Filled:
    """A descriptor with its arrays by path; it keeps what the struct points to."""

    def __init__(self, struct, given):
        self.name, self.struct, self.arrays, self.keeps = struct, new(struct), {}, []
        self.fill(struct, self.struct, given, "")

    def fill(self, name, struct, given, prefix):
        fields = {field: (kind, count) for field, kind, count in STRUCTS[name]}
        for key, value in given.items():
            field = key.rstrip("_")
            if field not in fields or field in OWN_FIELDS:
                raise TypeError(f"{name} has no {prefix}{field}")
            if value is not None:
                self.one(name, struct, field, fields[field], value, prefix + field)

    def one(self, name, struct, field, typed, value, path):
        kind, count = typed
        if kind == "heed_tensor" and count:
            if len(value) > count:
                raise ValueError(f"{path} has {len(value)} arrays, at most {count} are wanted")
            for i, one in enumerate(value):
                getattr(struct, field)[i] = self.tensor(one, f"{path}[{i}]", field)
        elif kind == "heed_tensor":
            setattr(struct, field, self.tensor(value, path, field))
        elif kind == "heed_slot":
            setattr(struct, field, self.slot(value, path, field))
        elif kind in NESTED:
            self.fill(kind, getattr(struct, field), parts(kind, value), path + ".")
        elif isinstance(value, str):
            setattr(struct, field, enum_value(prefixes(name, field), value))
        else:
            setattr(struct, field, value)

    def tensor(self, value, path, field):
        self.arrays[path] = argument(value, LIST_KINDS[field], path)
        return self.arrays[path].tensor()

    def slot(self, value, path, field):
        if not isinstance(value, Constant):
            return STRUCT["heed_slot"](self.tensor(value, path, field), None)
        array = argument(value.array, LIST_KINDS[field], path)
        self.keeps.append(array)
        # Without elements it has no address, and would be taken for a run-time slot.
        return STRUCT["heed_slot"](array.tensor(), array.address or ctypes.addressof(self.struct))
