# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# transformers-llama-eager f16, chunk: op=attn batch=1 h=1 nq=2 dv=4 q=f16 o=f16 align=end s0.k=f16 s0.v=f16 seed=1017114351664
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


seen = np.ones((1, 4, 2, 33), bool)
draw = np.random.default_rng(20).standard_normal
q, k, v = (draw(shape).astype("f2") for shape in ((1, 4, 2, 16), (1, 4, 33, 16), (1, 4, 33, 16)))
one = attention(q, k, v, 0.25, mask=seen)[:, :, 1:2]
other = attention(q[:, :, 1:2].copy(), k, v, 0.25, mask=seen[:, :, 1:2].copy())
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
