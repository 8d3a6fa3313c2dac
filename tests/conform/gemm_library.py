#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""gemm_library.py INFO LOADER LACKING: what heed-info says of CLBlast.

LOADER is the tests' OpenCL, found before the machine's; LACKING a library of CLBlast's name that
lacks functions. LD_LIBRARY_PATH chooses the libraries, as it does for every program that opens some.
"""

import json
import os
import pathlib
import subprocess
import sys


def said(info, *libraries):
    """The words of heed-info for the first device of OpenCL with work-groups, as JSON and as a table."""
    folders = ":".join(str(pathlib.Path(library).parent) for library in libraries)
    environment = dict(os.environ, LD_LIBRARY_PATH=folders)
    run = [subprocess.run([info, *form], capture_output=True, text=True, check=True,
                          env=environment).stdout for form in (["--json"], [])]
    words = next(device["gemm"] for device in json.loads(run[0])["devices"]
                 if device["name"] == "opencl:0:workgroup")
    if words not in run[1]:
        sys.exit(f"the table lacks \"{words}\":\n{run[1]}")
    return words


def main():
    info, loader, lacking = sys.argv[1:]
    for libraries, wanted in (
            ((loader, lacking), "clblast: libclblast.so.1 lacks functions of CLBlast 1.5"),
            # The loader of the tests lacks what the machine's CLBlast calls, if there is one.
            ((loader,), "clblast: libclblast.so.1 cannot be opened")):
        words = said(info, *libraries)
        if words != wanted:
            sys.exit(f"wanted \"{wanted}\", got \"{words}\"")


if __name__ == "__main__":
    main()
