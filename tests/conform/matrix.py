#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""matrix.py CONFORM DEVICE: attention on a device with a matrix unit.

Rows of halves of which a row sees one range of keys go through the unit where FAST or BEST is asked
for: values are within the bound (docs/numerics.md section 11). Where EXACT is asked for they have
the bits of the reference.
"""

import re
import subprocess
import sys

PLAIN = "ns=1 s0.nb=0 s0.nt=0 s0.mask=none s0.lay=dense,paged,ring cap=0 o=f32 fill=normal"


def run(conform, device, only, cases, *more):
    words = [conform, "--device", device, "--only", only, "--cases", str(cases), "--quiet", *more]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr}")
    found = re.search(r"largest error/bound (\S+),", done.stdout)
    return float(found[1]) if found else None


def main():
    conform, device = sys.argv[1:]
    for kind in ("f16", "bf16"):
        types = f"q={kind} s0.k={kind} s0.v={kind}"
        fast = run(conform, device, f"{PLAIN} {types} num=fast,best", 40)
        if not fast or fast > 1:
            sys.exit(f"{kind}: FAST has error / bound {fast}")
        run(conform, device, f"{PLAIN} {types} num=exact,repeat", 20, "--family", "bits")
        print(f"{device} {kind}: error / bound {fast}")


if __name__ == "__main__":
    main()
