# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# openvino-sdpa f32, bits: op=attn batch=1 h=1 nq=1 d=1 dv=1 s0.nk=2 seed=1
import numpy as np
import functools

import openvino as ov
from openvino import opset13 as op


@functools.cache
def model(dtype, mask, threads):
    inputs = [op.parameter([-1] * 4, x) for x in [dtype] * 3 + [mask]]
    inputs.append(op.parameter([], dtype))
    node = op.scaled_dot_product_attention(*inputs)
    return ov.compile_model(ov.Model([node], inputs), "CPU", {
        "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads})


def attention(q, k, v, scale, mask=None, threads=1):
    seen = q[:1, :1, :1, :1] * 0 if mask is None else mask
    return model(q.dtype, seen.dtype, threads)([q, k, v, seen, q.dtype.type(scale)])[0].copy()


q = np.array([0xbfe6a300], "u4").view("f4").reshape(1, 1, 1, 1)
k = np.array([0xbfec8500, 0xbf9294e0], "u4").view("f4").reshape(1, 1, 2, 1)
v = np.array([0x3ec3f480, 0x3f572e00], "u4").view("f4").reshape(1, 1, 2, 1)
o = attention(q, k, v, 1.0)
got = o[0, 0, 0, 0].view("u4")
print(f"{got:#x}, the reference 0x3ef7822d")
raise SystemExit(bool(got == 0x3ef7822d))
