#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing in a tree changes while a command runs: snapshot.py TOP COMMAND...

Ends as the command does, or with 1 and the names of what changed: files and folders that are new,
gone, or written since. A folder tells of a file that came and went. Folders of builds and of git
are no part of the tree. A read-only tree would stop a write where it happens, but neither root nor
a container lets itself be told so everywhere. snapshot.py --self-test: are writes seen?
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time


def taken(top):
    """{name: when it was last written or changed otherwise} of all files and folders."""
    state, folders = {}, [pathlib.Path(top)]
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(folder))
        except FileNotFoundError:           # gone since its parent was read
            continue
        names = {entry.name for entry in entries}
        if folder.name == ".git" or "build.ninja" in names:
            continue
        state[str(folder)] = folder.stat().st_mtime_ns
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(pathlib.Path(entry.path))
            elif entry.name != ".git":      # a file in a worktree
                state[entry.path] = entry.stat(follow_symlinks=False).st_ctime_ns
    return state


def changes(before, after):
    return sorted(name for name in before.keys() | after.keys()
                  if before.get(name) != after.get(name))


def self_test():
    def touch(top):
        (top / "a/old").touch()

    def come_and_go(top):
        (top / "a/new").touch()
        (top / "a/new").unlink()

    def cache(top):
        (top / "a/__pycache__").mkdir()

    def inside_build(top):
        (top / "build/log").touch()

    def nothing(_):
        pass

    missed = 0
    for act, wanted in ((touch, True), (come_and_go, True), (cache, True), (inside_build, False),
                        (nothing, False)):
        with tempfile.TemporaryDirectory() as name:
            top = pathlib.Path(name)
            for folder in ("a", "build", ".git"):
                (top / folder).mkdir()
            (top / "a/old").touch()
            (top / "build/build.ninja").touch()
            before = taken(top)
            time.sleep(0.05)            # of file systems the clocks are coarse
            act(top)
            found = changes(before, taken(top))
        good = bool(found) == wanted
        missed += not good
        print(f"{'ok' if good else 'not ok'}: {act.__name__}: {found}")
    return 1 if missed else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    top, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    before = taken(top)
    status = subprocess.run(command, check=False).returncode
    changed = changes(before, taken(top))
    for name in changed:
        print(f"changed while the tests ran: {os.path.relpath(name, top)}")
    if changed:
        print("A test writes into the tree, or somebody else did.")
    return status or int(bool(changed))


if __name__ == "__main__":
    sys.exit(main())
