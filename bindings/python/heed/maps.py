# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Maps of biases and windows of a document: small tables that the library writes."""

from __future__ import annotations

import ctypes

import numpy

from ._abi import CONSTANTS
from ._native import STRUCT, fail, library


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
