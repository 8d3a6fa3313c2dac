#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""An attention in NumPy under heed's conformance kit: python3 examples/python/conform_numpy.py"""

import heed
import numpy as np


def attention(q, k, v, *, scale, softcap, mask, bias, sinks):
    """The definition, in double: one parameter for each thing that it does beside softmax."""
    group = q.shape[1] // k.shape[1]
    k, v = (np.repeat(x.astype("float64"), group, axis=1) for x in (k, v))
    y = q.astype("float64") @ k.swapaxes(-1, -2) * scale
    if softcap:
        y = softcap * np.tanh(y / softcap)
    if bias is not None:    # -Inf removes the key, also one whose score is NaN
        y = np.where(bias == -np.inf, -np.inf, y + bias)
    if mask is not None:
        y = np.where(mask, y, -np.inf)
    seen = y != -np.inf
    sink = -np.inf if sinks is None else sinks.astype("float64")[:, None, None]
    most = np.maximum(np.max(y, axis=-1, keepdims=True, initial=-np.inf), sink)
    most = np.where(most == -np.inf, 0, most)
    weights = np.exp(y - most)
    below = weights.sum(axis=-1, keepdims=True) + np.exp(sink - most)
    # What is not seen is not consulted either: 0 times NaN would be NaN.
    of_seen = np.where(seen[..., None], v[:, :, None], 0)
    o = np.einsum("bhij,bhijc->bhic", weights, of_seen)
    blank = ~seen.any(axis=-1, keepdims=True)
    return np.where(blank, 0, o / np.where(blank, 1, below)).astype(q.dtype)


if __name__ == "__main__":
    result = heed.conform(attention, 300)
    print(result)
    raise SystemExit(0 if result else 1)
