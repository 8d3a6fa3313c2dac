#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's scaled dot product attention as heed-bench --peer: sdpa_peer.py WORKLOAD [--check]

WORKLOAD is one of heed-bench (dense:n=4096,h=16,d=64,b=1,dtype=f16, decode:keys=8192), on the first device that
PyTorch calls cuda (NVIDIA's, AMD's with ROCm) or xpu (Intel's). Every
line on the input is one call, answered with its CPU and wall seconds. A window is given as a mask,
which is all that PyTorch takes. --check: exit 77 if there is no PyTorch with such a
device here, and why.
"""

import sys
import time

DEFAULTS = {"n": "4096", "h": "8", "d": "64", "b": "1", "w": "256", "dtype": "f32",
            "keys": "8192"}


def find_torch():
    try:
        import torch
    except ImportError:
        print("no PyTorch")
        sys.exit(77)
    for kind in ("cuda", "xpu"):
        module = getattr(torch, kind, None)
        if module is not None and module.is_available():
            return torch, kind, module
    print(f"PyTorch {torch.__version__} has no device of CUDA, ROCm or XPU")
    sys.exit(77)


def prepare(torch, where, workload):
    kind, _, keys = workload.partition(":")
    fields = {**DEFAULTS, **dict(pair.split("=", 1) for pair in keys.split(",") if pair)}
    n, h, d, b, w = (int(fields[key]) for key in ("n", "h", "d", "b", "w"))
    hk = int(fields.get("hk", h))
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[fields["dtype"]]
    torch.manual_seed(1)
    if kind == "decode":
        q = 2 * torch.randn(b, h, 1, d, device=where, dtype=dtype)
        k, v = (torch.randn(b, hk, int(fields["keys"]), d, device=where, dtype=dtype)
                for _ in range(2))
        sdpa = torch.nn.functional.scaled_dot_product_attention
        return lambda: sdpa(q, k, v, enable_gqa=hk != h)
    q = 2 * torch.randn(b, h, n, d, device=where, dtype=dtype)
    k, v = (torch.randn(b, hk, n, d, device=where, dtype=dtype) for _ in range(2))
    options = {"is_causal": kind == "causal"}
    if hk != h:
        k, v = (x.repeat_interleave(h // hk, dim=1) for x in (k, v))
    if kind == "window":
        at = torch.arange(n, device=where)
        options["attn_mask"] = (at[:, None] - at[None, :]).abs() <= w
    sdpa = torch.nn.functional.scaled_dot_product_attention
    return lambda: sdpa(q, k, v, **options)


def main():
    torch, where, module = find_torch()
    if "--check" in sys.argv:
        versions = (f"{name} {getattr(torch.version, key, None)}"
                    for name, key in (("CUDA", "cuda"), ("ROCm", "hip"), ("XPU", "xpu"))
                    if getattr(torch.version, key, None))
        print(f"PyTorch {torch.__version__} ({', '.join(versions)}), {module.get_device_name(0)}")
        return
    call = prepare(torch, where, sys.argv[1])
    with torch.inference_mode():
        call()
        module.synchronize()
        for _ in sys.stdin:
            cpu, wall = time.process_time(), time.perf_counter()
            call()
            module.synchronize()
            print(time.process_time() - cpu, time.perf_counter() - wall, flush=True)


if __name__ == "__main__":
    main()
