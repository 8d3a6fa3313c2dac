# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""MultiHeadAttention of ONNX Runtime (com.microsoft), on the processor."""

import numpy as np
import onnxruntime as ort
from onnx import helper as make


def attention(q, k, v, scale, mask=None, threads=1):
    given = {name: np.ascontiguousarray(x.swapaxes(1, 2)).reshape(len(x), x.shape[2], -1)
             for name, x in {"q": q, "k": k, "v": v}.items()}
    if mask is not None:
        given["bias"] = np.where(mask, 0, -np.inf).astype("f4")
    info = [make.make_tensor_value_info(name, 1, x.shape) for name, x in given.items()]
    names = ["q", "k", "v"] + (["", "", "bias"] if mask is not None else [])
    node = make.make_node("MultiHeadAttention", names, ["o"], domain="com.microsoft",
                          num_heads=q.shape[1], scale=scale)
    graph = make.make_graph([node], "g", info, [make.make_tensor_value_info("o", 1, None)])
    model = make.make_model(graph, ir_version=10, opset_imports=[
        make.make_opsetid("", 23), make.make_opsetid("com.microsoft", 1)])
    how = ort.SessionOptions()
    how.intra_op_num_threads = threads
    o = ort.InferenceSession(model.SerializeToString(), how).run(None, given)[0]
    return o.reshape(len(q), q.shape[2], q.shape[1], -1).swapaxes(1, 2)


PROJECT = "ONNX Runtime"
PACKAGES = ("onnxruntime",)
TAKES = ("mask", "d_v")
DENSE = True
SCALE_ABOVE_0 = True
KERNELS = {"onnxruntime-mha": {}}
