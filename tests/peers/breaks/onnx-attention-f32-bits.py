# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# onnx-attention f32, bits: op=attn batch=1 h=1 nq=1 d=1 dv=1 s0.nk=2 seed=1
import numpy as np
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


q = np.array([0xbfe6a300], "u4").view("f4").reshape(1, 1, 1, 1)
k = np.array([0xbfec8500, 0xbf9294e0], "u4").view("f4").reshape(1, 1, 2, 1)
v = np.array([0x3ec3f480, 0x3f572e00], "u4").view("f4").reshape(1, 1, 2, 1)
o = attention(q, k, v, 1.0)
got = o[0, 0, 0, 0].view("u4")
print(f"{got:#x}, the reference 0x3ef7822d")
raise SystemExit(bool(got == 0x3ef7822d))
