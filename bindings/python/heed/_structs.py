# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The structs of the headers as ctypes has them, made from the table in _abi.py."""

import ctypes
import operator

from ._abi import STRUCTS

SCALARS = {
    "int8_t": ctypes.c_int8, "uint8_t": ctypes.c_uint8, "char": ctypes.c_char,
    "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "double": ctypes.c_double,
    "float": ctypes.c_float, "pointer": ctypes.c_void_p, "callback": ctypes.c_void_p,
    "string": ctypes.c_char_p, "void": None,
}

# The least and the most of whole numbers: ctypes alone takes others modulo 2^bits.
RANGES = {"int8_t": (-1 << 7, 1 << 7), "uint8_t": (0, 1 << 8), "int32_t": (-1 << 31, 1 << 31),
          "uint32_t": (0, 1 << 32), "int64_t": (-1 << 63, 1 << 63), "uint64_t": (0, 1 << 64),
          "size_t": (0, 1 << 8 * ctypes.sizeof(ctypes.c_size_t))}


def whole(name, kind, value):
    """The number itself, where a field of this kind can hold it."""
    low, end = RANGES[kind]
    number = operator.index(value)
    if not low <= number < end:
        raise OverflowError(f"{name} is {number}, from {low} to {end - 1} is wanted")
    return number


class Checked(ctypes.Structure):
    """A struct whose whole numbers are held against the ranges of their types."""
    kinds: dict[str, str] = {}

    def __setattr__(self, name, value):
        kind = self.kinds.get(name)
        super().__setattr__(name, whole(name, kind, value) if kind else value)


def _whole_parameter(kind):
    """The type of a parameter of a function, checked likewise."""
    def from_param(value):
        return SCALARS[kind](whole("an argument", kind, getattr(value, "value", value)))
    return type(kind, (), {"from_param": staticmethod(from_param)})


def _make_structs():
    made = {}
    for name, fields in STRUCTS.items():
        typed = []
        for field, kind, count in fields:
            one = made.get(kind) or SCALARS[kind]
            typed.append((field, one * count if count else one))
        made[name] = type(name, (Checked,), {"_fields_": typed, "kinds": {
            field: kind for field, kind, count in fields if kind in RANGES and not count}})
    return made


STRUCT = _make_structs()
PARAMETERS = {**SCALARS, **{kind: _whole_parameter(kind) for kind in RANGES}, **STRUCT}
