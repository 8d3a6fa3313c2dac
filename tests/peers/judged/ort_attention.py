# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Attention of ONNX (opset 23) in ONNX Runtime, on the processor."""

import onnxruntime as ort
from onnx import helper as make


def attention(q, k, v, scale, mask=None, threads=1):
    given = {"q": q, "k": k, "v": v} | ({} if mask is None else {"mask": mask})
    info = [make.make_tensor_value_info(name, make.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for name, x in given.items()]
    out = make.make_tensor_value_info("o", info[0].type.tensor_type.elem_type, None)
    node = make.make_node("Attention", list(given), ["o"], scale=scale)
    model = make.make_model(make.make_graph([node], "g", info, [out]), ir_version=10,
                            opset_imports=[make.make_opsetid("", 23)])
    how = ort.SessionOptions()
    how.intra_op_num_threads = threads
    return ort.InferenceSession(model.SerializeToString(), how).run(None, given)[0]


PROJECT = "ONNX Runtime"
PACKAGES = ("onnxruntime", "onnx")
TAKES = ("mask", "grouped", "d_v")
DENSE = True        # arrays without gaps
SCALE_ABOVE_0 = True
KERNELS = {"onnx-attention": {}}
TYPES = ("f32", "f16")
