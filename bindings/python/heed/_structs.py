# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The structs of the headers as ctypes has them, made from the table in _abi.py."""

import ctypes

from ._abi import STRUCTS

SCALARS = {
    "int8_t": ctypes.c_int8, "uint8_t": ctypes.c_uint8, "char": ctypes.c_char,
    "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "double": ctypes.c_double,
    "float": ctypes.c_float, "pointer": ctypes.c_void_p, "callback": ctypes.c_void_p,
    "string": ctypes.c_char_p, "void": None,
}


def _make_structs():
    made = {}
    for name, fields in STRUCTS.items():
        typed = []
        for field, kind, count in fields:
            one = made.get(kind) or SCALARS[kind]
            typed.append((field, one * count if count else one))
        made[name] = type(name, (ctypes.Structure,), {"_fields_": typed})
    return made


STRUCT = _make_structs()
