# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# onnx-attention f16, chunk: op=attn batch=1 nq=2 d=64 dv=22 q=f16 o=f16 s0.nk=25 s0.k=f16 s0.v=f16 s0.hk=1 seed=491055531927
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


draw = np.random.default_rng(25).standard_normal
q, k, v = (draw(shape).astype("f2") for shape in ((1, 2, 2, 64), (1, 1, 25, 64), (1, 1, 25, 22)))
one = attention(q, k, v, 0.125)[:, :, 0:1]
other = attention(q[:, :, 0:1].copy(), k, v, 0.125)
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
