#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""NumPy, PyTorch and ggml as heed-bench --peer, for the operations beside attention, on the processor.

op_peer.py FORM WORKLOAD [--threads N]   every line on the input is one measurement, answered with
                                         the CPU and wall seconds of one call
op_peer.py --list WORKLOAD               the forms that do the work of it, one on a line
op_peer.py --check                       versions; exit 77 where there is neither, and why
WORKLOAD is one of heed-bench, with all of its keys (scripts/bench-operations fills in those that
nobody said). HEED_GGML names the folder of a build of ggml's shared libraries, for the forms "ggml:".
ATEN_CPU_CAPABILITY, ONEDNN_MAX_CPU_ISA and MKL_ENABLE_INSTRUCTIONS keep PyTorch to an instruction set.
A form is a library and how it is called: "torch:avg_pool1d". There
are several where a library has several ways; which one is the fastest, a measurement says. Every
form gets its arrays in the order of axes that is the best for it, made beforehand, and writes into
memory that is there already where the library can. The results are compared with each other before
the first answer: two forms that do not agree end the program.
"""

import ctypes
import glob
import os
import sys
import time

# The same kind of pages for all: NumPy asks for large ones itself, as heed-bench does.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
THREADS = sys.argv[sys.argv.index("--threads") + 1] if "--threads" in sys.argv else "1"
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = THREADS

BURST = 20e-3       # seconds of calls in one measurement, at least
DEFAULTS = {"n": 65536, "h": 1, "d": 64, "b": 1, "kernel": 4, "page": 16, "block": 128,
            "buckets": 32, "count": 32, "queries": 64, "parts": 4, "residual": 1, "gated": 1}
# What is compared in bf16, too: the libraries round where heed does, or once more.
HALVES = ("norm", "rope", "act", "linear")
FORMS = {}


def form(name, *kinds):
    def add(make):
        for kind in kinds:
            FORMS.setdefault(kind, {})[name] = make
        return make
    return add


class Load:
    """A workload, with arrays of b*h items where heed has [b][h]."""

    def __init__(self, text):
        self.kind, _, keys = text.partition(":")
        given = dict(pair.split("=", 1) for pair in keys.split(",") if pair)
        self.dtype = given.pop("dtype", "f32")
        numbers = {**DEFAULTS, **{key: int(value) for key, value in given.items()}}
        self.n, self.d, self.items = numbers["n"], numbers["d"], numbers["b"] * numbers["h"]
        self.kernel, self.stride = numbers["kernel"], numbers.get("stride", numbers["kernel"])
        self.page, self.block, self.buckets = (numbers[k] for k in ("page", "block", "buckets"))
        self.count, self.queries, self.parts = (numbers[k] for k in ("count", "queries", "parts"))
        self.rows = numbers.get("rows", self.n)
        self.made = 0 if self.n < self.kernel else (self.n - self.kernel) // self.stride + 1
        self.blocks = -(-self.n // self.block)
        self.out, self.h, self.b = numbers.get("out", self.d), numbers["h"], numbers["b"]
        self.residual, self.gated = numbers["residual"], numbers["gated"]
        if numbers.get("hk", numbers["h"]) != numbers["h"]:
            skip("key heads that several heads share are not compared")
        if self.dtype != "f32" and not (self.dtype == "bf16" and
                                        self.kind.partition("-")[0] in HALVES):
            skip("only f32 is compared, and bf16 of PyTorch's layers: the libraries sum 16-bit "
                 "types in other ways")

    def need_whole_windows(self):
        if self.stride != self.kernel or self.n % self.kernel:
            raise NotImplementedError("wants windows side by side")

    def need_whole_blocks(self):
        if self.n % self.block:
            raise NotImplementedError("wants whole blocks")


def skip(why):
    print(why)
    sys.exit(77)


def libraries():
    """Name: module or object, of what is installed; and why the others are not there."""
    found, missing = {}, []
    for name, module in (("numpy", "numpy"), ("torch", "torch")):
        try:
            found[name] = __import__(module)
        except ImportError as error:
            missing.append(f"{name}: {error}")
    try:
        found["ggml"] = Ggml(os.environ["HEED_GGML"])
    except KeyError:
        missing.append("ggml: HEED_GGML names no folder")
    except (IndexError, OSError) as error:
        missing.append(f"ggml: {error}")
    return found, missing


def uniform(np, *shape):
    return (np.random.default_rng(sum(shape)).random(shape, dtype=np.float32) - 0.5) * 3.4641016


# ---- copy ----------------------------------------------------------------------------------------

@form("numpy:copyto", "copy")
def numpy_copy(np, load):
    x = uniform(np, load.items, load.n, load.d)
    y = np.empty_like(x)
    return lambda: np.copyto(y, x), lambda: y


@form("torch:copy_", "copy")
def torch_copy(torch, np, load):
    x = torch.from_numpy(uniform(np, load.items, load.n, load.d))
    y = torch.empty_like(x)
    return lambda: y.copy_(x), lambda: y


def order(np, count):
    return np.random.default_rng(7).permutation(count)


@form("numpy:take", "copy-gather")
def numpy_take(np, load):
    x, at = uniform(np, load.items, load.n, load.d), order(np, load.n)
    y = np.empty_like(x)
    # "clip" is the mode that needs no copy of `out`
    return lambda: np.take(x, at, axis=1, out=y, mode="clip"), lambda: y


@form("numpy:fancy", "copy-gather")
def numpy_fancy(np, load):
    x, at = uniform(np, load.items, load.n, load.d), order(np, load.n)
    return keeping(lambda: x[:, at])


@form("torch:index_select", "copy-gather")
def torch_index_select(torch, np, load):
    x = torch.from_numpy(uniform(np, load.items, load.n, load.d))
    at, y = torch.from_numpy(order(np, load.n)), torch.empty_like(x)
    return lambda: torch.index_select(x, 1, at, out=y), lambda: y


@form("torch:fancy", "copy-gather")
def torch_fancy(torch, np, load):
    x = torch.from_numpy(uniform(np, load.items, load.n, load.d))
    at = torch.from_numpy(order(np, load.n))
    return keeping(lambda: x[:, at])


@form("numpy:fancy", "copy-scatter")
def numpy_scatter(np, load):
    x, at = uniform(np, load.items, load.n, load.d), order(np, load.n)
    y = np.empty_like(x)

    def call():
        y[:, at] = x
    return call, lambda: y


@form("torch:index_copy_", "copy-scatter")
def torch_index_copy(torch, np, load):
    x = torch.from_numpy(uniform(np, load.items, load.n, load.d))
    at, y = torch.from_numpy(order(np, load.n)), torch.empty_like(x)
    return lambda: y.index_copy_(1, at, x), lambda: y


def keeping(call):
    """A call that makes its result itself."""
    kept = [None]

    def keep():
        kept[0] = call()
    return keep, lambda: kept[0]


# ---- pool ----------------------------------------------------------------------------------------

def side_by_side(x, load):
    load.need_whole_windows()
    return x.reshape(load.items, load.made, load.kernel, load.d)


@form("numpy:reduce", "pool-sum", "pool-mean", "pool-max")
def numpy_reduce(np, load):
    x = side_by_side(uniform(np, load.items, load.n, load.d), load)
    y = np.empty((load.items, load.made, load.d), np.float32)
    reduce = {"pool-sum": np.add, "pool-mean": np.add, "pool-max": np.maximum}[load.kind].reduce
    if load.kind != "pool-mean":
        return lambda: reduce(x, axis=2, out=y), lambda: y
    return lambda: np.mean(x, axis=2, out=y), lambda: y


@form("numpy:slices", "pool-sum", "pool-mean", "pool-max")
def numpy_slices(np, load):
    x = uniform(np, load.items, load.n, load.d)
    y = np.empty((load.items, load.made, load.d), np.float32)
    join = np.maximum if load.kind == "pool-max" else np.add
    last = (load.made - 1) * load.stride + 1
    taps = [x[:, tap:tap + last:load.stride] for tap in range(load.kernel)]

    def call():
        np.copyto(y, taps[0])
        for tap in taps[1:]:
            join(y, tap, out=y)
        if load.kind == "pool-mean":
            np.multiply(y, np.float32(1 / load.kernel), out=y)
    return call, lambda: y


@form("torch:reduce", "pool-sum", "pool-mean", "pool-max")
def torch_reduce(torch, np, load):
    x = side_by_side(torch.from_numpy(uniform(np, load.items, load.n, load.d)), load)
    y = torch.empty(load.items, load.made, load.d)
    reduce = {"pool-sum": torch.sum, "pool-mean": torch.mean, "pool-max": torch.amax}[load.kind]
    return lambda: reduce(x, dim=2, out=y), lambda: y


def torch_pool1d(torch, np, load, rows_last):
    """Channels first, as torch lays them; or our rows, which torch then sees with other strides."""
    x = torch.from_numpy(uniform(np, load.items, load.n, load.d)).transpose(1, 2)
    x = x.contiguous() if rows_last else x
    call = getattr(torch.nn.functional, "max_pool1d" if load.kind == "pool-max" else "avg_pool1d")
    run, result = keeping(lambda: call(x, load.kernel, load.stride))
    return run, lambda: result().transpose(1, 2)


@form("torch:pool1d", "pool-mean", "pool-max")
def torch_pool1d_own(torch, np, load):
    return torch_pool1d(torch, np, load, True)


@form("torch:pool1d-rows", "pool-mean", "pool-max")
def torch_pool1d_rows(torch, np, load):
    return torch_pool1d(torch, np, load, False)


def softmax(np, w):
    e = np.exp(w - w.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def pool_weights(np, load):
    """One for each tap of each row: [items][rows][kernel]."""
    if load.kind == "pool-dynamic":
        return uniform(np, load.items, load.made, load.kernel)
    load.need_whole_windows()
    return uniform(np, load.items, load.n).reshape(load.items, load.made, load.kernel)


def numpy_windows(np, load):
    x = uniform(np, load.items, load.n, load.d)
    if load.stride == load.kernel and load.n % load.kernel == 0:
        return side_by_side(x, load)
    windows = np.lib.stride_tricks.sliding_window_view(x, load.kernel, axis=1)
    return windows[:, ::load.stride].swapaxes(2, 3)


@form("numpy:matmul", "pool-linear", "pool-weighted", "pool-dynamic")
def numpy_weighted(np, load):
    x, w = numpy_windows(np, load), pool_weights(np, load)
    y = np.empty((load.items, load.made, 1, load.d), np.float32)
    soft = load.kind != "pool-linear"

    def call():
        p = softmax(np, w) if soft else w
        np.matmul(p[:, :, None, :], x, out=y)
    return call, lambda: y[:, :, 0]


@form("numpy:einsum", "pool-linear", "pool-weighted", "pool-dynamic")
def numpy_einsum(np, load):
    x, w = numpy_windows(np, load), pool_weights(np, load)
    y = np.empty((load.items, load.made, load.d), np.float32)
    soft = load.kind != "pool-linear"

    def call():
        np.einsum("imk,imkd->imd", softmax(np, w) if soft else w, x, out=y)
    return call, lambda: y


def torch_windows(torch, np, load):
    x = torch.from_numpy(uniform(np, load.items, load.n, load.d))
    return x.unfold(1, load.kernel, load.stride).transpose(2, 3)


@form("torch:bmm", "pool-linear", "pool-weighted", "pool-dynamic")
def torch_weighted(torch, np, load):
    x = torch_windows(torch, np, load).reshape(-1, load.kernel, load.d)
    w = torch.from_numpy(pool_weights(np, load)).reshape(-1, 1, load.kernel)
    y = torch.empty(len(x), 1, load.d)
    soft = load.kind != "pool-linear"

    def call():
        torch.bmm(torch.softmax(w, -1) if soft else w, x, out=y)
    return call, lambda: y.reshape(load.items, load.made, load.d)


@form("torch:mul-sum", "pool-linear", "pool-weighted", "pool-dynamic")
def torch_mul_sum(torch, np, load):
    x = torch_windows(torch, np, load)
    w = torch.from_numpy(pool_weights(np, load))
    soft = load.kind != "pool-linear"

    def call():
        p = torch.softmax(w, -1) if soft else w
        return (p[..., None] * x).sum(2)
    return keeping(call)


def bucket_places(np, load):
    """Where each token's row is added: block * buckets + id."""
    ids = np.random.default_rng(3).integers(0, load.buckets, (load.items, load.n))
    items = np.arange(load.items)[:, None] * load.blocks
    return ((items + np.arange(load.n) // load.block) * load.buckets + ids).reshape(-1)


@form("torch:index_add_", "pool-bucket")
def torch_bucket(torch, np, load):
    at, rows = torch.from_numpy(bucket_places(np, load)), load.items * load.blocks * load.buckets
    x = torch.from_numpy(uniform(np, load.items, load.n, load.d)).reshape(-1, load.d)
    y = torch.empty(rows, load.d)

    def call():
        y.zero_().index_add_(0, at, x)
        y.div_(torch.bincount(at, minlength=rows).clamp_(min=1)[:, None])
    return call, lambda: y


@form("numpy:sort-reduceat", "pool-bucket")
def numpy_bucket(np, load):
    at, rows = bucket_places(np, load), load.items * load.blocks * load.buckets
    x = uniform(np, load.items, load.n, load.d).reshape(-1, load.d)
    y = np.empty((rows, load.d), np.float32)

    def call():
        by_place = np.argsort(at, kind="stable")
        counts = np.bincount(at, minlength=rows)
        there = np.flatnonzero(counts)
        y.fill(0)
        y[there] = np.add.reduceat(x[by_place], (np.cumsum(counts) - counts)[there], axis=0)
        np.divide(y, np.maximum(counts, 1)[:, None].astype(np.float32), out=y)
    return call, lambda: y


# ---- select --------------------------------------------------------------------------------------

@form("numpy:argpartition", "select-norm")
def numpy_norm(np, load):
    load.need_whole_blocks()
    x = uniform(np, load.items, load.n, load.d)

    def call():
        norms = np.einsum("ind,ind->in", x, x).reshape(-1, load.block)
        best = np.argpartition(norms, load.block - load.count, axis=1)[:, -load.count:]
        best.sort(axis=1)
        return best
    return keeping(call)


@form("torch:topk", "select-norm")
def torch_norm(torch, np, load):
    load.need_whole_blocks()
    x = torch.from_numpy(uniform(np, load.items, load.n, load.d))

    def call():
        norms = torch.linalg.vecdot(x, x).reshape(-1, load.block)
        return norms.topk(load.count, sorted=False).indices.sort().values
    return keeping(call)


@form("numpy:argpartition", "select-topk")
def numpy_topk(np, load):
    x, q = uniform(np, load.items, load.n, load.d), uniform(np, load.items, load.queries, load.d)

    def call():
        scores = q @ x.swapaxes(1, 2)
        best = np.argpartition(scores, load.n - load.count, axis=2)[:, :, -load.count:]
        best.sort(axis=2)
        return best
    return keeping(call)


@form("torch:topk", "select-topk")
def torch_topk(torch, np, load):
    x = torch.from_numpy(uniform(np, load.items, load.n, load.d))
    q = torch.from_numpy(uniform(np, load.items, load.queries, load.d))

    def call():
        return torch.bmm(q, x.mT).topk(load.count, sorted=False).indices.sort().values
    return keeping(call)


# ---- push and merge ------------------------------------------------------------------------------

class Ring:
    """A full memory of C rows, as a ring; L new rows replace the oldest, which go to out."""

    def __init__(self, load, make):
        if load.n > load.rows:
            raise NotImplementedError("wants a memory of at least as many rows as come in")
        self.rows, self.x = make(load.items, load.rows, load.d), make(load.items, load.n, load.d)
        self.out, self.head, self.load = make(load.items, load.n, load.d), 0, load

    def push(self, copy):
        load, done = self.load, 0
        while done < load.n:
            some = min(load.n - done, load.rows - self.head)
            here, part = slice(self.head, self.head + some), slice(done, done + some)
            copy(self.out[:, part], self.rows[:, here])
            copy(self.rows[:, here], self.x[:, part])
            self.head, done = (self.head + some) % load.rows, done + some


@form("numpy:copyto", "push")
def numpy_push(np, load):
    ring = Ring(load, lambda *shape: uniform(np, *shape))
    return lambda: ring.push(np.copyto), lambda: ring.out


@form("torch:copy_", "push")
def torch_push(torch, np, load):
    ring = Ring(load, lambda *shape: torch.from_numpy(uniform(np, *shape)))
    return lambda: ring.push(lambda to, x: to.copy_(x)), lambda: ring.out


@form("numpy:einsum", "merge")
def numpy_merge(np, load):
    parts = uniform(np, load.parts, load.items * load.n, load.d)
    lse = uniform(np, load.parts, load.items * load.n)
    y = np.empty((load.items * load.n, load.d), np.float32)

    def call():
        most = lse.max(axis=0)
        e = np.exp(lse - most)
        total = e.sum(axis=0)
        np.einsum("pn,pnd->nd", e / total, parts, out=y)
        return most + np.log(total)
    run, _ = keeping(call)
    return run, lambda: y


@form("torch:mul-add", "merge")
def torch_merge(torch, np, load):
    parts = torch.from_numpy(uniform(np, load.parts, load.items * load.n, load.d))
    lse = torch.from_numpy(uniform(np, load.parts, load.items * load.n))
    y = torch.empty(load.items * load.n, load.d)

    def call():
        weights = torch.softmax(lse, 0)
        torch.mul(parts[0], weights[0, :, None], out=y)
        for part in range(1, load.parts):
            y.addcmul_(parts[part], weights[part, :, None])
        return torch.logsumexp(lse, 0)
    run, _ = keeping(call)
    return run, lambda: y


# ---- norms, activations, rotary positions, linear maps -------------------------------------------

def torch_array(torch, np, load, *shape):
    """Of the workload's type."""
    x = torch.from_numpy(uniform(np, *shape))
    return x.bfloat16() if load.dtype == "bf16" else x


@form("torch:norm", "norm-layer", "norm-rms")
def torch_norm_rows(torch, np, load):
    x = torch_array(torch, np, load, load.items * load.n, load.d)
    weight, of = torch_array(torch, np, load, load.d), (load.d,)
    residual, total = torch_array(torch, np, load, 1, *x.shape)[0], torch.empty_like(x)
    layer = load.kind == "norm-layer"

    def norm(x):
        return torch.layer_norm(x, of, weight, None, 1e-5) if layer \
            else torch.rms_norm(x, of, weight, 1e-5)
    return keeping((lambda: norm(torch.add(x, residual, out=total))) if load.residual
                   else lambda: norm(x))


@form("torch:norm-steps", "norm-rms")
def torch_norm_steps(torch, np, load):
    """As models write it out."""
    x = torch_array(torch, np, load, load.items * load.n, load.d)
    weight = torch_array(torch, np, load, load.d)
    residual = torch_array(torch, np, load, 1, *x.shape)[0]

    def call():
        y = x + residual if load.residual else x
        wide = y.float()
        wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)
        return weight * wide.to(x.dtype)
    return keeping(call)


@form("torch:out", "act-gelu", "act-silu")
def torch_act(torch, np, load):
    x = torch_array(torch, np, load, load.items * load.n, load.d)
    factor, y = torch_array(torch, np, load, 1, *x.shape)[0], torch.empty_like(x)
    function = torch.ops.aten.gelu.out if load.kind == "act-gelu" else torch.ops.aten.silu.out

    def call():
        function(x, out=y)
        if load.gated:
            y.mul_(factor)
    return call, lambda: y


@form("torch:function", "act-gelu", "act-silu")
def torch_act_new(torch, np, load):
    x = torch_array(torch, np, load, load.items * load.n, load.d)
    factor = torch_array(torch, np, load, 1, *x.shape)[0]
    function = torch.nn.functional.gelu if load.kind == "act-gelu" else torch.nn.functional.silu
    return keeping((lambda: function(x) * factor) if load.gated else lambda: function(x))


def rope_arrays(torch, np, load):
    """x [items][n][d], and the tables [n][d / 2]: rows are (cos, sin) of a random angle."""
    angles = uniform(np, load.n, load.d // 2) * np.float32(4)
    tables = [torch.from_numpy(f(angles)) for f in (np.cos, np.sin)]
    x = torch_array(torch, np, load, load.items, load.n, load.d)
    return x, [t.bfloat16() if load.dtype == "bf16" else t for t in tables]


@form("torch:rotate-half", "rope-halves")
def torch_rotate_half(torch, np, load):
    """As transformers has it: tables of d channels."""
    x, tables = rope_arrays(torch, np, load)
    cos, sin = (torch.cat((t, t), -1) for t in tables)
    half = load.d // 2

    def call():
        return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin
    return keeping(call)


@form("torch:complex", "rope-adjacent")
def torch_complex(torch, np, load):
    x, (cos, sin) = rope_arrays(torch, np, load)
    turn = torch.complex(cos.float(), sin.float())

    def call():
        pairs = torch.view_as_complex(x.float().reshape(load.items, load.n, -1, 2))
        return torch.view_as_real(pairs * turn).flatten(-2).to(x.dtype)
    return keeping(call)


@form("torch:in-place", "rope-halves", "rope-adjacent")
def torch_turn(torch, np, load):
    """With nothing but products, written where they belong."""
    x, (cos, sin) = rope_arrays(torch, np, load)
    y, half = torch.empty_like(x), load.d // 2
    halves = load.kind == "rope-halves"
    (a, b), (to_a, to_b) = ((z[..., :half], z[..., half:]) if halves
                            else (z[..., ::2], z[..., 1::2]) for z in (x, y))

    def call():
        torch.mul(a, cos, out=to_a).addcmul_(b, sin, value=-1)
        torch.mul(b, cos, out=to_b).addcmul_(a, sin)
    return call, lambda: y


def linear_arrays(torch, np, load):
    return (torch_array(torch, np, load, load.items * load.n, load.d),
            torch_array(torch, np, load, load.out, load.d), torch_array(torch, np, load, load.out))


@form("torch:linear", "linear-1024", "linear-decode")
def torch_linear(torch, np, load):
    x, w, bias = linear_arrays(torch, np, load)
    return keeping(lambda: torch.nn.functional.linear(x, w, bias))


@form("torch:addmm", "linear-1024", "linear-decode")
def torch_addmm(torch, np, load):
    x, w, bias = linear_arrays(torch, np, load)
    y = torch.empty(len(x), load.out, dtype=x.dtype)
    return lambda: torch.addmm(bias, x, w.T, out=y), lambda: y


@form("torch:packed", "linear-1024", "linear-decode")
def torch_packed(torch, np, load):
    """oneDNN's weights, in the order that it likes."""
    x, w, bias = linear_arrays(torch, np, load)
    try:
        packed = torch.ops.mkldnn._reorder_linear_weight(w, len(x))
    except RuntimeError as error: # not on every instruction set
        raise NotImplementedError(str(error)) from error
    return keeping(lambda: torch.ops.mkldnn._linear_pointwise(x, packed, bias, "none", [], ""))


@form("numpy:matmul", "linear-1024", "linear-decode")
def numpy_linear(np, load):
    if load.dtype != "f32":
        raise NotImplementedError("has no halves")
    x, w = uniform(np, load.items * load.n, load.d), uniform(np, load.out, load.d)
    bias, y = uniform(np, load.out), np.empty((len(x), load.out), np.float32)

    def call():
        np.matmul(x, w.T, out=y)
        np.add(y, bias, out=y)
    return call, lambda: y


# ---- recurrent memories --------------------------------------------------------------------------

def recur_arrays(np, load):
    """q, k, v [items][n][d], the factors [items][n], and the state [items][d][d], of the sizes that
    heed-bench has, but for factors, which are never negative here."""
    q, k, v = (uniform(np, one, load.items, load.n, load.d)[one - 1] for one in (1, 2, 3))
    decay, beta = (np.abs(uniform(np, one, load.items, load.n)[one - 1]) * np.float32(0.5)
                   for one in (4, 5))
    return q, k * np.float32(0.08), v, decay, beta, uniform(np, load.items, load.d, load.d)


@form("torch:loop", "recur-linear", "recur-delta")
def torch_recur(torch, np, load):
    """A token at a time, the state [d_k][d_v] in place: what transformers falls back to."""
    q, k, v, decay, beta, start = map(torch.from_numpy, recur_arrays(np, load))
    state, o = torch.empty_like(start), torch.empty_like(v)
    delta = load.kind == "recur-delta"

    def call():
        state.copy_(start)
        for t in range(load.n):
            state.mul_(decay[:, t, None, None])
            u, column = v[:, t, None], k[:, t, :, None]
            if delta:
                u = (u - torch.bmm(column.mT, state)) * beta[:, t, None, None]
            state.baddbmm_(column, u)
            torch.bmm(q[:, t, None], state, out=o[:, t, None])
    return call, lambda: o


@form("torch:loop-sums", "recur-linear", "recur-delta")
def torch_recur_sums(torch, np, load):
    """As transformers writes it out: products and sums of whole states."""
    q, k, v, decay, beta, start = map(torch.from_numpy, recur_arrays(np, load))
    o, delta = torch.empty_like(v), load.kind == "recur-delta"

    def call():
        state = start
        for t in range(load.n):
            state = state * decay[:, t, None, None]
            u, column = v[:, t], k[:, t, :, None]
            if delta:
                u = (u - (state * column).sum(1)) * beta[:, t, None]
            state = state + column * u[:, None]
            o[:, t] = (state * q[:, t, :, None]).sum(1)
    return call, lambda: o


class Ggml:
    """ggml's operators by its C interface; tensors are named from the last axis to the first."""

    def __init__(self, folder):
        names = ("libggml-base.so", "libggml-cpu.so")
        paths = [glob.glob(f"{folder}/**/{name}", recursive=True)[0] for name in names]
        self.base, self.cpu = (ctypes.CDLL(path, ctypes.RTLD_GLOBAL) for path in paths)
        self.call(self.cpu, "ggml_cpu_init", result=None)

    def call(self, library, name, *arguments, result=ctypes.c_void_p):
        function = getattr(library, name)
        function.restype = result
        return function(*arguments)

    def context(self, bytes_):
        class Parameters(ctypes.Structure):
            _fields_ = [("size", ctypes.c_size_t), ("buffer", ctypes.c_void_p),
                        ("no_alloc", ctypes.c_bool)]
        return ctypes.c_void_p(self.call(self.base, "ggml_init", Parameters(bytes_, None, False)))

    def tensor(self, context, array):
        shape = (ctypes.c_int64 * 4)(*reversed((1,) * (4 - array.ndim) + array.shape))
        of = ctypes.c_void_p(self.call(self.base, "ggml_new_tensor", context, 0, 4, shape))
        ctypes.memmove(self.call(self.base, "ggml_get_data", of), array.ctypes.data, array.nbytes)
        return of

    def data(self, np, of, shape):
        at = self.call(self.base, "ggml_get_data_f32", of, result=ctypes.POINTER(ctypes.c_float))
        return np.ctypeslib.as_array(at, shape)

    def graph(self, context, end):
        graph = ctypes.c_void_p(self.call(self.base, "ggml_new_graph", context))
        self.call(self.base, "ggml_build_forward_expand", graph, end, result=None)
        return lambda: self.call(self.cpu, "ggml_graph_compute_with_ctx", context, graph, 1,
                                 result=ctypes.c_int)


def ggml_rows(ggml, np, context, x):
    """[items][n][d] as ggml has it: [n][items][d]."""
    return ggml.tensor(context, np.ascontiguousarray(x.swapaxes(0, 1)))


def ggml_recur(ggml, np, load, name, arrays, number):
    """The graph of one operator of `name`, whose result begins with the answers [n][items][d]."""
    context = ggml.context(sum(x.nbytes for x in arrays) + 8 * load.items * load.d *
                           (load.n + load.d) + (64 << 20))
    rows = [ggml_rows(ggml, np, context, x) for x in arrays[:-1]]
    state = ggml.tensor(context, arrays[-1])
    end = ctypes.c_void_p(ggml.call(ggml.base, name, context, *rows, state, number))
    shape = (load.n, load.items, load.d)
    return (ggml.graph(context, end),
            lambda: ggml.data(np, end, shape).swapaxes(0, 1).copy())


@form("ggml:gated-linear-attn", "recur-linear")
def ggml_linear_attention(ggml, np, load):
    """A factor for each channel of k is what it has."""
    q, k, v, decay, _, start = recur_arrays(np, load)
    factors = np.broadcast_to(decay[..., None], k.shape)
    return ggml_recur(ggml, np, load, "ggml_gated_linear_attn",
                      [k, v, q, factors, start.reshape(1, -1)], ctypes.c_float(1))


@form("ggml:gated-delta-net", "recur-delta")
def ggml_delta(ggml, np, load):
    """Decays come as logarithms; it divides by sqrt(d), and its state is transposed."""
    q, k, v, decay, beta, start = recur_arrays(np, load)
    arrays = [q * np.float32(load.d ** 0.5), k, v, np.log(decay)[..., None], beta[..., None],
              np.ascontiguousarray(start.swapaxes(1, 2))]
    return ggml_recur(ggml, np, load, "ggml_gated_delta_net", arrays, ctypes.c_int64(1))


# ---- answering -----------------------------------------------------------------------------------

def make(found, name, load):
    library = name.partition(":")[0]
    modules = [found["numpy"]] if library == "numpy" else [found[library], found["numpy"]]
    return FORMS[load.kind][name](*modules, load)


def usable(found, load):
    """The forms of a workload whose library is there and which can do it."""
    names = []
    for name in FORMS.get(load.kind, {}):
        if name.partition(":")[0] in found and "numpy" in found:
            try:
                make(found, name, load)
                names.append(name)
            except NotImplementedError:
                pass
    return names


def agree(found, name, load):
    """Whether this form's results are those of the first form: but for the rounding, which may also
    choose another of two rows that are nearly alike."""
    np, results = found["numpy"], []
    for one in (name, usable(found, load)[0]):
        call, result = make(found, one, load)
        call()
        out = result()
        out = out.float() if load.dtype == "bf16" else out
        results.append(np.asarray(out).reshape(-1).astype(np.float64))
    near = 1e-5 * max(1.0, np.abs(results[1]).max()) # of long sums, which cancel
    rough = 1 if load.dtype == "f32" else 200
    return len(results[0]) == len(results[1]) \
        and np.isclose(*results, rtol=1e-4 * rough, atol=near * rough).mean() >= 0.999


def seconds(call, calls):
    """CPU and wall time of one of them."""
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(calls):
        call()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return max(cpu, 1e-9) / calls, wall / calls


def answer(call):
    """As heed-bench measures itself: as many calls as fill the burst by the shortest of a few, after
    a quarter as many that warm up, because caches need about three to hold the arrays again."""
    calls = 0
    for _ in sys.stdin:
        if calls == 0:
            shortest = min(seconds(call, 1)[1] for _ in range(5))
            calls = int(BURST / shortest) + 1
        if calls > 1:
            seconds(call, calls // 4 + 1)
        print(*seconds(call, calls), flush=True)


def main():
    found, missing = libraries()
    if "--check" in sys.argv:
        print(", ".join([f"{name} {getattr(module, '__version__', 'there')}" for name, module in found.items()] + missing))
        sys.exit(0 if found else 77)
    if "torch" in found:
        found["torch"].set_num_threads(int(THREADS))
        found["torch"].set_grad_enabled(False)
    if sys.argv[1] == "--list":
        print("\n".join(usable(found, Load(sys.argv[2]))))
        return
    name, text = sys.argv[1:3]
    if name.partition(":")[0] not in found or "numpy" not in found:
        skip("; ".join(missing))
    load = Load(text)
    if not agree(found, name, load):
        sys.exit(f"op_peer: {name} has another result than {usable(found, load)[0]}")
    call, _ = make(found, name, load)
    call()
    answer(call)


if __name__ == "__main__":
    main()
