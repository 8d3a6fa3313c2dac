#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Every faulty kernel of the zoo gets the verdict that zoo.def names, and the good one none.

zoo.py HEED_CONFORM PLUGIN ZOO_DEF [NAME...]
A kernel is caught when most cases that fail do so for the reason named first; a case that fails for
one that is not named, and a run that ends otherwise than by its last line, count as missed.
"""

import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

ROW = re.compile(r"^FAULT\((\w+), (\w+), ([\w, ]+)\)", re.MULTILINE)
REASON = re.compile(r"^not ok .*\n# (\w+):", re.MULTILINE)
LAST = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped\n\Z")
TAKES = re.compile(r"^# op=attn: .* takes \(as --only has it\): (.*)$", re.MULTILINE)
CASES = {"hang": 6}     # of which the kit lets three hang


def conform_run(conform, plugin, name, *arguments):
    return subprocess.run(
        [conform, "--plugin", plugin, "--memory", "128", "--seed", "3", "--shrink", "0",
         *arguments],
        env={**os.environ, "ZOO": name}, text=True, capture_output=True, check=False, timeout=120)


def taken(conform, plugin, name):
    """What the kernel takes, for --only: its faulty kin need not be asked as much."""
    done = conform_run(conform, plugin, name, "--quiet", "--cases", "1")
    return TAKES.search(done.stdout).group(1)


def judge(conform, plugin, name, when, verdicts, takes):
    """What is wrong with the kit's verdict on this kernel; None: nothing."""
    wanted = verdicts[0]
    only = [] if when == "AT_ENTRY" else ["--only", takes]  # there what it takes may change
    done = conform_run(conform, plugin, name, "--cases", str(CASES.get(wanted, 60)), "--timeout",
                       "1" if wanted == "hang" else "20", *only)
    last = LAST.search(done.stdout)
    if not last:
        return f"no last line: {done.stdout[-300:]}{done.stderr[-300:]}"
    passed, failed, _ = map(int, last.groups())
    reasons = collections.Counter(REASON.findall(done.stdout))
    if wanted == "none":
        good = done.returncode == 0 and failed == 0 and passed >= 30
    else:
        good = done.returncode == 1 and set(reasons) <= set(verdicts)
        good = good and failed > 0 and reasons.most_common(1)[0][0] == wanted
    return None if good else f"status {done.returncode}, {passed} passed, reasons {dict(reasons)}"


def main():
    conform, plugin, table, *names = sys.argv[1:]
    rows = [(name, when, verdicts.split(", "))
            for name, when, verdicts in ROW.findall(pathlib.Path(table).read_text(encoding="utf-8"))
            if not names or name in names]
    start, missed = time.monotonic(), 0
    takes = taken(conform, plugin, "none")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrongs = pool.map(lambda row: judge(conform, plugin, *row, takes), rows)
        for (name, _, verdicts), wrong in zip(rows, wrongs):
            missed += wrong is not None
            print(f"{'missed' if wrong else 'ok'}: {name} ({', '.join(verdicts)})"
                  f"{': ' + wrong if wrong else ''}", flush=True)
    print(f"{len(rows)} kernels, {missed} missed, {time.monotonic() - start:.1f} s")
    return 1 if missed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
