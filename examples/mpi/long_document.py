#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""A document that ranks hold between them: every rank has a stretch of rows and of keys.

    PYTHONPATH=build/bindings/python mpirun -n RANKS python3 examples/mpi/long_document.py [ROWS]

Rows see a window of 256 keys on each side, 64 global keys, and every 509th key. What is printed at
the end, a digest of all rows in order, is the same for any number of ranks.
"""

import sys
import zlib

import heed
import heed.mpi
import numpy as np
from mpi4py import MPI

HEADS, D = 2, 64


def numbers(first, n, of):
    """Rows [first, first + n) of each head, which depend on where they stand in the whole."""
    head, row, channel = np.ogrid[:HEADS, first:first + n, :D]
    cell = ((row * HEADS + head) * D + channel) * 3 + of
    return (cell * 7919 % 4093).astype("float32")[None] / 1024 - 2


def digest(comm, o):
    """Goes on from rank to rank, row after row."""
    before = comm.recv(source=comm.rank - 1) if comm.rank else 0
    mine = zlib.crc32(np.ascontiguousarray(o.swapaxes(1, 2)), before)
    if comm.rank + 1 < comm.size:
        comm.send(mine, comm.rank + 1)
    return comm.bcast(mine, comm.size - 1)


def compute(comm, rows):
    """This rank's rows of the document, and what its plan says."""
    # Keys are cut at chunks; rows could be cut anywhere.
    chunks = -(-rows // heed.CHUNK)
    first, end = (min(chunks * r // comm.size * heed.CHUNK, rows)
                  for r in (comm.rank, comm.rank + 1))
    n = end - first
    q, k, v = (numbers(first, n, i) for i in range(3))

    x = heed.mpi.whole((1, HEADS, rows, D))             # what all ranks hold between them
    part = heed.mpi.Part(first, n, keys=[(first, n)])   # and what this one does
    see = [heed.window(256), heed.global_tokens(64), heed.everything(step=509)]
    with heed.mpi.Plan(comm, part, x, x, x, terms=see) as plan:
        o = plan(q=q, k=k, v=v)                         # moves keys and values, and computes
        return o, plan.info()


def main(comm, rows):
    o, info = compute(comm, rows)
    most, told = comm.reduce(info.bytes_in, MPI.MAX), digest(comm, o)
    if comm.rank == 0:
        print(f"{rows} rows, {comm.size} ranks: {most / 2**20:.1f} MiB come to one rank at most")
        print(f"digest: {told:08x}")


if __name__ == "__main__":
    main(MPI.COMM_WORLD, int(sys.argv[1]) if sys.argv[1:] else 65536)
