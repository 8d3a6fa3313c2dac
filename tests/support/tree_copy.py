# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""A copy of the tree for a test that writes into it: the tree itself stays as it is."""

import pathlib
import shutil


def copy_tree(top, to):
    """Without builds, what git keeps and the inputs of fuzz targets."""
    def ignored(folder, names):
        own = ("shared", "dist") if pathlib.Path(folder) == pathlib.Path(top) else ()
        return [name for name in names if name in (".git", "__pycache__", "corpus", *own) or
                (pathlib.Path(folder) / name / "build.ninja").is_file()]

    shutil.copytree(top, to, symlinks=True, ignore=ignored)
