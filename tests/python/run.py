#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a test of the binding: run.py PACKAGE MODULE [NEEDED], with HEED_LIBRARY naming the library.
PACKAGE is bindings/python of the build folder; NEEDED: what the test imports, numpy unless said, or
several with commas between them.

Exit status 77 where that is missing: not in this Python, not in the one that HEED_PYTHON names, not
in the distribution's, which may be another than the first on the path.
"""

import importlib.util
import os
import subprocess
import sys
import unittest


DISTRIBUTION = "/usr/bin/python3"


def with_module(needed):
    """Another Python that has a module, or None."""
    for other in filter(None, (os.environ.get("HEED_PYTHON"), DISTRIBUTION)):
        try:
            if subprocess.run([other, "-c", f"import {needed}"], stderr=subprocess.DEVNULL,
                              check=False).returncode == 0:
                return other
        except OSError:
            continue
    return None


def main():
    package, module, needed = [*sys.argv[1:], "numpy"][:3]
    if None in map(importlib.util.find_spec, needed.split(",")):
        other = with_module(needed)
        if other:
            os.execv(other, [other, *sys.argv])
        print(f"skipped: {needed} is not installed; HEED_PYTHON may name a Python that has it")
        return 77
    sys.dont_write_bytecode = True
    sys.path[:0] = [package, os.path.dirname(__file__)]
    result = unittest.main(module=module, argv=[module], exit=False).result
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())
