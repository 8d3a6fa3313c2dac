#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Where the time of scripts/test goes: times.py FOLDER [ROWS] prints the tables, slowest first.

FOLDER has what scripts/test --slowest wrote down: phases (name, seconds of the clock, and of the
processor), steps (folder of the build, line of its ninja log) and tests (meson's testlog.json).
times.py --run COMMAND... is the wrapper of a test: it says at the end of stderr what processor time
the command and its children took. A test that would begin after HEED_TESTS_UNTIL, in seconds since
1970, is skipped.
"""

import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import time

CPU = re.compile(r"^processor time: ([\d.]+) s$", re.MULTILINE)


def run(command):
    if time.time() > float(os.environ.get("HEED_TESTS_UNTIL") or "inf"):
        print("skipped: too late", file=sys.stderr)
        return 77
    status = subprocess.run(command, check=False).returncode
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"processor time: {spent.ru_utime + spent.ru_stime:.2f} s", file=sys.stderr, flush=True)
    if status < 0:                          # as the command ended, for meson to see
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), -status)
    return status


def lines(path):
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def phases(folder):
    marks = [line.split("\t") for line in lines(folder / "phases")]
    for (name, wall, cpu), (_, wall_after, cpu_after) in zip(marks, marks[1:]):
        yield float(wall_after) - float(wall), float(cpu_after) - float(cpu), name


def steps(folder):
    for line in lines(folder / "steps"):
        build, begin, end, _, output, _ = line.split("\t")
        yield (int(end) - int(begin)) / 1000, None, f"{build}: {output}"


def tests(folder):
    for line in lines(folder / "tests"):
        row = json.loads(line)
        said = CPU.findall(row.get("stderr", "") + row.get("stdout", ""))
        yield row["duration"], float(said[-1]) if said else None, row["name"].split(" / ")[-1]


def table(heading, rows, most):
    """Sums are of all rows, also of those that are not printed."""
    rows = sorted(rows, key=lambda row: row[1] if row[1] is not None else row[0], reverse=True)
    if not rows:
        return
    print(f"\n{'wall, s':>9} {'CPU, s':>9}  {heading}")
    known = [cpu for _, cpu, _ in rows if cpu is not None]
    total = (sum(row[0] for row in rows), sum(known) if known else None, f"all {len(rows)}")
    for wall, cpu, name in rows[:most] + [total]:
        print(f"{wall:9.1f} {'' if cpu is None else f'{cpu:.1f}':>9}  {name}")


def main():
    if sys.argv[1] == "--run":
        return run(sys.argv[2:])
    folder, most = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 30
    table("step of a build (one process: no more of the processor than of the clock)",
          steps(folder), most)
    table("test", tests(folder), most)
    table("phase", phases(folder), len(lines(folder / "phases")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
