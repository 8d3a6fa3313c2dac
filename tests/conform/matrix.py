#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""matrix.py CONFORM DEVICE [CASES]: attention on a device with a matrix unit, or on a processor that
multiplies pairs of bf16; exit status 77: it has none.

Rows of halves of which a row sees one range of keys go through the unit where FAST is asked for,
unless they are few: nearly all of the drawn cases do, and values are within the bound
(docs/numerics.md section 11). Where EXACT, BEST or REPEAT is asked for none does, and they have the
bits of the reference.
"""

import re
import subprocess
import sys

PLAIN = ("ns=1 nq=65,130 h=3,4 s0.nk=65,130 s0.nb=0 s0.nt=0 s0.mask=none s0.rmask=none "
         "s0.lay=dense,paged,ring cap=0 o=f32 fill=normal")
# Of processors: whatever else rows may have.
WIDE = "s1.k=bf16 s1.v=bf16 s2.k=bf16 s2.v=bf16"


def run(conform, device, only, cases, *more):
    """(largest error over bound, cases on the unit, cases on other kernels)"""
    words = [conform, "--device", device, "--op", "attn", "--only", only, "--cases", str(cases),
             "--quiet", "--verbose", *more]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr}")
    found = re.search(r"largest error/bound (\S+),", done.stdout)
    ran = {True: 0, False: 0}
    for n, kernel in re.findall(r"^# \S+ ran (\d+) cases with \S+ (\w+)$", done.stdout, re.M):
        ran[kernel.startswith(("matrix_", "halves_"))] += int(n)
    return float(found[1]) if found else None, ran[True], ran[False]


def main():
    conform, device = sys.argv[1:3]
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    processor = device.startswith("cpu:") or device == "emulate:halves"
    if processor:
        there = subprocess.run([conform, "--device", device, "--op", "attn", "--cases", "1", "--quiet"],
                               capture_output=True, text=True, check=False)
        if there.returncode == 2 or "HEED_E_UNSUPPORTED" in there.stderr:
            print(f"skipped: {there.stderr.strip()}")
            sys.exit(77)
    for kind in ("bf16",) if processor else ("f16", "bf16"):
        types = f"q={kind} s0.k={kind} s0.v={kind}"
        fast, matrix, others = run(conform, device, f"{PLAIN} {types} num=fast", cases)
        if not fast or fast > 1:
            sys.exit(f"{kind}: FAST has error / bound {fast}")
        if matrix < 4 * others:         # others: d is more than a unit's kernel has room for
            sys.exit(f"{kind}: of FAST {matrix} cases took the unit, {others} did not")
        print(f"{device} {kind}: error / bound {fast}, {matrix} cases of {matrix + others}")
        if processor:
            run(conform, device, f"{WIDE} {types} num=fast", cases)
            run(conform, device, f"{WIDE} {types} num=fast", cases, "--family", "invariance",
                "--property", "repeat,threads,layout,batch,chunk")
        _, matrix, others = run(conform, device, f"{PLAIN} {types} num=exact,best,repeat", cases,
                                "--family", "bits")
        if matrix or not others:
            sys.exit(f"{kind}: of EXACT {matrix} cases took the unit, {others} did not")


if __name__ == "__main__":
    main()
