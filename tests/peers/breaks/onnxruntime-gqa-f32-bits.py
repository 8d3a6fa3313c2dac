# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# onnxruntime-gqa f32, bits: op=attn batch=1 h=1 nq=1 d=8 dv=8 s0.nk=1 seed=1
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


q = np.array([0xbfe6a300, 0x3fb044a0, 0xbfe4b820, 0xbf9b00e0, 0x3f186c00, 0x3f237180, 0x3fe8afa0,
    0xbf9277a0], "u4").view("f4").reshape(1, 1, 1, 8)
k = np.array([0xbfec8500, 0xbee94480, 0xbe761900, 0xbf9fe500, 0xbfd17500, 0xbea2ab80, 0xbf7bea00,
    0x3dcb3c00], "u4").view("f4").reshape(1, 1, 1, 8)
v = np.array([0x3ec3f480, 0xbfdfcca0, 0x3f37f700, 0xbe4eda00, 0x3fa76d60, 0xbfc7bfa0, 0xbfa55a60,
    0x3f681480], "u4").view("f4").reshape(1, 1, 1, 8)
o = attention(q, k, v, 0.35355339059327373)
got = o[0, 0, 0, 0].view("u4")
print(f"{got:#x}, the reference 0x3ec3f47f")
raise SystemExit(bool(got == 0x3ec3f47f))
