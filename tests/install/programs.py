#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The installed programs, from where they were moved to, and their one style: programs.py TOP BUILD

They find their library by themselves. --help and -h print what tools/pages.py reads, --version
names program and library. A mistake is one line, "heed-NAME: what: wanted, got", and status 2.
"""

import os
import pathlib
import subprocess
import sys

from stage import expect, installed, run

PROGRAMS = ("heed-bench", "heed-conform", "heed-info", "heed-model", "heed-summarize")
# What is wrong, and what the line says was wanted.
MISTAKES = {
    "heed-bench": [
        ("--threads 0", "--threads: wanted a whole number from 1 to 1024, got \"0\""),
        ("--threads=x", "--threads: wanted a whole number from 1 to 1024, got \"x\""),
        ("--pairs", "--pairs: wanted a whole number from 15 to 10000, got nothing"),
        ("--clock moon", "--clock: wanted cpu or wall, got \"moon\""),
        ("--json=1", "--json: wanted no value, got \"1\""),
        ("--workload nosuch", "--workload: wanted one that heed-bench --help lists, got"),
        ("--device nosuch", None), ("--vs nosuch", None),
    ],
    "heed-conform": [
        ("--cases x", "--cases: wanted a whole number from 0 to 10000000, got \"x\""),
        ("--cases=x", "--cases: wanted a whole number from 0 to 10000000, got \"x\""),
        ("--seed", "--seed: wanted a whole number from 0 to 9223372036854775807, got nothing"),
        ("--family nosuch", "--family: wanted exact, bits, bound"),
        ("--op nosuch", "--op: wanted one that heed-conform --help lists, got"),
        ("--plugin nosuch", "--plugin: wanted a file that there is, got \"nosuch\""),
        ("--device nosuch", None),
    ],
    "heed-info": [
        ("--wait 0", "--wait: wanted a whole number from 1 to 86400, got \"0\""),
        ("--wait", "--wait: wanted a whole number from 1 to 86400, got nothing"),
        ("--svg", "--svg: wanted --pattern beside it, got nothing"),
        ("--head=1", "--head: wanted --pattern beside it, got nothing"),
        ("--pattern nosuch", "--pattern: there is no pattern \"nosuch\""),
        ("more", "option: wanted one that heed-info --help lists, got \"more\""),
    ],
    "heed-model": [
        ("", "COMMAND: wanted info, write, tokens, vectors, states, logits, generate or looks, got nothing"),
        ("dance DIR", "COMMAND: wanted info, write, tokens, vectors, states, logits, generate or looks, got"),
        ("info", "DIR: wanted a folder, got nothing"),
        ("info DIR MORE", "MORE is one argument too many"),
        ("info DIR --beams 0", "--beams: wanted a whole number from 1 to 1024, got \"0\""),
        ("info DIR --threads", "--threads: wanted a whole number from 0 to 1024, got nothing"),
        ("info DIR --weights f64", "--weights: wanted f32, f16, bf16, q8_0 or q4_0, got \"f64\""),
        ("info DIR --stopping late", "--stopping: wanted estimate, first or never, got \"late\""),
        ("info DIR --length-penalty x", "--length-penalty: wanted a number, got \"x\""),
        ("info nowhere", "config.json: nowhere/config.json: "),
        ("info DIR --device nosuch", None),
    ],
    "heed-summarize": [
        ("--words 0 FILE", "--words: wanted a whole number from 1 to 1000000, got \"0\""),
        ("--words", "--words: wanted a whole number from 1 to 1000000, got nothing"),
        ("--attention nosuch README.md", "--attention: wanted one that --help lists, got"),
        ("", "FILE: wanted one, or - for standard input"),
        ("--length 5x FILE", "--length: wanted 1w to 1000000w, 1s to 1000000s or 1% to 100%, got"),
        ("- -", "FILE: wanted standard input once, got \"-\""),
        ("--html", "--html: wanted FILE, got nothing"),
        ("--json --html - README.md", "--html: wanted a file, as --json takes standard output, got"),
        ("--device nosuch README.md", None),
    ],
}


def ask(program, *arguments, cwd=None):
    environment = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
    return subprocess.run([program, *arguments], text=True, check=False, capture_output=True,
                          env=environment, cwd=cwd, timeout=60)


def check_library(program, prefix):
    """The library that the loader finds is the one of the moved tree."""
    found = [line for line in run("ldd", program, env={"LD_LIBRARY_PATH": ""}).splitlines()
             if "libheed" in line]
    # Programs of models have the library of these as well.
    names = {line.split()[0] for line in found} - {"libheed-model.so.0"}
    expect(names == {"libheed.so.0"} and all(str(prefix) in os.path.realpath(line.split()[2])
                                        for line in found), f"{program.name} takes {found}")


def check_said(program, top):
    """Status and text of what every program answers."""
    sys.path.insert(0, str(top / "tools"))
    import pages                                                # of the tree
    long, short, version = (ask(program, word) for word in ("--help", "-h", "--version"))
    expect((long.returncode, short.returncode, version.returncode) == (0, 0, 0), "ends with 0")
    expect(long.stdout == short.stdout and long.stderr == "", "-h is --help")
    told = pages.Help(long.stdout)
    for heading in ("Options", "Examples", "Exit status"):
        expect(heading in told.sections, f"{program.name} --help has no {heading}")
    names = [option.name for option in told.options]
    expect(names[-2:] == ["version", "help"] and len(set(names)) == len(names), str(names))
    expect(told.synopsis[0].startswith(program.name) and told.about.endswith("."), "its usage")
    expect(max(map(len, long.stdout.splitlines())) <= 100, "a line is too long")
    lines = version.stdout.splitlines()
    expect(lines[0].split() [0] == program.name and lines[0].split()[1].count(".") == 2
           and lines[1].startswith("kernels: "), f"--version: {lines}")
    return lines[0].split()[1]


def check_mistakes(program, top, devices):
    mistakes = MISTAKES[program.name] + [
        ("--nosuch", f'option: wanted one that {program.name} --help lists, got "--nosuch"')]
    for words, wanted in mistakes:
        said = ask(program, *words.split(), cwd=top)
        line = f"{program.name} {words}: {said.returncode} {said.stderr}"
        expect(said.returncode == 2 and said.stdout == "", line)
        expect(said.stderr.startswith(program.name + ": ") and said.stderr.count("\n") == 1, line)
        if wanted is None:                                      # the devices there are
            expect(all(device in said.stderr for device in devices), line)
            expect("nosuch" in said.stderr, line)
        else:
            expect(wanted in said.stderr, line + "wanted: " + wanted)


def main():
    top, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    prefix = installed(build)
    there = sorted(path.name for path in (prefix / "bin").iterdir())
    expect(there == sorted(PROGRAMS), f"the table of this test has not the programs {there}")
    devices = ask(prefix / "bin/heed-info", "--names").stdout.split()
    expect("cpu" in devices and "reference" in devices, f"heed-info --names: {devices}")
    versions = set()
    for name in PROGRAMS:
        program = prefix / "bin" / name
        check_library(program, prefix)
        versions.add(check_said(program, top))
        check_mistakes(program, top, devices)
    expect(len(versions) == 1, f"versions: {versions}")
    summary = ask(prefix / "bin/heed-summarize", "--words", "30",
                  prefix / "share/doc/heed/docs/guide.txt")
    expect(summary.returncode == 0 and summary.stdout.strip(), "no summary of the guide")
    print(summary.stdout.strip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
