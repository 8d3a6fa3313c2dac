# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Calls that plan and run: what they have in common, and the operations beside attention."""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any, Callable, Sequence

from . import descriptors
from ._docs import DOCS
from ._native import call, new
from ._types import ArrayLike, DeviceLike, DType
from .arrays import as_array, empty
from .descriptors import Filled, enum_value
from .runtime import Plan, device_of, place

__all__ = ["act", "copy", "embed", "gate", "linear", "merge", "norm", "order", "pool", "push", "recur", "rope",
           "select", "state"]

if TYPE_CHECKING:
    from typing import Generic

    from typing_extensions import ParamSpec

    Given = ParamSpec("Given")

    class Operation(Generic[Given]):
        """Plans and runs; plan() only plans."""
        __name__: str

        def __call__(self, *arguments: Given.args, **keywords: Given.kwargs) -> Any: ...

        def plan(self, *arguments: Given.args, **keywords: Given.kwargs) -> Plan: ...


def operation(function: Callable[Given, Plan]) -> Operation[Given]:
    """Of a function that makes a plan, one that runs it at once; function.plan is the former."""
    @functools.wraps(function)
    def run(*arguments, **keywords):
        return function(*arguments, **keywords)()
    run.plan = function     # type: ignore[attr-defined]
    return run              # type: ignore[return-value]


class Simple:
    """An operation whose arguments have the names of its descriptor's arrays."""

    def __init__(self, desc, args, run_name, names):
        self.desc_name, self.args_name, self.run_name = desc, args, run_name
        self.paths = {name: [name] for name in names}

    def flatten(self, given):
        return descriptors.flatten(self.desc_name, given)

    def args(self, arrays):
        made = new(self.args_name)
        for path, array in arrays.items():
            place(made, path, array.address)
        return made


def plan_simple(stem, args, given, outputs, device, threads, run_name=None):
    """A Plan of heed_<stem>_plan()."""
    device = device_of(device, threads)
    filled, handle = Filled(f"heed_{stem}_desc", given), ctypes.c_void_p()
    call(f"heed_{stem}_plan", device.handle, ctypes.byref(filled.struct), ctypes.byref(handle))
    operation = Simple(filled.name, args, run_name or f"heed_{stem}_run", filled.arrays)
    return Plan(device, handle.value, operation, filled.arrays,
                [path for path in outputs if path in filled.arrays], filled)


def shape_of(value):
    return as_array(value).shape


def made_like(x, shape, dtype=None):
    """An output for a call on x."""
    array = as_array(x)
    return empty(shape, dtype or array.dtype, array)


@operation
def copy(x: ArrayLike, y: ArrayLike | None = None, *, from_: ArrayLike | None = None,
         to: ArrayLike | None = None, at: ArrayLike | None = None, head: ArrayLike | None = None,
         table: ArrayLike | None = None, len: ArrayLike | None = None,
         y_scale: ArrayLike | None = None, flags: int | str = 0, numerics: int | str = 0,
         device: DeviceLike = None, threads: int = 0) -> Plan:
    if y is None:
        shape = list(shape_of(x))
        if from_ is not None:
            shape[-2] = shape_of(as_array(from_, "int32"))[-1]
        y, flags = made_like(x, shape), flags or "zero"
        if to is not None or at is not None or table is not None:
            raise TypeError("y is a state here: rows that are not named keep what they hold")
    given = {"x": x, "y": y, "from": from_, "to": to, "at": at, "head": head, "table": table,
             "len": len, "y_scale": y_scale, "flags": flags, "numerics": numerics}
    return plan_simple("copy", "heed_copy_args", given, ["y", "y_scale"], device, threads)


@operation
def push(rows: ArrayLike, head: ArrayLike, len: ArrayLike, x: ArrayLike, *,
         x_len: ArrayLike | None = None, out: ArrayLike | None = None,
         out_len: ArrayLike | None = None, rows_scale: ArrayLike | None = None,
         flags: int | str = 0, numerics: int | str = 0, device: DeviceLike = None,
         threads: int = 0) -> Plan:
    given = {"rows": rows, "head": head, "len": len, "x": x, "x_len": x_len, "out": out,
             "out_len": out_len, "rows_scale": rows_scale, "flags": flags, "numerics": numerics}
    return plan_simple("push", "heed_push_args", given,
                       ["rows", "head", "len", "out", "out_len", "rows_scale"], device, threads)


