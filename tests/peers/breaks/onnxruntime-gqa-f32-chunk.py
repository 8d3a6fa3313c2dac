# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# onnxruntime-gqa f32, chunk: op=attn batch=1 h=1 nq=2 d=8 dv=8 align=end s0.nk=3 s0.causal=yes seed=1
import numpy as np
import onnxruntime as ort
from onnx import helper as make


def attention(q, k, v, scale, causal="end", threads=1):
    b, n, old = len(q), k.shape[2], k.shape[2] - q.shape[2]
    flat = lambda x: np.ascontiguousarray(x.swapaxes(1, 2)).reshape(b, x.shape[2], -1)
    given = {"q": flat(q), "k": flat(k[:, :, old:]), "v": flat(v[:, :, old:]),
             "pk": np.ascontiguousarray(k[:, :, :old]), "pv": np.ascontiguousarray(v[:, :, :old]),
             "len": np.full(b, n - 1, "i4"), "all": np.array(n, "i4")}
    info = [make.make_tensor_value_info(name, make.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for name, x in given.items()]
    node = make.make_node("GroupQueryAttention", list(given), ["o", "ck", "cv"], num_heads=q.shape[1],
                          kv_num_heads=k.shape[1], scale=scale, domain="com.microsoft")
    outs = [make.make_tensor_value_info(x, 1, None) for x in node.output]
    model = make.make_model(make.make_graph([node], "g", info, outs), ir_version=10,
                            opset_imports=[make.make_opsetid("com.microsoft", 1)])
    how = ort.SessionOptions()
    how.intra_op_num_threads = threads
    o = ort.InferenceSession(model.SerializeToString(), how).run(["o"], given)[0]
    return o.reshape(b, q.shape[2], q.shape[1], -1).swapaxes(1, 2)


draw = np.random.default_rng(0).standard_normal
q, k, v = (draw(shape).astype("f4") for shape in ((1, 1, 2, 8), (1, 1, 3, 8), (1, 1, 3, 8)))
one = attention(q, k, v, 0.35355339059327373)[:, :, 1:2]
other = attention(q[:, :, 1:2].copy(), k, v, 0.35355339059327373)
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
