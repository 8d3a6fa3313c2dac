#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""A project of meson that takes heed where it is, else brings it: dependency.py TOP BUILD

With an installed heed it uses that one, shared or static, builds and runs. Without one it falls
back to its subproject, which tests/api/subproject.py builds; here it is configured only.
"""

import pathlib
import shutil
import sys
import tempfile

from stage import expect, installed, library_folder, pc_folder, run, skip

PROJECT = """project('uses-heed', 'c', default_options: ['c_std=c17'])
heed_dep = dependency('heed', version: '>= 0.1', fallback: ['heed', 'heed_dep'],
  static: STATIC, default_options: ['default_library=static', 'tests=disabled'])
message('heed is @0@'.format(heed_dep.type_name()))
executable('minimal', 'minimal.c', dependencies: heed_dep)
"""
IGNORED = shutil.ignore_patterns("build", "build-*", ".git", "__pycache__", "corpus")


def project_in(folder, top, static):
    folder.mkdir()
    shutil.copy(top / "examples/minimal.c", folder)
    (folder / "meson.build").write_text(PROJECT.replace("STATIC", static), encoding="utf-8")
    return folder


def check_installed(top, prefix, folder, static):
    project = project_in(folder / static, top, static)
    found = {"PKG_CONFIG_LIBDIR": str(pc_folder(prefix))}
    text = run("meson", "setup", project / "out", project, env=found)
    expect("heed is pkgconfig" in text, text)
    run("ninja", "-C", project / "out")
    row = run(project / "out/minimal", env={"LD_LIBRARY_PATH": str(library_folder(prefix))})
    needs = "libheed.so" in run("readelf", "-d", project / "out/minimal")
    expect(needs == (static == "false"), f"static: {static}, but it needs libheed.so: {needs}")
    return row


def check_fallback(top, folder):
    project = project_in(folder / "fallback", top, "false")
    shutil.copytree(top, project / "subprojects/heed", ignore=IGNORED)
    text = run("meson", "setup", project / "out", project, env={"PKG_CONFIG_LIBDIR": "/nowhere"})
    expect("heed is internal" in text, text)
    build = (project / "out/build.ninja").read_text("utf-8")
    expect("heed-conform" not in build and "heed-info.1" not in build, "it builds tools or pages")


def main():
    top, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    prefix = installed(build)
    if "pcfiledir" not in (pc_folder(prefix) / "heed.pc").read_text("utf-8"):
        skip("this build folder is older than -Dpkgconfig.relocatable=true: its heed.pc is fixed")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rows = {check_installed(top, prefix, folder, static) for static in ("false", "true")}
        expect(len(rows) == 1, f"shared and static print different rows: {rows}")
        check_fallback(top, folder)
    print(rows.pop().strip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
