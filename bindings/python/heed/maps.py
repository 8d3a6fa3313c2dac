# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Maps of biases, windows of a document, rotary positions: small tables that the library writes."""

from __future__ import annotations

import ctypes

import numpy

from ._abi import CONSTANTS
from ._native import STRUCT, fail, library
from .descriptors import enum_value


def _map(function, length, zero, buckets, distance, reverse, one_sided=False):
    made = numpy.empty(length, "int32")
    flags = (CONSTANTS["HEED_MAP_REVERSED"] if reverse else 0) | \
        (CONSTANTS["HEED_MAP_ONE_SIDED"] if one_sided else 0)
    status = function(made.ctypes.data, length, zero, buckets, distance, flags)
    if status < 0:
        fail(status)
    return made


def map_t5(length: int, zero: int, buckets: int = 32, max_distance: int = 128, *,
           reverse: bool = False, one_sided: bool = False) -> numpy.ndarray:
    """Buckets of T5: heed_map_t5()."""
    return _map(library.heed_map_t5, length, zero, buckets, max_distance, reverse, one_sided)


def map_log(length: int, zero: int, buckets: int, max_position: int, *,
            reverse: bool = False) -> numpy.ndarray:
    """Logarithmic buckets of DeBERTa, version 2: heed_map_log()."""
    return _map(library.heed_map_log, length, zero, buckets, max_position, reverse)


def map_even(length: int, zero: int, buckets: int, max_distance: int, *,
             reverse: bool = False) -> numpy.ndarray:
    """Even buckets: heed_map_even()."""
    return _map(library.heed_map_even, length, zero, buckets, max_distance, reverse)


def window_plan(n: int, length: int, overlap: int) -> numpy.ndarray:
    """The windows in which a document of n tokens is encoded, as rows (begin, end, keep, keep_end):
    heed_window_plan()."""
    count = ctypes.c_int64()
    status = library.heed_window_plan(n, length, overlap, None, 0, ctypes.byref(count))
    if status < 0:
        fail(status)
    found = (STRUCT["heed_window"] * count.value)()
    status = library.heed_window_plan(n, length, overlap, found, count.value, ctypes.byref(count))
    if status < 0:
        fail(status)
    return numpy.array([(w.begin, w.end, w.keep, w.keep_end) for w in found],
                       "int64").reshape(-1, 4)


def rope_tables(positions: int, pairs: int, *, first: int = 0, kind: int | str = "plain",
                base: float = 0, factor: float = 0, trained: float = 0, fast: float = 0,
                slow: float = 0, amplitude: float = 0) -> tuple[numpy.ndarray, numpy.ndarray]:
    """cos and sin of rotary positions, as heed.rope() takes them: heed_rope_tables()."""
    kind = enum_value(["HEED_ROPE_SCALING_"], kind) if isinstance(kind, str) else kind
    if positions < 0 or pairs < 0:
        raise ValueError(f"{positions} positions of {pairs} pairs")
    scaling = STRUCT["heed_rope_scaling"](kind=kind, base=base, factor=factor, trained=trained,
                                          fast=fast, slow=slow, amplitude=amplitude)
    scaling.size = ctypes.sizeof(scaling)
    tables = tuple(numpy.empty((positions, pairs), "float32") for _ in range(2))
    status = library.heed_rope_tables(ctypes.byref(scaling), first, positions, pairs,
                                      *(table.ctypes.data for table in tables))
    if status < 0:
        fail(status)
    return tables
