#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Every faulty kernel of the zoo gets the verdict that its table names, and the good ones none.

zoo.py HEED_CONFORM (PLUGIN TABLE)... [NAME...]
zoo.py HEED_CONFORM PLUGIN device.def WHERE [NAME...]: kernels in memory of a device, BOTH or that vendor's
zoo.py HEED_CONFORM PLUGIN TABLE [NAME...] --good CASES: the good kernels alone, with so many cases
together, nine in ten of them small, and one in twenty again by the family invariance
A PLUGIN with {} stands for one of each operation that its table has in an OTHER.
With names, or HEED_TESTS=all in the environment, all of these; else the first kernel for each verdict, and of
kernels in memory of a device those of that vendor alone and one of each sort.
ZOO_SEED in the environment draws other cases; what is wanted does not depend on them.
A kernel is caught when the reason named first comes, or any that is named where the first word is
any and for those of FIELD; a case that fails for a reason that is not named, and a run that ends
otherwise than by its last line, count as missed. How often a reason comes is a matter of what is
drawn and is not asked. Of a BREAK the property is the reason, in the first of the failed cases too when that is made smaller,
which leaves ROWS_MOST rows of queries at most. Who names bound names nan: a number that is wrong may be none, as the data
of a case have it.
"""

import collections
import concurrent.futures
import math
import os
import pathlib
import re
import subprocess
import sys
import time

ROW = re.compile(r"^(FAULT|FIELD|GOOD|ODD|OTHER|BREAK|DEVICE(?:_GOOD|_BREAK)?)\((\w+)(?:, (\w+))?(?:, ([\w, ]+))?\)", re.MULTILINE)
REASON = re.compile(r"^not ok .*\n# (\w+):", re.MULTILINE)
LAST = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped\n\Z")
TAKES = re.compile(r"^# op=attn: .* takes \(as --only has it\): (.*)$", re.MULTILINE)
# Cases enough: the kit lets three hang, other ends of a process show at once, numbers need more.
CASES = {"hang": 6, "bound": 40, "nan": 60, "bits": 40, "repeat": 40, "none": 40}
OTHERS = 20
# Faults that few of all cases show: levels at which most do.
ROWS = "fill=normal nq=33 s0.nk=33,65 dv=33,64 s0.nt=0 s0.nb=0"
RARE = {"subnormals_lost": "fill=subnormal q=f32 o=f32 s0.k=f32 s0.v=f32",
        "bias_finite": "s0.nb=1 s0.b0.fill=inf",
        "sink_not_the_largest": "sink=huge",
        "k_not_broadcast": "s0.kb=one batch=2,3",
        "head_wrong": "fill=normal h=4 s0.hk=half", "scale_of_all_heads": "fill=normal h=2 s0.hk=1",
        "order_by_address": ROWS, "score_kept_by_address": ROWS, "workers_share_scratch": ROWS,
        "tile_is_a_page": "s0.lay=paged s0.page=16 s0.nk=33 s0.idx=const s0.len=const ss=natural",
        "order_of_shared_keys": "s0.kb=one batch=2",        "order_by_longest": "s0.len=rt", "order_by_cache": "s0.len=none",
        "order_by_place_of_heads": "h=2,4"}
# Of each property, cases in which what breaks it can show.
BREAKS = {"repeat": "nq=7,16", "threads": "nq=2,7", "layout": "nq=1,2,7", "batch": "batch=2,3 nq=1",
          "chunk": "nq=2,7 batch=1,2"}
BREAK_CASES, ROWS_MOST = 6, 3
MORE = {"tile_is_a_page": 30,  # of items without a page that is absent
        "order_by_place_of_heads": 15}
NUDGED = {"batch": "batch=2,3", "chunk": "batch=1"}
# A driver takes long to start: each kernel in memory of a device is judged by one case, which shows its fault.
DEVICE_CASE = ("op=attn batch=2 h=4 nq=33 d=16 dv=16 lse=plain fill=normal os=padded s0.nk=33 s0.hk=half "
               "s0.causal=yes s0.ks=padded seed=5")
DEVICE_FORMS = "op=attn batch=2 h=2 nq=3 d=16 dv=16 fill=normal s0.nk=33 seed=5"
SHRUNK = re.compile(r"^# shrunk, \d+ tries: (.*)\n# (\w+):", re.MULTILINE)
# Small ones, so that many kernels take little time.
SMALL = ("nq=33,0,1,2,7,16 s0.nk=33,65,1,0,16,3 batch=2,1,3 "
         "d=16,0,1,7,8,17,33,64 dv=16,0,1,7,8,17,33,64 ")


def conform_run(conform, plugin, name, *arguments):
    return subprocess.run(
        [conform, "--plugin", plugin, "--memory", "128", "--shrink", "0", "--seed",
         os.environ.get("ZOO_SEED", "3"),
         *arguments],
        env={**os.environ, "ZOO": name}, text=True, capture_output=True, check=False, timeout=120)


def taken(conform, plugin, name):
    """What the kernel takes, for --only: its faulty kin need not be asked as much."""
    done = conform_run(conform, plugin, name, "--quiet", "--cases", "1", "--only", SMALL)
    found = TAKES.search(done.stdout)
    return found.group(1) if found else SMALL


def levels(*texts):
    """Texts of --only as one, of which the last one that names a field has its say."""
    fields = dict(word.split("=", 1) for text in texts for word in text.split())
    return " ".join(f"{name}={values}" for name, values in fields.items())


def judge(conform, plugin, kind, name, when, verdicts, takes):
    """What is wrong with the kit's verdict on this kernel; None: nothing."""
    wanted = verdicts[0]
    if kind.startswith("DEVICE"):
        return on_device(conform, plugin, kind, name, verdicts)
    if kind == "BREAK":
        return broken(conform, plugin, name, when, wanted)
    only = "" if kind in ("ODD", "OTHER") else SMALL if when == "AT_ENTRY" else takes
    only = only and levels(only, RARE.get(name, ""))
    done = conform_run(conform, plugin, name, "--cases", str(CASES.get(wanted, OTHERS)),
                       "--timeout", "1" if wanted == "hang" else "20",
                       *(["--only", only] if only else ["--op", when] if kind == "OTHER" else []))
    last = LAST.search(done.stdout)
    if not last:
        return f"no last line: {done.stdout[-300:]}{done.stderr[-300:]}"
    passed, failed, _ = map(int, last.groups())
    reasons = collections.Counter(REASON.findall(done.stdout))
    if wanted == "none":
        good = done.returncode == 0 and failed == 0 and passed >= 40
    else:
        named = set(verdicts) | ({"nan"} if "bound" in verdicts else set())
        good = done.returncode == 1 and reasons and set(reasons) <= named
        good = good and (kind == "FIELD" or wanted == "any" or wanted in reasons)
    return None if good else f"status {done.returncode}, {passed} passed, reasons {dict(reasons)}"


