# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# openvino-sdpa f32, chunk: op=attn batch=1 h=1 nq=1 d=1 dv=1 s0.nk=23 seed=1
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


seen = np.ones((1, 1, 1, 23), bool)
q = np.array([0xbfe6a300], "u4").view("f4").reshape(1, 1, 1, 1)
k = np.array([0xbfec8500, 0xbf9294e0, 0x3fa28b20, 0x3fce5bc0, 0xbf092ec0, 0xbf33f0c0, 0x3e8dfc80,
    0xbf9eeb00, 0x3f9b2f20, 0x3f8ec1e0, 0xbff42480, 0xbe8b6480, 0xbfb0c540, 0x3e7bed00,
    0x3e65df00, 0x3f6b4740, 0xbf0b2d80, 0x3f38e180, 0x3ff90080, 0xbfe7ee00, 0xbf8abc00,
    0xbf2f3a40, 0xbf4c5440], "u4").view("f4").reshape(1, 1, 23, 1)
v = np.array([0x3ec3f480, 0x3f572e00, 0xbfc34d40, 0xbfc8ff80, 0x3fd81360, 0x3ee63080, 0xbf78fdc0,
    0x3fdc5840, 0x3fce9ae0, 0xbd456800, 0x3fe30880, 0xbf5131c0, 0xbe14f600, 0x3f1b6a40,
    0x3fb63240, 0xbfd07c80, 0xbd4dc800, 0xbfd898e0, 0x3fc2b460, 0x3f587700, 0xbf8e1640,
    0x3e86c580, 0xbf0c37c0], "u4").view("f4").reshape(1, 1, 23, 1)
pad = ((0, 0), (0, 0), (0, 16), (0, 0))
longer = np.pad(seen, pad[:2] + pad[3:] + pad[2:3])
one = attention(q, k, v, 1.0, mask=seen)
other = attention(q, np.pad(k, pad), np.pad(v, pad), 1.0, mask=longer)
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
