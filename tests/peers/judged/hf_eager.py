# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The eager attention of a module of transformers."""

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


PROJECT = "transformers"
PACKAGES = ("transformers", "torch")
TAKES = ("mask", "grouped", "d_v")
KERNELS = {"transformers-llama-eager": {}}
TYPES = ("f32", "f16")
