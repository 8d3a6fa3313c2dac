#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Attention of PyTorch under heed's conformance kit, on the processor.

    python3 examples/python/conform_torch.py [NAME...] [--cases N] [--types f32,f16,bf16]

Each adapter says by its parameters what the kernel does, and refuses what it does not.
"""

import argparse
import warnings

import heed
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention


def sdpa(backend):
    """torch's own attention, by one of its kernels: a mask, a bias, grouped heads."""
    def kernel(q, k, v, *, scale, causal, mask, bias):
        if causal == "end":
            raise heed.Refused("causal_end", "is_causal counts from the first key")
        if bias is not None and q.dtype != torch.float32:
            raise heed.Refused("bias", "it would be rounded to the type of q")
        if bias is not None:
            mask = bias if mask is None else bias.masked_fill(~mask, -torch.inf)
            if causal:
                raise heed.Refused("bias", "with is_causal")
        try:
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(
                    q, k, v, attn_mask=mask, is_causal=causal == "start", scale=scale,
                    enable_gqa=q.shape[1] != k.shape[1])
        except RuntimeError as why:
            if "No available kernel" in str(why) or "No viable backend" in str(why):
                raise heed.Refused("backend", "there is no such kernel for this") from None
            raise
    return kernel


def flex(attend):
    """FlexAttention: a mask, and a function of each score."""
    def kernel(q, k, v, *, scale, softcap, mask, bias, lse):
        def score(s, b, h, i, j):
            if softcap:
                s = softcap * torch.tanh(s / softcap)
            return s if bias is None else s + bias[b, h, i, j]
        if 0 in q.shape or 0 in k.shape or 0 in v.shape:
            raise heed.Refused("empty", "no array without elements")
        if lse == "with_sink":
            raise heed.Refused("sinks", "there are none")
        blocks = None if mask is None else create_block_mask(
            lambda b, h, i, j: mask[b, h, i, j], *q.shape[:3], k.shape[2], device="cpu")
        o, logs = attend(q, k, v, score_mod=score, block_mask=blocks, scale=scale,
                         enable_gqa=q.shape[1] != k.shape[1], return_lse=True)
        return o, logs.float()
    return kernel


KERNELS = {
    "sdpa-math": sdpa(SDPBackend.MATH),
    "sdpa-flash": sdpa(SDPBackend.FLASH_ATTENTION),
    "sdpa-efficient": sdpa(SDPBackend.EFFICIENT_ATTENTION),
    "flex": flex(flex_attention),
    "flex-compiled": flex(torch.compile(flex_attention, dynamic=True)),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(KERNELS)[:4])
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--types", default="f32,f16,bf16")
    parser.add_argument("--refuse", default="", help="needs of cases that are left out")
    parser.add_argument("--only", default="", help="as heed-conform --only takes it")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}")
    for name in options.names:
        for types in options.types.split(","):
            only = f"q={types} o={types} s0.k={types} s0.v={types} {options.only}"
            result = heed.conform(KERNELS[name], options.cases, only=only, arrays="torch",
                                  refuse=options.refuse.split(","))
            result.name = f"{name} {types}"
            print(result, end="\n\n", flush=True)


if __name__ == "__main__":
    main()
