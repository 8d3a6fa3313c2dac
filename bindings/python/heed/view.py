# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What rows see: counts, a table of booleans, a picture."""

from __future__ import annotations

import ctypes
from typing import Any, Sequence

import numpy

from ._abi import CONSTANTS
from ._native import STRUCT, call
from .runtime import Plan


def keys_of(plan, desc, source):
    """How many keys heed_attn_visible() counts in a source."""
    given = ctypes.cast(desc.sources, ctypes.POINTER(STRUCT["heed_source"]))[source]
    k = plan.arrays[f"kv[{source}].k"].shape
    if len(k) < 2:
        return 0
    if given.layout != CONSTANTS["HEED_LAYOUT_PAGED"]:
        return k[-2]
    slots = ctypes.cast(desc.slots, ctypes.POINTER(STRUCT["heed_slot"]))
    table = slots[given.slot - 1].t
    return table.shape[table.ndim - 1] * k[-2]


def pairs(plan: Plan, *, batch: int = 0, head: int = 0,
          rows: Sequence[int] | None = None) -> list[numpy.ndarray]:
    """How often each row sees each key: a list with an array [rows][keys] of uint8 for each
    source. plan: of an attention or a mechanism."""
    desc = getattr(plan.desc, "struct", None)
    if desc is None or not hasattr(desc, "n_sources"):
        raise TypeError("only plans of attentions and mechanisms know what rows see")
    args = plan.operation.args(plan.arrays)
    rows = range(desc.q.shape[desc.q.ndim - 2]) if rows is None else rows
    found = []
    for source in range(desc.n_sources):
        n = keys_of(plan, desc, source)
        seen = numpy.zeros((len(rows), n), "uint8")
        for place, row in enumerate(rows):
            call("heed_attn_visible", ctypes.byref(desc), ctypes.byref(args), batch, head, row,
                 source, seen[place].ctypes.data)
        found.append(seen)
    return found


def visible(plan: Plan, *, batch: int = 0, head: int = 0,
            rows: Sequence[int] | None = None) -> numpy.ndarray:
    """Which keys each row sees: booleans [rows][keys], the keys of all sources side by side."""
    found = pairs(plan, batch=batch, head=head, rows=rows)
    n = len(range(plan.desc.struct.q.shape[plan.desc.struct.q.ndim - 2]) if rows is None else rows)
    return numpy.concatenate([numpy.zeros((n, 0), "uint8"), *found], axis=1) > 0


def show(plan: Plan, *, batch: int = 0, head: int = 0, rows: Sequence[int] | None = None,
         axes: Any = None) -> Any:
    """Draws what rows see with matplotlib, and returns the axes. Lines stand between sources."""
    import matplotlib.pyplot as plot

    found = pairs(plan, batch=batch, head=head, rows=rows)
    axes = axes or plot.figure(layout="constrained").add_subplot()
    axes.imshow(numpy.concatenate(found, axis=1), cmap="Blues", vmin=0, interpolation="nearest")
    at = -0.5
    for seen in found[:-1]:
        at += seen.shape[1]
        axes.axvline(at, color="black", linewidth=1)
    axes.set(xlabel="key", ylabel="row", title=f"item {batch}, head {head}")
    return axes
