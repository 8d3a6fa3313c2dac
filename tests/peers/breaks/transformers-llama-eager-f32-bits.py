# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# transformers-llama-eager f32, bits: op=attn batch=1 h=1 nq=1 d=1 dv=1 s0.nk=2 seed=1
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


q = np.array([0xbfe6a300], "u4").view("f4").reshape(1, 1, 1, 1)
k = np.array([0xbfec8500, 0xbf9294e0], "u4").view("f4").reshape(1, 1, 2, 1)
v = np.array([0x3ec3f480, 0x3f572e00], "u4").view("f4").reshape(1, 1, 2, 1)
o = attention(q, k, v, 1.0)
got = o[0, 0, 0, 0].view("u4")
print(f"{got:#x}, the reference 0x3ef7822d")
raise SystemExit(bool(got == 0x3ef7822d))
