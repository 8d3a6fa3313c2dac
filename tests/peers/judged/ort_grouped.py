# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""GroupQueryAttention of ONNX Runtime (com.microsoft), on the processor: the last row sees the last
key; keys before the first row's are those of its cache."""

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


PROJECT = "ONNX Runtime"
PACKAGES = ("onnxruntime",)
TAKES = ("causal_end", "grouped")
DENSE = True
SCALE_ABOVE_0 = True
MORE_ROWS_ALONE = True
MULTIPLE = 8        # of which d is a multiple
KERNELS = {"onnxruntime-gqa": {}}
