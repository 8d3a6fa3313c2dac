# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""FlexAttention of PyTorch, not compiled."""

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention


def attention(q, k, v, scale, mask=None, threads=1):
    torch.set_num_threads(threads)
    q, k, v = map(torch.from_numpy, (q, k, v))
    blocks = None
    if mask is not None:
        seen = torch.from_numpy(mask)
        blocks = create_block_mask(lambda b, h, i, j: seen[b, h, i, j], *seen.shape, device="cpu")
    return flex_attention(q, k, v, scale=scale, block_mask=blocks,
                          enable_gqa=q.shape[1] != k.shape[1]).numpy()


PROJECT = "PyTorch"
PACKAGES = ("torch",)
TAKES = ("mask", "grouped", "d_v")
KERNELS = {"torch-flex": {}}
TYPES = ("f32", "f16")
