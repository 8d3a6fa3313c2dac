# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Attention over rows and keys that the ranks of an MPI program hold between them: heed/mpi.h.

Every rank describes the whole with whole() in the place of arrays, and says what its Part of it is.
A Plan finds out once which keys have to move; calling it moves them and computes the rank's rows,
with the bits of one machine. Communicators are those of mpi4py, which must be built for the MPI
that libheed-mpi is built for. docs/mpi.md has more.
"""

from __future__ import annotations

import ctypes
import dataclasses
import inspect
import math
import warnings
from typing import Any, NamedTuple, Sequence

try:
    import mpi4py   # noqa: F401: it is asked for here; MPI begins where mpi4py.MPI is imported
except ImportError:
    raise ImportError("heed.mpi takes communicators of mpi4py, which is not installed") from None

from . import _native
from ._abi import CONSTANTS, MPI_FUNCTIONS
from ._native import PARAMETERS, STRUCT, call, library, new
from ._types import ArrayLike, DeviceLike
from .arrays import Array, argument, as_array, dense_strides, dtype_name, empty
from .attention import attention, described
from .runtime import Planned, as_dict, device_of

__all__ = ["Info", "Part", "Plan", "model", "whole"]

LONGEST_VERSION = 8192      # MPI_MAX_LIBRARY_VERSION_STRING is that at most


class _Communicator:
    """A parameter of the type MPI_Comm, an int of C or a pointer: given as ctypes has it."""

    @staticmethod
    def from_param(value):
        return value


def _load():
    path = _native.library_path("heed-mpi", "HEED_MPI_LIBRARY", "mpi/", library._name)
    try:
        made = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"libheed-mpi could not be loaded: {error}. Build heed where there is an "
                          "MPI (-Dmpi=enabled), or name the library in the environment variable "
                          "HEED_MPI_LIBRARY.") from None
    _native.functions_declare(made, path, MPI_FUNCTIONS,
                              {**PARAMETERS, "MPI_Comm": _Communicator})
    if _address(made.heed_version) != _address(library.heed_version):
        raise ImportError(f"{path} brings another libheed than {library._name}, which is loaded")
    return made


def _address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


_ranks = _load()


# ---- communicators ----

def _version_of_library():
    """What the MPI of libheed-mpi calls itself."""
    text, length = ctypes.create_string_buffer(LONGEST_VERSION), ctypes.c_int()
    _ranks.MPI_Get_library_version(text, ctypes.byref(length))
    return text.value.decode(errors="replace").strip()


def _handle(comm):
    """The MPI_Comm of a communicator, once it is known that both sides mean the same MPI."""
    from mpi4py import MPI      # where the caller has a communicator, MPI has begun

    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"comm is no communicator of mpi4py, but {type(comm).__name__}")
    theirs, ours = MPI.Get_library_version().rstrip("\0").strip(), _version_of_library()
    if theirs != ours:
        raise ImportError(f"mpi4py is built for another MPI than {_ranks._name}: for "
                          f"{theirs!r}, not for {ours!r}. Its communicators mean nothing there.")
    kind = ctypes.c_int if MPI._sizeof(comm) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p
    return kind(kind.from_address(MPI._addressof(comm)).value)


# ---- descriptions ----

class _Whole(Array):
    """What an array of all ranks is like; nobody has it in memory."""

    def __init__(self, dtype, shape):
        super().__init__(dtype, shape, dense_strides(shape), 0, None)

    def numpy(self):
        raise ValueError(f"{self} has no memory: it says what all ranks hold between them")

    def __dlpack__(self, **_):
        return self.numpy()

    def __repr__(self):
        return f"heed.mpi.whole({self.shape}, {self.dtype!r})"


def whole(shape: Sequence[int], dtype: Any = "float32") -> Array:
    """An array that ranks hold between them, of whose memory no rank knows: for descriptions."""
    return _Whole(dtype_name(dtype), shape)


@dataclasses.dataclass
class Part:
    """What a rank wants and holds: heed_mpi_parts.

    Rows [first_row, first_row + n_rows) are computed here. keys: (first, count) for each source,
    cut at multiples of heed.CHUNK. q, o, lse and kv, a pair (k, v) for each source: arrays that
    lie as those of runs will; absent ones lie without gaps. A run without other arrays is on these.
    """
    first_row: int = 0
    n_rows: int = 0
    keys: Sequence[tuple[int, int]] = ()
    q: Any = None
    o: Any = None
    lse: Any = None
    kv: Sequence[tuple[Any, Any]] = ()
    move_keys: bool = False
    message_bytes: int = 0

    def _arrays(self):
        """Those that are given, by path."""
        given = {"q": self.q, "o": self.o, "lse": self.lse}
        for i, (k, v) in enumerate(self.kv):
            given[f"kv[{i}].k"], given[f"kv[{i}].v"] = k, v
        return {path: argument(value, "float32", "part." + path)
                for path, value in given.items() if value is not None}

    def _filled(self, parts, all_arrays):
        """Fills a heed_mpi_parts; returns the given arrays, and what the struct points to."""
        arrays, pairs = self._arrays(), list(self.keys)
        for path in arrays:
            if path not in all_arrays:
                raise ValueError(f"part.{path} is given, and the whole has no {path}")
        for name in ("first_row", "n_rows", "message_bytes"):
            setattr(parts, name, getattr(self, name))
        parts.size, parts.flags = ctypes.sizeof(parts), \
            CONSTANTS["HEED_MPI_MOVE_KEYS"] if self.move_keys else 0
        for name in ("q", "o", "lse"):
            if name in arrays:
                setattr(parts, name, arrays[name].tensor())
        keys = (STRUCT["heed_mpi_keys"] * max(len(pairs), len(self.kv), 1))()
        for one, pair in zip(keys, pairs):
            one.first, one.count = pair
        for i, one in enumerate(keys[:len(self.kv)]):
            for name in ("k", "v"):
                if f"kv[{i}].{name}" in arrays:
                    setattr(one, name, arrays[f"kv[{i}].{name}"].tensor())
        parts.keys, parts.n_keys, parts.keys_size = ctypes.addressof(keys), len(pairs), \
            ctypes.sizeof(keys[0])
        return arrays, keys


def _described(given, named):
    """An Attention of the whole, and its device, from the arguments of attention()."""
    bound = inspect.signature(attention.plan).bind(*given, **named)
    bound.apply_defaults()
    device = device_of(bound.arguments.pop("device"), bound.arguments.pop("threads"))
    return described(lambda _, shape, dtype=None: whole(shape, dtype or as_array(
        bound.arguments["q"]).dtype), **bound.arguments), device


# ---- plans ----

class Info(NamedTuple):
    """What a run of a rank moves and its plan holds: heed_mpi_props."""
    rows_move: bool     #: the rank's rows travel, in the place of keys
    rank: int
    ranks: int
    bytes_in: int
    bytes_out: int
    messages_in: int
    messages_out: int
    bytes_copied: int
    keys_seen: int
    keys_held: int
    host_bytes: int

    @classmethod
    def _of(cls, props):
        values = as_dict(props)
        return cls(**{**values, "rows_move": bool(values["rows_move"])})


class Plan(Planned):
    """What a rank computes, and what it moves for that: heed_mpi_attn_plan().

    comm: a communicator of mpi4py, whose ranks all make the plan, run it and close it, in the same
    order. part: what this rank wants and holds. Then what heed.attention takes for the whole, with
    whole(shape, dtype) in the place of q, k, v and o; lse: True where it is wanted. Arrays of slots
    and sinks are those of every rank.

    plan(q=q, k=k, v=v) moves and computes, and returns the rank's o, or (o, lse); the names are
    those of heed.attention.plan, "sources[1].k" where there are several. The plan is a context
    manager, which ends by close().

    A mistake of one rank is that of all: each of them raises the same heed.Error, whose message
    names the rank. What Python finds wrong on one rank (TypeError, ValueError, OverflowError) is
    raised there, and the others are told that its descriptor or its arguments are NULL. Only what
    is wrong with comm is raised on one rank alone.
    """

    def __init__(self, comm: Any, part: Part, *given: ArrayLike, **named: Any):
        self.handle, self._comm = None, _handle(comm)
        plan, parts = ctypes.c_void_p(), STRUCT["heed_mpi_parts"]()
        device = None
        try:
            filled, device = _described(given, named)
            arrays, keeps = part._filled(parts, filled.arrays)
        except Exception:
            # The other ranks wait for this one.
            _ranks.heed_mpi_attn_plan(self._comm, device and device.handle, None, None,
                                      ctypes.byref(plan), None)
            raise
        call("heed_mpi_attn_plan", self._comm, device.handle, ctypes.byref(filled.struct),
             ctypes.byref(parts), ctypes.byref(plan), of=_ranks)
        del keeps
        self.handle, self.device = plan.value, device
        for path, n in [("q", part.n_rows), ("o", part.n_rows), ("lse", part.n_rows)] + [
                (f"kv[{i}].{name}", count) for i, (_, count) in enumerate(part.keys)
                for name in ("k", "v")]:
            if path in filled.arrays and path not in arrays:
                arrays[path] = self._own(filled.arrays[path], n, -1 if path == "lse" else -2)
        super().__init__(filled, {**filled.arrays, **arrays},
                         [path for path in ("o", "lse") if path in filled.arrays])

    @staticmethod
    def _own(array, n, axis):
        """The part of an array that has n rows or keys, without gaps."""
        shape = list(array.shape)
        shape[axis] = n
        return _Whole(array.dtype, shape)

    def info(self) -> Info:
        """What heed_mpi_plan_info() says. Not collective."""
        props = new("heed_mpi_props")
        status = _ranks.heed_mpi_plan_info(self._open(), ctypes.byref(props))
        if status < 0:
            _native.fail(status)
        return Info._of(props)

    def _open(self):
        if self.handle is None:
            raise ValueError("the plan is closed")
        return self.handle

    def _arguments(self, given):
        """The arrays of a run, with outputs made where none is given, and the struct."""
        arrays = self.changed(given)
        for path in self.outputs:
            if isinstance(arrays[path], _Whole):
                made = arrays[path]
                arrays[path] = as_array(empty(made.shape, made.dtype, arrays["q"]))
        self.check_outputs(arrays)
        return arrays, self.operation.args(arrays)

    def __call__(self, **given: Any) -> Any:
        """Moves keys and values, or rows, and computes the rank's rows. Collective."""
        handle, queue = self._open(), None
        try:
            queue = self.device.queue
            arrays, args = self._arguments(given)
        except Exception:
            _ranks.heed_mpi_attn_run(handle, queue, None, None)     # the other ranks wait
            raise
        call("heed_mpi_attn_run", handle, queue, ctypes.byref(args), of=_ranks)
        return self.faces(arrays)

    def close(self) -> None:
        """Ends the plan. Collective; a second time it does nothing, nor after MPI is over."""
        from mpi4py import MPI

        handle, self.handle = self.handle, None
        if handle is not None and not MPI.Is_finalized():
            _ranks.heed_mpi_plan_destroy(handle)

    def __enter__(self) -> Plan:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "handle", None) is not None:
            # Ranks collect garbage at different times, and the end of a plan is of all of them.
            warnings.warn("a plan of ranks was not closed, and keeps its memory", ResourceWarning,
                          source=self)


def model(parts: Sequence[Part], *given: ArrayLike, device: DeviceLike = None, threads: int = 0,
          **named: Any) -> list[Info]:
    """What plans of so many ranks would say of themselves, without ranks, keys or a network:
    heed_mpi_model(). parts: of each rank; then what heed.attention takes for the whole, as for
    Plan. MPI need not have begun. Memory of plans (host_bytes) is that of pages and states alone.
    """
    filled, device = _described(given, {**named, "device": device, "threads": threads})
    parts = list(parts)
    made = (STRUCT["heed_mpi_parts"] * max(len(parts), 1))()
    keeps = [part._filled(one, filled.arrays) for part, one in zip(parts, made)]
    props = (STRUCT["heed_mpi_props"] * max(len(parts), 1))()
    props[0].size = ctypes.sizeof(props[0])
    call("heed_mpi_model", device.handle, ctypes.byref(filled.struct), made, len(parts), props,
         of=_ranks)
    del keeps
    return [Info._of(one) for one in props[:len(parts)]]
