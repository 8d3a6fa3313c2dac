# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# onnxruntime-mha f32, blank: op=attn batch=1 nq=1 d=1 dv=1 s0.nk=1 s0.mask=hk seed=1
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


seen = np.array([x == "1" for x in "10"]).reshape(1, 2, 1, 1)
q = np.array([0xbfe6a300, 0xbfa42240], "u4").view("f4").reshape(1, 2, 1, 1)
k = np.array([0xbfec8500, 0x3f03fa80], "u4").view("f4").reshape(1, 2, 1, 1)
v = np.array([0x3ec3f480, 0xbe4dcb00], "u4").view("f4").reshape(1, 2, 1, 1)
o = attention(q, k, v, 1.0, mask=seen)
print(o[0, 1, 0, 0])
raise SystemExit(bool(o[0, 1, 0, 0] == 0))
