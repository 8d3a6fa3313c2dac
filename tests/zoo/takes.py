#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""A kernel that takes masks if a run brings them alone gets masks of every kind: takes.py HEED_CONFORM PLUGIN

The kit learns what a kernel takes from its answers. A level that it never asks about beside the level to which
the kernel ties it is never drawn, and a kernel that is wrong there passes.
"""

import os
import re
import subprocess
import sys


def main(conform, plugin):
    done = subprocess.run([conform, "--plugin", plugin, "--op", "attn", "--cases", "1", "--quiet"],
                          stdout=subprocess.PIPE, text=True, check=False,
                          env={**os.environ, "ZOO_MASKS_OF_RUNS": "1"})
    takes = re.search(r"^# op=attn: .* takes \(as --only has it\): (.*)$", done.stdout, re.MULTILINE)
    narrowed = dict(word.split("=", 1) for word in takes.group(1).split()) if takes else {}
    # The line is silent of a field whose every level is taken.
    wanted = {"s0.mask": "every level", "s0.mslot": "rt"}
    wrong = [f"{name}: wanted {levels}, got {narrowed.get(name, 'every level')}"
             for name, levels in wanted.items() if narrowed.get(name, "every level") != levels]
    if not takes:
        print(done.stdout[-2000:])
        wrong = ["the kit says nothing of what is taken"]
    print("\n".join(wrong))
    failed = 1 if wrong else 0
    print(f"{1 - failed} passed, {failed} failed, 0 skipped")
    return failed


sys.exit(main(*sys.argv[1:3]))