def pooled_rows(n, kind, tail, kernel, stride, left, block, buckets):
    """M of heed_pool_desc; what makes no sense is the check's to refuse."""
    if kind == enum_value(["HEED_POOL_"], "bucket"):
        return -(-n // max(block, 1)) * buckets
    stride = max(stride, 1)
    whole = (n - kernel) // stride + 1 if n >= kernel else 0
    centre = -(-(1 + kernel) // 2) - 1 - left
    counts = {
        "floor": whole, "join": whole, "end": -(-n // stride),
        "ceil": 0 if n == 0 else 1 if n <= kernel else -(-(n - kernel) // stride) + 1,
        "centre": 0 if n <= centre else (n - 1 - centre) // stride + 1,
    }
    return next((rows for name, rows in counts.items()
                 if enum_value(["HEED_TAIL_"], name) == tail), 0)


@operation
def pool(x: ArrayLike, y: ArrayLike | None = None, *, kind: int | str = "sum",
         tail: int | str = "floor", kernel: int = 0, stride: int = 0, left: int = 0,
         block: int = 0, buckets: int = 0, mask: ArrayLike | None = None,
         len: ArrayLike | None = None, ranges: ArrayLike | None = None,
         weights: ArrayLike | None = None, ids: ArrayLike | None = None,
         y_mask: ArrayLike | None = None, y_len: ArrayLike | None = None, flags: int | str = 0,
         numerics: int | str = 0, device: DeviceLike = None, threads: int = 0) -> Plan:
    kind = enum_value(["HEED_POOL_"], kind) if isinstance(kind, str) else kind
    tail = enum_value(["HEED_TAIL_"], tail) if isinstance(tail, str) else tail
    if y is None:
        shape = list(shape_of(x))
        shape[-2] = shape_of(as_array(ranges, "int32"))[-2] if ranges is not None else \
            pooled_rows(shape[-2], kind, tail, kernel, stride, left, block, buckets)
        y = made_like(x, shape)
    given = {"x": x, "y": y, "kind": kind, "tail": tail, "kernel": kernel, "stride": stride,
             "left": left, "block": block, "buckets": buckets, "mask": mask, "len": len,
             "ranges": ranges, "weights": weights, "ids": ids, "y_mask": y_mask, "y_len": y_len,
             "flags": flags, "numerics": numerics}
    return plan_simple("pool", "heed_pool_args", given, ["y", "y_mask", "y_len"], device, threads)


@operation
def select(x: ArrayLike, q: ArrayLike | None = None, y: ArrayLike | None = None, *,
           kind: int | str = "norm", block: int = 0, count: int = 0, pad_front: int = 0,
           pad_back: int = 0, mask: ArrayLike | None = None, len: ArrayLike | None = None,
           rounds: Sequence[ArrayLike] = (), flags: int | str = 0, numerics: int | str = 0,
           device: DeviceLike = None, threads: int = 0) -> Plan:
    kind = enum_value(["HEED_SELECT_"], kind) if isinstance(kind, str) else kind
    if y is None:
        *batch, n, _ = shape_of(x)
        if kind == enum_value(["HEED_SELECT_"], "topk") and q is None:
            raise TypeError("q is wanted by TOPK")
        if count < 0:
            raise ValueError(f"count is {count}")
        if kind == enum_value(["HEED_SELECT_"], "topk"):
            shape = [*shape_of(q)[:-1], count]
        elif kind == enum_value(["HEED_SELECT_"], "hash"):
            shape = [*batch, n]
        else:
            shape = [*batch, -(-n // max(block, 1)) * count + pad_front + pad_back]
        y = made_like(x, shape, "int32")
    given = {"x": x, "q": q, "y": y, "kind": kind, "block": block, "count": count,
             "pad_front": pad_front, "pad_back": pad_back, "mask": mask, "len": len,
             "rounds": rounds, "flags": flags, "numerics": numerics}
    return plan_simple("select", "heed_select_args", given, ["y"], device, threads)


@operation
def merge(parts: ArrayLike, parts_lse: ArrayLike, o: ArrayLike | None = None, *,
          lse: ArrayLike | bool | None = None, sinks: ArrayLike | None = None,
          flags: int | str = 0, numerics: int | str = 0, device: DeviceLike = None,
          threads: int = 0) -> Plan:
    if o is None:
        o = made_like(parts, shape_of(parts)[1:])
    if isinstance(lse, bool):
        lse = made_like(parts, shape_of(parts_lse)[1:], "float32") if lse else None
    given = {"parts": parts, "parts_lse": parts_lse, "o": o, "lse": lse, "sinks": sinks,
             "flags": flags, "numerics": numerics}
    return plan_simple("merge", "heed_merge_args", given, ["o", "lse"], device, threads)


@operation
def state(states: ArrayLike, o: ArrayLike | bool = True, *, lse: ArrayLike | bool | None = None,
          state: ArrayLike | bool | None = None, sinks: ArrayLike | None = None,
          flags: int | str = 0, numerics: int | str = 0, device: DeviceLike = None,
          threads: int = 0) -> Plan:
    *rows, channels = shape_of(states)[1:]
    o, lse, state = (
        (made_like(states, shape, "float32") if array else None) if isinstance(array, bool) else array
        for array, shape in ((o, [*rows, channels - 18]), (lse, rows), (state, [*rows, channels])))
    given = {"states": states, "o": o, "lse": lse, "state": state, "sinks": sinks,
             "flags": flags, "numerics": numerics}
    return plan_simple("state", "heed_state_args", given, ["o", "lse", "state"], device, threads)


@operation
def norm(x: ArrayLike, y: ArrayLike | None = None, *, kind: int | str = "layer", eps: float = 1e-5,
         residual: ArrayLike | None = None, weight: ArrayLike | None = None,
         bias: ArrayLike | None = None, sum: ArrayLike | bool | None = None,
         flags: int | str = 0, numerics: int | str = 0, device: DeviceLike = None,
         threads: int = 0) -> Plan:
    kind = enum_value(["HEED_NORM_"], kind) if isinstance(kind, str) else kind
    y = made_like(x, shape_of(x)) if y is None else y
    if isinstance(sum, bool):
        sum = made_like(x, shape_of(x)) if sum else None
    given = {"x": x, "y": y, "kind": kind, "eps": eps, "residual": residual, "weight": weight,
             "bias": bias, "sum": sum, "flags": flags, "numerics": numerics}
    return plan_simple("norm", "heed_norm_args", given, ["y", "sum"], device, threads)


@operation
def rope(x: ArrayLike, cos: ArrayLike, sin: ArrayLike, y: ArrayLike | None = None, *,
         kind: int | str = "halves", pos: ArrayLike | None = None, pos0: int = 0,
         flags: int | str = 0, numerics: int | str = 0, device: DeviceLike = None,
         threads: int = 0) -> Plan:
    if isinstance(kind, str):
        if kind.startswith("scaling"):      # those are of rope_tables()
            raise ValueError(f"kind is {kind!r}")
        kind = enum_value(["HEED_ROPE_"], kind)
    y = made_like(x, shape_of(x)) if y is None else y
    given = {"x": x, "cos": cos, "sin": sin, "y": y, "kind": kind, "pos": pos, "pos0": pos0,
             "flags": flags, "numerics": numerics}
    return plan_simple("rope", "heed_rope_args", given, ["y"], device, threads)


@operation
def act(x: ArrayLike, y: ArrayLike | None = None, *, kind: int | str = "none",
        factor: ArrayLike | None = None, add: ArrayLike | None = None, flags: int | str = 0,
        numerics: int | str = 0, device: DeviceLike = None, threads: int = 0) -> Plan:
    kind = enum_value(["HEED_ACT_"], kind) if isinstance(kind, str) else kind
    y = made_like(x, shape_of(x)) if y is None else y
    given = {"x": x, "y": y, "kind": kind, "factor": factor, "add": add, "flags": flags,
             "numerics": numerics}
    return plan_simple("act", "heed_act_args", given, ["y"], device, threads)


@operation
def recur(q: ArrayLike | None, k: ArrayLike, v: ArrayLike, state: ArrayLike,
          o: ArrayLike | None = None, *, decay: ArrayLike | None = None,
          beta: ArrayLike | None = None, len: ArrayLike | None = None, scale: float = 0,
          flags: int | str = 0, numerics: int | str = 0, device: DeviceLike = None,
          threads: int = 0) -> Plan:
    if o is None and q is not None:
        o = made_like(v, shape_of(v))
    given = {"q": q, "k": k, "v": v, "decay": decay, "beta": beta, "len": len, "state": state,
             "o": o, "scale": scale, "flags": flags, "numerics": numerics}
    return plan_simple("recur", "heed_recur_args", given, ["o", "state"], device, threads)


@operation
def embed(table: ArrayLike, ids: ArrayLike, y: ArrayLike | None = None, *,
          positions: ArrayLike | None = None, pos: ArrayLike | None = None, pos0: int = 0,
          types: ArrayLike | None = None, type_ids: ArrayLike | None = None, scale: float = 1,
          flags: int | str = 0, numerics: int | str = 0, device: DeviceLike = None,
          threads: int = 0) -> Plan:
    y = made_like(table, [*shape_of(ids), shape_of(table)[-1]]) if y is None else y
    given = {"table": table, "ids": ids, "positions": positions, "pos": pos, "pos0": pos0,
             "types": types, "type_ids": type_ids, "y": y, "scale": scale, "flags": flags,
             "numerics": numerics}
    return plan_simple("embed", "heed_embed_args", given, ["y"], device, threads)


@operation
def order(ids: ArrayLike, count: int, order: ArrayLike | bool = True, *,
          place: ArrayLike | bool | None = None, starts: ArrayLike | bool | None = None,
          len: ArrayLike | None = None, flags: int | str = 0, numerics: int | str = 0,
          device: DeviceLike = None, threads: int = 0) -> Plan:
    shape = shape_of(ids)
    order, place, starts = (
        (made_like(ids, wanted, "int32") if array else None) if isinstance(array, bool) else array
        for array, wanted in ((order, shape), (place, shape), (starts, [*shape[:-1], count + 1])))
    given = {"ids": ids, "count": count, "order": order, "place": place, "starts": starts,
             "len": len, "flags": flags, "numerics": numerics}
    return plan_simple("order", "heed_order_args", given, ["order", "place", "starts"], device,
                       threads)


def _window_count(n: int, kernel: int, stride: int, left: int, tail: int) -> int:
    """Windows of n rows, as HEED_TAIL_* says."""
    floor, ceil, centre = (enum_value(["HEED_TAIL_"], word) for word in ("floor", "ceil", "centre"))
    if tail == floor:
        return 0 if n < kernel else (n - kernel) // stride + 1
    if tail == ceil:
        return 0 if n == 0 else max(-(-(n - kernel) // stride), 0) + 1
    if tail == centre:
        middle = (kernel + 2) // 2 - 1 - left
        return 0 if n <= middle else (n - 1 - middle) // stride + 1
    return -(-n // stride)


@operation
def linear(x: ArrayLike, w: ArrayLike, y: ArrayLike | None = None, *,
           bias: ArrayLike | None = None, add: ArrayLike | None = None, act: int | str = 0,
           kernel: int = 0, stride: int = 0, left: int = 0, tail: int | str = 0,
           flags: int | str = 0, numerics: int | str = 0, device: DeviceLike = None,
           threads: int = 0) -> Plan:
    act = enum_value(["HEED_ACT_"], act) if isinstance(act, str) else act
    tail = enum_value(["HEED_TAIL_"], tail) if isinstance(tail, str) else tail
    if y is None:
        *batch, n, _ = shape_of(x)
        rows = _window_count(n, kernel or 1, stride or 1, left, tail)
        y = made_like(x, (*batch, rows, shape_of(w)[-2 if kernel == 0 else -3]))
    given = {"x": x, "w": w, "y": y, "bias": bias, "add": add, "act": act, "kernel": kernel,
             "stride": stride, "left": left, "tail": tail, "flags": flags, "numerics": numerics}
    return plan_simple("linear", "heed_linear_args", given, ["y"], device, threads)


@operation
def gate(memory: ArrayLike, update: ArrayLike, gate: ArrayLike, y: ArrayLike | None = None, *,
         flags: int | str = 0, numerics: int | str = 0, device: DeviceLike = None,
         threads: int = 0) -> Plan:
    y = made_like(memory, shape_of(memory)) if y is None else y
    given = {"memory": memory, "update": update, "gate": gate, "y": y, "flags": flags,
             "numerics": numerics}
    return plan_simple("gate", "heed_gate_args", given, ["y"], device, threads)


_TAIL = """

Arrays are NumPy's, torch's or DLPack's; an output that is not given is made, and returned. flags
and enums are numbers or names ("{example}"). {name}.plan(...) takes the same and returns the Plan.
"""


def document(function, struct, example):
    """What the header says of the descriptor, as the function's text."""
    function.__doc__ = DOCS[struct] + _TAIL.format(name=function.__name__, example=example)
    function.plan.__doc__ = function.__doc__


for _function, _example in ((copy, "zero"), (push, "own_workspace"), (pool, "mean"),
                            (select, "topk"), (merge, "lse_with_sink"),
                            (state, "lse_with_sink"), (norm, "rms"), (rope, "adjacent"),
                            (act, "gelu"), (recur, "delta"),
                            (embed, "own_workspace"), (order, "own_workspace"),
                            (linear, "none"), (gate, "keeps")):
    document(_function, f"heed_{_function.__name__}_desc", _example)