def on_device(conform, plugin, kind, name, verdicts):
    """What is wrong with the verdict on a kernel in memory of a device; None: nothing."""
    broken_only = kind == "DEVICE_BREAK"
    done = conform_run(conform, plugin, name, "--timeout", "2" if "hang" in verdicts else "20",
                       *(["--family", "invariance"] if broken_only else []),
                       "--case", DEVICE_FORMS if broken_only else DEVICE_CASE)
    last = LAST.search(done.stdout)
    reasons = REASON.findall(done.stdout)
    counts = last.groups() if last else None
    if kind == "DEVICE_GOOD":
        good = done.returncode == 0 and counts == ("1", "0", "0")
    else:
        good = done.returncode == 1 and len(reasons) == 1 and reasons[0] in verdicts and bool(last)
    return None if good else f"status {done.returncode}, {counts}, {reasons}: {done.stdout[-300:]}{done.stderr}"


def words_wrong(conform, plugin, where):
    """What is wrong with what is said of devices that there are not; "": nothing."""
    own, other = where.lower(), "cuda" if where == "OPENCL" else "opencl"
    said = {f"{own}:999": f"{own}:999 cannot be used: ", f"{other}:0": f"wanted {own}:N, as the plug-in does, got {other}:0",
            "cpu": "--device goes with --plugin as opencl:N or cuda:N"}
    for device, words in said.items():
        done = conform_run(conform, plugin, "on_the_queue", "--device", device, "--case", DEVICE_CASE)
        if done.returncode != 2 or words not in done.stderr or "ok" in done.stdout:
            return f"--device {device}: status {done.returncode}: {done.stdout}{done.stderr}"
    return ""


