#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Every command of the docs does what the docs say: commands.py TOP BUILD [--rules]

They come from the README, docs/, the examples of --help and of manual pages. In a copy of the tree,
beside the build and an installed heed, what is quick runs and must end with 0. What is not (RULES
says why) must be legal: its script is there and knows its options, its program lists them. A
command that no rule knows is a failure, as is a rule without a command. --rules: nothing runs.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import texts
from stage import copy_tree, expect, installed, library_folder, pc_folder

# The first rule whose pattern is found decides: None runs the command, a text says why it does not.
RULES = [
    (r"[\[|] ?--|\.\.\.|\b(NAME|FILE|DIR|TEXT|COMMAND)\b|=PART", "a form, not a command"),
    (r"^scripts/(demo|test|setup|gpu-check|gpu-static|gpu-predict|setup-intel-opencl|platforms|fuzz)\b|^\.ci/run",
     "sets the machine up, or builds and runs everything"),
    (r"^scripts/(ggml|release|peers|judge-peers|kit-power|bench-\w+|fit-\w+|package-texts|mutants|format|pictures|systems|opencl-vendors|build-plain)\b",
     "measures, writes into the tree, or has a test of its own"),
    (r"^meson (setup|install|test)|^scripts/configure|^ninja", "is what ran this test"),
    (r"^pip install|^HEED_BUILD", "install-wheel does it"),
    (r"^python3 -m pip install", "changes the machine's Python, which may forbid it"),
    (r"^python3 tests/", "is a test of its own"),
    (r"failure-\d", "compiles what a failure has written"),
    (r"^apt-get", "installs what scripts/setup installs"),
    (r"^man ", "install-manual reads the pages"),
    (r"--(plugin|pattern)$", "names an option"),
    (r"--device (opencl|cuda)", "needs a device that not every machine has"),
    (r"^python3 -m heed.torch", "python-torch does it, where there is PyTorch"),
    (r"^heed-model|^heed-summarize.* --model", "needs a checkpoint, and nobody fetches one for a test"),
    (r"^mpirun|heed-mpi", "needs an MPI, which not every machine has"),
    (r"^(heed|build/(tools|examples))", None),
    (r"^cc |^(PYTHONPATH=\S+ )?python3 |^export |^meson compile", None),
]
# What a command does more often, or longer, than shows that it works.
SHORTER = [(r"--cases \d+", "--cases 40"),
           (r"(heed-conform --plugin \S+)(?!.*--cases?\b)", r"\1 --cases 40"), (r"\bheed-bench\b(?!.*--quick)", "heed-bench --quick"), (r"\bn=2048\b", "n=256"),
           (r"-O2 (examples/)", r"-O0 \1"),
           (r"^meson compile -C build.*\n", "")]
PROGRAM = re.compile(r"\b(heed-(?:bench|conform|info|model|summarize))\b((?:[^`&;])*)")


def documents(top):
    yield from [top / "README.md", top / "CONTRIBUTING.md", top / "docs/guide.txt"]
    yield from sorted((top / "docs").glob("*.md"))


