#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a program of ranks on this machine: ranks.py [--same=WORD] RANKS PROGRAM [ARGUMENT]...

RANKS is one number or several, "1,2,4": the program runs with each, one after another, and finds
the number in HEED_RANKS. With --same the line that begins with WORD must be the same each time.
HEED_MPIRUN names what starts ranks, mpirun unless it is set. It must be that of the program's MPI:
under another one each process is all ranks there are, and says so where it looks at HEED_RANKS.
Exit status 77: there is none. Open MPI refuses more ranks than processors, and root, unless it is
told.
"""

import os
import shutil
import subprocess
import sys

SECONDS = 250
# Ranks that wait give the processor away, and shared memory needs no rights to other processes.
QUIET = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
         "OMPI_MCA_plm_rsh_agent": "false", "OMPI_MCA_rmaps_base_oversubscribe": "1",
         "OMP_NUM_THREADS": "1"}


def main():
    mpirun = shutil.which(os.environ.get("HEED_MPIRUN") or "mpirun")
    if not mpirun:
        print("skipped: no mpirun")
        return 77
    version = subprocess.run([mpirun, "--version"], text=True, capture_output=True, check=False)
    command = [mpirun]
    if "Open MPI" in version.stdout or "OpenRTE" in version.stdout:
        command += ["--oversubscribe", "--allow-run-as-root"]
    same, arguments = None, sys.argv[1:]
    if arguments[0].startswith("--same="):
        same = arguments.pop(0).partition("=")[2]
    status, lines = 0, set()
    for ranks in arguments[0].split(","):
        result = subprocess.run([*command, "-n", ranks, *arguments[1:]], check=False, text=True,
                                timeout=SECONDS,
                                env={**os.environ, **QUIET, "HEED_RANKS": ranks},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        print(f"{result.stdout}{ranks} ranks: exit status {result.returncode}", flush=True)
        status = status or result.returncode
        lines |= {line for line in result.stdout.splitlines() if same and line.startswith(same)}
    if same and len(lines) != 1:
        print(f"lines that should be one: {sorted(lines)}")
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
