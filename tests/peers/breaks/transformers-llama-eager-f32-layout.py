# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# transformers-llama-eager f32, layout: op=attn nq=1 d=20 dv=1 s0.nk=20 seed=1
import numpy as np
import types

import torch
from transformers.models.llama import modeling_llama


def attention(q, k, v, scale, mask=None, threads=1):
    torch.set_num_threads(threads)
    q, k, v = map(torch.from_numpy, (q, k, v))
    module = types.SimpleNamespace(num_key_value_groups=q.shape[1] // k.shape[1], training=False)
    if mask is not None:
        lowest = torch.finfo(q.dtype).min
        mask = torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~torch.from_numpy(mask), lowest)
    o, _ = modeling_llama.eager_attention_forward(module, q, k, v, mask, scale)
    return o.transpose(1, 2).numpy()


def transposed(x):
    return x.swapaxes(1, 2).copy().swapaxes(1, 2)


draw = np.random.default_rng(0).standard_normal
q, k, v = (draw(shape).astype("f4") for shape in ((2, 2, 1, 20), (2, 2, 20, 20), (2, 2, 20, 1)))
one = attention(q, k, v, 0.22360679774997896)
other = attention(transposed(q), transposed(k), transposed(v), 0.22360679774997896)
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
