# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# transformers-llama-eager f32, chunk: op=attn batch=1 h=1 nq=1 d=1 dv=1 s0.nk=12 seed=5
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


seen = np.ones((1, 1, 1, 12), bool)
q = np.array([0x3fa1b0a0], "u4").view("f4").reshape(1, 1, 1, 1)
k = np.array([0xbfc44be0, 0xbf419e00, 0x3fcc1ae0, 0x3f19e0c0, 0xbfe0ac80, 0xbfe02aa0, 0xbdc21400,
    0xbe320b00, 0xbf74bbc0, 0x3ff77560, 0xbf876580, 0xbfcef900
    ], "u4").view("f4").reshape(1, 1, 12, 1)
v = np.array([0xbeef3600, 0xbf147c80, 0x3e3f3000, 0x3f8f5b00, 0xbfde2ee0, 0x3fdc4ec0, 0xbfc38e80,
    0xbfa3c800, 0xbf7eeec0, 0xbf0d00c0, 0xbfa893e0, 0xbe804300
    ], "u4").view("f4").reshape(1, 1, 12, 1)
scale = 1.0
pad = ((0, 0), (0, 0), (0, 7), (0, 0))
longer = np.pad(seen, pad[:2] + pad[3:] + pad[2:3])
one = attention(q, k, v, scale, mask=seen)
other = attention(q, np.pad(k, pad), np.pad(v, pad), scale, mask=longer)
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
