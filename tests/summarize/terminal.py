#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What people see on a terminal while they wait: terminal.py HEED-SUMMARIZE

On a pseudo terminal a long text has a bar that grows and leaves nothing behind, also in narrow
ones; Ctrl-C clears it, ends the program by the signal, and nothing is printed. Elsewhere, and on
terminals that cannot draw over a line, stderr stays empty.
"""

import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from terminal import LIMIT, screen, watch  # noqa: E402  pylint: disable=wrong-import-position
# Every word of the line that a bar is, and what comes between two of them.
BAR = re.compile(r"\[([# ]{24})\] +(\d+) % (reading|finding sentences|weighing words|attention)"
                 r"(?:  (\d+) words/s, (\d+):(\d\d) left)?")


def text(sentences):
    """No two sentences alike, so that all of it takes part."""
    rng = random.Random(1)
    names = ["".join(rng.choices("abcdefghijklmnop", k=7)) for _ in range(3000)]
    return " ".join(" ".join(rng.choices(names, k=8)).capitalize() + "." for _ in range(sentences))


def check_bar(program, path):
    code, out, written, _ = watch([program, path])
    shown = [(int(percent), what, rate) for _, percent, what, rate, _, _ in BAR.findall(written)]
    percents = [percent for percent, _, _ in shown]
    if code != 0 or not out:
        return f"exit {code}"
    if len(shown) < 3 or percents != sorted(percents) or percents[-1] < 50:
        return f"no bar that grows: {written!r}"
    if not any(what == "attention" and int(rate or 0) > 100 for _, what, rate in shown):
        return f"no words/s: {written!r}"
    if any(screen(written)) or not written.endswith("\r"):
        return f"something is left: {screen(written)}"
    return None


def check_narrow(program, path):
    code, out, written, _ = watch([program, path], 30)
    longest = max(len(part) for part in re.split(r"[\r\n]", written))
    if code != 0 or not out or not 20 <= longest <= 29:
        return f"exit {code}, {longest} columns of 30"
    if any(screen(written)):
        return "something is left"
    _, _, written, _ = watch([program, path], 4)
    longest = max(len(part) for part in re.split(r"[\r\n]", written))
    return None if longest <= 3 else f"{longest} columns of 4"


def check_dumb(program, path):
    for term in (None, "dumb"):
        _, out, written, _ = watch([program, path], term=term)
        if not out or written:
            return f"TERM {term}: {written!r}"
    return None


def check_stop(program, path):
    def stop(written):
        shown = BAR.findall(written)
        return bool(shown) and int(shown[-1][1]) >= 14

    code, out, written, took = watch([program, path], stop=stop)
    if took is None:
        return f"ended before Ctrl-C: {written!r}"
    if code != -signal.SIGINT:             # what a shell calls 130
        return f"exit {code}, not by the signal"
    if out or any(screen(written)):
        return f"something is left: {out!r}, {screen(written)}"
    return None if took < 5 else f"ended {took:.1f} s after Ctrl-C"


def check_file(program, path):
    done = subprocess.run([program, path], check=False, timeout=LIMIT, capture_output=True)
    return None if done.returncode == 0 and not done.stderr else f"said {done.stderr!r}"


def main():
    program, troubles = sys.argv[1], 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "text"
        path.write_text(text(24000))
        for check in (check_bar, check_narrow, check_dumb, check_stop, check_file):
            trouble = check(program, path)
            troubles += trouble is not None
            print(f"not ok {check.__name__}: {trouble}" if trouble else f"ok {check.__name__}",
                  flush=True)
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
