# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Runtimes, devices, and plans with their runs."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from typing import Any

import numpy

from . import _native
from ._abi import CONSTANTS
from ._native import STRUCT, call, library, new
from .arrays import as_array

HOST_KINDS = (CONSTANTS["HEED_DEVICE_REFERENCE"], CONSTANTS["HEED_DEVICE_CPU"])


def _end_runtime(handle):
    library.heed_runtime_destroy(handle)


def _end_queue(handle, _runtime):
    library.heed_queue_destroy(handle)


class Queue:
    """A queue of a device, which lives as long as the thread that made it."""

    def __init__(self, device):
        queue = ctypes.c_void_p()
        call("heed_queue_create", device.handle, 0, ctypes.byref(queue))
        self.handle = queue.value
        weakref.finalize(self, _end_queue, self.handle, device.runtime)


def text(name, value):
    """A string of C, which has no NUL inside."""
    made = os.fsencode(value)
    if b"\0" in made:
        raise ValueError(f"{name} has a NUL inside")
    return made


class Runtime:
    """The backends and their devices. threads: workers of host devices, 0 for as many as
    OMP_NUM_THREADS or the processors; cache_dir: a folder for compiled kernels. Results have the same bits for every width."""

    def __init__(self, threads: int = 0, cache_dir: str | os.PathLike | None = None):
        desc, handle = new("heed_runtime_desc"), ctypes.c_void_p()
        executor = new("heed_executor", width=threads)
        desc.executor = ctypes.addressof(executor) if threads else None
        folder = ctypes.create_string_buffer(text("cache_dir", cache_dir)) \
            if cache_dir else None
        desc.cache_dir = ctypes.addressof(folder) if folder else None
        call("heed_runtime_create", ctypes.byref(desc), ctypes.byref(handle))
        self.handle = handle.value
        self._devices: dict[int, Device] = {}
        self._lock = threading.Lock()
        weakref.finalize(self, _end_runtime, self.handle)

    def device(self, name: str | None = None) -> Device:
        """The device of this exact name; None: the first host device that can be used."""
        found = ctypes.c_void_p()
        call("heed_device_find", self.handle, None if name is None else text("device", name),
             ctypes.byref(found))
        with self._lock:
            return self._devices.setdefault(found.value or 0, Device(self, found.value))

    def devices(self) -> list[str]:
        """The names of all devices, unusable ones included."""
        return [library.heed_device_name(library.heed_device_get(self.handle, i)).decode()
                for i in range(library.heed_device_count(self.handle))]


class Device:
    """A device of a runtime; each thread has its own queue of it."""

    def __init__(self, runtime, handle):
        self.runtime, self.handle, self._local = runtime, handle, threading.local()
        self.name = library.heed_device_name(handle).decode()
        self.host = self.info()["kind"] in HOST_KINDS

    def info(self) -> dict[str, Any]:
        """What heed_device_info() says, as a dict."""
        props = new("heed_device_props")
        status = library.heed_device_info(self.handle, ctypes.byref(props))
        if status < 0:
            _native.fail(status)
        return as_dict(props)

    @property
    def queue(self):
        if not hasattr(self._local, "queue"):
            self._local.queue = Queue(self)
        return self._local.queue.handle

    def __repr__(self):
        return f"heed.Device({self.name!r})"


def as_dict(props):
    """A struct of properties, without its size."""
    values = {name: getattr(props, name) for name, _ in props._fields_
              if name not in ("size", "reserved")}
    return {name: value.decode() if isinstance(value, bytes) else value
            for name, value in values.items()}


_default: dict[int, Runtime] = {}
_default_lock = threading.Lock()


def device_of(given, threads=0):
    """A Device from one, from a name or from None; names are of a runtime of so many threads,
    which is made once."""
    if isinstance(given, Device):
        return given
    with _default_lock:
        if threads not in _default:
            _default[threads] = Runtime(threads)
        return _default[threads].device(given)


def _end_plan(handle, _runtime):
    library.heed_plan_drop(handle)


def reach(struct, path):
    """The owner of a path such as "kv[0].k", and its last step."""
    *steps, last = path.replace("[", ".[").split(".")
    for step in steps:
        struct = struct[int(step[1:-1])] if step[0] == "[" else getattr(struct, step)
    return struct, last


def place(struct, path, address, offset=0):
    """Sets the heed_buf of a path."""
    owner, last = reach(struct, path)
    buf = owner[int(last[1:-1])] if last[0] == "[" else getattr(owner, last)
    buf.handle, buf.offset = address, offset


class Planned:
    """The arrays that a plan was made for, by path, and what runs put in their place."""

    def __init__(self, operation, arrays, outputs):
        self.operation, self.arrays, self.outputs = operation, arrays, outputs

    def changed(self, given):
        """The arrays of a run in which these have the place of those that were planned."""
        arrays = dict(self.arrays)
        for name, value in self.operation.flatten(given).items():
            if name not in self.operation.paths:
                raise TypeError(f"the plan has no array {name!r}; it has "
                                + ", ".join(sorted(self.operation.paths)))
            array = as_array(value)
            for path in self.operation.paths[name]:
                if not array.like(arrays[path]):
                    raise ValueError(f"{name} does not lie as the planned array does: "
                                     f"{array} for {arrays[path]}")
                arrays[path] = array
        return arrays

    def check_outputs(self, arrays):
        """Raises what is wrong with arrays that a run shall write."""
        for path in self.outputs:
            if arrays[path].fresh:
                raise TypeError(f"{path} is an output, and wants an array of the caller's")
            if not arrays[path].writable:
                raise ValueError(f"{path} is an output, and its memory is read-only")

    def faces(self, arrays):
        """What a run returns: its outputs, as their callers know them."""
        outputs = [arrays[path].face for path in self.outputs]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


