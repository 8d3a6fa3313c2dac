# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""DLPack in both directions, by ctypes: memory of the host alone."""

from __future__ import annotations

import ctypes

CPU = 1
# Code and bits of an element type, as DLPack numbers them.
TYPES = {"float32": (2, 32), "float16": (2, 16), "bfloat16": (4, 16), "uint8": (1, 8),
         "int32": (0, 32), "int64": (0, 64), "int8": (0, 8), "float8_e4m3fn": (10, 8),
         "float8_e5m2": (12, 8)}
NAMES = {**{pair: name for name, pair in TYPES.items()}, (6, 8): "uint8"}    # 6: bool
TENSOR, USED = b"dltensor", b"used_dltensor"


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_python = ctypes.pythonapi
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _python))
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p,
                                 ctypes.c_void_p)(("PyCapsule_New", _python))
# A capsule that ends has no reference left: it is handed on as an address, never as an object.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _python))
_pointer_at = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _python))

_given: dict[int, tuple] = {}     # what others hold, by address of the struct


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _delete(managed):
    _given.pop(managed, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _end_capsule(capsule):
    if _is_valid(capsule, TENSOR):      # nobody took it
        _given.pop(_pointer_at(capsule, TENSOR), None)


def give(array):
    """A capsule with an Array's memory, which lives until the taker has done with it."""
    if array.dtype not in TYPES:
        raise BufferError(f"DLPack has no elements of {array.dtype}: numpy() gives the bytes")
    code, bits = TYPES[array.dtype]
    axes = ctypes.c_int64 * max(len(array.shape), 1)
    shape, strides = axes(*array.shape), axes(*array.strides)
    managed = _Managed(_Tensor(array.address, CPU, 0, len(array.shape), code, bits, 1, shape,
                               strides, 0), None, ctypes.cast(_delete, ctypes.c_void_p).value)
    address = ctypes.addressof(managed)
    _given[address] = (managed, shape, strides, array)
    return _new_capsule(address, TENSOR, ctypes.cast(_end_capsule, ctypes.c_void_p).value)


def take(value):
    """dtype, shape, strides, address and owner of what speaks DLPack. The owner is the capsule,
    which keeps its name, so that it gives the memory back itself when it ends."""
    kind, _ = value.__dlpack_device__()
    if kind != CPU:
        raise TypeError(f"an array is on device {kind} of DLPack: heed takes memory of the host")
    capsule = value.__dlpack__()
    tensor = _Managed.from_address(_pointer_of(capsule, TENSOR)).tensor
    name = NAMES.get((tensor.code, tensor.bits))
    if name is None or tensor.lanes != 1:
        raise TypeError(f"heed has no elements of DLPack's type {tensor.code}, {tensor.bits} bits")
    shape = tensor.shape[:tensor.ndim]
    if tensor.strides:
        strides = tensor.strides[:tensor.ndim]
    else:
        strides, step = [], 1
        for extent in reversed(shape):
            strides.insert(0, step)
            step *= extent
    return name, shape, strides, (tensor.data or 0) + tensor.byte_offset, (capsule, value)
