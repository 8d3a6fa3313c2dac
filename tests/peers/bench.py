# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""One case of scripts/bench-peers: bench.py CASE JSON, which prints a line of JSON.

A case is a public module and heed's mechanism on the same arrays, in inference mode and behind the
projections, which give what was drawn. "time" runs both in turn; "memory" runs one of them, in a
process of its own, and says by how much the peak of its resident memory grew.
"""

import ctypes
import json
import pathlib
import statistics
import sys
import time

import heed
import numpy as np
import torch

DIM = 64


class Fixed(torch.nn.Module):
    """A projection that gives what it has: its first array at the first call, and so on."""

    def __init__(self, *arrays):
        super().__init__()
        self.arrays, self.calls = arrays, 0

    def forward(self, _):
        self.calls += 1
        return self.arrays[(self.calls - 1) % len(self.arrays)]


class Case:
    """Arrays [1][n][heads d] as projections give them, and views of them as heed takes them."""

    def __init__(self, n, heads):
        self.n, self.heads, self.width = n, heads, heads * DIM
        self.hidden = torch.randn(1, n, self.width)
        self.q, self.k, self.v = (torch.randn(1, n, self.width) for _ in range(3))

    def split(self, x):
        return x.view(1, x.shape[1], self.heads, DIM).transpose(1, 2)

    @property
    def qkv(self):
        return self.split(self.q), (self.split(self.k), self.split(self.v))

    def module(self, made, names):
        for name, array in zip(names, (self.q, self.k, self.v)):
            setattr(made, name, Fixed(array))
        return made.eval()

    def output(self, x):
        return self.split(x)


def longformer(n, heads, tokens=0):
    from transformers import LongformerConfig
    from transformers.models.longformer.modeling_longformer import LongformerSelfAttention
    case = Case(n, heads)
    config = LongformerConfig(hidden_size=case.width, num_attention_heads=heads,
                              attention_window=[512])
    module = case.module(LongformerSelfAttention(config, 0), ("query", "key", "value"))
    marks = torch.zeros(1, n)

    def peer():
        # The module divides what its projection gives in place.
        module.query.arrays = (case.q.transpose(0, 1).clone(),)
        module.key.arrays, module.value.arrays = ((x.transpose(0, 1),) for x in (case.k, case.v))
        return case.output(module(case.hidden, marks, marks < 0, marks > 0, False)[0])
    q, text = case.qkv
    return peer, heed.longformer.plan(q, text, window=256)


def bigbird(n, heads):
    from transformers import BigBirdConfig
    from transformers.models.big_bird.modeling_big_bird import (BigBirdBlockSparseAttention,
                                                                BigBirdModel)
    case = Case(n, heads)
    config = BigBirdConfig(hidden_size=case.width, num_attention_heads=heads, block_size=64,
                           num_random_blocks=3, max_position_embeddings=n)
    module = case.module(BigBirdBlockSparseAttention(config, 0), ("query", "key", "value"))
    blocked, band, rows, columns = BigBirdModel.create_masks_for_block_sparse_attn(
        torch.ones(1, n), 64)

    def peer():
        return case.output(module(case.hidden, band, rows, columns, blocked, blocked)[0])
    q, text = case.qkv
    random = np.zeros((1, 1, n // 64, 3), "int32")      # what the module takes outside training
    random[..., [0, -1], :] = -1
    return peer, heed.bigbird.plan(q, text, block=64, random=random)


def longt5(n, heads, transient=False):
    from transformers import LongT5Config
    from transformers.models.longt5 import modeling_longt5
    case = Case(n, heads)
    config = LongT5Config(d_model=case.width, d_kv=DIM, num_heads=heads, local_radius=127)
    kind = modeling_longt5.LongT5TransientGlobalAttention if transient else \
        modeling_longt5.LongT5LocalAttention
    module = case.module(kind(config, has_relative_attention_bias=True), ("q", "k", "v"))
    module.o, case.q = torch.nn.Identity(), case.q / 8
    module.q = Fixed(case.q)
    tables, more = [module.relative_attention_bias.weight.detach().T], {}
    if transient:
        sides = [torch.randn(1, n // 16, case.width) for _ in range(2)]
        module.k, module.v = (Fixed(*pair) for pair in zip((case.k, case.v), sides))
        more = {"side": tuple(case.split(x) for x in sides),
                "side_table": module.global_relative_attention_bias.weight.detach().T,
                "block_ids": (np.arange(n) // 16).astype("int32")[None]}
        mask = torch.ones(1, n)
    else:
        mask = modeling_longt5._get_local_attention_mask(torch.ones(1, n), 128,
                                                         case.hidden.device)
    q, text = case.qkv
    return lambda: case.output(module(case.hidden, mask)[0]), heed.longt5.plan(
        q, text, table=tables[0], map=heed.map_t5(513, 256), zero=256, **more)


def pegasus_x(n, heads):
    from transformers.models.pegasus_x.modeling_pegasus_x import PegasusXGlobalLocalAttention
    case = Case(n, heads)
    module = PegasusXGlobalLocalAttention(case.width, heads, 512).eval()
    rows = [torch.randn(1, 128, case.width) for _ in range(3)]
    for name, text, more in zip(("q_proj", "k_proj", "v_proj"), (case.q, case.k, case.v), rows):
        setattr(module, name, Fixed(text, more))
    module.out_proj, mask = torch.nn.Identity(), torch.zeros(1, n)
    q, text = case.qkv
    globals_ = tuple(case.split(x) for x in rows[1:])
    plan = heed.pegasus_x.plan(q, text, globals=globals_)
    second = heed.global_rows.plan(case.split(rows[0]), text, globals=globals_)

    def peer():
        return case.output(module(case.hidden, rows[0], mask)[0])
    return peer, plan, second


def lsg(n, heads, kind):
    from lsg_converter.bert.modeling_lsg_bert import LSGBertConfig, LSGSelfAttention
    case = Case(n + 1, heads)
    config = LSGBertConfig(hidden_size=case.width, num_attention_heads=heads, block_size=128,
                           sparse_block_size=128, sparsity_factor=4, sparsity_type=kind)
    module = case.module(LSGSelfAttention(config), ("query", "key", "value"))
    mask = torch.zeros(1, 1, 1, n)
    matrices = [torch.randn(1, heads, 1, DIM, m) for m in (64, 16)]

    def peer():
        given, draws = iter(matrices), torch.randn
        torch.randn = lambda *_, **__: next(given)
        try:
            return case.output(module(case.hidden, mask)[0])[:, :, 1:]
        finally:
            torch.randn = draws
    q, (k, v) = case.qkv
    text, globals_ = (k[:, :, 1:], v[:, :, 1:]), (k[:, :, :1], v[:, :, :1])
    how = {"globals": globals_, "sparsity": kind, "block": 128, "factor": 4}
    if kind == "lsh":
        how["rounds"] = [matrix[0, :, 0] for matrix in matrices]
    function = heed.lsg if kind in ("stride", "block_stride") else heed.lsg_program
    return peer, function.plan(q[:, :, 1:], text, **how), heed.global_rows.plan(
        q[:, :, :1], text, globals=globals_)


def decode(n, heads, dtype, grouped=False):
    """One row of 32 heads on 8 key heads. grouped: the module's fastest way that was found, the
    query heads of a key head as rows of it."""
    del heads
    kind = getattr(torch, dtype)
    q, k, v = (torch.randn(1, h, m, 128).to(kind) for h, m in ((32, 1), (8, n), (8, n)))
    attend = torch.nn.functional.scaled_dot_product_attention

    def peer():
        if grouped:
            return attend(q.view(1, 8, 4, 128), k, v).view(1, 32, 1, 128)
        return attend(q, k, v, enable_gqa=True)
    return peer, heed.attention.plan(q, k, v, threads=torch.get_num_threads())


CASES = {
    "longformer": longformer, "bigbird": bigbird, "longt5": longt5,
    "longt5-side": lambda n, heads: longt5(n, heads, True), "pegasus-x": pegasus_x,
    **{f"lsg-{kind}": lambda n, heads, kind=kind: lsg(n, heads, kind.replace("-", "_"))
       for kind in ("norm", "pooling", "lsh", "stride", "block-stride", "bos-pooling")},
    **{f"decode-{dtype}{end}": lambda n, heads, dtype=dtype, end=end: decode(n, heads, dtype, end)
       for dtype in ("float32", "bfloat16", "float16") for end in ("", "-grouped")},
}


def resident(name):
    for line in pathlib.Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {name} in /proc/self/status")


def peak_growth(function, out_bytes):
    """By how much the peak of resident memory grew in a call, less what it gave back."""
    ctypes.CDLL(None).malloc_trim(0)
    pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = resident("VmRSS")
    kept = function()
    grown = resident("VmHWM") - before
    del kept
    return max(grown - out_bytes, 0)


def measure_memory(make, options):
    side, n, heads = options["side"], options["n"], options["heads"]
    for length in (min(n, 2048), n):        # the first one loads what is loaded once
        peer, *plans = make(length, heads)
        out = sum(plan.arrays["o"].numpy().nbytes for plan in plans)
        if side == "peer":
            grown = peak_growth(peer, out)
        else:
            for plan in plans:
                plan.arrays["o"].numpy()[:] = 0     # memory of the caller's, there before
            grown = peak_growth(lambda plans=plans: [plan() for plan in plans], 0)
    workspace = max(plan.info()["workspace_size"] for plan in plans)
    return {"extra_bytes": grown, "workspace": workspace}


def measure_time(make, options):
    peer, *plans = make(options["n"], options["heads"])
    runs = [plan.bind() for plan in plans]
    theirs, ours = peer(), [run() for run in runs][0]
    off = float((ours.float() - theirs.float()).abs().max())
    times = {"peer": [], "heed": []}
    for _ in range(options["pairs"]):
        for name, function in (("peer", peer), ("heed", lambda: [run() for run in runs])):
            start = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - start)
    ratios = [a / b for a, b in zip(times["peer"], times["heed"])]
    return {"peer_s": statistics.median(times["peer"]), "heed_s": statistics.median(times["heed"]),
            "ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios),
            "best": min(times["peer"]) / min(times["heed"]), "heed_best_s": min(times["heed"]),
            "largest_difference": off}


def main():
    options = json.loads(sys.argv[2])
    torch.set_num_threads(options["threads"])
    torch.manual_seed(1)
    # Plans without a device of their own are made on so many threads.
    heed.runtime._default[0] = heed.Runtime(options["threads"])
    with torch.inference_mode():
        measure = measure_time if options["what"] == "time" else measure_memory
        found = measure(CASES[sys.argv[1]], options)
    print(json.dumps({"case": sys.argv[1], **options, **found, "torch": torch.__version__,
                      "isa": heed.runtime.device_of(None).info()["description"]}))


if __name__ == "__main__":
    main()
