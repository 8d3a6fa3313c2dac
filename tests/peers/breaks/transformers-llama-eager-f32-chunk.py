# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# transformers-llama-eager f32, chunk: op=attn batch=1 h=1 nq=3 d=1 dv=2 s0.nk=2 seed=4
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


seen = np.ones((1, 4, 3, 2), bool)
draw = np.random.default_rng(0).standard_normal
q, k, v = (draw(shape).astype("f4") for shape in ((1, 4, 3, 1), (1, 4, 2, 1), (1, 4, 2, 16)))
pad = ((0, 0), (0, 0), (0, 7), (0, 0))
longer = np.pad(seen, pad[:2] + pad[3:] + pad[2:3])
one = attention(q, k, v, 1.0, mask=seen)
other = attention(q, np.pad(k, pad), np.pad(v, pad), 1.0, mask=longer)
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