def driver_wrong(conform, plugin):
    """What is wrong with verdicts on a right kernel where the driver fails from some call on; "": nothing."""
    seen = collections.Counter()
    for call in range(1, 80, 3):
        os.environ["HEED_FAKE_CUDA"] = str(call)
        done = conform_run(conform, plugin, "on_the_queue", "--case", DEVICE_CASE)
        del os.environ["HEED_FAKE_CUDA"]
        said = REASON.findall(done.stdout) or ["usage" if "cannot be used" in done.stderr else "none"]
        seen[said[0]] += 1
        if said[0] not in ("usage", "memory", "crash", "status", "none") or bool(LAST.search(done.stdout)) != (done.returncode < 2):
            return f"call {call}: status {done.returncode}: {done.stdout}{done.stderr}"
    print(f"a driver that fails: {dict(seen)}")
    return "" if {"usage", "memory", "crash"} <= set(seen) else f"a driver that fails: {dict(seen)}"


def rows_in(line):
    """Rows of a case, of its queries where it has some."""
    said = dict(word.split("=") for word in line.split())
    items = [int(n) for n in said.get("batch", "2").replace("none", "1").split("x")]
    heads, rows = said.get("h", "2").replace("none", "1"), said.get("nq", said.get("n", said.get("new", "33")))
    return math.prod(items) * int(heads) * int(rows)


def broken(conform, plugin, name, when, wanted):
    """What is wrong with the verdict on a kernel that breaks a property; None: nothing."""
    op = when if when.islower() else "attn"
    only = levels(SMALL, "q=f32 o=f32 s0.k=f32 s0.v=f32 fill=normal d=1,16,7 dv=1,16,7 s0.nk=16,33 "
                  "s0.lay=dense", BREAKS[wanted], RARE.get(name, "")) if op == "attn" else NUDGED.get(wanted, "")
    done = conform_run(conform, plugin, name, "--family", "invariance", "--shrink", "1", "--op", op,
                       "--cases",
                       str(MORE.get(name, BREAK_CASES)), *(["--only", only] if only else []))
    reasons = collections.Counter(REASON.findall(done.stdout))
    shrunk = SHRUNK.findall(done.stdout)
    if done.returncode == 1 and set(reasons) == {wanted} and len(shrunk) == 1:
        rows = rows_in(shrunk[0][0])
        return None if shrunk[0][1] == wanted and rows <= ROWS_MOST else f"{rows} rows: {shrunk[0]}"
    return f"status {done.returncode}, reasons {dict(reasons)}: {done.stdout[-300:]}{done.stderr}"


def rows_of(plugin, table, names):
    for kind, name, when, verdicts in ROW.findall(pathlib.Path(table).read_text(encoding="utf-8")):
        if not names or name in names:
            if kind == "OTHER":
                yield plugin.format(when), kind, name, when, verdicts.split(", ")
                continue
            good = kind in ("GOOD", "ODD", "DEVICE_GOOD")
            yield plugin, kind, name, when, ["none"] if good else verdicts.split(", ")


