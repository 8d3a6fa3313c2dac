#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Manual pages and completion as they are installed: manual.py TOP BUILD

The pages are without a fault for mandoc, or for groff with all its warnings, and name every option.
The shells that there are read the completion and complete an option, a choice, a name from a list,
a device and a file.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from stage import expect, installed, run, skip

PROGRAMS = ("heed-bench", "heed-conform", "heed-info", "heed-model", "heed-summarize")
# What is typed, and what must be among the completions.
TYPED = [
    ("heed-bench --thr", "--threads"), ("heed-bench --clock w", "wall"),
    ("heed-bench --numerics f", "fast"),
    ("heed-bench --workload longf", "longformer"), ("heed-bench --device refer", "reference"),
    ("heed-bench --device cpu:sc", "cpu:scalar"), ("heed-conform --op mer", "merge"),
    ("heed-conform --family me", "mechanisms"), ("heed-info --pattern lsg-b", "lsg-block-stride"),
    ("heed-info --su", "--support"), ("heed-model --we", "--weights"),
    ("heed-model --stopping ne", "never"), ("heed-model --device refer", "reference"),
    ("heed-summarize --attention b", "bigbird"),
    ("heed-summarize --wo", "--words"), ("heed-summarize READ", "README.md"),
]
BASH = """source "$1" || exit 1
COMP_LINE=$2 COMP_POINT=${#2}
function=$(complete -p "${2%% *}" | sed 's/.*-F \\([^ ]*\\).*/\\1/')
"$function"
printf '%s\\n' "${COMPREPLY[@]}"
"""
# Words that readline and fish complete after a colon are given from there on, or whole.
FISH = """set -p fish_complete_path $argv[1]
complete -C $argv[2]
"""


def lint(page):
    """The faults that a checker finds; None: there is no checker."""
    if shutil.which("mandoc"):
        said = subprocess.run(["mandoc", "-Tlint", "-Wwarning", page], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        # A page has no date: the same tree gives the same page.
        return [line for line in said.stdout.splitlines() if "missing date" not in line]
    if shutil.which("groff"):
        said = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-z", page], text=True,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return said.stdout.splitlines()
    return None


def check_pages(prefix):
    pages = sorted((prefix / "share/man").rglob("heed*.[17]"))
    names = [page.name for page in pages if page.name != "heed-mpi.7"]  # where there is an MPI
    expect(names == [name + ".1" for name in PROGRAMS] + ["heed.7"], f"pages: {pages}")
    for page in pages:
        faults = lint(page)
        if faults is None:
            print("left out: neither mandoc nor groff is installed")
            break
        expect(not faults, "\n".join(faults))
    for name in PROGRAMS:
        text = (prefix / f"share/man/man1/{name}.1").read_text("utf-8").replace("\\-", "-")
        told = run(prefix / "bin" / name, "--help")
        for word in told.split():
            if word.startswith("--") and word[2:3].isalpha() and ":" not in word:
                expect(word.strip(".,;()=") in text, f"{name}.1 lacks {word}")
        expect(".SH EXAMPLES" in text and ".SH EXIT STATUS" in text, f"{name}.1: its sections")


def completions(shell, prefix, typed):
    share, name = prefix / "share", typed.split()[0]
    if shell == "bash":
        said = run("bash", "--norc", "-c", BASH, "bash",
                   share / "bash-completion/completions" / name, typed,
                   cwd=prefix / "share/doc/heed", env={"PATH": path_of(prefix)})
    else:
        with tempfile.TemporaryDirectory() as home:
            said = run("fish", "--no-config", "-c", FISH, share / "fish/vendor_completions.d",
                       typed, cwd=prefix / "share/doc/heed",
                       env={"PATH": path_of(prefix), "HOME": home})
    return [line.split("\t")[0] for line in said.splitlines()]


def path_of(prefix):
    return f"{prefix / 'bin'}:{os.environ.get('PATH', '')}"


def check_typed(shell, prefix):
    for typed, wanted in TYPED:
        got = completions(shell, prefix, typed)
        short = wanted.rpartition(":")[2]
        expect(wanted in got or short in got, f"{shell}: {typed!r} gives {got}")
        expect(len(got) <= 3 or wanted.startswith("-"), f"{shell}: {typed!r} gives {got}")


def check_zsh(prefix):
    """zsh completes in a terminal only: the files are read, and name every option."""
    for name in PROGRAMS:
        file = prefix / "share/zsh/site-functions" / ("_" + name)
        run("zsh", "-f", "-n", file)
        # _arguments is called with specifications; each must be one that it could parse.
        text = run("zsh", "-f", "-c", '_arguments() { print -rl -- "$@" }; source "$1"', "zsh",
                   file)
        options = [line for line in text.splitlines() if line.lstrip("*").startswith("-")]
        told = run(prefix / "bin" / name, "--help")
        for line in options:
            option = line.lstrip("*").split("[")[0].rstrip("=")
            expect(option in told, f"_{name}: {line}")
        expect(len(options) >= 5, f"_{name}: {text}")


def main():
    prefix = installed(pathlib.Path(sys.argv[2]))
    if not (prefix / "share/man/man1").is_dir():
        skip("this build made no pages: it cannot run its own programs")
    check_pages(prefix)
    shells = [shell for shell in ("bash", "fish", "zsh") if shutil.which(shell)]
    for shell in shells:
        if shell == "zsh":
            check_zsh(prefix)
        else:
            check_typed(shell, prefix)
    print(f"{len(PROGRAMS) + 1} pages; completed by {', '.join(shells)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
