# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""heed as operators of PyTorch, for inference on the CPU: torch.ops.heed.

    import heed.torch
    o = heed.torch.attention(q, k, v, terms=[heed.window(256), heed.global_tokens(1, rows=True)])

The functions take tensors of the host and work in eager mode and, as one node of the graph, under
torch.compile and torch.export. A tensor that wants a gradient is refused. docs/python.md has more.
"""

from __future__ import annotations

import sys
from typing import Any, Sequence

import torch

from . import _torch_ops
from ._abi import CONSTANTS
from ._torch_plans import BIAS, LAYOUTS, TERM
from .arrays import Constant
from .attention import Bias, Term, all_of

__all__ = ["attention", "compiled"]

ALIGN = {None: 0, "start": CONSTANTS["HEED_ATTN_ALIGN_START"],
         "end": CONSTANTS["HEED_ATTN_ALIGN_END"]}


class Slots:
    """The tensors that terms and biases name, each by its number."""

    def __init__(self):
        self.tensors = []

    def number(self, value):
        """The number of a tensor, or of whole numbers in a list; 0 for none."""
        if value is None:
            return 0
        if isinstance(value, Constant):
            raise TypeError("plans of heed.torch are kept by shape and keep no constant arrays: "
                            "give the tensor itself")
        if not isinstance(value, torch.Tensor):
            value = torch.tensor(value, dtype=torch.int32)
        for i, tensor in enumerate(self.tensors):
            if tensor is value:
                return i + 1
        self.tensors.append(value)
        return len(self.tensors)

    def numbers(self, pieces, fields, named):
        """The numbers of terms or biases, one behind the other; named: fields that are arrays."""
        return [self.number(getattr(piece, field)) if field in named else getattr(piece, field)
                for piece in pieces for field in fields]


def numbers_of(terms, biases):
    """Terms and biases as the operator takes them, with their tensors."""
    slots = Slots()
    made = {"terms": slots.numbers(all_of(Term, terms, "terms"), TERM, TERM[-1:]),
            "biases": slots.numbers(all_of(Bias, biases, "biases"), BIAS, BIAS[2:])}
    return {**made, "slots": slots.tensors}


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, terms: Sequence[Term] = (),
              biases: Sequence[Bias] = (), causal: bool = False, align: str | None = None,
              len: torch.Tensor | None = None, mask: torch.Tensor | None = None,
              visible: torch.Tensor | None = None, layout: str = "dense",
              slot: torch.Tensor | None = None, run: int = 0, rows: int = 0,
              k_scale: torch.Tensor | None = None, v_scale: torch.Tensor | None = None,
              scale: float | None = None, softcap: float = 0.0,
              sinks: torch.Tensor | None = None, q_pos: torch.Tensor | None = None,
              q_len: torch.Tensor | None = None, q_begins: torch.Tensor | None = None,
              lse: bool = False) -> Any:
    """heed.attention() of one source, as an operator: o [batch...][H][n_q][d_v], or (o, lse).

    q [batch...][H][n_q][d], k [batch...][H_k][n_k][d], v [batch...][H_k][n_k][d_v]: tensors of the
    CPU with any strides; H_k divides H. Names mean what they do for heed.attention and, of layout,
    slot, run, rows and the scales, for heed.Source. Tables, lists and lengths are read at each call.

    visible: booleans [batch...][1 or H][n_q][n_k], any axis 1: what a mask function says of every
    pair. Where the keys of every row are one range, blocks without a visible key cost nothing.
    o lies in memory as [batch...][n_q][H][d_v], so that o.transpose(-3, -2).flatten(-2) is a view,
    and has the type of q; lse is float32. Without align, queries are at the start.

    A failed call raises heed.Error. A tensor that wants a gradient while gradients are recorded
    raises NotImplementedError.
    """
    tensors = {"slot": slot, "len": len, "mask": mask, "visible": visible, "k_scale": k_scale,
               "v_scale": v_scale, "sinks": sinks, "q_pos": q_pos, "q_len": q_len,
               "q_begins": q_begins, "scale": scale}
    numbers = {"causal": causal, "align": ALIGN[align], "layout": LAYOUTS.index(layout),
               "run": run, "rows": rows, "softcap": softcap}
    given = {name: value for name, value in tensors.items() if value is not None}
    given.update((name, value) for name, value in numbers.items() if value)
    if terms or biases:
        given.update(numbers_of(terms, biases))
    operator = _torch_ops.attention_lse if lse else _torch_ops.attention
    if torch.compiler.is_compiling():
        return operator(q, k, v, **given)
    try:
        return operator(q, k, v, **given)
    except RuntimeError as error:
        _torch_ops.explain(error)
        raise


def compiled() -> bool:
    """Whether the operators have the kernel in C++, by `python3 -m heed.torch`."""
    return _torch_ops.compiled is not None


if __name__ == "__main__":
    from ._torch_build import main
    sys.exit(main(sys.argv[1:]))
