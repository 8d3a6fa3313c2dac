# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of NumPy, of torch, and of whatever speaks DLPack, without copying; and arrays of our own,
for element types that NumPy lacks."""

from __future__ import annotations

import ctypes
import functools
from typing import Any, Sequence

import numpy

from . import _dlpack
from ._abi import CONSTANTS
from ._native import STRUCT

NAMES = ["float32", "float16", "bfloat16", "uint8", "int32", "int64", "int8", "float8_e4m3fn",
         "float8_e5m2", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl", "i4"]
# Bytes of a block along the last axis, of types that lie in blocks, and elements of one.
BLOCKS = {"q8_0": 34, "q4_0": 18, "q4_1": 20, "q5_0": 22, "q5_1": 24, "iq4_nl": 18, "i4": 1}
ELEMENTS = {name: 2 if name == "i4" else 32 for name in BLOCKS}
# Names, torch's, of what NumPy lacks, and the type that holds the bits.
BITS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8",
        **{name: "uint8" for name in BLOCKS}}
SHORT = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "u8": "uint8", "i32": "int32",
         "i64": "int64", "i8": "int8", "bool": "uint8", "f8e4m3": "float8_e4m3fn",
         "f8e5m2": "float8_e5m2"}
_PREFIXED = {"float32": "HEED_F32", "float16": "HEED_F16", "bfloat16": "HEED_BF16",
             "uint8": "HEED_U8", "int32": "HEED_I32", "int64": "HEED_I64", "int8": "HEED_I8",
             "float8_e4m3fn": "HEED_F8E4M3", "float8_e5m2": "HEED_F8E5M2",
             **{name: f"HEED_{name.upper()}" for name in BLOCKS}}
CODES = {name: CONSTANTS[code] for name, code in _PREFIXED.items()}
SIZES = {name: numpy.dtype(BITS.get(name, name)).itemsize for name in NAMES} | BLOCKS
MOST_AXES = 6


class Array:
    """Memory of the host with a shape: what every argument of heed becomes.

    dtype: a name of NAMES; shape and strides, in elements, of types in BLOCKS strides in blocks but
    for that of the last axis; address: of element [0]...[0]; source: what it was made from, which it
    keeps alive; face: what a caller is given for it. It is given away by DLPack, but not in blocks.
    fresh: nobody else has the memory, so that it can be no output.
    """
    fresh = False

    def __init__(self, dtype, shape, strides, address, source, writable=True, face=None):
        if len(shape) > MOST_AXES:
            raise ValueError(f"an array has {len(shape)} axes; heed takes {MOST_AXES} at most")
        self.dtype, self.shape, self.strides = dtype, tuple(shape), tuple(strides)
        self.address, self.source, self.writable = address, source, writable
        self.face = self if face is None else face

    @property
    def itemsize(self):
        return SIZES[self.dtype]

    def tensor(self):
        """The heed_tensor of it."""
        made = STRUCT["heed_tensor"](dtype=CODES[self.dtype], ndim=len(self.shape))
        made.shape[:len(self.shape)] = self.shape
        made.stride[:len(self.shape)] = self.strides
        return made

    def like(self, other):
        """Whether it lies in memory as the other does. Strides mean nothing where an axis has one
        entry, or the array none."""
        return (self.dtype, self.shape) == (other.dtype, other.shape) and (0 in self.shape or all(
            s == t for s, t, n in zip(self.strides, other.strides, self.shape) if n > 1))

    def numpy(self) -> Any:
        """The same memory as a NumPy array; of what NumPy lacks the bits, as integers; of blocks
        their bytes along the last axis."""
        name = BITS.get(self.dtype, self.dtype)
        if self.dtype in BLOCKS:
            return self._bytes()
        if not all(self.shape):
            return numpy.empty(self.shape, name)
        low = sum((n - 1) * s for n, s in zip(self.shape, self.strides) if s < 0) * self.itemsize
        high = sum((n - 1) * s for n, s in zip(self.shape, self.strides) if s > 0) * self.itemsize
        memory = (ctypes.c_uint8 * (high - low + self.itemsize)).from_address(self.address + low)
        memory._keeps = self.source     # from_address keeps nothing
        flat = numpy.frombuffer(memory, name)
        return numpy.lib.stride_tricks.as_strided(
            flat[-low // self.itemsize:], self.shape, [s * self.itemsize for s in self.strides],
            writeable=self.writable)

    def _bytes(self):
        row = self.shape[-1] // ELEMENTS[self.dtype] * self.itemsize
        strides = [s * self.itemsize for s in self.strides[:-1]] + [1]
        flat = Array("uint8", (*self.shape[:-1], row), strides, self.address, self.source,
                     self.writable)
        return flat.numpy()

    def __dlpack_device__(self):
        return (_dlpack.CPU, 0)

    def __dlpack__(self, **_):
        return _dlpack.give(self)

    def __repr__(self):
        return f"heed.Array({self.dtype}, shape={self.shape})"


class Constant:
    """An auxiliary array that the plan checks and copies, instead of one that every run brings."""

    def __init__(self, array):
        self.array = array


def constant(array: Any) -> Constant:
    """Marks an index list, a mask, a table or lengths as constant: the plan checks and keeps it."""
    return Constant(array)


@functools.lru_cache(maxsize=256)
def dtype_name(given):
    """The name of an element type, from a name, a short name, or a dtype of NumPy or torch."""
    text = str(given).rpartition(".")[2] if not isinstance(given, type) else \
        numpy.dtype(given).name
    text = SHORT.get(text, text)
    if text not in CODES:
        raise TypeError(f"heed has no elements of {given}; it has {', '.join(NAMES)}")
    return text


def _from_numpy(array):
    size = array.dtype.itemsize
    if isinstance(array, numpy.ma.MaskedArray):
        raise TypeError("heed does not look at the mask of a masked array: give it as `mask`")
    if not array.dtype.isnative:
        raise TypeError("heed takes native byte order only")
    if any(s % size for s, n in zip(array.strides, array.shape) if n > 1):
        raise ValueError("a stride of an array is no multiple of its element size")
    return Array(dtype_name(array.dtype), array.shape, [s // size for s in array.strides],
                 array.__array_interface__["data"][0], array, array.flags.writeable, array)


def _from_torch(tensor):
    if tensor.device.type != "cpu":
        raise TypeError(f"a tensor is on {tensor.device}: heed's binding takes memory of the host")
    if tensor.is_neg():
        raise TypeError("a tensor's memory holds the negative of its values: see resolve_neg()")
    return Array(dtype_name(tensor.dtype), tensor.shape, tensor.stride(), tensor.data_ptr(),
                 tensor, True, tensor)


def _is_torch(value):
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "data_ptr")


def _from_numbers(value, kind):
    """A new array of `kind`, which holds whole numbers as they are or refuses them."""
    made = numpy.asarray(value)
    if made.dtype.kind not in "iubf":
        raise TypeError(f"an array or numbers are wanted, not {type(value).__name__}")
    if kind and kind.startswith("float"):
        made = made.astype(kind, copy=False)
    elif kind:
        if made.size and made.dtype.kind == "f":
            raise TypeError("whole numbers are wanted")
        given, made = made, made.astype(kind, copy=False)
        if not numpy.array_equal(given, made):
            raise ValueError(f"a number does not fit {kind}")
    array = _from_numpy(made)
    array.fresh = True
    return array


def as_array(value: Any, kind: str | None = None) -> Array:
    """An Array of the same memory. Lists and numbers become arrays of `kind`."""
    if isinstance(value, Array):
        return value
    if isinstance(value, numpy.ndarray):
        return _from_numpy(value)
    if _is_torch(value) or _is_torch(getattr(value, "data", None)):
        return _from_torch(value)
    if hasattr(value, "__dlpack__"):
        return Array(*_dlpack.take(value))
    return _from_numbers(value, kind)


def argument(value, kind, name):
    """as_array() of an argument, whose name stands in what is raised."""
    try:
        array = as_array(value, kind)
    except (TypeError, ValueError) as error:
        raise (TypeError if isinstance(error, TypeError) else ValueError)(
            f"{name}: {error}") from None
    if not array.shape:     # heed would take it for an absent one
        raise ValueError(f"{name}: a number is given, and an array with axes is wanted")
    return array


def dense_strides(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return strides[::-1]


def blocks(array: Any, dtype: str) -> Array:
    """Bytes of a type in blocks, such as "q8_0", as an array of its elements, of the same memory.

    array: uint8 [...][d / 32 * bytes of a block], of "i4" [...][d / 2], whose last axis has stride 1,
    and the others strides of whole blocks."""
    if dtype not in BLOCKS:
        raise TypeError(f"{dtype} is no type in blocks: {', '.join(BLOCKS)} are")
    flat, size = as_array(array), BLOCKS[dtype]
    if flat.dtype != "uint8" or not flat.shape or flat.shape[-1] % size:
        raise ValueError(f"{dtype}: an array of uint8 is wanted, {size} bytes along the last axis "
                         f"for every {ELEMENTS[dtype]} elements")
    if flat.strides[-1] != 1 and flat.shape[-1] > 1:
        raise ValueError(f"{dtype}: the bytes of a row lie beside each other")
    if any(s % size for s, n in zip(flat.strides[:-1], flat.shape[:-1]) if n > 1):
        raise ValueError(f"{dtype}: a stride is no multiple of a block's {size} bytes")
    return Array(dtype, (*flat.shape[:-1], flat.shape[-1] // size * ELEMENTS[dtype]),
                 [*(s // size for s in flat.strides[:-1]), 1], flat.address, flat.source,
                 flat.writable)


def empty(shape: Sequence[int], dtype: Any = "float32", like: Any = None) -> Any:
    """New memory, unspecified: of torch or NumPy as `like` is, else NumPy's, else an Array."""
    dtype, source = dtype_name(dtype), like.source if isinstance(like, Array) else like
    if _is_torch(source):
        import torch
        return torch.empty(tuple(shape), dtype=getattr(torch, dtype))
    if dtype not in BITS:
        return numpy.empty(shape, dtype)
    if isinstance(source, numpy.ndarray) and source.dtype.name == dtype:
        return numpy.empty(shape, source.dtype)
    if dtype in BLOCKS:
        if not shape or shape[-1] % ELEMENTS[dtype]:
            raise ValueError(f"{dtype}: the last axis has a multiple of {ELEMENTS[dtype]} elements")
        row = shape[-1] // ELEMENTS[dtype] * BLOCKS[dtype]
        return blocks(numpy.empty((*shape[:-1], row), "uint8"), dtype)
    memory = numpy.empty(shape, BITS[dtype])
    return Array(dtype, shape, dense_strides(shape), memory.ctypes.data, memory)
