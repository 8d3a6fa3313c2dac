# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""One installed heed for all tests of this folder, moved away from where it was installed to."""

import fcntl
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from tree_copy import copy_tree  # noqa: E402,F401  pylint: disable=wrong-import-position

CC = shlex.split(os.environ.get("CC", "cc"))
SKIPPED = 77


def run(*command, env=None, status=0, **more):
    """What a command prints; ends the test unless it ends with this status."""
    result = subprocess.run([str(word) for word in command], text=True, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            env={**os.environ, **(env or {})}, **more)
    if result.returncode != status:
        print(shlex.join(str(word) for word in command))
        print(result.stdout)
        raise SystemExit(f"ended with {result.returncode}, not {status}")
    return result.stdout


def expect(good, text):
    if not good:
        raise SystemExit(text)


def skip(reason):
    print("skipped: " + reason)
    sys.exit(SKIPPED)


def newest(paths):
    """When any of these files, or of the files in these folders, was last changed."""
    times = [0.0]
    for path in map(pathlib.Path, paths):
        files = path.rglob("*") if path.is_dir() else [path]
        times += [file.lstat().st_mtime for file in files if file.is_file()]
    return max(times)


def install(build, folder):
    shutil.rmtree(folder, ignore_errors=True)
    run("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder / "first")
    options = json.loads((build / "meson-info/intro-buildoptions.json").read_text("utf-8"))
    prefix = next(option["value"] for option in options if option["name"] == "prefix")
    os.rename(folder / "first" / prefix.lstrip("/"), folder / "moved")
    shutil.rmtree(folder / "first")


def installed(build):
    """The prefix. Whoever comes first installs, and again when the build is newer."""
    build = pathlib.Path(build).resolve()
    folder, stamp = build / "install-stage", build / "install-stage/stamp"
    with open(build / "install-stage.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sources = json.loads((build / "meson-info/intro-installed.json").read_text("utf-8"))
        wanted = newest([*sources, build / "meson-info/intro-installed.json"])
        if not stamp.exists() or stamp.stat().st_mtime < wanted:
            install(build, folder)
            stamp.touch()
    return folder / "moved"


def pc_folder(prefix):
    return next(prefix.rglob("heed.pc")).parent


def flags(prefix, *options, package="heed"):
    """What pkg-config says; an old build folder has a heed.pc that cannot be moved."""
    pc = pc_folder(prefix)
    # Of packages that want others those of the machine are read as well.
    places = "PKG_CONFIG_LIBDIR" if package == "heed" else "PKG_CONFIG_PATH"
    define = [] if "pcfiledir" in (pc / "heed.pc").read_text("utf-8") else [
        f"--define-variable=prefix={prefix}"]
    return shlex.split(run("pkg-config", *define, *options, package,
                           env={places: str(pc)}))


def library_folder(prefix):
    return pc_folder(prefix).parent
