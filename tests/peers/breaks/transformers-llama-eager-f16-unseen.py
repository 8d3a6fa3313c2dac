# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# transformers-llama-eager f16, unseen: op=attn batch=1 h=1 nq=1 d=1 dv=1 q=f16 o=f16 fill=special s0.nk=22 s0.k=f16 s0.v=f16 s0.causal=yes seed=6
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


seen = np.array([x == "1" for x in "1000000000000000000000"]).reshape(1, 1, 1, 22)
q = np.array([0xbd8c], "u2").view("f2").reshape(1, 1, 1, 1)
k = np.array([0xbb10, 0xbf50, 0x37e0, 0x3c0c, 0x3a08, 0xb770, 0x39d8, 0xbcd4, 0xaf80, 0x3f38,
    0xbc84, 0xbe5c, 0x3e28, 0x3c98, 0x3d24, 0x3f44, 0x3b18, 0xbf84, 0xbe30, 0x3f04, 0xbb70, 0xbd40
    ], "u2").view("f2").reshape(1, 1, 22, 1)
v = np.array([0xab80, 0x36b0, 0x3d30, 0x32a0, 0x3690, 0xbbe0, 0xac00, 0x3db8, 0x3ec8, 0x3a50,
    0x3e74, 0x3540, 0xb9f8, 0xbdd4, 0xbad0, 0x3fa0, 0xbf4c, 0xbefc, 0xb6b0, 0x3f54, 0x2d80, 0x7c00
    ], "u2").view("f2").reshape(1, 1, 22, 1)
o = attention(q, k, v, 1.0, mask=seen)
k[0, 0, ~seen[0, 0, 0]] = v[0, 0, ~seen[0, 0, 0]] = 0
other = attention(q, k, v, 1.0, mask=seen)
print(o[0, 0, 0, 0], other[0, 0, 0, 0])
raise SystemExit(bool(np.isfinite(o[0, 0, 0, 0]) or np.isnan(other[0, 0, 0, 0])))
