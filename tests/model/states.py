#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""States, logits and generated ids of random checkpoints against the oracle of oracle.py.

states.py HEED-MODEL [--all [SEEDS]]: one small checkpoint of each variant of a family; --all: 20 seeds,
all types of files, shards, texts shorter than windows and blocks, and weights that heed converts.
Ids must be equal where the oracle's search was decided: where each choice fell between scores that
are further apart than both may be off. Planted faults must be found in every variant.
"""

import shutil
import sys

import running
import numpy
import checkpoints
import oracle
import quantise
import tape

SEARCHES = [{"beams": 1, "max_length": 12},
            {"beams": 4, "max_length": 12, "length_penalty": 2.0, "no_repeat": 3,
             "min_length": 5}]
MORE = [{"beams": 5, "max_length": 24, "no_repeat": 2, "stopping": True},
        {"beams": 3, "max_length": 16, "stopping": "never", "length_penalty": 0.5},
        {"beams": 2, "max_length": 16, "stopping": "never", "length_penalty": -1.0,
         "min_length": 4},
        {"beams": 5, "max_length": 20, "stopping": False, "length_penalty": 1.0}]


# ---- was a search decided? ----

def score_bound(model, states_of, h):
    """How far a score may be off: the sum of the logarithms of its tokens."""
    t = tape.Tape()
    o = states_of.options
    x = model.decode(t, model.encode(t, states_of.ids), list(h.ids[:-1]))
    seed = numpy.zeros((1,) + x.value.shape)
    forced = {1: o["forced_bos"], o["max_length"] - 1: o["forced_eos"]}
    rows = range(len(h.ids) - 1) if o["beams"] > 1 else [len(h.ids) - 2]
    for i in rows:
        if forced.get(i + 1) is not None:
            continue
        seed[0, i, h.ids[i + 1]] += 1 / h.size
        if o["beams"] > 1:
            seed[0, i] -= numpy.exp(oracle.log_softmax(x.value[i])) / h.size
    # Logarithms and sums are rounded to binary32 as they are added.
    return t.back(x, seed)[0] + 2 * len(rows) * tape.U * abs(h.score)


def undecided(search):
    """The first choice that errors may turn, or None."""
    known = {}
    for better, worse in search.choices:
        for h in (better, worse):
            key = (h.ids, h.score, h.size)
            if key not in known:
                known[key] = score_bound(search.model, search, h)
        off = sum(known[h.ids, h.score, h.size] for h in (better, worse))
        if better.score - worse.score <= off:
            return f"{better} and {worse} are {better.score - worse.score:.3g} apart, {off:.3g} off"
    return None


# ---- faults ----

def changed(model, settings=None, tensors=None, attention=None):
    """The model with other settings, tensors (None: without it) or attention."""
    new = dict(model.tensors)
    for name, value in (tensors or {}).items():
        if value is None:
            new.pop(name, None)
        else:
            new[name] = value
    return oracle.Model(model.settings | (settings or {}), new, attention or model.attention)


def faults_of(model):
    """Faults that a program might have, planted in the oracle: name and model."""
    s, tensors = model.settings, model.tensors
    faults = {}
    if "window" in s:
        wider = [w + 2 for w in s["window"]]
        faults |= {"a window of one more on each side": {"settings": {"window": wider}},
                   "windows of layers exchanged": {"settings": {"window": s["window"][::-1]}},
                   "two global tokens": {"attention": ("longformer", 0, 2)},
                   "no projections of global tokens": {"tensors": {
                       n: None for n in tensors if "_global." in n}}}
    if s["family"] == "longt5":
        faults["a radius of one more"] = {"settings": {"radius": s["radius"] + 1}}
    if s["attention"] == "transient-global":
        faults["blocks of one more"] = {"settings": {"side_block": s["side_block"] + 1}}
    for stack in ("encoder", "decoder"):
        for part in ("positions", "table", "side_table", "places"):
            name = f"{stack}.{part}.weight"
            if name in tensors:
                faults[f"{part} of the {stack} off by one"] = {"tensors": {
                    name: numpy.roll(tensors[name], 1, 0)}}
    if s["family"] in checkpoints.COMPUTED:
        faults["computed positions off by one"] = {"tensors": {
            "encoder.positions.weight": sinusoids(s, 1)}}
    if s["family"] == "pegasus_x":
        faults |= {"blocks of one more": {"settings": {"block": s["block"] + 1}},
                   "layers that are not staggered": {"settings": {"stagger": False}},
                   "one global row less": {"settings": {"globals": s["globals"] - 1}, "tensors": {
                       "encoder.globals.weight": tensors["encoder.globals.weight"][:-1]}}}
    if s.get("lsg"):
        more = {"sparsity": "none"}, {"factor": s["factor"] // 2}, {"block": 2 * s["block"]}, {
            "globals": s["globals"] + (1 if s["globals"] == 1 else -1)}, {"shown": False} if \
            s.get("shown") else {"pooled": False}
        faults |= {f"LSG with {change}": {"settings": change} for change in more}
    if s.get("sparse") == "block_sparse":
        faults |= {"blocks of one more": {"settings": {"block": s["block"] + 1}},
                   "no random blocks": {"settings": {"random_blocks": 0}},
                   "full attention": {"attention": ("full",)}}
    if s.get("relative"):
        faults |= {"queries alone meet distances": {"settings": {"kinds": "c2p"}},
                   "keys alone meet distances": {"settings": {"kinds": "p2c"}}}
        if s["position_buckets"] > 0:
            faults["distances that end later"] = {"settings": {"reach": 2 * s["reach"]}}
    if s["family"] in oracle.RMS:
        faults["distances that end early"] = {"settings": {"far": s["far"] // 2}}
    if s["family"] in oracle.RMS and s["tied"]:
        faults["tied logits that are not scaled"] = {"settings": {"tied": False}, "tensors": {
            "head.weight": tensors["encoder.tokens.weight"]}}
    if s["eps"] > 1e-3 or abs(tensors["encoder.tokens.weight"]).max() < 0.1:
        faults["eps ten times as large"] = {"settings": {"eps": 10 * max(s["eps"], 1e-6)}}
    other = {"gelu": "gelu_new", "gelu_new": "gelu", "relu": "silu", "gated-gelu": "gated-silu",
             "gated-silu": "gated-gelu"}
    faults["another activation"] = {"settings": {"act": other[s["act"]]}}
    faults["one head"] = {"settings": {"heads": 1, "decoder_heads": 1}}
    if s["family"] in oracle.RMS:
        faults.pop("one head")          # its tables have a column for each
    elif s["family"] not in checkpoints.ENCODERS + ("bart",):
        faults["tokens of another scale"] = {"settings": {"scaled": not s["scaled"]}}
    for name in ("encoder.final.weight", "decoder.final.weight", "encoder.first.weight",
                 "head.bias", "encoder.1.q.bias", "encoder.types.weight"):
        if name in tensors:
            faults["no " + name] = {"tensors": {name: None}}
    return {name: changed(model, **fault) for name, fault in faults.items()}


def sinusoids(s, first):
    """Computed positions, from another one on."""
    return oracle.Model(s, {}).positions("encoder", 64 + first)[0][first:]


# ---- the test ----

class Judge:
    """What was compared, and what was wrong."""

    def __init__(self, program):
        self.program, self.failures = program, 0
        self.numbers, self.worst, self.searches, self.open, self.faults = 0, 0.0, 0, 0, 0
        self.ends = 0

    def fail(self, text):
        self.failures += 1
        print(text)

    def compare(self, what, got, want, bound):
        """Every number within its bound."""
        ratio = abs(got.astype("f8") - want) / bound
        at = numpy.unravel_index(numpy.argmax(numpy.where(ratio >= 0, ratio, numpy.inf)),
                                 ratio.shape)
        self.numbers += got.size
        self.worst = max(self.worst, ratio[at])
        if not ratio[at] <= 1:
            self.fail(f"{what}: {at}: wanted {want[at]:.9g} got {got[at]:.9g}, "
                      f"error/bound {ratio[at]:.3g}")

    def search(self, what, folder, model, ids, options, *words):
        """Ids of one search."""
        got = self.program.generate(folder, ids, options, *words)
        search = oracle.Search(model, ids, options)
        want = search.run()
        self.searches += 1
        if got != want:
            reason = undecided(search)
            if reason is None:
                self.fail(f"{what}: {options}: wanted {want} got {got}")
            else:
                self.open += 1
                print(f"{what}: not decided: {reason}")

    def later(self, what, folder, model, ids, words):
        """An end that min_length just forbids."""
        greedy = {"beams": 1, "max_length": 12}
        natural = oracle.Search(model, ids, greedy).run()
        if natural[-1] == model.settings["eos"] and len(natural) < 12:
            self.ends += 1
            self.search(what, folder, model, ids, greedy | {"min_length": len(natural)}, *words)

    def looks(self, what, folder, model, ids, options, words):
        """What a generated sequence looked at. Rows are of the ids before, and the first one is 0."""
        got = self.program.looks(folder, ids, options, *words)
        generated = self.program.generate(folder, ids, options, *words)
        if len(got) != len(generated) or got[0].any():
            self.fail(f"{what}: {len(got)} rows of {len(generated)} ids, the first {got[0]}")
        want, bound = model.looks(ids, generated[:-1])
        self.compare(f"{what}: looks", got[1:], want, bound)
        if (abs(numpy.roll(got[1:], 1, 1) - want) <= bound).all() and len(ids) > 1:
            self.fail(f"{what}: looks at other tokens are not told apart")

    def checkpoint(self, what, folder, ids, following, searches, options=(), attention=None,
                   quantised=None, faults=True):
        """All of one checkpoint and one text."""
        settings, tensors = checkpoints.read(folder)
        if quantised:
            tensors = quantise.weights(tensors, quantised)
        model = oracle.Model(settings, tensors, attention)
        # Logits depend on all states: with a decoder every third is enough.
        rows = slice(0, None, 1 if settings["family"] in checkpoints.ENCODERS else 3)
        want, bound = model.states(ids, rows)
        got = self.program.states(folder, ids, *options)[rows]
        self.compare(f"{what}: states", got, want, bound)
        logits = None
        if settings["family"] not in checkpoints.ENCODERS:
            following = [settings["start"], *following]
            more, more_bound = model.logits(ids, following)
            logits = self.program.logits(folder, ids, following, *options)
            self.compare(f"{what}: logits", logits, more, more_bound)
            for search in searches:
                self.search(what, folder, model, ids, search, *options)
            if searches:
                self.later(what, folder, model, ids, options)
                self.looks(what, folder, model, ids, searches[-1] | {"max_length": 7}, options)
        for name, faulty in faults_of(model).items() if faults else ():
            self.faults += 1
            t = tape.Tape()
            x = faulty.encode(t, ids)
            seen = (abs(got - faulty.text(x)[rows]) > bound).any()
            if not seen and logits is not None:
                x = faulty.decode(t, x, following)
                seen = (abs(logits - x.value) > more_bound).any()
            if not seen:
                self.fail(f"{what}: a planted fault is not found: {name}")

    def report(self):
        print(f"{self.numbers} numbers, error/bound at most {self.worst:.3g}; {self.searches} "
              f"searches ({self.ends} forbid an end), {self.open} not decided; {self.faults} planted faults; "
              f"{self.failures} failures")
        return 1 if self.failures or not self.numbers or 20 * self.open > self.searches else 0


def text(random, n, vocab):
    """A text without padding."""
    return [0, *(int(i) for i in random.integers(3, vocab, max(n - 2, 0))), 2][:n]


def listed(program, folder):
    """The families that heed-model names where it knows none."""
    checkpoints.save(folder, {"model_type": "none"}, {})
    try:
        program.call("info", folder, [])
    except running.Failed as why:
        return set(str(why).split("there are: ")[1].strip().split(", "))
    return set()


def small(judge, folder):
    """One checkpoint of each variant."""
    for seed, variant in enumerate(checkpoints.VARIANTS):
        random = numpy.random.default_rng(seed)
        where = checkpoints.write(folder / variant, variant, seed)
        ids = text(random, 17, 40)
        judge.checkpoint(variant, where, ids, text(random, 4, 40)[1:],
                         [SEARCHES[0], (SEARCHES + MORE)[1 + seed % 5] | {"max_length": 9}])
    tie(judge, folder)


def tie(judge, folder):
    """Two tokens that are the same leave a search open: the judge must see that."""
    settings = checkpoints.settings_of("bart")
    tensors = checkpoints.draw(settings, 3)
    ids = [0, 5, 6, 7, 2]
    checkpoints.save(folder / "tie", checkpoints.config_of(settings), tensors)
    search = oracle.Search(oracle.Model(*checkpoints.read(folder / "tie")), ids, SEARCHES[0])
    token = search.run()[1]
    twin = (token + 1) % 40
    for name in ("model.shared.weight", "final_logits_bias"):
        rows = tensors[name] if name.startswith("model") else tensors[name].T
        rows[twin] = rows[token]
    checkpoints.save(folder / "tie", checkpoints.config_of(settings), tensors)
    search.ids = ids
    if undecided(search) is not None:
        judge.fail("a search that was decided is called open")
    for options in SEARCHES:
        search = oracle.Search(oracle.Model(*checkpoints.read(folder / "tie")), ids, options)
        search.run()
        if undecided(search) is None:
            judge.fail(f"{options}: a tie is taken for a decision")


def attentions(seed):
    """What --attention says, and what the oracle takes it for."""
    kind = ("norm", "pooling", "stride", "block_stride", "none")[seed % 5]
    lsg = {"sparsity": kind, "block": 4, "sparse_block": 4, "factor": 2, "globals": 1 + seed % 2}
    return [("longformer:6:2", ("longformer", 6, 2)), ("full", ("full",)), ("block:4", ("block", 4)), ("bigbird:2", ("bigbird", 2)),
            (f"lsg:{kind}:4:4:2:{1 + seed % 2}", ("lsg", lsg))]


def all_of_them(judge, folder, seeds):
    """Some seeds of every variant; of each another type, shards, text, attention, weights."""
    for seed in range(seeds):
        for i, variant in enumerate(checkpoints.VARIANTS):
            random = numpy.random.default_rng(1000 + seed * 100 + i)
            dtype = ("F32", "F16", "BF16")[(seed + i) % 3]
            shards, n = 1 + 2 * (seed % 2), (23, 1, 40, 3, 7)[(seed + i) % 5]
            changes = {"model": 32, "hidden": 64} if seed % 4 == 3 else {}
            if changes and checkpoints.family_of(variant) not in checkpoints.RELATIVE + \
                    checkpoints.ENCODERS:
                changes["decoder_hidden"] = 32
            what = f"{variant}, seed {seed}, {dtype}, {shards} files, {n} tokens"
            where = checkpoints.write(folder / "one", variant, seed, dtype, shards, **changes)
            ids, following = text(random, n, 40), text(random, 9, 40)[1:]
            long = text(random, n + (66 if seed % 2 else 0), 40) # more than there are positions
            searches = SEARCHES + MORE[seed % 2::2]
            judge.checkpoint(what, where, ids, following, searches, faults=False)
            for kind in (["f16", "bf16", "q8_0", "q4_0"][seed % 4],):
                judge.checkpoint(f"{what}, {kind}", where, ids, following, searches[:2],
                                 ("--weights", kind), quantised=kind, faults=False)
            if variant in ("bart", "led", "longformer", "bert"):
                for words, kind in attentions(seed):
                    judge.checkpoint(f"{what}, {words}", where, long, following, [],
                                     ("--attention", words), kind, faults=False)
            shutil.rmtree(where)


def main():
    """The exit status."""
    judge, folder = Judge(running.Program(sys.argv[1])), running.scratch()
    try:
        known = listed(judge.program, folder / "none")
        if known != set(checkpoints.FAMILIES):
            judge.fail(f"families of heed-model: {sorted(known)}; of the oracle: "
                       f"{sorted(checkpoints.FAMILIES)}")
        if "--all" in sys.argv:
            behind = sys.argv[sys.argv.index("--all") + 1:]
            all_of_them(judge, folder, int(behind[0]) if behind else 20)
        else:
            small(judge, folder)
    finally:
        shutil.rmtree(folder)
    return judge.report()


if __name__ == "__main__":
    sys.exit(main())
