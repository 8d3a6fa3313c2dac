# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What heed gives to models of transformers, attention by attention, in binary32, bfloat16 and
binary16: each output is held against the model's own scores and mask in double on the same
tensors, within a bound that these give, and half a unit of the output's type.

Also dense masks of a caller's, packed sequences, and mask functions that have no pattern.
"""

import functools
import sys

import numpy as np
import torch
from transformers import masking_utils

import common
import hf_models
import oracle

# Half a unit in the last place, relative, and below the least normal number.
HALVES = {torch.float32: (0, 0), torch.bfloat16: (2.0 ** -8, 2.0 ** -134),
          torch.float16: (2.0 ** -11, 2.0 ** -25)}


def wide(tensor):
    return None if tensor is None else tensor.double().numpy()


def seen_and_added(mask, shape):
    """Booleans and numbers [B][H][n_q][n_k] of a mask of any kind."""
    seen, added = np.ones(shape, bool), np.zeros(shape)
    if mask is not None:
        mask = mask.dense() if hasattr(mask, "dense") else mask
        if mask.dtype == torch.bool:
            seen &= mask.numpy()
        else:
            removed = mask <= torch.finfo(mask.dtype).min
            seen &= ~removed.numpy()
            added += wide(mask.masked_fill(removed, 0))
    return seen, added


def eager(module, q, k, v, seen, added, given):
    """What the model's eager attention gives in binary32, [B][H][n][d]; NaN where it has none."""
    function = getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)
    if function is None:
        return np.full((*q.shape[:3], v.shape[3]), np.nan)
    mask = torch.tensor(added, dtype=torch.float32).masked_fill(
        torch.tensor(~seen), torch.finfo(torch.float32).min)
    given = {key: one.float() if torch.is_tensor(one) else one for key, one in given.items()}
    q, k, v = (x.float() for x in (q, k, v))
    return wide(function(module, q, k, v, mask, **given)[0].transpose(1, 2))


class Judge:
    """Holds each attention against double, beside what eager attention gives."""

    def __init__(self):
        self.parts = []

    def __call__(self, module, out, q, k, v, mask, scaling=None, softcap=None, s_aux=None,
                 position_bias=None, **_):
        shape = (*q.shape[:3], k.shape[2])
        seen, added = seen_and_added(mask, shape)
        given = {"scaling": scaling, "softcap": softcap, "s_aux": s_aux, "dropout": 0.0}
        if position_bias is not None:
            added = added + wide(position_bias)
        exact, bound = np.empty((2, *q.shape[:3], v.shape[3]))
        for b, h in np.ndindex(shape[:2]):
            exact[b, h], bound[b, h] = self.one(
                *(common.pick(wide(x), b, h, shape[1]) for x in (q, k, v)), seen[b, h],
                added[b, h], scaling, softcap, None if s_aux is None else float(s_aux[h]))
        relative, least = HALVES[out.dtype]
        bound = bound + relative * (abs(exact) + bound) + least
        self.parts.append([x.reshape(-1, x.shape[-1])[seen.any(-1).reshape(-1)] for x in (
            wide(out.transpose(1, 2)), exact, bound, eager(module, q, k, v, seen, added, given))])

    @staticmethod
    def one(q, k, v, seen, added, scaling, softcap, sink):
        """Results and bound of one head. A softcap is what it changes a score by, and a sink is one
        more key, which has no value."""
        if sink is not None:
            k, v = (np.concatenate([x, 0 * x[:1]]) for x in (k, v))
            seen = np.concatenate([seen, seen.any(1, keepdims=True)], 1)
            added = np.concatenate([added, np.full((len(q), 1), sink)], 1)
        size = abs(added)
        if softcap:
            scaling = scaling or q.shape[-1] ** -0.5
            y = (q @ k.T) * scaling
            added, size = added + softcap * np.tanh(y / softcap) - y, size + abs(softcap)
        return oracle.dense(q, k, v, seen.astype(int), scaling, added, size)

    def report(self, name, report, calls):
        got, exact, bound, narrow = (np.concatenate(x) for x in zip(*self.parts))
        share = oracle.off_by(got, exact, bound)
        report.add(name, share < 1 and len(self.parts) == calls, rows=len(got),
                   elements=got.size, heed=share,
                   peer=oracle.off_by(narrow, exact, bound))


def judged(name, report, dtype):
    model = hf_models.make(name, dtype=dtype)
    pair, encoder = name in hf_models.PAIRS, name in hf_models.ENCODERS
    ids, there = hf_models.prompts(3, 29, "right" if pair or encoder else "left")
    judge = Judge()
    with torch.no_grad(), hf_models.Counted(judge) as counted:
        if encoder:
            model(ids, attention_mask=there)
        else:
            model.generate(ids, attention_mask=there, do_sample=False, max_new_tokens=4,
                           min_new_tokens=4, pad_token_id=0)
    judge.report(f"{name}, {str(dtype).rpartition('.')[2]}", report, counted.calls)


