# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Plans of attentions over tensors of torch, kept by how the tensors lie, and run on addresses.

A plan holds no tensor. Each thread has plans, arguments and a workspace of its own.
"""

from __future__ import annotations

import collections
import ctypes
import dataclasses
import threading
from typing import Any

import numpy
import torch

from ._abi import CONSTANTS
from ._native import STRUCT, fail, library, new
from .arrays import Array
from .attention import Attention, Source, dense, plan_attention, set_common, window
from .runtime import device_of, reach

FAR = CONSTANTS["HEED_FAR"]
MOST_PLANS = 256
DTYPES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16",
          torch.int64: "int64", torch.bool: "uint8", torch.uint8: "uint8"}


def lie(tensor):
    """How a tensor lies."""
    return tensor.dtype, tensor.shape, tensor.stride()


def array_of(lying):
    """An Array that lies so, at no address."""
    dtype, shape, strides = lying
    return Array(DTYPES[dtype], shape, strides, 0, None)


@dataclasses.dataclass(frozen=True)
class Call:
    """What a plan depends on. lying: how each array lies, by the names that fill() knows."""
    threads: int
    scale: float | None
    softcap: float | None
    reach: Any
    lying: tuple[tuple[str, Any], ...]


PATHS = {"q": "q", "k": "sources[0].k", "v": "sources[0].v", "o": "o", "sinks": "sinks",
         "len": "sources[0].len", "mask": "sources[0].mask", "q_pos": "q_pos",
         **{f"bias{i}": f"sources[0].biases[{i}].t" for i in range(2)}}


def terms_of(sees):
    """The terms of a Reach, beside CAUSAL."""
    if sees.block:
        return [window(0, block=sees.block)]
    if sees.left == FAR and sees.right in (0, FAR):
        return []
    return [window(sees.left, FAR if sees.right == 0 else sees.right)]


def fill(call):
    """The descriptor of a Call."""
    filled, arrays = Attention(), {name: array_of(lying) for name, lying in call.lying}
    filled.struct.q = filled.array(arrays["q"], "q", "q")
    filled.add_sources([Source(
        arrays["k"], arrays["v"], terms_of(call.reach),
        [dense(arrays[name]) for name in ("bias0", "bias1") if name in arrays],
        causal=call.reach.right == 0, len=arrays.get("len"), mask=arrays.get("mask"))])
    filled.struct.q_pos_slot = filled.slots.add(arrays.get("q_pos"), "q_pos", "int64")
    set_common(filled, call.scale, call.softcap, arrays.get("sinks"), 0,
               CONSTANTS["HEED_ATTN_ALIGN_START"])
    filled.struct.o = filled.array(arrays["o"], "o", "o")
    filled.finish()
    return filled


class Planned:
    """A plan and the arguments of its runs. addresses: where that of each array is written, in the
    order of the Call."""

    def __init__(self, call):
        filled = fill(call)
        self.device = device_of(None, call.threads)
        self.plan = plan_attention(filled, self.device, [])
        self.args = filled.args({})
        self.addresses = [self.place(filled.paths[PATHS[name]][0]) for name, _ in call.lying]
        self.workspace = self.word(self.args.workspace)
        info = self.plan.info()
        self.size, self.align = info["workspace_size"], info["workspace_align"]
        self.args.workspace_size = self.size
        self.handle, self.reference = self.plan.handle, ctypes.byref(self.args)

    @staticmethod
    def word(buf):
        """The address inside a heed_buf, which is its first word."""
        return ctypes.c_uint64.from_address(ctypes.addressof(buf))

    def place(self, path):
        owner, last = reach(self.args.places, path)
        return self.word(owner[int(last[1:-1])] if last[0] == "[" else getattr(owner, last))


class Thread(threading.local):
    """What one thread runs with."""

    def __init__(self):
        self.plans = collections.OrderedDict()
        self.report = new("heed_report")
        self.report_reference = ctypes.byref(self.report)
        self.memory = numpy.empty(0, "uint8")
        self.run = library.heed_attn_run

    def planned(self, call):
        found = self.plans.get(call)
        if found is None:
            found = self.plans[call] = Planned(call)
            if len(self.plans) > MOST_PLANS:
                self.plans.popitem(last=False)
        else:
            self.plans.move_to_end(call)
        return found

    def workspace(self, size, align):
        """The address of so many bytes, which the next run may overwrite."""
        if self.memory.nbytes < size + align:
            self.memory = numpy.empty(2 * (size + align), "uint8")
        start = self.memory.ctypes.data
        return start + -start % align

    def attend(self, call, addresses):
        """Runs a Call on memory, whose addresses are in its order."""
        planned = self.planned(call)
        for place, address in zip(planned.addresses, addresses):
            place.value = address
        if planned.size:
            planned.workspace.value = self.workspace(planned.size, planned.align)
        status = self.run(planned.handle, planned.device.queue, planned.reference, None,
                          self.report_reference)
        if status < 0:
            fail(status, self.report)


here = Thread()
