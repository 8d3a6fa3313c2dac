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
from typing import NamedTuple

import numpy
import torch

from ._abi import CONSTANTS
from ._native import STRUCT, call, fail, library, new
from .arrays import SIZES, Array, dense_strides
from .attention import Attention, Bias, Source, Term, set_common
from .runtime import _end_plan, device_of, reach

FAR = CONSTANTS["HEED_FAR"]
MOST_PLANS, MOST_FAMILIES, MOST_AXES = 128, 64, 6
STEP = 256      # keys by which what a plan takes for their number grows
DTYPES = {getattr(torch, name): name for name in SIZES} | {torch.bool: "uint8"}
TERM = ("kind", "left", "right", "step", "block", "phase", "flags", "slot")
BIAS = ("kind", "zero", "t", "u", "map", "q_coord", "k_coord")
LAYOUTS = ("dense", "ragged", "paged", "ring", "listed")     # by number
RAGGED, PAGED = 1, 2


class Form(NamedTuple):
    """An attention without its arrays. terms, biases: the numbers of each in the order of TERM and
    BIAS, one behind the other; their slots are numbers of arrays, "slot1" and on, and 0 is none."""
    terms: tuple[int, ...] = ()
    biases: tuple[int, ...] = ()
    causal: bool = False
    align: int = CONSTANTS["HEED_ATTN_ALIGN_START"]
    layout: int = 0
    run: int = 0
    rows: int = 0
    scale: float | None = None
    softcap: float = 0.0


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


def output_shape(q, v, layout):
    """[batch...][n_q][H][d_v], as the memory of the output lies."""
    batch = q[:-3] if layout in (PAGED, RAGGED) else torch.broadcast_shapes(q[:-3], v[:-3])
    return (*batch, q[-2], q[-3], v[-1])


def lies_of_outputs(form, names, lies):
    """How o and, where it is asked for, lse lie, [batch...][H][n_q][d_v] over memory
    [batch...][n_q][H][d_v]."""
    (_, q, _), (dtype, _, _), (_, v, _) = lies[0], lies[0], lies[2]
    *batch, rows, heads, channels = shape = output_shape(q, v, form.layout)
    *strides, row, head, one = dense_strides(shape)
    yield "o", (dtype, (*batch, heads, rows, channels), (*strides, head, row, one))
    if "lse" in names:
        yield "lse", (torch.float32, (*batch, heads, rows), dense_strides((*batch, heads, rows)))


def pieces(numbers, fields):
    """Numbers one behind the other as a dict for each term or bias."""
    width = len(fields)
    return [dict(zip(fields, numbers[i:i + width])) for i in range(0, len(numbers), width)]


def of_form(form, arrays):
    """The terms and biases of a form, with the arrays in their slots."""
    def array(number):
        return arrays[f"slot{number}"] if number else None

    terms = [Term(**{**term, "slot": array(term["slot"])}) for term in pieces(form.terms, TERM)]
    biases = [Bias(**{name: array(value) if name in BIAS[2:] else value
                      for name, value in bias.items()}) for bias in pieces(form.biases, BIAS)]
    return terms, biases


def fill(form, lying):
    """A descriptor. lying: how each array lies, by name."""
    filled = Attention()
    arrays = {name: Array(DTYPES[dtype], shape, strides, 0, None)
              for name, (dtype, shape, strides) in lying.items()}
    struct, slots, get = filled.struct, filled.slots, arrays.get
    terms, biases = of_form(form, arrays)
    struct.q = filled.array(arrays["q"], "q", "q")
    filled.add_sources([Source(
        arrays["k"], arrays["v"], terms, biases, causal=form.causal, layout=LAYOUTS[form.layout],
        slot=get("slot"), len=get("len"), mask=get("mask"), k_scale=get("k_scale"),
        v_scale=get("v_scale"), run=form.run, rows=form.rows)])
    struct.q_pos_slot = slots.add(get("q_pos"), "q_pos", "int64")
    struct.q_len_slot = slots.add(get("q_len"), "q_len")
    struct.q_slot = slots.add(get("q_begins"), "q_begins")
    struct.q_layout = RAGGED if "q_begins" in arrays else 0
    set_common(filled, form.scale, form.softcap, get("sinks"), 0, form.align)
    struct.o = filled.array(arrays["o"], "o", "o")
    if "lse" in arrays:
        struct.lse = filled.array(arrays["lse"], "lse", "lse")
    filled.finish()
    places = {id(array): path for path, array in filled.arrays.items()}
    lost = [name for name in lying if id(arrays[name]) not in places]
    if lost:
        raise ValueError(f"no term and no bias names {', '.join(lost)}")
    return filled, [places[id(array)] for array in arrays.values()]


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
    Both are in the order of the names, and the outputs are the last.
    """

    def __init__(self, thread, form, lying):
        self.thread = thread
        self.filled, paths = fill(form, lying)
        self.args = self.filled.args({})
        self.descriptor = ctypes.byref(self.filled.struct)
        self.arguments = ctypes.byref(self.args)
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
        self.device, self.most, self.width, self.queue = None, 0, 0, None
        self.report, self.props = new("heed_report"), new("heed_plan_props")
        self.report_reference = ctypes.byref(self.report)
        self.run, self.memory, self.start, self.room = library.heed_attn_run, None, 0, 0

    def widen(self, threads):
        """Makes runs so wide: by the queue, or where the device has fewer, by another device, for
        which plans are made anew."""
        if threads > self.most:
            self.plans.clear()
            self.device, self.most = device_of(None, threads), threads
            self.queue = self.device.queue
        call("heed_queue_width", self.queue, min(threads, self.device.info()["width"]))
        self.width = threads

    def make_plan(self, form, names, lies):
        outputs = dict(lies_of_outputs(form, names, lies))
        lies = [*lies, *outputs.values()]
        kinds = tuple((one[0], len(one[1])) for one in lies)
        names = [*(name for name in names if name != "lse"), *outputs]
        family = kept(self.families, MOST_FAMILIES, (form, tuple(names), kinds),
                      lambda: Family(self, form, dict(zip(names, lies))))
        family.lay(lies)
        return Plan(self.device, family, self.props)

    def grow(self, size):
        """Makes the workspace twice as large as is wanted now."""
        self.memory, self.room = numpy.empty(2 * size, "uint8"), 2 * size
        self.start = self.memory.ctypes.data

    def attend(self, form, names, lies, addresses):
        """Runs an attention. names and lies: of q, k, v and more, and "lse" as the last name where
        it is wanted; addresses: of these, then of o, and of lse."""
        threads = torch.get_num_threads()
        if threads != self.width:
            self.widen(threads)
        plan = kept(self.plans, MOST_PLANS, (form, names, lies),
                    lambda: self.make_plan(form, names, lies))
        family = plan.family
        for place, address in zip(family.addresses, addresses):
            place.value = address
        if plan.size > self.room:
            self.grow(plan.size)
        family.workspace.value = self.start + -self.start % plan.align
        family.workspace_size.value = plan.size - plan.align
        status = self.run(plan.handle, self.queue, family.arguments, None,
                          self.report_reference)
        if status < 0:
            fail(status, self.report)


here = Thread()
