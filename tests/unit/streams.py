# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What every program does with its streams: streams.py LOADER|none PROGRAM...

A program whose output cannot be written fails, and says so. On a terminal people see which kernel a device compiles, and nothing of it remains; elsewhere, and
with heed-conform's --quiet, nothing is said. LOADER: of an OpenCL whose kernels compute nothing.
"""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from terminal import screen, watch  # noqa: E402  pylint: disable=wrong-import-position

TEXT = str(pathlib.Path(__file__).resolve())
LINE = "opencl: compiles kernel self_test"
# Small things that each of them does on a device.
DEVICE = {
    "heed-info": [],
    "heed-bench": ["--quick", "dense:n=16"],
    "heed-conform": ["--op", "copy", "--cases", "1"],
    "heed-summarize": ["--length", "1s", TEXT],
}
# What they print without one.
PRINTED = {
    "heed-info": [[], ["--names"], ["--json"], ["--pattern", "bigbird"], ["--pattern", "list"],
                  ["--support"]],
    "heed-bench": [["--quick", "dense:n=16"], ["--quick", "dense:n=16", "--json"]],
    "heed-conform": [["--device", "cpu", "--op", "copy", "--cases", "1"], ["--list"],
                     ["--device", "cpu", "--op", "copy", "--cases", "1", "--quiet"],
                     ["--device", "cpu", "--op", "copy", "--cases", "1", "--json", "-"]],
    "heed-summarize": [["--length", "1s", TEXT], ["--json", TEXT], ["--html", "-", TEXT]],
}
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


def compiling_is_shown(name, program, loader):
    places = str(pathlib.Path(loader).parent) + ":" + os.environ.get("LD_LIBRARY_PATH", "")
    for told in ("", "abort BuildProgram"):
        env = dict(os.environ, LD_LIBRARY_PATH=places, HEED_FAKE_OPENCL=told, HEED_CACHE_DIR="")
        command = [program, "--device", "opencl:0"] + DEVICE[name]
        if told and name != "heed-info":       # which goes on
            continue
        _, _, written, _ = watch(command, env=env)
        expect(LINE in written, f"{name} {told}: no line: {written!r}")
        expect(not any("compiles" in line for line in screen(written)),
               f"{name} {told}: the line remains: {screen(written)}")
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
        if loader != "none":
            compiling_is_shown(name, program, loader)
    for failure in failures:
        print("not ok", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
