# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# openvino-sdpa f32, blank: op=attn batch=1 nq=1 d=1 dv=1 s0.nk=1 s0.mask=hk seed=1
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


seen = np.array([x == "1" for x in "10"]).reshape(1, 2, 1, 1)
q = np.array([0xbfe6a300, 0xbfa42240], "u4").view("f4").reshape(1, 2, 1, 1)
k = np.array([0xbfec8500, 0x3f03fa80], "u4").view("f4").reshape(1, 2, 1, 1)
v = np.array([0x3ec3f480, 0xbe4dcb00], "u4").view("f4").reshape(1, 2, 1, 1)
o = attention(q, k, v, 1.0, mask=seen)
print(o[0, 1, 0, 0])
raise SystemExit(bool(o[0, 1, 0, 0] == 0))
