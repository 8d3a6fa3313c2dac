# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""heed as an attention implementation of Hugging Face transformers, for inference on the CPU.

    import heed.transformers
    heed.transformers.register()
    model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="heed")

A model's own attention modules call heed then, on the tensors that they hand over, without copies.
What heed cannot compute is refused by an exception; nothing falls back. docs/python.md has the
models, and what is refused.
"""

from __future__ import annotations

import functools
import threading
import weakref

import torch
from transformers import masking_utils, modeling_utils
from transformers.utils import output_capturing

from . import _hf_models, _torch_ops
from ._abi import CONSTANTS
from ._hf_cache import GrowingCache
from ._hf_masks import NAME, Mask, Reach, Refused, mask, refuse_traces
from ._torch_ops import SEGMENT, bias_of, ranges
from ._torch_plans import FAR, Form, here, lie, of_extent, with_room

__all__ = ["GrowingCache", "NAME", "Refused", "attention", "mask", "register"]

EVERYTHING = Reach()
WINDOW, DENSE = CONSTANTS["HEED_TERM_WINDOW"], CONSTANTS["HEED_BIAS_DENSE"]
TYPES = (torch.float32, torch.bfloat16, torch.float16)
# Handed along by models, without effect on the attention itself: eager attention ignores them too.
# The window of a layer is in its mask.
IGNORED = {"sliding_window", "position_ids", "position_embeddings", "use_cache", "cache_position",
           "output_hidden_states", "output_router_logits", "num_items_in_batch", "return_dict",
           "past_key_values", "logits_to_keep", "output_attentions", "deterministic"}


def refuse_unless_plain(module, dropout, kwargs):
    """Raises where an argument asks for more than the attention of an inference."""
    refuse_traces()
    if dropout:
        raise Refused("computes no dropout: it is for inference; call model.eval()")
    collected = output_capturing._active_collector.get()
    if kwargs.get("output_attentions") or collected and any("attentions" in key
                                                            for key in collected):
        raise Refused("has no attention weights to give: output_attentions wants 'eager'")
    for name, value in kwargs.items():
        if value is not None and name not in IGNORED:
            raise Refused(f"does not know the argument {name!r} of {type(module).__name__}")


def refuse_unless_readable(names, tensors):
    """Raises where memory cannot be read, or what is read wants a gradient."""
    grad = torch.is_grad_enabled()
    for name, tensor in zip(names, tensors):
        if not tensor.is_cpu:
            raise Refused(f"takes memory of the host: {name} is on {tensor.device}")
        if tensor.dtype not in TYPES:
            raise Refused(f"takes float32, float16 and bfloat16: {name} is {tensor.dtype}")
        if not torch.compiler.is_compiling() and tensor.is_neg():   # a graph resolves it
            raise Refused(f"reads memory, and that of {name} holds the negative of its values: see "
                          "torch.resolve_neg()")
        if grad and tensor.requires_grad:
            raise Refused(f"is for inference only, and {name} wants a gradient: call the model "
                          "under torch.no_grad() or torch.inference_mode()")


def refuse_unless_of_keys(module, query, key, mask_, is_causal):
    """Raises where there is no mask and one is wanted, or one that is not for these keys."""
    if mask_ is None:
        causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
        if causal and query.shape[2] > 1:
            raise Refused(f"was given no mask by {type(module).__name__}, which is causal: eager "
                          "attention would see every key, and sdpa would not")
    elif mask_.ndim != 4 or mask_.shape[3] != key.shape[2]:
        raise Refused(f"was given a mask of shape {tuple(mask_.shape)}, and wants "
                      f"[items][heads][queries][{key.shape[2]} keys]")


class Ranges:
    """The ranges of the mask that was asked for last, which all layers of a step share."""

    def __init__(self):
        self.mask, self.version, self.found = lambda: None, 0, None

    def of(self, mask_, n_q):
        """ranges() of booleans, None where rows have none."""
        if mask_.is_inference():    # nothing says whether it was written to
            return ranges(mask_, n_q)
        if self.mask() is not mask_ or self.version != mask_._version:
            self.found = ranges(mask_, n_q)
            self.mask, self.version = weakref.ref(mask_), mask_._version
        return self.found


class OfThread(threading.local):
    def __init__(self):
        self.ranges = Ranges()


known = OfThread()


def of_booleans(mask_, n_q):
    """No Pattern; and ranges of rows, or else what is added to scores."""
    found = known.ranges.of(mask_, n_q)
    return (None, None, bias_of(mask_)) if found is None else (None, found, None)


def pattern_of(module, query, key, attention_mask, is_causal):
    """The Pattern of a mask, its ranges by rows, and what is added to scores: at most one."""
    n_q, n_k = query.shape[2], key.shape[2]
    if type(attention_mask) is Mask:
        pattern = attention_mask.pattern
        if pattern is None:
            return of_booleans(attention_mask.dense(), n_q)
        if (pattern.n_q, pattern.n_k) != (n_q, n_k) or pattern.items not in (1, query.shape[0]):
            raise Refused(f"was given a mask for {pattern.items} items, {pattern.n_q} queries and "
                          f"{pattern.n_k} keys, beside {query.shape[0]}, {n_q} and {n_k}")
        return pattern, None, None
    refuse_unless_of_keys(module, query, key, attention_mask, is_causal)
    if attention_mask is not None and attention_mask.dtype == torch.bool:
        return of_booleans(attention_mask, n_q)
    return None, None, attention_mask


def refuse_what_is_lacking(module, query, scaling, s_aux):
    """Raises where eager attention takes from the module what heed was not given."""
    if scaling is None and getattr(module, "head_dim", query.shape[3]) != query.shape[3]:
        raise Refused(f"was given no scale by {type(module).__name__}, and {query.shape[3]} "
                      f"channels where head_dim is {module.head_dim}")
    if s_aux is None and ("sinks" in vars(module) or "sinks" in module._parameters):
        raise Refused(f"was not given the sinks of {type(module).__name__}")


def dense_biases(count, first=1):
    """The numbers of so many dense biases, whose arrays are slots from `first` on."""
    return tuple(number for i in range(count) for number in (DENSE, 0, first + i, 0, 0, 0, 0))


@functools.lru_cache(maxsize=256)
def form_of(reach, ranges_slot, biases, scale, softcap):
    """The Form of a Reach: a term beside CAUSAL, and dense biases, the first arrays of slots; or of
    ranges, whose slot comes behind those."""
    terms = ()
    if ranges_slot:
        terms = (SEGMENT, 0, 0, 0, 0, 0, 0, ranges_slot)
    elif reach.block:
        terms = (WINDOW, 0, 0, 0, reach.block, 0, 0, 0)
    elif reach.left != FAR or reach.right not in (0, FAR):
        terms = (WINDOW, reach.left, reach.right or FAR, 0, 0, 0, 0, 0)
    return Form(terms, dense_biases(biases), causal=reach.right == 0, scale=scale, softcap=softcap)


def lies_of(pattern, lies, key, value, may_grow):
    """How the arrays of a pattern lie. Where the memory of the keys has room, its number of keys is
    rounded up, in `lies` too."""
    extent = with_room(key, value) if may_grow else key.shape[2]
    if extent != key.shape[2]:
        lies[1:3] = (of_extent(one, 2, extent) for one in lies[1:3])
    return [of_extent(one, 2, extent) if name == "mask" else one
            for name, one in zip(pattern.names, pattern.lies)]


def in_graph(query, key, value, mask_, scaling, softcap, s_aux, position_bias):
    """The same while torch.compile or torch.export records: an operator, which is given a mask of
    booleans as it is and looks for ranges in it when it runs."""
    visible = mask_ if mask_ is not None and mask_.dtype == torch.bool else None
    slots = [bias for bias in (mask_ if visible is None else None, position_bias)
             if bias is not None]
    sinks = None if s_aux is None else s_aux.float()
    names = ["q", "k", "v", *(f"slot{i + 1}" for i in range(len(slots))), "sinks"]
    tensors = [query, key, value, *slots, *([] if sinks is None else [sinks])]
    refuse_unless_readable(names, tensors)
    out = _torch_ops.attention(
        query, key, value, biases=list(dense_biases(len(slots))), slots=slots, visible=visible,
        sinks=sinks, scale=scaling, softcap=softcap or 0.0)
    return out.transpose(1, 2), None


def attention(module, query, key, value, attention_mask, dropout=0.0, scaling=None,
              is_causal=None, softcap=None, s_aux=None, position_bias=None, **kwargs):
    """heed's function of the AttentionInterface: the output [B][n][H][d], and no weights."""
    refuse_unless_plain(module, dropout, kwargs)
    refuse_what_is_lacking(module, query, scaling, s_aux)
    if torch.compiler.is_compiling():
        refuse_unless_of_keys(module, query, key, attention_mask, is_causal)
        return in_graph(query, key, value, attention_mask, scaling, softcap, s_aux, position_bias)
    pattern, found, added = pattern_of(module, query, key, attention_mask, is_causal)
    names, tensors = ["q", "k", "v"], [query, key, value]
    if s_aux is not None:
        names.append("sinks")
        tensors.append(s_aux.float())
    biases = 0
    for bias in (added, position_bias):
        if bias is not None:
            biases += 1
            names.append(f"slot{biases}")
            tensors.append(bias)
    refuse_unless_readable(names, tensors)
    if found is not None:
        names.append(f"slot{biases + 1}")
        tensors.append(found)
    lies, addresses = [lie(tensor) for tensor in tensors], [one.data_ptr() for one in tensors]
    if pattern is not None:
        names, addresses = [*names, *pattern.names], addresses + pattern.addresses
        lies += lies_of(pattern, lies, key, value, position_bias is None)
    items, heads, rows, _ = query.shape
    out = query.new_empty((items, rows, heads, value.shape[3]))
    addresses.append(out.data_ptr())
    reach = EVERYTHING if pattern is None else pattern.reach
    form = form_of(reach, 0 if found is None else biases + 1, biases, scaling, softcap or 0.0)
    here.attend(form, tuple(names), tuple(lies), addresses)
    return out, None


def register():
    """Makes "heed" an attn_implementation of transformers. It may be called again."""
    modeling_utils.AttentionInterface.register(NAME, attention)
    masking_utils.AttentionMaskInterface.register(NAME, mask)
    _hf_models.register()
