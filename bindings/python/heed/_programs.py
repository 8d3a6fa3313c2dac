# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The programs that a wheel carries, under their own names on the path."""

import os
import pathlib
import sys


def start():
    """Becomes the program of the name that this was called by."""
    name = pathlib.Path(sys.argv[0]).name
    program = pathlib.Path(__file__).parent / "bin" / name
    if not program.is_file():
        sys.exit(f"{name}: this installation of heed carries no programs")
    os.execv(program, [name, *sys.argv[1:]])
