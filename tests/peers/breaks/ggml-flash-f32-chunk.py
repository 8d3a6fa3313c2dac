# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# ggml-flash f32, chunk: op=attn batch=1 h=1 nq=64 d=1 dv=1 s0.nk=2 seed=1
from ctypes import CDLL, Structure, c_char, c_float, c_int64, c_size_t, c_void_p, memmove
import os

import numpy as np

ggml = CDLL(os.environ["HEED_GGML"] + "/libggml-cpu.so")
Init = type("Init", (Structure,), {"_fields_": [("sizes", c_size_t * 3)]})


def call(name, *arguments):
    getattr(ggml, name).restype = c_void_p
    return c_void_p(getattr(ggml, name)(*arguments))


def attention(q, k, v, scale, mask=None, threads=1):
    def tensor(x, kind=0):
        made = call("ggml_new_tensor_4d", ctx, kind, *map(c_int64, x.shape[::-1]))
        memmove(call("ggml_get_data", made), np.ascontiguousarray(x).ctypes.data, x.nbytes)
        return made
    memory = np.empty(1 << 26, "u1")
    ctx = call("ggml_init", Init((c_size_t * 3)(memory.size, memory.ctypes.data, 0)))
    m = None if mask is None else tensor(np.where(mask, 0, -np.inf).astype("f2"), 1)
    o = call("ggml_flash_attn_ext", ctx, *map(tensor, (q, k, v)), m, *map(c_float, (scale, 0, 0)))
    graph = call("ggml_new_graph", ctx)
    call("ggml_build_forward_expand", graph, o)
    call("ggml_graph_compute_with_ctx", ctx, graph, threads)
    at = call("ggml_get_data", o).value - memory.ctypes.data
    return np.ndarray((len(q), *q.shape[2:0:-1], len(v.T)), "f4", memory, at).swapaxes(1, 2).copy()


seen = np.ones((1, 1, 64, 2), bool)
draw = np.random.default_rng(0).standard_normal
q, k, v = (draw(shape).astype("f4") for shape in ((1, 1, 64, 1), (1, 1, 2, 1), (1, 1, 2, 1)))
one = attention(q, k, v, 1.0, mask=seen)[:, :, 0:32]
other = attention(q[:, :, 0:32].copy(), k, v, 1.0, mask=seen[:, :, 0:32].copy())
print(one[one != other], other[one != other])
raise SystemExit(not (one != other).any())
