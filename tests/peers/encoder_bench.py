# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""An encoder layer of BERT-base's size by heed, as one plan, beside transformers' BertLayer over
PyTorch, in turn in one process, one thread each: encoder_bench.py [--isa avx2|avx512] [--pairs N]
[--steps] [TOKENS | TOKENS:lsg ...].

TOKENS:lsg: heed's layer has LSG's attention (blocks of 128, every fourth token of what lies around),
the module all pairs, as it has no other. Times are this thread's CPU time; the ratio is the median of
the pairs', with the least and the greatest. --isa keeps both to an instruction set. --steps: heed's
time by steps, too.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

WIDTH, HEADS, HIDDEN = 768, 12, 3072
LSG = {"block": 128, "factor": 4, "sparsity": "stride"}
KEPT = {"avx2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2",
                 "MKL_ENABLE_INSTRUCTIONS": "AVX2"}}


def seconds(call):
    start = time.thread_time()
    call()
    return time.thread_time() - start


def named(layer):
    names = ["q, k, v", "attention", "out + x", "norm", "hidden, GELU", "down + x", "norm"]
    return zip(names, layer.plans, strict=True)


def measure(text, options):
    import heed
    import torch
    from encoder import Encoder, array, config_of, module_of
    from common import draw

    torch.set_num_threads(1)
    n, _, kind = text.partition(":")
    module, x = module_of(config_of(WIDTH, HEADS, HIDDEN)), draw(1, int(n), WIDTH)
    device = heed.Runtime(threads=1).device(options.isa and f"cpu:{options.isa}")
    layer = Encoder(module, int(n), device=device, lsg=LSG if kind else None)
    layer.x[:] = array(x)[None]
    run = layer.program().bind()
    with torch.inference_mode():
        calls = [run, lambda: module(x)]
        for call in calls:
            call()
        pairs = []
        for pair in range(options.pairs):
            both = [seconds(call) for call in calls[::-1 if pair % 2 else 1]]
            pairs.append(both[::-1] if pair % 2 else both)
    ours, theirs = (statistics.median(column) * 1e3 for column in zip(*pairs))
    ratios = sorted(b / a for a, b in pairs)
    print(f"| {text} | {device.info()['name']} | {ours:.1f} | {theirs:.1f} "
          f"| {statistics.median(ratios):.2f} ({ratios[0]:.2f} .. {ratios[-1]:.2f}) |", flush=True)
    for name, plan in named(layer) if options.steps else ():
        bound = plan.bind()
        bound()
        each = statistics.median(seconds(bound) for _ in range(5))
        flops = plan.info()["flops"]
        print(f"|   {name} | | {each * 1e3:.2f} | | {flops / each / 1e9:.1f} GFLOP/s |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--isa")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("cases", nargs="*", default=["512", "8192:lsg"], metavar="CASE")
    options = parser.parse_args()
    kept = KEPT.get(options.isa, {})
    if any(os.environ.get(name) != value for name, value in kept.items()):
        sys.exit(subprocess.run([sys.executable, *sys.argv], env={**os.environ, **kept},
                                check=False).returncode)
    print("| tokens | heed's device | heed, ms | the module, ms | module / heed (range) |\n"
          "|---|---|---|---|---|")
    for case in options.cases:
        measure(case, options)


if __name__ == "__main__":
    main()
