#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""gemm.py CONFORM DEVICE LIBRARY CASES [INFO LACKING]: FAST of linear by a library of matrices.

Draws cases whose matrices lie in lines, in each type that the library takes, and with what follows
the sums where the device runs kernels (LIBRARY clblast); at least CASES of them go to the library,
and values are within the bound of FAST (docs/numerics.md, section 15). Where EXACT, BEST or REPEAT
is asked for none does, and none with LACKING, a library of the same name that lacks functions.
Skipped (77) where INFO says that the device or the library is absent.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

LINES = ("kernel=0,1 stride=0,1,2 tail=floor n=2,7,13,33,300 in=1,7,16,33,64,131,256,300,600,32,96,608 "
         "out=1,5,16,33,65,130,300 h=1,2,3 batch=2,1,3,none,2x2,1x3 x.s=natural,transposed "
         "w.s=natural,transposed")
BARE = "bias=none add=none act=none y.s=natural,transposed"
# What is drawn, and whose share of the cases it is.
KINDS = {
    "clblast": [("x.t=f32 w.t=f32 y.t=f32 " + BARE, 0.5),
                ("x.t=f32 w.t=f32 y.s=natural,padded,transposed,negative", 0.5)],
    "cublaslt": [("x.t=f32 w.t=f32 y.t=f32 " + BARE, 0.4),
                 ("x.t=f16 w.t=f16 y.t=f32,f16 " + BARE, 0.3),
                 ("x.t=bf16 w.t=bf16 y.t=f32,bf16 " + BARE, 0.3)],
}


def run(conform, device, library, only, cases, *more, environment=None):
    """(largest error over bound, cases by the library, cases by kernels)"""
    words = [conform, "--device", device, "--op", "linear", "--only", only, "--cases", str(cases),
             "--quiet", "--verbose", *more]
    if library == "cublaslt":           # fake_cublaslt_device.c runs nothing else
        words.append("--partial")
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr}")
    found = re.search(r"largest error/bound (\S+),", done.stdout)
    ran = {True: 0, False: 0}
    for n, what in re.findall(r"^# \S+ ran (\d+) cases with (.+)$", done.stdout, re.M):
        ran[what == f"linear-gemm {library}"] += int(n)
    return float(found[1]) if found else 0, ran[True], ran[False]


def is_there(info, device, library):
    if info is None:
        return True
    done = subprocess.run([info, "--device", device, "--json"], capture_output=True, text=True,
                          check=False)
    listed = json.loads(done.stdout)["devices"] if done.returncode == 0 else []
    said = listed[0]["gemm"] if listed and listed[0]["usable"] else "no device"
    if re.fullmatch(library + r"( \S+)?", said):
        return True
    print(f"skipped: {device}: {said}")
    return False


def main():
    conform, device, library, cases = sys.argv[1:5]
    folder = str(pathlib.Path(sys.argv[6]).resolve().parent) if len(sys.argv) > 6 else None
    if folder:              # meson names the folders of all libraries that a test is given
        paths = os.environ.get("LD_LIBRARY_PATH", "").split(":")
        os.environ["LD_LIBRARY_PATH"] = ":".join(path for path in paths
                                                 if os.path.realpath(path) != folder)
    if not is_there(sys.argv[5] if len(sys.argv) > 5 else None, device, library):
        sys.exit(77)
    all_taken = 0
    for kind, share in KINDS[library]:
        drawn = int(int(cases) * share * 1.4) + 1       # some lie in no lines
        worst, taken, others = run(conform, device, library, f"{LINES} {kind} num=fast", drawn)
        if worst > 1 or taken == 0:
            sys.exit(f"{kind}: FAST has error / bound {worst}, {taken} cases of {taken + others}")
        print(f"{device} {kind}: error / bound {worst}, {taken} cases of {taken + others}")
        all_taken += taken
        if library != "cublaslt":               # whose device runs no kernel
            _, taken, others = run(conform, device, library, f"{LINES} {kind} "
                                   "num=exact,best,repeat", 6, "--family", "bits")
            if taken or not others:
                sys.exit(f"{kind}: of EXACT {taken} cases went to the library, {others} did not")
    if folder:
        _, taken, others = run(conform, device, library, f"{LINES} {KINDS[library][0][0]} num=fast", 6,
                               environment=dict(os.environ, LD_LIBRARY_PATH=folder))
        if taken or not others:
            sys.exit(f"a library without functions took {taken} cases of {taken + others}")
    if all_taken < int(cases):
        sys.exit(f"{all_taken} cases went to the library, {cases} are wanted")
    print(f"{device}: {all_taken} cases by {library}")


if __name__ == "__main__":
    main()
