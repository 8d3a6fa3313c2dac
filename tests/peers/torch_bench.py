# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""heed.torch beside scaled_dot_product_attention and compiled FlexAttention, in turn in one process:
torch_bench.py [--threads N] [--pairs N] [calls | CASE ...].

`calls`: what a call costs, on 16 keys. Cases: whole attentions, of which the medians and the median
of the ratios of neighbours with its quartiles are printed, and how far results are apart.
"""

import argparse
import statistics
import time

import heed
import heed.torch
import torch
from heed import _torch_ops
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention as sdpa

flex = torch.compile(flex_attention, dynamic=False)
attend = heed.torch.attention


def draw(rows, keys, heads, key_heads, d, dtype):
    made = torch.Generator().manual_seed(1)
    return [torch.randn(1, h, n, d, generator=made).to(dtype)
            for h, n in ((heads, rows), (key_heads, keys), (key_heads, keys))]


def flex_of(q, k, v, rule):
    """FlexAttention with a block mask that is made once."""
    blocks = create_block_mask(rule, 1, None, q.shape[2], k.shape[2], device="cpu")
    return lambda: flex(q, k, v, block_mask=blocks, enable_gqa=q.shape[1] != k.shape[1])


def booleans(rule, n_q, n_k):
    i, j = torch.arange(n_q)[:, None], torch.arange(n_k)
    return rule(None, None, i, j)[None, None]


def case(rows, keys, rule, more, heads=32, key_heads=8, d=128, dtype=torch.float32):
    """The calls of one attention, by name."""
    q, k, v = draw(rows, keys, heads, key_heads, d, dtype)
    grouped = heads != key_heads
    calls = {"heed": lambda: attend(q, k, v, **more)}
    if rule is None:
        calls["sdpa"] = lambda: sdpa(q, k, v, enable_gqa=grouped)
    else:
        mask = booleans(rule, rows, keys)
        calls["heed, visible"] = lambda: attend(q, k, v, visible=mask)
        calls["sdpa"] = lambda: sdpa(q, k, v, attn_mask=mask, enable_gqa=grouped)
        if more.get("align") == "start" and not more.get("terms"):
            calls["sdpa"] = lambda: sdpa(q, k, v, is_causal=True, enable_gqa=grouped)
        calls["flex"] = flex_of(q, k, v, rule)
    return calls


def causal(b, h, i, j):
    return i >= j


def late(b, h, i, j):
    return i + 3584 >= j


def window(b, h, i, j):
    return (i >= j) & (i - j < 1024)


def longformer(b, h, i, j):
    return ((i - j).abs() <= 256) | (j < 2) | (i < 2)


SEE = [heed.window(256), heed.global_tokens(2, rows=True)]
PAST = {"causal": True, "align": "end"}
CASES = {
    "decode-256": lambda: case(1, 256, None, {}),
    "decode-4096": lambda: case(1, 4096, None, {}),
    "decode-4096-bf16": lambda: case(1, 4096, None, {}, dtype=torch.bfloat16),
    "causal-2048": lambda: case(2048, 2048, causal, {"causal": True, "align": "start"}),
    "causal-2048-bf16": lambda: case(2048, 2048, causal, {"causal": True, "align": "start"},
                                     dtype=torch.bfloat16),
    "chunk-512x4096": lambda: case(512, 4096, late, PAST),
    "window-1024-of-4096": lambda: case(
        4096, 4096, window, {"terms": [heed.window(1023, 0)], "align": "start"}, 8, 8, 64),
    "longformer-4096": lambda: case(4096, 4096, longformer, {"terms": SEE, "align": "start"},
                                    12, 12, 64),
    "longformer-16384": lambda: case(16384, 16384, longformer, {"terms": SEE, "align": "start"},
                                     2, 2, 64),
}


def timed(call, count=1):
    begin = time.perf_counter()
    for _ in range(count):
        call()
    return 1e6 * (time.perf_counter() - begin) / count


def judge(name, pairs):
    calls, times = CASES[name](), {}
    outs = {who: call() for who, call in calls.items()}
    for i in range(pairs):
        for who in list(calls)[::1 if i % 2 else -1]:
            calls[who]()
            times.setdefault(who, []).append(min(timed(calls[who]) for _ in range(2)))
    for who in list(calls)[1:]:
        low, middle, high = statistics.quantiles(
            [a / b for a, b in zip(times[who], times["heed"])], n=4)
        print("| {} | {} | {:.0f} | {:.0f} | {:.2f} ({:.2f} .. {:.2f}) | {:.0e} |".format(
            name, who, statistics.median(times["heed"]), statistics.median(times[who]), middle,
            low, high, (outs[who] - outs["heed"]).abs().max()), flush=True)


def calls(_):
    """Least means of 30 calls each, in turn: on a busy machine a longer time has other programs in it."""
    q, k, v = (torch.randn(1, h, n, 32) for h, n in ((8, 1), (4, 16), (4, 16)))
    length, mask = torch.tensor([16]), torch.ones(1, 1, 1, 16, dtype=torch.bool)
    near, operator = [heed.window(4, 0)], _torch_ops.attention
    plan = heed.attention.plan(q, k, v).bind()
    found = {
        "sdpa, grouped heads": lambda: sdpa(q, k, v, enable_gqa=True),
        "sdpa, a mask of booleans": lambda: sdpa(q, k, v, attn_mask=mask, enable_gqa=True),
        "heed, a bound Run of heed.attention.plan": plan,
        "torch.ops.heed.attention": lambda: operator(q, k, v),
        "torch.ops.heed.attention, visible": lambda: operator(q, k, v, visible=mask),
        "heed.torch.attention": lambda: attend(q, k, v),
        "heed.torch.attention, a window and a length":
            lambda: attend(q, k, v, terms=near, align="end", len=length),
    }
    best = dict.fromkeys(found, 1e9)
    with torch.inference_mode():
        for _ in range(500):
            for name, call in found.items():
                best[name] = min(best[name], timed(call, 30))
    with torch.no_grad():
        best["torch.ops.heed.attention, no_grad() in place of inference_mode()"] = min(
            timed(found["torch.ops.heed.attention"], 30) for _ in range(500))
    for name, least in best.items():
        print(f"| {name} | {least:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("names", nargs="*", default=list(CASES))
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    kernel = "C++" if heed.torch.compiled() else "Python"
    print(f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, "
          f"{given.threads} threads, kernel in {kernel}")
    with torch.no_grad():
        for name in given.names:
            calls(None) if name == "calls" else judge(name, given.pairs)


if __name__ == "__main__":
    main()
