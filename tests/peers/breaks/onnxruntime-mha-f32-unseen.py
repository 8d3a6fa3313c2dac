# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# onnxruntime-mha f32, unseen: op=attn batch=1 h=1 nq=1 d=1 dv=1 fill=special s0.nk=6 s0.causal=yes seed=7
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
