#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""NumPy and PyTorch as heed-bench --peer, for the operations beside attention, on the processor.

op_peer.py FORM WORKLOAD [--threads N]   every line on the input is one measurement, answered with
                                         the CPU and wall seconds of one call
op_peer.py --list WORKLOAD               the forms that do the work of it, one on a line
op_peer.py --check                       versions; exit 77 where there is neither, and why
WORKLOAD is one of heed-bench. A form is a library and how it is called: "torch:avg_pool1d". There
are several where a library has several ways; which one is the fastest, a measurement says. Every
form gets its arrays in the order of axes that is the best for it, made beforehand, and writes into
memory that is there already where the library can. The results are compared with each other before
the first answer: two forms that do not agree end the program.
"""

import os
import sys
import time

# The same kind of pages for all: NumPy asks for large ones itself, as heed-bench does.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

BURST = 20e-3       # seconds of calls in one measurement, at least
DEFAULTS = {"n": 65536, "h": 1, "d": 64, "b": 1, "kernel": 4, "page": 16, "block": 128,
            "buckets": 32, "count": 32, "queries": 64, "parts": 4}
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
        if numbers.get("hk", numbers["h"]) != numbers["h"]:
            skip("key heads that several heads share are not compared")
        if self.dtype != "f32":
            skip("only f32 is compared: the libraries sum 16-bit types in other ways")

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
    """Name: module, of what is installed; and why the others are not there."""
    found, missing = {}, []
    for name, module in (("numpy", "numpy"), ("torch", "torch")):
        try:
            found[name] = __import__(module)
        except ImportError as error:
            missing.append(f"{name}: {error}")
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


# ---- answering -----------------------------------------------------------------------------------

def make(found, name, load):
    library = name.partition(":")[0]
    modules = [found["numpy"]] if library == "numpy" else [found["torch"], found["numpy"]]
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
        results.append(np.asarray(result()).reshape(-1).astype(np.float64))
    return len(results[0]) == len(results[1]) \
        and np.isclose(*results, rtol=1e-4, atol=1e-5).mean() >= 0.999


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
        print(", ".join([f"{name} {module.__version__}" for name, module in found.items()] + missing))
        sys.exit(0 if found else 77)
    threads = int(sys.argv[sys.argv.index("--threads") + 1]) if "--threads" in sys.argv else 1
    if "torch" in found:
        found["torch"].set_num_threads(threads)
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
