# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# openvino-sdpa f32, unseen: op=attn batch=1 h=1 nq=1 d=1 dv=1 fill=special s0.nk=6 s0.causal=yes seed=7
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


seen = np.array([x == "1" for x in "100000"]).reshape(1, 1, 1, 6)
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
