#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a test of the binding: run.py PACKAGE MODULE, with HEED_LIBRARY naming the library. PACKAGE is
bindings/python of the build folder.

Exit status 77 where there is no NumPy: not in this Python, not in the one that HEED_PYTHON names,
not in the distribution's, which may be another than the first on the path.
"""

import importlib.util
import os
import subprocess
import sys
import unittest


DISTRIBUTION = "/usr/bin/python3"


def with_numpy():
    """Another Python that has NumPy, or None."""
    for other in filter(None, (os.environ.get("HEED_PYTHON"), DISTRIBUTION)):
        try:
            if subprocess.run([other, "-c", "import numpy"], stderr=subprocess.DEVNULL,
                              check=False).returncode == 0:
                return other
        except OSError:
            continue
    return None


def main():
    package, module = sys.argv[1:3]
    if importlib.util.find_spec("numpy") is None:
        other = with_numpy()
        if other:
            os.execv(other, [other, *sys.argv])
        print("skipped: NumPy is not installed; HEED_PYTHON may name a Python that has it")
        return 77
    sys.dont_write_bytecode = True
    sys.path[:0] = [package, os.path.dirname(__file__)]
    result = unittest.main(module=module, argv=[module], exit=False).result
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())
