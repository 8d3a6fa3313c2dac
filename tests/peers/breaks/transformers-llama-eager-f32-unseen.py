# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# transformers-llama-eager f32, unseen: op=attn batch=1 h=1 nq=1 d=1 dv=1 fill=special s0.nk=6 s0.mask=1 seed=7
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


seen = np.array([x == "1" for x in "111010"]).reshape(1, 1, 1, 6)
q = np.array([0xbe387200], "u4").view("f4").reshape(1, 1, 1, 1)
k = np.array([0x3f080200, 0xbf82d160, 0xbeffd780, 0xbede2a00, 0x3ebc4880, 0xff800000
    ], "u4").view("f4").reshape(1, 1, 6, 1)
v = np.array([0xbff47b80, 0xbeaf4f00, 0x3fa11160, 0x3e99fd00, 0xbfa96400, 0xbf1f0040
    ], "u4").view("f4").reshape(1, 1, 6, 1)
o = attention(q, k, v, 1.0, mask=seen)
k[0, 0, ~seen[0, 0, 0]] = v[0, 0, ~seen[0, 0, 0]] = 0
other = attention(q, k, v, 1.0, mask=seen)
print(o[0, 0, 0, 0], other[0, 0, 0, 0])
raise SystemExit(bool(np.isfinite(o[0, 0, 0, 0]) or np.isnan(other[0, 0, 0, 0])))
