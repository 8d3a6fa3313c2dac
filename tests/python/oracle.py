# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Attention in double, and how far a right result in binary32 may be from it."""

import numpy

UNIT = 2.0 ** -24


def dense(q, k, v, seen, scale=None, bias=None, bias_size=None, made=None):
    """Results [n_q][d_v] of one head in double, and the bound for each element. seen: how often a
    row sees each key. bias: added to scaled scores; bias_size: the magnitudes that went into it,
    each as often as it is rounded, where they are other than |bias|. made: of k and v that are
    computed, the magnitudes that went into them, each as often as it is rounded.

    The bound: a score is a chain of d fused products, off by d units of the sum of |q k|, and a
    few units of itself on the way to the weight; the weight is off by so much, relative, and 8
    units more for the exponential; sums of n terms by n units. A weight below 2^-100 of the
    largest is 0, which 2^-90 covers.
    """
    q, k, v = (numpy.asarray(a, "float64") for a in (q, k, v))
    scale = 1 / numpy.sqrt(q.shape[-1]) if scale is None else scale
    y = (q @ k.T) * scale
    size = (abs(q) @ abs(k).T) * abs(scale)
    extra = 0 if bias is None else numpy.asarray(bias, "float64")
    y, added = y + extra, abs(extra) if bias_size is None else bias_size
    y = numpy.where(seen > 0, y, -numpy.inf)
    top = numpy.max(y, axis=1, keepdims=True, initial=-numpy.inf)
    top = numpy.where(numpy.isfinite(top), top, 0)
    p = numpy.where(seen > 0, seen * numpy.exp(y - top), 0)
    total = p.sum(1, keepdims=True)
    p = numpy.divide(p, total, out=numpy.zeros_like(p), where=total > 0)
    k_made, v_made = made if made is not None else (0 * k, 0 * v)
    off = (q.shape[-1] + 6) * size + (abs(q) @ k_made.T) * abs(scale)
    off += 6 * added + 4 * abs(numpy.where(seen > 0, y, 0)) + 8
    off = numpy.where(seen > 0, UNIT * off, 0)
    # Sums are made in blocks of 64 and chunks of 1024, in any case within n units.
    count = UNIT * (numpy.count_nonzero(seen, axis=1, keepdims=True) + 16)
    worst = (p * off).sum(1, keepdims=True)
    bound = (p * (off + worst + 2 * count)) @ abs(v) + UNIT * (p @ v_made)
    bound = bound * (1 + 2.0 ** -10) + 2.0 ** -90
    return p @ v, bound


def of_heads(q, k, v, seen, scale=None, bias=None):
    """The same for [heads][n][d]; seen [heads][n_q][n_k]; key heads divide heads."""
    group = q.shape[0] // k.shape[0]
    made = [dense(q[h], k[h // group], v[h // group], seen[h], scale,
                  None if bias is None else bias[h]) for h in range(q.shape[0])]
    return tuple(numpy.stack(part) for part in zip(*made))


def off_by(got, wanted, bound):
    """The largest share of the bound that a result uses up."""
    return float(numpy.max(abs(numpy.asarray(got, "float64") - wanted) / bound, initial=0))
