# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""A case of heed-conform for kernels in Python: its arrays, and what it asks for as attributes."""

from __future__ import annotations

import pathlib
import zlib
from typing import Any

import numpy

from .arrays import BITS as _BITS, BLOCKS

DTYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "u8": "uint8", "i32": "int32",
          "i64": "int64", "i8": "int8", "bool": "bool", "f8e4m3": "float8_e4m3fn",
          "f8e5m2": "float8_e5m2", **{name: name for name in BLOCKS}}


# Rows of types in blocks stay bytes in every package.
BITS = {name: bits for name, bits in _BITS.items() if name not in BLOCKS}


class Refused(Exception):
    """Raised by a kernel for what it does not do: a field, such as "softcap", and a sentence."""

    def __init__(self, field: str, why: str = ""):
        self.field, self.why = field, why
        super().__init__(f"{field}: {why}" if why else field)


def _lacking(name):
    """A type for NumPy, which lacks it, where ml_dtypes is installed."""
    try:
        import ml_dtypes
    except ImportError:
        raise Refused("types", f"{name} in NumPy needs the package ml_dtypes") from None
    return getattr(ml_dtypes, name)


def _to_numpy(array, kind):
    return array.view(_lacking(DTYPES[kind])) if DTYPES[kind] in BITS else array


def _to_torch(array, kind):
    import torch
    if DTYPES[kind] in BITS:
        signed = torch.from_numpy(array.view(BITS[DTYPES[kind]][1:]))
        return signed.view(getattr(torch, DTYPES[kind]))
    return torch.from_numpy(array)


def _to_jax(array, kind):
    import jax.numpy
    return jax.numpy.asarray(_to_numpy(array, kind))


MAKERS = {"numpy": _to_numpy, "torch": _to_torch, "jax": _to_jax}


def to_file(value: Any) -> numpy.ndarray:
    """What a kernel returned, as NumPy writes it; bfloat16 as uint16."""
    if type(value).__module__.partition(".")[0] == "torch":
        import torch
        value = value.detach().cpu().contiguous()
        if value.dtype == torch.bfloat16:
            return value.view(torch.int16).numpy().view("uint16")
        return value.numpy()
    array = numpy.ascontiguousarray(value).reshape(numpy.shape(value))
    return array.view("uint16") if array.dtype.name == "bfloat16" else array


class Case:
    """One case. Arrays are made when they are asked for, of the kind that the kernel wants.

    items, heads (h_q), h_kv, rows, keys, d, d_v: extents. q [items][heads][rows][d],
    k [items][h_kv][keys][d], v [items][h_kv][keys][d_v]. scale: what q . k is multiplied by, always
    a number; softcap: 0 or a number. sees: "everything", "causal", "causal_end", "band" or "mask".
    needs: what the case asks for beyond softmax(q . k / sqrt(d)) . v, by name. line: makes it
    again.
    """

    def __init__(self, said: dict, kind: str = "numpy"):
        self.said, self.kind = said, kind
        self.line, self.needs, self.sources = said["line"], said["needs"], said["sources"]
        self.items, self.heads, self.rows = said["items"], said["heads"], said["rows"]
        self.d, self.d_v = said["d"], said["d_v"]
        self.scale, self.softcap = said["scale"], said["softcap"]
        self.sees, self.low, self.high = said["sees"], said["low"], said["high"]
        self.lse = said["lse"]
        self.asked = bool(said.get("ask"))
        self._files, self._sums = {}, {}

    # ---- extents and types ------------------------------------------------------------------

    @property
    def h_q(self) -> int:
        return self.heads

    @property
    def h_kv(self) -> int:
        return self.sources[0]["heads"] if self.sources else 0

    @property
    def keys(self) -> int:
        return self.sources[0]["keys"] if self.sources else 0

    @property
    def dtype(self) -> str:
        """The element type of q, such as "bfloat16"."""
        return DTYPES[self.said["inputs"]["q"]["dtype"]]

    @property
    def o_dtype(self) -> str:
        return DTYPES[self.said["outputs"]["o"]["dtype"]]

    # ---- arrays -----------------------------------------------------------------------------

    @property
    def names(self) -> list:
        """Names of all the arrays that array() has."""
        return list(self.said["inputs"])

    def _bytes(self, name):
        if name not in self._files:
            if self.asked:
                raise Asked()
            self._files[name] = numpy.load(self.said["inputs"][name]["file"])
            self._sums[name] = zlib.crc32(self._files[name])
        return self._files[name]

    def array(self, name: str) -> Any:
        """An array by its name in docs/testing-kernels.md; None: the case has none such."""
        if name not in self.said["inputs"]:
            return None
        return MAKERS[self.kind](self._bytes(name), self.said["inputs"][name]["dtype"])

    @property
    def q(self) -> Any:
        return self.array("q")

    @property
    def k(self) -> Any:
        return self.array("k0")

    @property
    def v(self) -> Any:
        return self.array("v0")

    @property
    def sinks(self) -> Any:
        """A logit for each head, float32, float16 or bfloat16, or None."""
        return self.array("sinks")

    def mask(self, source: int = 0) -> Any:
        """[items][heads][rows][keys]: does the row see the key? Whatever is the reason."""
        return self.array(f"visible{source}")

    def bias(self, source: int = 0) -> Any:
        """[items][heads][rows][keys], float32: what is added to the logits; or None."""
        return self.array(f"bias{source}")

    def joined(self, source: int = 0) -> Any:
        """[items][heads][rows][keys], float32: what is added to q . k before the scale; or None."""
        return self.array(f"joined{source}")

    def lengths(self, source: int = 0) -> Any:
        """[items]: how many keys there are, as the caller says it; or None."""
        return self.array(f"len{source}")

    # ---- what rows see ------------------------------------------------------------------------

    @property
    def causal(self) -> str | None:
        """"start": row i sees the keys up to i; "end": the last row sees the last key; or None."""
        return {"causal": "start", "causal_end": "end"}.get(self.sees)

    @property
    def window(self) -> tuple | None:
        """(left, right): row i sees the keys from i - left to i + right; None there: without a
        limit. None: what is seen has no such form, or is everything."""
        if self.sees not in ("causal", "causal_end", "band"):
            return None
        return (None if self.low is None else -self.low, self.high)

    def takes(self, *names: str) -> None:
        """Refuses the case if it needs anything but these."""
        for need in self.needs:
            if need not in names:
                raise Refused(need, "not in this kernel")

    def changed(self) -> str | None:
        """The name of an array that the kernel wrote to, which it may not."""
        return next((name for name, array in self._files.items()
                     if zlib.crc32(array) != self._sums[name]), None)

    def save(self, folder: Any) -> None:
        """Copies the arrays that the case has into a folder, as NumPy's files."""
        for name in self.names:
            numpy.save(pathlib.Path(folder) / f"{name}.npy", self._bytes(name))

    def __repr__(self):
        return (f"<heed case: {self.items} items, {self.heads} heads ({self.h_kv} of keys), "
                f"{self.rows} rows, {self.keys} keys, d {self.d}, {self.dtype}; "
                f"needs {', '.join(self.needs) or 'nothing else'}>")


class Asked(Exception):
    """Only whether the case would be taken was asked, and the kernel wants to see arrays."""
