# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""What the numbers of a matrix become in other types: docs/numerics.md, section 5, step 4."""

import numpy

import checkpoints

F = numpy.float32
BLOCK = 32


def blocks(x, kind):
    """Rows in blocks of 32, each with a scale of f16, as the numbers that they stand for."""
    x = x.astype("f4").reshape(-1, BLOCK)
    at = numpy.argmax(abs(x), 1)
    most = x[numpy.arange(len(x)), at]
    if kind == "q8_0":
        scale, low, high = abs(most) * (F(1) / F(127)), -127, 127
    else:
        scale, low, high = most * F(-0.125), -8, 7
    scale = scale.astype("f2").astype("f4")
    with numpy.errstate(divide="ignore"):
        inverse = F(1) / scale
    number = numpy.where(scale[:, None] == 0, F(0), numpy.rint(x * inverse[:, None]))
    return (number.clip(low, high) * scale[:, None]).astype("f8")


def matrix(x, kind):
    """One matrix; rows that blocks do not divide stay as they are."""
    if kind in ("q8_0", "q4_0"):
        return x if x.shape[1] % BLOCK else blocks(x, kind).reshape(x.shape)
    stored = checkpoints.STORE[kind.upper()](x.astype("f4"))
    return checkpoints.LOAD[kind.upper()](stored.tobytes()).astype("f8").reshape(x.shape)


def weights(tensors, kind):
    """Tensors of checkpoints.read() as heed_model_options.weights says: the matrices of layers, the
    projection to logits, and tokens where the type has no blocks."""
    def becomes(name, x):
        part = name.split(".")[-2]
        if x.ndim != 2 or part in ("positions", "types", "table", "side_table",
                                    "places", "globals"):
            return False
        return part != "tokens" or kind in ("f16", "bf16")
    return {name: matrix(x, kind) if becomes(name, x) else x for name, x in tensors.items()}
