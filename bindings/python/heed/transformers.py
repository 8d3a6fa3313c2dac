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

import torch
from transformers import masking_utils, modeling_utils
from transformers.utils import output_capturing

from . import _hf_models
from ._hf_masks import NAME, Mask, Reach, Refused, mask
from ._hf_plans import DTYPES, Call, here, lie

__all__ = ["NAME", "Refused", "attention", "mask", "register"]

# Handed along by models, without effect on the attention itself: eager attention ignores them too.
# The window of a layer is in its mask.
IGNORED = {"sliding_window", "position_ids", "position_embeddings", "use_cache", "cache_position",
           "output_hidden_states", "output_router_logits", "num_items_in_batch", "return_dict",
           "past_key_values", "logits_to_keep", "output_attentions", "deterministic"}


def refuse_unless_plain(module, dropout, kwargs):
    """Raises where an argument asks for more than the attention of an inference."""
    if dropout:
        raise Refused("computes no dropout: it is for inference; call model.eval()")
    collected = output_capturing._active_collector.get()
    if kwargs.get("output_attentions") or collected and any("attentions" in key
                                                            for key in collected):
        raise Refused("has no attention weights to give: output_attentions wants 'eager'")
    for name, value in kwargs.items():
        if value is not None and name not in IGNORED:
            raise Refused(f"does not know the argument {name!r} of {type(module).__name__}")


def refuse_unless_readable(tensors):
    for name, tensor in tensors:
        if tensor.device.type != "cpu":
            raise Refused(f"takes memory of the host: {name} is on {tensor.device}")
        if tensor.dtype not in DTYPES:
            raise Refused(f"takes float32, float16 and bfloat16: {name} is {tensor.dtype}")
        if tensor.requires_grad and torch.is_grad_enabled():
            raise Refused(f"is for inference only, and {name} wants a gradient: call the model "
                          "under torch.no_grad() or torch.inference_mode()")


def bias_of_booleans(mask_):
    """What is added for a boolean mask: 0, or -Inf, which removes a key."""
    return torch.zeros(mask_.shape, dtype=torch.bfloat16).masked_fill_(~mask_, -torch.inf)


def what_is_masked(module, query, key, attention_mask, is_causal):
    """The Reach of a mask, and the arrays that go with it, by their names in a plan."""
    n_q, n_k = query.shape[2], key.shape[2]
    if attention_mask is None:
        causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
        if causal and n_q > 1:
            raise Refused(f"was given no mask by {type(module).__name__}, which is causal: eager "
                          "attention would see every key, and sdpa would not")
        return Reach(), []
    pattern = attention_mask.pattern if type(attention_mask) is Mask else None
    if pattern is not None:
        if (pattern.n_q, pattern.n_k) != (n_q, n_k) or pattern.items not in (1, query.shape[0]):
            raise Refused(f"was given a mask for {pattern.items} items, {pattern.n_q} queries and "
                          f"{pattern.n_k} keys, beside {query.shape[0]}, {n_q} and {n_k}")
        return pattern.reach, pattern.arrays
    if type(attention_mask) is Mask:
        attention_mask = attention_mask.dense()
    if attention_mask.ndim != 4 or attention_mask.shape[3] != n_k:
        raise Refused(f"was given a mask of shape {tuple(attention_mask.shape)}, and wants "
                      f"[items][heads][queries][{n_k} keys]")
    if attention_mask.dtype == torch.bool:
        attention_mask = bias_of_booleans(attention_mask)
    return Reach(), [("bias0", attention_mask)]


def attention(module, query, key, value, attention_mask, dropout=0.0, scaling=None,
              is_causal=None, softcap=None, s_aux=None, position_bias=None, **kwargs):
    """heed's function of the AttentionInterface: the output [B][n][H][d], and no weights."""
    refuse_unless_plain(module, dropout, kwargs)
    if scaling is None and getattr(module, "head_dim", query.shape[3]) != query.shape[3]:
        raise Refused(f"was given no scale by {type(module).__name__}, and {query.shape[3]} "
                      f"channels where head_dim is {module.head_dim}")
    reach, more = what_is_masked(module, query, key, attention_mask, is_causal)
    out = query.new_empty((query.shape[0], query.shape[2], query.shape[1], value.shape[3]))
    tensors = [("q", query), ("k", key), ("v", value), ("o", out.transpose(1, 2)), *more]
    if s_aux is not None:
        tensors.append(("sinks", s_aux.float()))
    elif getattr(module, "sinks", None) is not None:
        raise Refused(f"was not given the sinks of {type(module).__name__}")
    if position_bias is not None:
        tensors.append((f"bias{sum(name == 'bias0' for name, _ in more)}", position_bias))
    refuse_unless_readable(tensors)
    call = Call(torch.get_num_threads(), scaling, softcap, reach,
                tuple((name, lie(tensor)) for name, tensor in tensors))
    here.attend(call, [tensor.data_ptr() for _, tensor in tensors])
    return out, None


def register():
    """Makes "heed" an attn_implementation of transformers. It may be called again."""
    modeling_utils.AttentionInterface.register(NAME, attention)
    masking_utils.AttentionMaskInterface.register(NAME, mask)
    _hf_models.register()
