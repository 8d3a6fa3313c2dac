#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The same bytes of states, logits and ids on every device and for every number of threads.

bits.py HEED-MODEL HEED-INFO [--opencl] [--all]: each variant of a family on the reference, on every
cpu device that there is and with 1, 2 and 3 threads; --opencl: on both shapes of kernels of the
first device of OpenCL instead; --all: more checkpoints, texts, types and searches.
"""

import json
import shutil
import subprocess
import sys

import running
import numpy
import checkpoints

# Of --opencl without --all, where PoCL compiles every kernel for some seconds.
FEW = ("led", "t5", "longt5-global")


def devices_of(info):
    """Names of devices that heed-info does not know to be without the bits."""
    told = subprocess.run([info, "--json"], capture_output=True, text=True, check=True).stdout
    return [d["name"] for d in json.loads(told)["devices"] if d["usable"] and (d["exact"] or not d["tested"])]


def ways_of(devices, opencl):
    """Options of runs that must have the bytes of the first one."""
    first = ["--device", "reference"]
    if opencl:
        found = [d for d in devices if d.startswith("opencl:0:")]
        return [first] + [["--device", d] for d in found]
    host = [d for d in devices if d.startswith("cpu")]
    return ([first] + [["--device", d] for d in host] +
            [["--device", "cpu", "--threads", str(n)] for n in (1, 2, 3)])


class Comparison:
    """Bytes of runs."""

    def __init__(self, program, ways):
        self.program, self.ways = program, ways
        self.failures, self.same, self.bytes = 0, 0, 0

    def call(self, what, ways, command, folder, ids, *options):
        """One command in each way."""
        first = None
        for way in ways:
            got = self.program.call(command, folder, ids, *options, *way)
            if first is None:
                first = got
                self.bytes += len(got)
                if not got:
                    self.failures += 1
                    print(f"{what}, {command}: no output")
            elif got != first:
                self.failures += 1
                print(f"{what}, {command}, {' '.join(way)}: other bytes than with "
                      f"{' '.join(ways[0])}")
            else:
                self.same += 1

    def checkpoint(self, what, folder, ways, ids, following, searches, *options):
        """All commands; logits of all tokens have the bytes of those of each beginning."""
        settings, _ = checkpoints.read(folder)
        self.call(what, ways, "states", folder, ids, *options)
        if settings["family"] in checkpoints.ENCODERS:
            return
        following = [settings["start"], *following]
        self.call(what, ways, "logits", folder, ids, "--next", " ".join(map(str, following)),
                  *options)
        for words in searches:
            self.call(what, ways, "generate", folder, ids, *words, *options)
        self.call(what, ways[:2] if len(searches) == 1 else ways, "looks", folder, ids,
                  *searches[0], *options)


def text(random, n):
    return [0, *(int(i) for i in random.integers(3, 40, n - 2)), 2]


def run(comparison, folder, every, few):
    """All variants."""
    searches = [["--max-length", "8", "--beams", "3"]]
    for seed in range(6 if every else 1):
        for i, variant in enumerate(checkpoints.VARIANTS):
            if few and variant not in FEW:
                continue
            random = numpy.random.default_rng([seed, i])
            dtype = ("F32", "F16", "BF16")[(seed + i) % 3]
            where = checkpoints.write(folder / variant, variant, seed, dtype)
            n = (21, 47, 3, 33, 58, 9)[seed]
            # Every third one in turn: processes are what takes time here.
            ways = comparison.ways if every or few else \
                comparison.ways[:1] + comparison.ways[1 + i % 3::3]
            options = ["--weights", ("f16", "q8_0", "bf16", "q4_0", "f32", "q8_0")[seed]] \
                if every and seed else []
            comparison.checkpoint(f"{variant}, seed {seed}, {dtype}, {n} tokens", where, ways,
                                  text(random, n), text(random, 9)[1:], searches + (
                                      [["--max-length", "20"]] if every else []), *options)
            shutil.rmtree(where)


def main():
    """The exit status."""
    every, opencl = "--all" in sys.argv, "--opencl" in sys.argv
    devices = devices_of(sys.argv[2])
    ways = ways_of(devices, opencl)
    if opencl and len(ways) == 1:
        print("skipped: there is no device of OpenCL")
        return 77
    comparison, folder = Comparison(running.Program(sys.argv[1]), ways), running.scratch()
    try:
        run(comparison, folder, every, opencl and not every)
    finally:
        shutil.rmtree(folder)
    print(f"{len(ways)} ways ({', '.join(' '.join(w) for w in ways)}): {comparison.same} times the "
          f"same, {comparison.bytes} bytes, {comparison.failures} failures")
    return 1 if comparison.failures or not comparison.same else 0


if __name__ == "__main__":
    sys.exit(main())