def own_masks(report):
    """Masks of four axes that a caller gives: numbers with removed keys, and booleans; a row for
    each query and head."""
    model = hf_models.make("Llama")
    ids, _ = hf_models.prompts(2, 21)
    made = torch.Generator().manual_seed(2)
    keep = torch.rand((2, 4, 21, 21), generator=made) < 0.5
    keep |= torch.eye(21, dtype=torch.bool)
    numbers = torch.randn(keep.shape, generator=made)
    for name, mask in (("booleans", keep), ("booleans for all heads", keep[:, :1]),
                       ("numbers", numbers.masked_fill(~keep, torch.finfo(torch.float32).min)),
                       ("-Inf", numbers.masked_fill(~keep, -torch.inf)),
                       ("bfloat16", numbers.bfloat16())):
        judge = Judge()
        with torch.no_grad(), hf_models.Counted(judge) as counted:
            model(ids, attention_mask=mask, use_cache=False)
        judge.report(f"Llama with a mask of its own: {name}", report, counted.calls)


def packed(report):
    """Sequences one behind another in one item, told by positions that start again."""
    for name in ("Llama", "Mistral, windows"):
        models = [hf_models.make(name, kind) for kind in ("heed", "eager")]
        ids, _ = hf_models.prompts(1, 40)
        positions = torch.cat([torch.arange(9), torch.arange(26), torch.arange(5)])[None]
        with torch.no_grad():
            one, other = (model(ids, position_ids=positions, use_cache=False).logits
                          for model in models)
            apart = models[0](ids[:, 9:35], use_cache=False).logits
        off = [float((x - y).abs().max()) for x, y in ((one, other), (one[:, 9:35], apart))]
        report.add(f"{name}: packed sequences", max(off) < 1e-4,
                   said=f"logits off eager's by {off[0]:.1e}, those of a sequence by itself by "
                        f"{off[1]:.1e}")


def seen_by_heed(mask, keys):
    """Booleans [B][n_q][n_k]: with q of 0 and values that are the unit vectors, an output is the
    weight of each key."""
    items, _, rows, count = mask.shape
    unit = torch.eye(count).expand(items, 1, count, count)
    module = torch.nn.Module()
    out, _ = hf_models.heed.transformers.attention(
        module, torch.zeros(items, 1, rows, 8), torch.zeros(items, 1, keys, 8), unit, mask)
    return out[:, :, 0] > 0


def masks(report):
    """Every mask function, with offsets of queries and keys, padding and room in a cache: what a
    query of heed's sees is what transformers' own boolean mask has."""
    m, made = masking_utils, torch.Generator().manual_seed(4)
    functions = {"causal": m.causal_mask_function, "both sides": m.bidirectional_mask_function,
                 "window": m.sliding_window_causal_mask_function(5),
                 "window of both sides": m.sliding_window_bidirectional_mask_function(4),
                 "chunks": m.chunked_causal_mask_function(6, torch.zeros(2, dtype=torch.long)),
                 "padded chunks": m.chunked_causal_mask_function(6, torch.tensor([0, 4])),
                 "anything": lambda b, h, q, k: (q + 2 * k + b) % 3 > 0}
    for name, function in functions.items():
        wrong, count, patterns = 0, 0, 0
        for rows, keys, offset, kv_offset in ((9, 9, 0, 0), (1, 12, 11, 0), (3, 12, 9, 0),
                                              (4, 20, 6, 0), (1, 5, 20, 16), (1, 6, 23, 18),
                                              (3, 7, 21, 17), (8, 16, 0, 0)):
            last = offset + rows
            there = torch.rand((2, last), generator=made) < 0.7
            for present in (None, torch.ones_like(there), there,
                            torch.arange(last)[None] >= torch.tensor([[0], [3]])):
                mask = hf_models.heed.transformers.mask(
                    batch_size=2, q_length=rows, kv_length=keys, q_offset=offset,
                    kv_offset=kv_offset, mask_function=function, attention_mask=present)
                right = mask.dense()[:, 0]
                wrong += int((seen_by_heed(mask, keys) != right).sum())
                count, patterns = count + right.numel(), patterns + (mask.pattern is not None)
        good = not wrong and (patterns == 32) == (name not in ("padded chunks", "anything",
                                                               "chunks"))
        report.add(f"masks: {name}", good, said=f"{wrong} of {count} pairs wrong; {patterns} of 32 "
                                                "masks are patterns")


if __name__ == "__main__":
    torch.set_num_threads(2)
    common.run([*(functools.partial(judged, name, dtype=dtype) for name in hf_models.CONFIGS
                  for dtype in HALVES), own_masks, packed, masks])
