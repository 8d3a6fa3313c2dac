# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# onnxruntime-mha f32, chunk: op=attn batch=1 h=1 nq=2 d=1 dv=1 s0.nk=3 seed=1
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


q = np.array([0xbfe6a300, 0xbffe94e0], "u4").view("f4").reshape(1, 1, 2, 1)
k = np.array([0xbfec8500, 0xbf9294e0, 0x3fa28b20], "u4").view("f4").reshape(1, 1, 3, 1)
v = np.array([0x3ec3f480, 0x3f572e00, 0xbfc34d40], "u4").view("f4").reshape(1, 1, 3, 1)
one = attention(q, k, v, 1.0)[:, :, 0:1]
other = attention(q[:, :, 0:1].copy(), k, v, 1.0)
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
