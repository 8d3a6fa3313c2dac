# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""ggml_flash_attn_ext on ggml's processor backend; HEED_GGML: the folder of its libraries."""

from ctypes import CDLL, RTLD_GLOBAL, Structure, c_float, c_int64, c_size_t, c_void_p, memmove, string_at
import os

import numpy as np

CDLL(os.environ["HEED_GGML"] + "/libggml-base.so", RTLD_GLOBAL)
ggml = CDLL(os.environ["HEED_GGML"] + "/libggml-cpu.so")
ggml.ggml_cpu_init()


class Init(Structure):
    _fields_ = [("sizes", c_size_t * 3)]


def call(name, *arguments):
    getattr(ggml, name).restype = c_void_p
    return c_void_p(getattr(ggml, name)(*arguments))


def attention(q, k, v, scale, mask=None, threads=1):
    def tensor(x, kind=0):
        made = call("ggml_new_tensor_4d", ctx, kind, *map(c_int64, x.shape[::-1]))
        memmove(call("ggml_get_data", made), np.ascontiguousarray(x).ctypes.data, x.nbytes)
        return made
    ctx = call("ggml_init", Init((c_size_t * 3)(1 << 26, 0, 0)))
    seen = None if mask is None else tensor(np.where(mask, 0, -np.inf).astype("f2"), 1)
    o = call("ggml_flash_attn_ext", ctx, tensor(q), tensor(k), tensor(v), seen, c_float(scale),
             c_float(0), c_float(0))
    graph = call("ggml_new_graph", ctx)
    call("ggml_build_forward_expand", graph, o)
    call("ggml_graph_compute_with_ctx", ctx, graph, threads)
    made = np.empty((len(q), q.shape[2], q.shape[1], v.shape[3]), "f4")
    memmove(made.ctypes.data, call("ggml_get_data", o), made.nbytes)
    call("ggml_free", ctx)
    return made.swapaxes(1, 2)


PROJECT = "ggml"
PACKAGES = ()
VERSION = "ggml " + string_at(call("ggml_version")).decode()
TAKES = ("mask", "grouped", "d_v")
DENSE = True
KERNELS = {"ggml-flash": {}}