class Place:
    """A copy of the tree, with the build in its place and the installed heed within reach."""

    def __init__(self, top, build, prefix, folder):
        self.prefix, self.folder = prefix, folder / "heed"
        copy_tree(top, self.folder)
        for part in ("tools", "examples", "bindings", "libheed.so"):
            (self.folder / "build").mkdir(exist_ok=True)
            (self.folder / "build" / part).symlink_to(build / part)
        # What the texts call so.
        shutil.copy(top / "examples/plugin/plugin.c", self.folder / "mykernel.c")
        shutil.copy(top / "examples/minimal.c", self.folder / "example.c")
        self.path = folder / "path"
        self.path.mkdir()
        for program in (prefix / "bin").iterdir():
            (self.path / program.name).symlink_to(program)

    def environment(self):
        return {**os.environ, "PATH": f"{self.path}:{os.environ['PATH']}",
                "PKG_CONFIG_LIBDIR": str(pc_folder(self.prefix)), "OMP_WAIT_POLICY": "passive",
                "LD_LIBRARY_PATH": str(library_folder(self.prefix)), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, command):
        """Status and output. A program that was compiled runs, too."""
        if re.match(r"cc .*example\.c", command):
            command += " && ./a.out"
        for pattern, instead in SHORTER:
            command = re.sub(pattern, instead, command)
        result = subprocess.run(["bash", "-euo", "pipefail", "-c", command], text=True, check=False,
                                cwd=self.folder, env=self.environment(), stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, timeout=300)
        return result.returncode, result.stdout

    def faults(self, command):
        """What is illegal in a command that is not run."""
        for name, words in PROGRAM.findall("" if command.startswith("python3 ") else command):
            told = subprocess.run([self.prefix / "bin" / name, "--help"], text=True, check=True,
                                  capture_output=True).stdout
            for option in re.findall(r"(?<![\w-])--[a-z-]+", words):
                if not re.search(rf"^  (-\w, )?{option}\b", told, re.MULTILINE):
                    yield f"{name} has no option {option}"
        for script, words in re.findall(r"((?:scripts|\.ci|bindings)/[\w./-]+)([^`&;]*)", command):
            path = self.folder / script
            if path.is_dir():
                continue
            if not path.is_file():
                yield f"there is no {script}"
                continue
            text = path.read_text("utf-8")
            yield from (f"{script} knows no {option}"
                        for option in re.findall(r"(?<![\w-])--[a-z-]+", words)
                        if option not in text)
        options = (self.folder / "meson_options.txt").read_text("utf-8")
        for option in re.findall(r"-D(\w+)=", command if command.startswith("meson") else ""):
            if f"'{option}'" not in options and option not in ("buildtype", "default_library"):
                yield f"meson has no option {option}"


def numpy_python():
    for python in filter(None, (sys.executable, os.environ.get("HEED_PYTHON"), "/usr/bin/python3")):
        if os.path.exists(python) and subprocess.run([python, "-c", "import numpy"], check=False,
                                                     stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


def collected(top, prefix):
    """{command: where it stands}, in the order of the texts."""
    found = {}
    for path in documents(top):
        for command in texts.commands(path.read_text("utf-8")):
            found.setdefault(command, path.name)
    sys.path.insert(0, str(top / "tools"))
    import pages
    for program in sorted((prefix / "bin").iterdir()):
        for command, _ in pages.read(program).examples():
            found.setdefault(command, program.name + " --help")
    # What makes a file that others use comes first.
    return dict(sorted(found.items(), key=lambda row: not row[0].startswith("cc ")))


def main():
    top, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    prefix, failures, used, ran = installed(build), [], set(), 0
    runs = "--rules" not in sys.argv
    with tempfile.TemporaryDirectory() as name:
        place = Place(top, build, prefix, pathlib.Path(name))
        python = numpy_python()
        if python:
            (place.path / "python3").symlink_to(python)
        for command, where in collected(top, prefix).items():
            rule = next((i for i, (pattern, _) in enumerate(RULES)
                         if re.search(pattern, command)), None)
            if rule is None:
                failures.append(f"{where}: no rule for: {command}")
                continue
            used.add(rule)
            reason = RULES[rule][1]
            if reason is None and "python3" in command and not python:
                reason = "there is no NumPy"
            failures += [f"{where}: {command}: {fault}" for fault in place.faults(command)]
            if reason is None and not runs:
                ran += 1
            elif reason is None:
                begin, ran = time.monotonic(), ran + 1
                status, output = place.run(command)
                spent = time.monotonic() - begin
                print(f"{spent:5.1f} s  {where}: {command}")
                if status != 0:
                    failures.append(f"{where}: {command}: ends with {status}\n{output[-2000:]}")
            elif runs:
                print(f"   --    {where}: {command}: {reason}")
    failures += [f"no command for the rule {RULES[i][0]}" for i in range(len(RULES))
                 if i not in used]
    print("\n".join(failures))
    expect(ran >= 10, f"only {ran} commands ran")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
