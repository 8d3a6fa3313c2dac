# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What every program does with its streams: streams.py LOADER|none PROGRAM...

A program whose output cannot be written fails, and says so; a stream that is closed stays so, and
no file of the program's takes its place. On a terminal people see how far it is and which kernel a
device compiles, in one line that fits and of which nothing remains; elsewhere, on a terminal that
cannot draw over a line, and with heed-conform's --quiet, nothing is said. Ctrl-C takes that line
away. heed-info takes the child
that asks a driver with it. LOADER: of an OpenCL whose kernels compute nothing.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from terminal import drawn, screen, watch  # noqa: E402  pylint: disable=wrong-import-position

TEXT = str(pathlib.Path(__file__).resolve())
LINE = "opencl: compiles kernel self_test"
# Small things that each of them does on a device.
DEVICE = {
    "heed-info": [],
    "heed-bench": ["--quick", "dense:n=16"],
    "heed-conform": ["--op", "merge", "--cases", "1"],
    "heed-summarize": ["--length", "1s", TEXT],
}
# What they print without one.
PRINTED = {
    "heed-info": [[], ["--names"], ["--json"], ["--pattern", "bigbird"], ["--pattern", "list"],
                  ["--support"]],
    "heed-bench": [["--quick", "dense:n=16"], ["--quick", "dense:n=16", "--json"]],
    "heed-conform": [["--device", "cpu", "--op", "merge", "--cases", "1"], ["--list"],
                     ["--device", "cpu", "--op", "merge", "--cases", "1", "--quiet"],
                     ["--device", "cpu", "--op", "merge", "--cases", "1", "--json", "-"]],
    "heed-summarize": [["--length", "1s", TEXT], ["--json", TEXT], ["--html", "-", TEXT]],
    "heed-model": [],                   # all else wants a model's folder: tests/model
}
# What they say how far they are for, and each shows more than a short line has room for.
LONG = {
    "heed-bench": ["--quick", "--device", "cpu", "dense:n=16"],
    "heed-conform": ["--device", "cpu", "--op", "push", "--cases", "60"],
}
# Lines of TAP, and of what comes with them.
TAP = re.compile(r"(not )?ok \d+ - |# |1\.\.\d+$|\d+ passed, |$")
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def full_disks_are_failures(name, program):
    for arguments in PRINTED[name] + [["--help"], ["--version"]]:
        with open("/dev/full", "wb") as full:
            done = subprocess.run([program] + arguments, stdout=full, stderr=subprocess.PIPE,
                                  text=True, check=False, timeout=120)
        expect(done.returncode == 1 and done.stderr.startswith(f"{name}: ") and
               done.stderr.count("\n") == 1, f"{name} {arguments}: {done}")


def without(closed, command):
    """Runs it with one of the standard streams closed."""
    how = {0: "<&-", 1: ">&-", 2: "2>&-"}[closed]
    return subprocess.run(["sh", "-c", f'exec "$@" {how}', "sh"] + command, text=True, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=120)


def closed_output_is_a_failure(name, program):
    for arguments in PRINTED[name]:
        done = without(1, [program] + arguments)
        expect(done.returncode == 1 and done.stderr.startswith(f"{name}: ") and
               done.stderr.count("\n") == 1, f"{name} {arguments} >&-: {done}")
        for closed in (0, 2):
            done = without(closed, [program] + arguments)
            expect(done.returncode == 0 and done.stdout, f"{name} {arguments}, {closed}: {done}")


def files_are_no_streams(name, program, folder):
    """What is printed does not go into a file that was opened."""
    path = folder / "file"
    conform = [program, "--device", "cpu", "--op", "merge", "--cases", "1"]
    for closed, code in ((0, 0), (1, 1), (2, 0)):
        if name == "heed-conform":
            done = without(closed, conform + ["--json", str(path)])
            wrong = [line for line in path.read_text().splitlines() if line[0] != "{"]
            expect(done.returncode == code and not wrong, f"--json, {closed}: {done} {wrong}")
            done = without(closed, conform + ["--quiet", "--junit", str(path)])
            try:
                xml.etree.ElementTree.parse(path)
            except xml.etree.ElementTree.ParseError as error:
                expect(False, f"--junit, {closed}: {error}")
            expect(done.returncode == code, f"--junit, {closed}: {done}")
        if name == "heed-summarize":
            done = without(closed, [program, "--length", "1s", "--html", str(path), TEXT])
            text = path.read_text()
            expect(done.returncode == code and text.startswith("<!DOCTYPE html>") and
                   text.endswith("</html>\n"), f"--html, {closed}: {done}")


def peers_need_no_input(name, program):
    """A pipe to a child must not be what stands in for a stream of the program's own."""
    if name != "heed-bench":
        return
    peer = "while read line; do echo 0.001 0.001; done"
    for closed in (0, 2):
        done = without(closed, [program, "--quick", "--device", "cpu", "--peer", peer,
                                "dense:n=16"])
        expect(done.returncode == 0, f"{name} --peer, {closed} closed: {done}")


