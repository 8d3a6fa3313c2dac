# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# transformers-llama-eager f32, blank: op=attn batch=1 nq=1 d=1 dv=1 s0.nk=1 s0.mask=hk seed=1
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


seen = np.array([x == "1" for x in "10"]).reshape(1, 2, 1, 1)
q = np.array([0xbfe6a300, 0xbfa42240], "u4").view("f4").reshape(1, 2, 1, 1)
k = np.array([0xbfec8500, 0x3f03fa80], "u4").view("f4").reshape(1, 2, 1, 1)
v = np.array([0x3ec3f480, 0xbe4dcb00], "u4").view("f4").reshape(1, 2, 1, 1)
o = attention(q, k, v, 1.0, mask=seen)
print(o[0, 1, 0, 0])
raise SystemExit(bool(o[0, 1, 0, 0] == 0))
