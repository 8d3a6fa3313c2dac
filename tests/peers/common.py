# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Public attention modules beside heed, on the same projected queries, keys and values.

A module is run in binary32 while hooks record what its projections give; then a copy of it is run
in double, in which each projection is replaced by its record. So the second run is an evaluation of
the module's own attention on exactly the numbers that heed gets, and heed's error is held against a
bound that these numbers give.
"""

import contextlib
import copy
import json
import sys
import traceback

import heed
import numpy as np
import torch

import oracle

ITEMS, HEADS = 2, 3


def draw(*shape, seed=0, scale=1.0):
    made = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=made) * scale


def randomize(module, seed=1):
    """Weights that make scores of some size: the initial ones of public modules are small."""
    made = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in module.parameters():
            size = weight.shape[-1] if weight.ndim > 1 else 4
            weight.copy_(torch.randn(weight.shape, generator=made) * (1.4 / size ** 0.5))
    return module.eval()


class Replay(torch.nn.Module):
    """Gives what was recorded, call by call, in double."""

    def __init__(self, record):
        super().__init__()
        self.record = list(record)

    def forward(self, *_, **__):
        return self.record.pop(0).double()


@contextlib.contextmanager
def in_double():
    """Modules that fall back to binary32 for their softmax, or for new tensors, do not. Integers
    become binary32 as ever: buckets of distances are computed so."""
    softmax, floats = torch.nn.functional.softmax, torch.Tensor.float

    def wide(x, dim=None, _stacklevel=3, dtype=None):
        return softmax(x, dim=dim, dtype=torch.float64 if x.is_floating_point() else dtype)

    def widened(x):
        return x.double() if x.dtype in (torch.float64, torch.bool) else floats(x)

    torch.nn.functional.softmax, torch.Tensor.float = wide, widened
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.nn.functional.softmax, torch.Tensor.float = softmax, floats
        torch.set_default_dtype(torch.float32)


def both(module, names, call):
    """The module's result in binary32, in double, and the records of its projections by name.
    call(module, dtype) runs it."""
    records = {name: [] for name in names}
    hooks = [module.get_submodule(name).register_forward_hook(
        lambda _, __, out, name=name: records[name].append(out.detach().clone()))
        for name in names]
    with torch.no_grad():
        narrow = call(module, torch.float32)
        for hook in hooks:
            hook.remove()
        wide = copy.deepcopy(module).double()
        for name in names:
            parent, _, last = name.rpartition(".")
            setattr(wide.get_submodule(parent), last, Replay(records[name]))
        with in_double():
            exact = call(wide, torch.float64)
    return narrow, exact, records


def heads_of(x, items=ITEMS, heads=HEADS):
    """[B][n][H d] as [B][H][n][d], without copying."""
    return x.view(items, x.shape[1], heads, x.shape[2] // heads).transpose(1, 2)


class Report:
    """What the cases found; one line each, and at the end a line of JSON with the counts."""

    def __init__(self):
        self.lines, self.failed = [], 0

    def judge(self, name, got, exact, narrow, bound, rows=None):
        """heed's rows against the module's in double: [B][H][n][d] all; rows: [B][n] booleans of
        those that are compared."""
        got, exact, narrow = (np.asarray(x, "float64") for x in (got, exact, narrow))
        there = np.ones(exact.shape[:1] + exact.shape[2:3], bool) if rows is None \
            else np.asarray(rows, bool)
        there = np.broadcast_to(there[:, None], exact.shape[:3])
        mine = oracle.off_by(got[there], exact[there], bound[there])
        theirs = oracle.off_by(narrow[there], exact[there], bound[there])
        self.add(name, mine < 1, rows=int(there.sum()), elements=int(there.sum()) * got.shape[-1],
                 heed=mine, peer=theirs, largest=float(abs(got - exact)[there].max()))

    def add(self, name, good, **what):
        self.failed += not good
        self.lines.append({"case": name, "good": bool(good), **what})
        if "heed" in what:
            text = (f"{what['rows']:6} rows, {what['elements']:7} elements; error over bound: heed "
                    f"{what['heed']:.3f}, the module in binary32 {what['peer']:.3f}")
        else:
            text = what["said"]
        print(f"{'ok    ' if good else 'FAILED'} {name:44} {text}", flush=True)

    def disagree(self, name, as_documented, said):
        """A disagreement that docs/mechanisms.md states, shown to be that one."""
        self.add(name, as_documented, said="differs as documented: " + said)


def run(cases):
    """Runs functions that take a Report; the exit status."""
    report = Report()
    for case in cases:
        try:
            case(report)
        except Exception:
            report.add(getattr(case, "__name__", str(case)), False, said=traceback.format_exc())
    judged = [line for line in report.lines if "rows" in line]
    print(json.dumps({
        "cases": len(report.lines), "failed": report.failed,
        "rows": sum(line["rows"] for line in judged),
        "elements": sum(line["elements"] for line in judged),
        "worst": max((line["heed"] for line in judged), default=0),
        "library": heed.build_text().splitlines(),
    }))
    sys.exit(1 if report.failed or not report.lines else 0)


def bound_of(plan, biases=None, made=None):
    """The bound for each element of a plan's output, [B][H][n][d_v], by what its rows see.

    biases(b, h): what is added to scaled scores, and the magnitudes that went into it, each as
    often as it is rounded; made(b, h): by how many units k and v, of all sources, may be off.
    """
    desc, arrays = plan.desc.struct, plan.arrays
    q, o = arrays["q"], arrays["o"]
    scale = desc.scale if desc.flags & heed.ATTN_SCALE_GIVEN or desc.scale else None
    found = np.empty(o.shape)
    q = np.broadcast_to(wide_of(q), o.shape[:3] + q.shape[-1:])
    sets = [[wide_of(arrays[f"kv[{i}].{name}"]) for name in "kv"] for i in range(desc.n_sources)]
    for b in range(o.shape[0]):
        for h in range(o.shape[1]):
            seen = np.concatenate(heed.pairs(plan, batch=b, head=h), 1)
            k, v = (np.concatenate([pick(one[i], b, h, o.shape[1]) for one in sets])
                    for i in range(2))
            bias, size = biases(b, h) if biases else (None, None)
            found[b, h] = oracle.dense(q[b, h], k, v, seen, scale, bias, size,
                                       made and made(b, h))[1]
    return found


def wide_of(array):
    return array.numpy().astype("float64")


def pick(x, b, h, heads):
    """The rows of one item and query head."""
    return x[b if x.shape[0] > 1 else 0, h // (heads // x.shape[1])]