def progress_fits_and_goes(name, program):
    if name not in LONG:
        return
    command = [program] + LONG[name]
    for columns, room in ((120, 119), (16, 15), (2, 1), (0, 76)):
        _, _, written, _ = watch(command, columns)
        lines = drawn(written)
        expect(lines and max(map(len, lines)) <= room,
               f"{name} in {columns} columns: {lines}")
        expect(not any(screen(written)), f"{name} in {columns} columns: {screen(written)}")
    for term in (None, "", "dumb"):
        _, _, written, _ = watch(command, term=term)
        expect(written == "", f"{name}, TERM {term}: {written!r}")
    if name == "heed-conform":
        _, _, written, _ = watch(command, both=True)
        joined = [line for line in screen(written) if not TAP.match(line)]
        expect(drawn(written) and not joined, f"{name}: joined lines: {joined}")
        _, _, written, _ = watch(command + ["--quiet"])
        expect(written == "", f"{name} --quiet: {written!r}")


def interrupts_leave_nothing(name, program, loader):
    """Ctrl-C while the line is there."""
    cases = {"heed-bench": ["--device", "cpu", "--pairs", "1000", "dense:n=256"],
             "heed-conform": ["--device", "cpu", "--op", "push", "--cases", "4000"]}
    env = None
    if name == "heed-info" and loader != "none":
        cases[name], env = ["--device", "opencl:0"], fake(loader, "sleep BuildProgram")
    if name in cases:
        code, _, written, _ = watch([program] + cases[name], stop=drawn, env=env)
        expect(code == -signal.SIGINT and drawn(written) and not any(screen(written)),
               f"{name}, interrupted: {code}, {screen(written)}")


def children_go_along(name, program, loader):
    """heed-info is ended while a driver hangs: whoever reads what it prints comes to the end."""
    if name != "heed-info" or not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        return                             # no system with such a list, and maybe no such signal
    with subprocess.Popen([program, "--test"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=fake(loader, "sleep BuildProgram")) as asks:
        children = pathlib.Path(f"/proc/{asks.pid}/task/{asks.pid}/children")
        end, child = time.monotonic() + 60, ""
        while not child and time.monotonic() < end:
            time.sleep(0.2)
            child = children.read_text().strip()
        asks.send_signal(signal.SIGINT)
        try:
            asks.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            expect(False, "heed-info's child outlives it")
            os.kill(int(child), signal.SIGKILL)


def fake(loader, told):
    places = str(pathlib.Path(loader).parent) + ":" + os.environ.get("LD_LIBRARY_PATH", "")
    return dict(os.environ, LD_LIBRARY_PATH=places, HEED_FAKE_OPENCL=told, HEED_CACHE_DIR="")


def compiling_is_shown(name, program, loader):
    for told in ("", "abort BuildProgram"):
        env = fake(loader, told)
        command = [program, "--device", "opencl:0"] + DEVICE[name]
        if told and name != "heed-info":       # which goes on
            continue
        _, _, written, _ = watch(command, env=env)
        expect(LINE in written, f"{name} {told}: no line: {written!r}")
        expect(not any("compiles" in line for line in screen(written)),
               f"{name} {told}: the line remains: {screen(written)}")
        _, _, written, _ = watch(command, 30, env=env)
        lines = re.findall(r"\r([^\r\n]*compiles[^\r\n\x1b]*)", written)
        expect(lines and max(map(len, lines)) <= 29, f"{name} in 30 columns: {lines}")
        _, _, written, _ = watch(command, env=env, term="dumb")
        expect("compiles" not in written, f"{name}, dumb: {written!r}")
        if name == "heed-conform":
            _, _, written, _ = watch(command + ["--quiet"], env=env)
            expect(LINE not in written, f"{name} --quiet: {written!r}")
        done = subprocess.run(command, env=env, check=False, timeout=120, capture_output=True,
                              text=True)
        expect("compiles" not in done.stderr, f"{name}, no terminal: {done.stderr}")


def main():
    loader, programs = sys.argv[1], sys.argv[2:]
    for program in programs:
        name = pathlib.Path(program).name
        if os.path.exists("/dev/full"):
            full_disks_are_failures(name, program)
        if name not in DEVICE:
            continue
        closed_output_is_a_failure(name, program)
        with tempfile.TemporaryDirectory() as folder:
            files_are_no_streams(name, program, pathlib.Path(folder))
        peers_need_no_input(name, program)
        progress_fits_and_goes(name, program)
        interrupts_leave_nothing(name, program, loader)
        if loader != "none":
            children_go_along(name, program, loader)
            compiling_is_shown(name, program, loader)
    for failure in failures:
        print("not ok", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