def faulty(conform, rows):
    """All of the tables; how many get another verdict than theirs."""
    missed, takes = 0, {}
    for plugin, kind, name, _, verdicts in rows:
        if plugin not in takes or (takes[plugin] == SMALL and verdicts == ["none"]):
            asked = kind not in ("ODD", "OTHER", "BREAK") and not kind.startswith("DEVICE")
            takes[plugin] = taken(conform, plugin, name) if asked else SMALL
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrongs = pool.map(lambda row: judge(conform, *row, takes[row[0]]), rows)
        for (_, _, name, _, verdicts), wrong in zip(rows, wrongs):
            missed += wrong is not None
            print(f"{'missed' if wrong else 'ok'}: {name} ({', '.join(verdicts)})"
                  f"{': ' + wrong if wrong else ''}", flush=True)
    return missed


def good(conform, rows, cases):
    """The good kernels; how many cases failed."""
    each = -(-cases // len(rows))
    accepted = alarms = 0
    for number, (plugin, _, name, *_) in enumerate(rows):
        for size, share, *more in ((SMALL, each - each // 10), ("", each // 10),
                                   (SMALL, each // 20 + 1, "--family", "invariance")):
            # Slow ones take 16 s for the largest of the cases that are written down.
            done = subprocess.run([conform, "--plugin", plugin, "--quiet", "--cases", str(share), *more,
                                   "--timeout", "120",
                                   *(["--only", size] if size else []), "--seed",
                                   str(1000 + number)],
                                  env={**os.environ, "ZOO": name}, text=True, capture_output=True,
                                  check=False)
            passed, failed, _ = map(int, LAST.search(done.stdout).groups())
            alarms += failed + (done.returncode not in (0, 3))  # 3: too few cases
            accepted += passed
            worst = re.search(r"largest error/bound [\d.]+", done.stdout)
            print(f"{name}{', small' if size else ''}{', invariance' if more else ''}: {passed} "
                  f"passed, {failed} failed{', ' + worst[0] if worst else ''}", flush=True)
    print(f"{accepted} cases passed, {alarms} false alarms")
    return alarms


def main():
    conform, *rest = sys.argv[1:]
    start, cases, pairs = time.monotonic(), 0, []
    if "--good" in rest:
        cases = int(rest[rest.index("--good") + 1])
        rest = rest[:rest.index("--good")]
    while len(rest) > 1 and rest[1].endswith(".def"):
        pairs.append(rest[:2])
        rest = rest[2:]
    where = ("BOTH", rest.pop(0)) if rest and pairs[0][1].endswith("device.def") else ()
    rows = [row for plugin, table in pairs for row in rows_of(plugin, table, rest)
            if not where or row[3] in where]
    if where and "cannot be used" in conform_run(conform, rows[0][0], rows[0][2], "--cases", "0").stderr:
        return 77
    if cases:
        rows = [row for row in rows if row[1] in ("GOOD", "DEVICE_GOOD")]
    elif where and not rest and os.environ.get("HEED_TESTS") != "all":
        rows = [row for i, row in enumerate(rows)
                if row[3] == where[1] or row[1] not in [before[1] for before in rows[:i]]]
    elif not rest and os.environ.get("HEED_TESTS") != "all":
        rows = list({verdicts[0]: (plugin, kind, name, when, verdicts)
                     for plugin, kind, name, when, verdicts in reversed(rows)}.values())
    missed = good(conform, rows, cases) if cases else faulty(conform, rows)
    if where and not cases:
        wrong = words_wrong(conform, rows[0][0], where[1])
        if not wrong and where[1] == "CUDA":
            wrong = driver_wrong(conform, rows[0][0])
        missed += bool(wrong)
        print(wrong, end="")
    print(f"{len(rows)} kernels, {missed} missed, {time.monotonic() - start:.1f} s")
    return 1 if missed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
