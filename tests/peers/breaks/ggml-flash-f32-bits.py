# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
# scripts/judge-peers wrote this. Exit status 0: the break shows; 1: it does not.
# ggml-flash f32, bits: op=attn batch=1 h=1 nq=1 d=1 dv=1 s0.nk=2 seed=1
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


q = np.array([0xbfe6a300], "u4").view("f4").reshape(1, 1, 1, 1)
k = np.array([0xbfec8500, 0xbf9294e0], "u4").view("f4").reshape(1, 1, 2, 1)
v = np.array([0x3ec3f480, 0x3f572e00], "u4").view("f4").reshape(1, 1, 2, 1)
o = attention(q, k, v, 1.0)
got = o[0, 0, 0, 0].view("u4")
print(f"{got:#x}, the reference 0x3ef7822d")
raise SystemExit(bool(got == 0x3ef7822d))
