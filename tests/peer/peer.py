#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Peers of heed-conform with a fault, each of which must get the verdict of its name.

peer.py EXAMPLE FAULT: the peer of examples/peer with that fault. Plain Python, without NumPy.
"""

import array
import importlib.util
import json
import os
import random
import signal
import struct
import sys
import time


def example(path):
    spec = importlib.util.spec_from_file_location("example", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def out(case, name="o"):
    return case["outputs"][name]["file"]


def header(code, shape, end=b"\n"):
    """A file of NumPy up to its elements."""
    text = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {tuple(shape)}, }}".encode()
    text += b" " * (-(len(text) + 10 + len(end)) % 64) + end
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def patch(path, at, data, whence=os.SEEK_END):
    with open(path, "r+b") as file:
        file.seek(at, whence)
        file.write(data)


class Faults:
    """Methods of the names of verdicts: what is done beside, or after, computing."""

    def __init__(self, module, said):
        self.module, self.said, self.before = module, said, {}

    def none(self, case):
        self.module.compute(case)

    def batch(self, case):
        """The last element is another one where there are several items."""
        self.module.compute(case)
        if case["items"] > 1 and 0 not in case["outputs"]["o"]["shape"]:
            patch(out(case), -4, b"\x77")

    def chunk(self, case):
        """The last element is another one where there are several rows."""
        self.module.compute(case)
        if case["rows"] > 1 and 0 not in case["outputs"]["o"]["shape"]:
            patch(out(case), -4, b"\x77")

    def rubbish(self, case):
        self.said("o has been computed")

    def rubbish_long(self, case):
        sys.stdout.write("x" * 200000)
        self.said("")

    def rubbish_json(self, case):
        self.said('{"status": "fine"}')

    def rubbish_twice(self, case):
        self.module.compute(case)
        self.said('{"status": "ok"}\n{"status": "ok"}')

    def crash(self, case):
        os.kill(os.getpid(), signal.SIGSEGV)

    def exit(self, case):
        sys.exit(3)

    def hang(self, case):
        time.sleep(60)

    def error(self, case):
        raise ValueError("a kernel of \"somebody\" else\n")

    def unwritten(self, case):
        with open(out(case), "rb") as file:
            held = file.read()[-4:]
        self.module.compute(case)
        if case["outputs"]["o"]["shape"].count(0) == 0:
            patch(out(case), -4, held)

    def input(self, case):
        self.module.compute(case)
        if os.path.getsize(case["inputs"]["k0"]["file"]) > 128:
            patch(case["inputs"]["k0"]["file"], -4, b"abcd")

    def shape(self, case):
        write(out(case), header("<f4", (1, *case["outputs"]["o"]["shape"])))

    def dtype(self, case):
        write(out(case), header("<f8", case["outputs"]["o"]["shape"]))

    def missing(self, case):
        os.remove(out(case))

    def file(self, case):
        write(out(case), b"no array at all")

    def file_short(self, case):
        write(out(case), header("<f4", case["outputs"]["o"]["shape"]) + b"abc")

    def file_pipe(self, case):
        os.remove(out(case))
        os.mkfifo(out(case))

    def bound(self, case):
        self.module.compute({**case, "scale": case["scale"] * 1.01})

    def nan(self, case):
        """Keys that are not seen get a weight of 0, and 0 times Inf is NaN."""
        row = self.module.row

        def all_of(case, q, k, v, seen, *rest):
            o, lse = row(case, q, k, v, seen, *rest)
            hidden = [x for x, times in zip(v, seen) if not times]
            return [sum((0 * x[c] for x in hidden), y) for c, y in enumerate(o)], lse
        self.module.row = all_of
        self.module.compute(case)
        self.module.row = row

    def repeat(self, case):
        self.module.compute({**case, "scale": case["scale"] * (1 + random.random() * 1e-7)})

    def bits(self, case):
        self.module.compute(case)


def main():
    module = example(sys.argv[1])

    def said(text):
        print(text, flush=True)
    faults = Faults(module, said)
    fault = getattr(faults, sys.argv[2])
    for line in sys.stdin:
        case = json.loads(line)
        try:
            module.answer({**case, "ask": True})
            if not case.get("ask"):
                fault(case)
                if sys.argv[2].startswith("rubbish"):
                    continue
            said(json.dumps({"status": "ok"}))
        except module.Refused as why:
            said(json.dumps({"status": "refused", "field": why.args[0], "why": why.args[1]}))
        except Exception as why:
            said(json.dumps({"status": "error", "why": str(why)}))


if __name__ == "__main__":
    main()