class Plan(Planned):
    """A plan, with the arrays that it was made for.

    plan() runs it on them and returns the outputs; plan(q=other) on others that lie alike; and
    plan.bind(q=other) prepares such a run, to be called often. Names are those of the call that
    made the plan; the arrays of a set of keys are given together.
    """

    def __init__(self, device, handle, operation, arrays, outputs, desc=None):
        super().__init__(operation, arrays, outputs)
        self.device, self.handle, self.desc = device, handle, desc
        weakref.finalize(self, _end_plan, handle, device.runtime)

    def info(self) -> dict[str, Any]:
        """What heed_plan_info() says, as a dict."""
        props = new("heed_plan_props")
        status = library.heed_plan_info(self.handle, ctypes.byref(props))
        if status < 0:
            _native.fail(status)
        return as_dict(props)

    def operands(self) -> list[dict[str, Any]]:
        """What heed_plan_operands() says, a dict for each array in the order of a run, absent ones
        (dtype 0) included: name, role, dtype, shape, stride, and the bytes [low, high) from element
        [0]...[0] that a run may touch."""
        count = ctypes.c_uint32()
        size = ctypes.sizeof(STRUCT["heed_operand"])
        library.heed_plan_operands(self.handle, None, 0, size, ctypes.byref(count))
        found = (STRUCT["heed_operand"] * count.value)()
        status = library.heed_plan_operands(self.handle, found, count, size, None)
        if status < 0:
            _native.fail(status)
        return [{"name": x.name.decode(), "role": x.role, "flags": x.flags, "same_as": x.same_as,
                 "dtype": x.tensor.dtype, "shape": tuple(x.tensor.shape),
                 "stride": tuple(x.tensor.stride), "low": x.low, "high": x.high} for x in found]

    def bind(self, **given: Any) -> Run:
        """A run on these arrays, the rest being those that were planned."""
        return Run(self, self.changed(given))

    def __call__(self, **given: Any) -> Any:
        return self.bind(**given)()


class Run:
    """A plan with memory: its arrays and a workspace. Calling it computes, and returns the outputs
    that it was bound to. One thread at a time may call it."""

    def __init__(self, plan, arrays):
        self.plan, self.arrays = plan, arrays
        self._report = new("heed_report")
        plan.check_outputs(arrays)
        info = plan.info()
        self.workspace_size, align = info["workspace_size"], info["workspace_align"]
        self._function = getattr(library, plan.operation.run_name)
        self.args = plan.operation.args(arrays)
        if plan.device.host:
            memory = numpy.empty(self.workspace_size + align, "uint8")
            self._workspace = memory
            start = memory.ctypes.data
            self._give_workspace(start + -start % align)
        else:
            self._device_memory = DeviceMemory(plan, arrays, self)

    def _give_workspace(self, address, offset=0):
        owner = getattr(self.args, "run", self.args)
        owner.workspace.handle, owner.workspace.offset = address, offset
        owner.workspace_size = self.workspace_size

    def _start(self):
        status = self._function(self.plan.handle, self.plan.device.queue, ctypes.byref(self.args),
                                None, ctypes.byref(self._report))
        if status < 0:
            _native.fail(status, self._report)

    def __call__(self) -> Any:
        if self.plan.device.host:
            self._start()
        else:
            self._device_memory.write()
            self._start()
            self._device_memory.read()
        return self.plan.faces(self.arrays)


def _end_buffers(device, buffers):
    for buf in buffers:
        library.heed_buf_destroy(device.handle, buf)


def joined(spans):
    """Sorted spans of addresses, those that overlap together: low, high, and their members. Arrays
    that share bytes, or lie between one another's, do so on the device too."""
    groups: list[list] = []
    for span in spans:
        if groups and span[0] < groups[-1][1]:
            groups[-1][1] = max(groups[-1][1], span[1])
            groups[-1][2].append(span)
        else:
            groups.append([span[0], span[1], [span]])
    return groups


class DeviceMemory:
    """Buffers of a device that is not the host's, for the arrays of a run: written before it and
    read after it, by the operands that the plan names."""

    def __init__(self, plan, arrays, run):
        self.device, self.parts, self.buffers = plan.device, [], []
        weakref.finalize(self, _end_buffers, plan.device, self.buffers)
        spans = sorted(
            (arrays[x["name"]].address + x["low"], arrays[x["name"]].address + x["high"],
             x["name"], x["role"] != CONSTANTS["HEED_ROLE_IN"])
            for x in plan.operands() if x["name"] in arrays and x["low"] != x["high"])
        for low, high, members in joined(spans):
            buf = self.make(high - low)
            for start, end, path, written in members:
                at = buf.offset + arrays[path].address - low
                place(getattr(run.args, "places", run.args), path, buf.handle, at % 2**64)
                there = STRUCT["heed_buf"](buf.handle, buf.offset + start - low)
                self.parts.append((there, start, end - start, written))
        buf = self.make(run.workspace_size)
        run._give_workspace(buf.handle, buf.offset)

    def make(self, size):
        buf = STRUCT["heed_buf"]()
        call("heed_buf_create", self.device.handle, size, ctypes.byref(buf))
        self.buffers.append(buf)
        return buf

    def write(self):
        """States and strided outputs keep what a run does not write, so all go there."""
        for buf, address, size, _ in self.parts:
            call("heed_buf_write", self.device.queue, buf, address, size)

    def read(self):
        call("heed_queue_wait", self.device.queue)
        for buf, address, size, written in self.parts:
            if written:
                call("heed_buf_read", self.device.queue, address, buf, size)
