# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# transformers-llama-eager f16, unseen: op=attn batch=1 h=1 nq=4 d=1 dv=1 q=f16 o=f16 fill=special s0.nk=4 s0.k=f16 s0.v=f16 s0.rmask=bytes1 seed=1
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


seen = np.array([x == "1" for x in "1111100011000001"]).reshape(1, 1, 4, 4)
q = np.array([0x3b40, 0x3d64, 0x3d60, 0xbf7c], "u2").view("f2").reshape(1, 1, 4, 1)
k = np.array([0xfc00, 0x3d64, 0xbe9c, 0x3af0], "u2").view("f2").reshape(1, 1, 4, 1)
v = np.array([0x3fa4, 0xbd20, 0xb6a0, 0xbff0], "u2").view("f2").reshape(1, 1, 4, 1)
o = attention(q, k, v, 1.0, mask=seen)
k[0, 0, ~seen[0, 0, 3]] = v[0, 0, ~seen[0, 0, 3]] = 0
other = attention(q, k, v, 1.0, mask=seen)
print(o[0, 0, 3, 0], other[0, 0, 3, 0])
raise SystemExit(bool(np.isfinite(o[0, 0, 3, 0]) or np.isnan(other[0, 0, 3, 0])))
