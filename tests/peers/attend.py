# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Attention of others for heed-bench --peer: attend.py PEER WORKLOAD [THREADS]

PEER is sdpa or flex (PyTorch), onnx (ONNX Runtime) or ggml (HEED_GGML: the folder of its
libraries); WORKLOAD one of heed-bench's, dense, causal, window or decode, with all of its numbers:
"window:n=8192,h=1,d=64,w=256". Inputs are drawn once. For every line "run" the attention is computed
once, and its CPU and wall seconds are printed. Exit status 77: the peer has no such attention.
"""

import ctypes
import os
import sys
import time

import numpy as np


class Work:
    """A workload's numbers."""

    def __init__(self, text, threads):
        self.kind, _, rest = text.partition(":")
        given = dict(word.split("=") for word in rest.split(",") if word)
        self.dtype = given.pop("dtype", "f32")
        self.threads = threads
        for name in ("n", "h", "hk", "d", "w", "keys"):
            setattr(self, name, int(given.pop(name, 0)))
        if self.kind not in ("dense", "causal", "window", "decode") or given:
            self.lacks(text)
        self.hk = self.hk or self.h
        self.keys = self.keys if self.kind == "decode" else self.n
        self.n = 1 if self.kind == "decode" else self.n

    @staticmethod
    def lacks(what):
        print(f"no attention for {what}", file=sys.stderr)
        sys.exit(77)

    def draw(self):
        made = np.random.default_rng(1)
        return [made.standard_normal((1, h, n, self.d), dtype="float32")
                for h, n in ((self.h, self.n), (self.hk, self.keys), (self.hk, self.keys))]

    def mask(self):
        """Which keys a row of a window sees."""
        i, j = np.ogrid[:self.n, :self.keys]
        return abs(i - j) <= self.w if self.kind == "window" else j <= i


def torch_inputs(work):
    import torch

    torch.set_num_threads(work.threads)
    torch.set_grad_enabled(False)
    kind = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[work.dtype]
    return torch, [torch.from_numpy(x).to(kind) for x in work.draw()]


def sdpa(work):
    torch, (q, k, v) = torch_inputs(work)
    mask = torch.from_numpy(work.mask()) if work.kind == "window" else None
    call = torch.nn.functional.scaled_dot_product_attention
    return lambda: call(q, k, v, attn_mask=mask, is_causal=work.kind == "causal",
                        enable_gqa=work.h != work.hk)


def flex(work):
    torch, (q, k, v) = torch_inputs(work)
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def seen(_b, _h, i, j):
        return (i - j).abs() <= work.w if work.kind == "window" else j <= i

    blocks = None
    if work.kind in ("window", "causal"):
        blocks = create_block_mask(seen, 1, None, work.n, work.keys, device="cpu")
    call = torch.compile(flex_attention, dynamic=False)
    return lambda: call(q, k, v, block_mask=blocks, enable_gqa=work.h != work.hk)


def onnx(work):
    import onnxruntime as ort
    from onnx import helper as make

    if work.dtype == "bf16":
        work.lacks("bf16")
    kind = {"f32": "float32", "f16": "float16"}[work.dtype]
    given = dict(zip("qkv", (x.astype(kind) for x in work.draw())))
    if work.kind == "window":
        given["mask"] = work.mask()
    info = [make.make_tensor_value_info(name, make.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for name, x in given.items()]
    node = make.make_node("Attention", list(given), ["o"], is_causal=int(work.kind == "causal"))
    out = make.make_tensor_value_info("o", info[0].type.tensor_type.elem_type, given["q"].shape)
    model = make.make_model(make.make_graph([node], "g", info, [out]), ir_version=10,
                            opset_imports=[make.make_opsetid("", 23)])
    how = ort.SessionOptions()
    how.intra_op_num_threads = work.threads
    session = ort.InferenceSession(model.SerializeToString(), how)
    return lambda: session.run(None, given)


def ggml(work):
    library = ctypes.CDLL(os.environ["HEED_GGML"] + "/libggml-cpu.so")
    sizes = type("Init", (ctypes.Structure,), {"_fields_": [("sizes", ctypes.c_size_t * 3)]})
    memory = np.empty(1 << 29, "u1")

    def call(name, *arguments):
        function = getattr(library, name)
        function.restype = ctypes.c_void_p
        return ctypes.c_void_p(function(*arguments))

    def tensor(x):
        made = call("ggml_new_tensor_4d", context, int(x.dtype == "f2"),
                    *map(ctypes.c_int64, x.shape[::-1]))
        ctypes.memmove(call("ggml_get_data", made), np.ascontiguousarray(x).ctypes.data, x.nbytes)
        return made

    if work.dtype == "bf16":
        work.lacks("bf16")
    context = call("ggml_init", sizes((ctypes.c_size_t * 3)(memory.size, memory.ctypes.data, 0)))
    q, *kv = work.draw()
    mask = None
    if work.kind in ("window", "causal"):
        mask = tensor(np.where(work.mask(), 0, -np.inf).astype("f2")[None, None])
    o = call("ggml_flash_attn_ext", context, tensor(q),
             *(tensor(x.astype("f2" if work.dtype == "f16" else "f4")) for x in kv), mask,
             *map(ctypes.c_float, (work.d ** -0.5, 0, 0)))
    graph = call("ggml_new_graph", context)
    call("ggml_build_forward_expand", graph, o)
    return lambda: call("ggml_graph_compute_with_ctx", context, graph, work.threads) and memory


PEERS = {"sdpa": sdpa, "flex": flex, "onnx": onnx, "ggml": ggml}


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in PEERS:
        sys.exit(__doc__)
    call = PEERS[sys.argv[1]](Work(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1))
    for line in sys.stdin:
        if line.strip() == "run":
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            print(time.process_time() - cpu, time.perf_counter() - wall, flush=True)


if __name__ == "__main__":
    main()
