# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The operators torch.ops.heed: their schemas, what torch.compile knows of them, and their kernel
for the CPU, which is in Python unless `python3 -m heed.torch` has compiled the one in C++."""

from __future__ import annotations

import ctypes
import os
import pathlib

import numpy
import torch

from . import _native
from ._abi import CONSTANTS
from ._torch_plans import Form, here, lie, output_shape

TENSORS = ("slot", "len", "mask", "k_scale", "v_scale", "sinks", "q_pos", "q_len", "q_begins")
ARGUMENTS = """(Tensor q, Tensor k, Tensor v, *, int[] terms=[], int[] biases=[], Tensor[]? slots=None,
    bool causal=False, int align=0, int layout=0, int run=0, int rows=0, Tensor? slot=None,
    Tensor? len=None, Tensor? mask=None, Tensor? k_scale=None, Tensor? v_scale=None,
    Tensor? sinks=None, Tensor? q_pos=None, Tensor? q_len=None, Tensor? q_begins=None,
    Tensor? visible=None, float? scale=None, float softcap=0.0)"""
SEGMENT, DENSE = CONSTANTS["HEED_TERM_SEGMENT"], CONSTANTS["HEED_BIAS_DENSE"]
LISTED = CONSTANTS["HEED_LAYOUT_LISTED"]


class GradientsRefused(NotImplementedError):
    """A tensor wants a gradient, and heed computes none."""


def refuse_gradients(q, k, v, slots=None, **given):
    """Raises where a gradient is wanted."""
    if not torch.is_grad_enabled():
        return
    for tensor in (q, k, v, *(slots or ()), *given.values()):
        if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
            raise GradientsRefused(
                "heed.torch is for inference only, and a tensor wants a gradient: call it under "
                "torch.no_grad() or torch.inference_mode(), or give it tensor.detach()")


def ranges(visible, n_q):
    """[begin, end) for each row of booleans [batch...][heads][rows][keys], int32
    [batch...][n_q][2]; None where the keys of some row are no range, or heads differ."""
    if visible.ndim < 3 or visible.shape[-3] != 1 or visible.shape[-2] not in (1, n_q):
        return None
    seen = visible.numpy()[..., 0, :, :]
    count = numpy.count_nonzero(seen, axis=-1)
    begin = seen.argmax(axis=-1)
    end = seen.shape[-1] - seen[..., ::-1].argmax(axis=-1)
    if ((end - begin != count) & (count > 0)).any():
        return None
    found = numpy.stack((begin, begin + count), axis=-1).astype(numpy.int32)
    return torch.from_numpy(found).expand(*found.shape[:-2], n_q, 2)


def bias_of(visible):
    """What is added for booleans: 0, or -Inf, which removes a key."""
    return torch.zeros(visible.shape, dtype=torch.bfloat16).masked_fill_(~visible, -torch.inf)


def show(visible, q, k, terms, biases, slots, layout):
    """The terms, biases and slots by which rows see what booleans say."""
    if visible.dtype != torch.bool:
        raise TypeError(f"visible: booleans are wanted, not {visible.dtype}")
    rows_fit = visible.shape[-1] == k.shape[-2] and not terms and layout != LISTED
    found = ranges(visible, q.shape[-2]) if rows_fit else None
    number = len(slots) + 1
    if found is not None:
        return [SEGMENT, 0, 0, 0, 0, 0, 0, number], biases, [*slots, found]
    return terms, [*biases, DENSE, 0, number, 0, 0, 0, 0], [*slots, bias_of(visible)]


def compute(q, k, v, wants_lse, terms=(), biases=(), slots=None, visible=None, scale=None,
            softcap=0.0, causal=False, align=0, layout=0, run=0, rows=0, **given):
    """Runs an attention: o, and lse or None."""
    slots = slots or ()
    if visible is not None:
        terms, biases, slots = show(visible, q, k, terms, biases, slots, layout)
    names, tensors = ["q", "k", "v"], [q, k, v]
    for name in TENSORS:
        if given.get(name) is not None:
            names.append(name)
            tensors.append(given[name])
    for i, tensor in enumerate(slots):
        names.append(f"slot{i + 1}")
        tensors.append(tensor)
    o, lse = outputs(q, v, layout, wants_lse)
    form = Form(tuple(terms), tuple(biases), causal, align, layout, run, rows, scale, softcap)
    lies, addresses = [lie(tensor) for tensor in tensors], [one.data_ptr() for one in tensors]
    addresses.append(o.data_ptr())
    if wants_lse:
        names.append("lse")
        addresses.append(lse.data_ptr())
    here.attend(form, tuple(names), tuple(lies), addresses)
    return o, lse


def outputs(q, v, layout, wants_lse):
    """o and, where it is wanted, lse: new memory."""
    shape = output_shape(q.shape, v.shape, layout)
    *batch, rows, heads, _ = shape
    lse = q.new_empty((*batch, heads, rows), dtype=torch.float32) if wants_lse else None
    return q.new_empty(shape).transpose(-3, -2), lse


def attention_cpu(q, k, v, **given):
    return compute(q, k, v, False, **given)[0]


def attention_lse_cpu(q, k, v, **given):
    return compute(q, k, v, True, **given)


def attention_fake(q, k, v, layout=0, **_):
    return outputs(q, v, layout, False)[0]


def attention_lse_fake(q, k, v, layout=0, **_):
    return outputs(q, v, layout, True)


def autograd_of(operator):
    """What stands between a caller and the kernels where tensors may want gradients."""
    def attend(q, k, v, **given):
        refuse_gradients(q, k, v, **given)
        with torch._C._AutoDispatchBelowAutograd():
            return operator(q, k, v, **given)
    return attend


def compiled_path():
    """Where the compiled kernel is: what HEED_TORCH_OPS names, or beside this file."""
    return os.environ.get("HEED_TORCH_OPS") or str(pathlib.Path(__file__).with_name("torch_ops.so"))


def load(library):
    """Gives the operators a kernel for the CPU: the compiled one, which is returned, or this."""
    if os.environ.get("HEED_TORCH_OPS") or os.path.exists(compiled_path()):
        torch.ops.load_library(compiled_path())
        return ctypes.CDLL(compiled_path())
    library.impl("attention", attention_cpu, "CPU")
    library.impl("attention_lse", attention_lse_cpu, "CPU")
    return None


def explain(error):
    """Raises heed.Error in place of what the compiled kernel can raise; else returns."""
    report = _native.new("heed_report")
    if compiled and type(error) is RuntimeError and \
            compiled.heed_torch_failure(ctypes.byref(report)) < 0:
        _native.fail(report.status, report)


library = torch.library.Library("heed", "FRAGMENT")
for name, returned, fake in (("attention", "Tensor", attention_fake),
                             ("attention_lse", "(Tensor, Tensor)", attention_lse_fake)):
    library.define(f"{name}{ARGUMENTS} -> {returned}", tags=(torch.Tag.pt2_compliant_tag,))
    torch.library.register_fake(f"heed::{name}", fake, lib=library)
    library.impl(name, autograd_of(getattr(torch.ops.heed, name).default), "Autograd")
attention, attention_lse = torch.ops.heed.attention.default, torch.ops.heed.attention_lse.default
compiled = load(library)
