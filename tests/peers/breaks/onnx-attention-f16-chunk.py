# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# onnx-attention f16, chunk: op=attn batch=1 h=1 nq=4 d=8 dv=24 q=f16 o=f16 s0.k=f16 s0.v=f16 seed=569998941533
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


draw = np.random.default_rng(16).standard_normal
q, k, v = (draw(shape).astype("f2") for shape in ((1, 4, 4, 8), (1, 4, 33, 8), (1, 4, 33, 24)))
one = attention(q, k, v, 0.35355339059327373)[:, :, 2:3]
other = attention(q[:, :, 2:3].copy(), k, v, 0.35355339059327373)
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
