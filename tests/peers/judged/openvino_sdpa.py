# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""ScaledDotProductAttention (opset 13) of OpenVINO, on the processor."""

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


PROJECT = "OpenVINO"
PACKAGES = ("openvino",)
TAKES = ("mask",)
DENSE = True
KERNELS = {"openvino-sdpa": {}}
