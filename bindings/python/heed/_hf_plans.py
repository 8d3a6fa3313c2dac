# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Attentions over tensors of torch, by their addresses, with plans that are kept.

A plan depends on how its arrays lie, and a cache that grows lies otherwise at each step. What does
not change with extents and strides is a Family: a descriptor and the arguments of runs, in which a
new plan writes extents and strides, and a run addresses. Neither holds a tensor. Each thread has
families, plans and a workspace of its own.
"""

from __future__ import annotations

import collections
import ctypes
import threading
import weakref

import numpy
import torch

from ._abi import CONSTANTS
from ._native import STRUCT, fail, library, new
from .arrays import Array, dense_strides
from .attention import Attention, Source, dense, set_common, window
from .runtime import _end_plan, device_of, reach

FAR = CONSTANTS["HEED_FAR"]
MOST_PLANS, MOST_FAMILIES, MOST_AXES = 128, 64, 6
STEP = 256      # keys by which what a plan takes for their number grows
DTYPES = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16",
          torch.int64: "int64", torch.bool: "uint8", torch.uint8: "uint8"}
# Where the arrays of an attention stand in its descriptor, by the names that they have here.
PATHS = {"q": "q", "k": "sources[0].k", "v": "sources[0].v", "o": "o", "sinks": "sinks",
         "len": "sources[0].len", "mask": "sources[0].mask", "q_pos": "q_pos",
         **{f"bias{i}": f"sources[0].biases[{i}].t" for i in range(2)}}


def lie(tensor):
    """How a tensor lies."""
    return tensor.dtype, tensor.shape, tensor.stride()


def rounded(count):
    """A number of keys, rounded up."""
    return -(-count // STEP) * STEP


def has_rows(tensor, count):
    """Whether the memory of a tensor [B][H][rows][d] reaches to so many rows of its last head."""
    (items, heads, rows, channels), strides = tensor.shape, tensor.stride()
    if strides[1] == rows * strides[2] and heads > 1:      # no room between two heads
        return False
    last = (items - 1) * strides[0] + (heads - 1) * strides[1] + (count - 1) * strides[2] + \
        (channels - 1) * strides[3]
    storage = tensor.untyped_storage().nbytes() // tensor.element_size()
    return tensor.storage_offset() + last < storage


def with_room(key, value):
    """The number of keys for a plan, of which a run has a length: rounded up where the memory of
    both tensors goes so far, so that a cache that grows does not want a plan for each token."""
    count = key.shape[2]
    more = rounded(count)
    return more if more != count and has_rows(key, more) and has_rows(value, more) else count


def of_extent(lying, axis, extent):
    """How a tensor lies whose axis has another extent."""
    dtype, shape, strides = lying
    return dtype, (*shape[:axis], extent, *shape[axis + 1:]), strides


def lie_of_output(q, v):
    """How the output lies, [B][H][n_q][d_v] over memory [B][n_q][H][d_v]."""
    (_, (items, heads, rows, _), _), (dtype, (*_, channels), _) = q, v
    item, row, head, one = dense_strides((items, rows, heads, channels))
    return dtype, (items, heads, rows, channels), (item, head, row, one)


def terms_of(sees):
    """The terms of a Reach, beside CAUSAL."""
    if sees.block:
        return [window(0, block=sees.block)]
    if sees.left == FAR and sees.right in (0, FAR):
        return []
    return [window(sees.left, FAR if sees.right == 0 else sees.right)]


def fill(sees, scale, softcap, lying):
    """A descriptor. lying: how each array lies, by name."""
    filled = Attention()
    arrays = {name: Array(DTYPES[dtype], shape, strides, 0, None)
              for name, (dtype, shape, strides) in lying.items()}
    filled.struct.q = filled.array(arrays["q"], "q", "q")
    filled.add_sources([Source(
        arrays["k"], arrays["v"], terms_of(sees),
        [dense(arrays[name]) for name in ("bias0", "bias1") if name in arrays],
        causal=sees.right == 0, len=arrays.get("len"), mask=arrays.get("mask"))])
    filled.struct.q_pos_slot = filled.slots.add(arrays.get("q_pos"), "q_pos", "int64")
    set_common(filled, scale, softcap, arrays.get("sinks"), 0,
               CONSTANTS["HEED_ATTN_ALIGN_START"])
    filled.struct.o = filled.array(arrays["o"], "o", "o")
    filled.finish()
    return filled


def word(struct, field=""):
    """A word of a struct, to be written to: the first, or a field."""
    at = getattr(type(struct), field).offset if field else 0
    return ctypes.c_uint64.from_address(ctypes.addressof(struct) + at)


class Plan:
    """A plan, and the bytes of workspace it wants."""

    def __init__(self, device, family, props):
        handle = ctypes.c_void_p()
        report = family.thread.report
        status = library.heed_attn_plan(device.handle, family.descriptor, ctypes.byref(handle),
                                        ctypes.byref(report))
        if status < 0:
            fail(status, report)
        self.handle, self.family = handle.value, family
        weakref.finalize(self, _end_plan, self.handle, device.runtime)
        library.heed_plan_info(self.handle, ctypes.byref(props))
        self.size = props.workspace_size + props.workspace_align
        self.align = props.workspace_align


class Family:
    """A descriptor and arguments, for arrays of these names and element types.

    extents: of each array those of its tensor in the descriptor; addresses: those in the arguments.
    Both are in the order of the names, and the output is the last.
    """

    def __init__(self, thread, sees, scale, softcap, lying):
        self.thread = thread
        self.filled = filled = fill(sees, scale, softcap, lying)
        self.args = filled.args({})
        self.descriptor, self.arguments = ctypes.byref(filled.struct), ctypes.byref(self.args)
        paths = [filled.paths[PATHS[name]][0] for name in lying]
        self.extents = [self.extents_at(path) for path in paths]
        self.addresses = [word(self.buf_at(path)) for path in paths]
        self.workspace = word(self.args.workspace)
        self.workspace_size = word(self.args, "workspace_size")

    def extents_at(self, path):
        """The shape and the strides of the tensor that belongs to a path of the arguments."""
        struct, number = self.filled.struct, int(path[6:-1]) if path.startswith("slots") else 0
        if path.startswith("slots"):
            slots = ctypes.cast(struct.slots, ctypes.POINTER(STRUCT["heed_slot"]))
            tensor = slots[number].t
        elif path.startswith("kv"):
            source = STRUCT["heed_source"].from_address(struct.sources)
            tensor = getattr(source, path[-1])
        else:
            tensor = getattr(struct, path)
        at = ctypes.addressof(tensor) + type(tensor).shape.offset
        return (ctypes.c_int64 * (2 * MOST_AXES)).from_address(at)

    def buf_at(self, path):
        owner, last = reach(self.args.places, path)
        return owner[int(last[1:-1])] if last[0] == "[" else getattr(owner, last)

    def lay(self, lies):
        """Writes how the arrays lie into the descriptor."""
        for extents, (_, shape, strides) in zip(self.extents, lies):
            extents[:len(shape)] = shape
            extents[MOST_AXES:MOST_AXES + len(shape)] = strides


def kept(found, most, key, make):
    """The value of a key, made where there is none; the one that was not asked for longest goes."""
    if key in found:
        found.move_to_end(key)
        return found[key]
    made = found[key] = make()
    if len(found) > most:
        found.popitem(last=False)
    return made


class Thread(threading.local):
    """What one thread runs with."""

    def __init__(self):
        self.plans, self.families = collections.OrderedDict(), collections.OrderedDict()
        self.devices, self.queues = {}, {}
        self.report, self.props = new("heed_report"), new("heed_plan_props")
        self.report_reference = ctypes.byref(self.report)
        self.run, self.memory, self.start, self.room = library.heed_attn_run, None, 0, 0

    def device(self, threads):
        """A device so wide."""
        if threads not in self.devices:
            self.devices[threads] = device_of(None, threads)
            self.queues[threads] = self.devices[threads].queue
        return self.devices[threads]

    def make_plan(self, threads, sees, scale, softcap, names, lies):
        lies = [*lies, lie_of_output(lies[0], lies[2])]
        kinds = tuple((one[0], len(one[1])) for one in lies)
        family = kept(self.families, MOST_FAMILIES, (sees, scale, softcap, names, kinds),
                      lambda: Family(self, sees, scale, softcap, dict(zip([*names, "o"], lies))))
        family.lay(lies)
        return Plan(self.device(threads), family, self.props)

    def grow(self, size):
        """Makes the workspace twice as large as is wanted now."""
        self.memory, self.room = numpy.empty(2 * size, "uint8"), 2 * size
        self.start = self.memory.ctypes.data

    def attend(self, sees, scale, softcap, names, lies, addresses):
        """Runs an attention. names and lies: of q, k, v and more; addresses: of these, and of the
        output."""
        threads = torch.get_num_threads()
        plan = kept(self.plans, MOST_PLANS, (threads, sees, scale, softcap, names, lies),
                    lambda: self.make_plan(threads, sees, scale, softcap, names, lies))
        family = plan.family
        for place, address in zip(family.addresses, addresses):
            place.value = address
        if plan.size > self.room:
            self.grow(plan.size)
        family.workspace.value = self.start + -self.start % plan.align
        family.workspace_size.value = plan.size - plan.align
        status = self.run(plan.handle, self.queues[threads], family.arguments, None,
                          self.report_reference)
        if status < 0:
            fail(status, self.report)


here = Thread()
