#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""Malformed checkpoints: heed-model says one line and ends with 2, in the memory that files take.

hostile.py HEED-MODEL [--all]: every other row of a table of malformed folders, each with the field
that the line must begin with and words that it must have; --all: all rows, every truncation of a
small file of weights, and every single bit of its header, by the command itself (test_model.c does
so in one process).
Every run has a limit on its address space: that of a good run, found by halving, plus 1.2 times the
size of the files and 16 MiB. A sanitizer's own memory would break it: there it is left out.
"""

import json
import os
import resource
import shutil
import struct
import subprocess
import sys

import running
import numpy
import checkpoints

TINY = {"model": 4, "hidden": 4, "vocab": 8, "positions": 8, "layers": 1, "heads": 2}
IDS = b"0 5 2\n"


# ---- the good ones ----

def good(variant, **changes):
    """config.json, generation_config.json and tensors of a small model."""
    settings = checkpoints.settings_of(variant, **TINY | changes)
    return checkpoints.config_of(settings), {}, checkpoints.draw(settings, 0)


def header_of(tensors, dtype="F32"):
    """Header and data of a file of weights."""
    blob = checkpoints.weights_file(tensors, dtype)
    length = struct.unpack("<Q", blob[:8])[0]
    return json.loads(blob[8:8 + length]), blob[8 + length:]


# ---- what is wrong ----

ROWS = []


def row(name, field, *words, variant="bert"):
    """A malformed folder: the function gets config, generation, tensors, and returns files besides
    or instead, as {name: bytes}. field: what the line begins with; words: what it has."""
    def add(function):
        ROWS.append((name, field, words, variant, function))
        return function
    return add


def of_config(name, field, *words, variant="bert", **changes):
    """A change of config.json; None: the key is not there."""
    def change(config, generation, tensors):
        for key, value in changes.items():
            if value is None:
                config.pop(key)
            else:
                config[key] = value
        return {}
    row(name, field, *words, variant=variant)(change)


def of_text(name, field, text, *words):
    """config.json is this text."""
    row(name, field, *words)(lambda c, g, t: {"config.json": text})


def of_header(name, field, *words):
    """A change of the header: the function gets header and data, and returns data or a file."""
    def add(function):
        def change(config, generation, tensors):
            header, data = header_of(tensors)
            made = function(header, data)
            if isinstance(made, tuple):
                return {"model.safetensors": made[0]}
            return {"model.safetensors": checkpoints.pack(header, made)}
        row(name, field, *words)(change)
    return add


WEIGHTS = "model.safetensors"
EMBEDDED = "bert.embeddings.word_embeddings.weight"
LAST = "bert.encoder.layer.0.output.LayerNorm.bias"

# -- config.json: keys --
for KEY, FIELD in (("vocab_size", "vocab_size"), ("hidden_size", "d_model"),
                   ("num_attention_heads", "num_heads"), ("intermediate_size", "d_ff")):
    of_config(f"no {KEY}", FIELD, "config.json has no", **{KEY: None})
of_config("no model_type", "model_type", "no family", model_type=None)
of_config("a family that nobody knows", "model_type", "no family gpt9", model_type="gpt9")
of_config("a family with control characters", "model_type", model_type="\x1b[31mred")
of_config("a family of 5000 letters", "model_type", model_type="b" * 5000)
of_config("no activation", "activation_function", hidden_act=None)
of_config("an activation that nobody knows", "activation_function", "quick_gelu",
          hidden_act="quick_gelu")
of_config("a gated activation of a bert", "activation_function", hidden_act="gated-gelu")
of_config("a number as a string", "hidden_size", hidden_size="4")
of_config("a number as an array", "hidden_size", hidden_size=[4])
of_config("a number with a fraction", "hidden_size", hidden_size=4.5)
of_config("a negative extent", "hidden_size", hidden_size=-4)
of_config("an extent of 0", "num_attention_heads", num_attention_heads=0)
of_config("heads that do not divide the channels", "num_heads", "do not divide",
          num_attention_heads=3)
of_config("a billion layers", "num_hidden_layers", num_hidden_layers=10 ** 9)
of_config("2^63 layers", "num_hidden_layers", num_hidden_layers=2 ** 63)
of_config("10^400 channels", "hidden_size", hidden_size=10 ** 400)
of_config("a vocabulary of 2^40", "vocab_size", vocab_size=2 ** 40)
of_config("an eps that is no number", "layer_norm_eps", layer_norm_eps="1e-5")
of_config("an eps of 2", "layer_norm_eps", layer_norm_eps=2)
of_config("a boolean that is a number", "tie_word_embeddings", tie_word_embeddings=1)
of_config("more layers than the files have", "", "encoder.layer.1", num_hidden_layers=2)
of_config("more positions of a table than 2^24", "max_position_embeddings",
          max_position_embeddings=2 ** 31)
of_config("an attention of LongT5 that nobody knows", "encoder_attention_type", "neither",
          variant="longt5", encoder_attention_type="global")
of_config("an attention of BigBird that nobody knows", "attention_type", "neither",
          variant="big_bird", attention_type="full")
of_config("LSG of an mbart", "base_model_prefix", "LSG of a mbart", variant="mbart",
          base_model_prefix="lsg")
of_config("LSG by hash", "sparsity_type", "lsh", variant="bart-lsg", sparsity_type="lsh")
of_config("LSG that masks", "mask_first_token", variant="bart-lsg", mask_first_token=True)
of_config("more rows than LSG's table has", "num_global_tokens", variant="bart-lsg",
          num_global_tokens=9)
of_config("a window of 0", "attention_window", variant="longformer", attention_window=[0])
of_config("300 windows", "attention_window", variant="longformer", attention_window=[4] * 300)
of_config("windows nested", "attention_window", variant="longformer", attention_window=[[4]])
of_config("no windows", "attention_window", variant="longformer", attention_window=[])
of_config("7 buckets", "relative_attention_num_buckets", variant="t5",
          relative_attention_num_buckets=7)
of_config("more buckets than the table has", "", variant="t5", relative_attention_num_buckets=64)
of_config("9 buckets", "relative_attention_num_buckets", "odd", variant="t5",
          relative_attention_num_buckets=9)
of_config("a distance of 0", "relative_attention_max_distance", variant="t5",
          relative_attention_max_distance=0)
of_config("a distance below the exact buckets", "relative_attention_max_distance", variant="t5",
          relative_attention_max_distance=2)
of_config("a distance of 2^24", "relative_attention_max_distance", variant="t5",
          relative_attention_max_distance=2 ** 24)
of_config("an odd d_model of computed positions", "", variant="pegasus", d_model=3)
of_config("positions that are computed, 2^24 of them", "max_position_embeddings",
          variant="pegasus", max_position_embeddings=2 ** 24)

# -- config.json: the text --
of_text("an empty config", "config.json", b"")
of_text("half a config", "config.json", b'{"model_type": "bert", ')
of_text("a config that is an array", "config.json", b"[]")
of_text("objects 100 deep", "config.json", b'{"a": ' * 100 + b"1" + b"}" * 100)
of_text("arrays a million deep", "config.json", b'{"a": ' + b"[" * 10 ** 6)
of_text("a key twice", "vocab_size", b'{"vocab_size": 8, "vocab_size": 9}', "twice")
of_text("text behind the object", "config.json", b'{"model_type": "bert"} true')
of_text("no UTF-8", "config.json", b'{"a": "\xff\xfe"}')
of_text("a NUL", "config.json", b'{"a": "\x00"}')
of_text("NaN", "layer_norm_eps", b'{"layer_norm_eps": NaN}')
of_text("5 MiB of spaces", "config.json", b" " * (5 << 20))


# -- generation_config.json and special ids --

def of_generation(name, field, *words, **values):
    """A generation_config.json."""
    row(name, field, *words, variant="bart")(
        lambda c, g, t: {"generation_config.json": json.dumps(values).encode()})


of_generation("an end beyond the vocabulary", "eos_token_id", eos_token_id=8)
of_generation("a start beyond the vocabulary", "decoder_start_token_id",
              decoder_start_token_id=10 ** 6)
of_generation("a forced id beyond the vocabulary", "forced_bos_token_id", forced_bos_token_id=99)
of_generation("a forced end beyond the vocabulary", "forced_eos_token_id", forced_eos_token_id=99)
of_generation("a negative end", "eos_token_id", eos_token_id=-1)
of_generation("two ends", "eos_token_id", "more than one", eos_token_id=[2, 3])
of_generation("no beams", "num_beams", num_beams=0)
of_generation("1025 beams", "num_beams", num_beams=1025)
of_generation("a length of 1", "max_length", max_length=1)
of_generation("a length beyond the positions", "max_length", max_length=10 ** 6)
of_generation("a penalty of 10^9", "length_penalty", length_penalty=1e9)
of_generation("early_stopping that is a word", "early_stopping", early_stopping="perhaps")
row("no start", "decoder_start_token_id", variant="bart")(
    lambda c, g, t: c.pop("decoder_start_token_id") and {})


# -- the file of weights: its length and its header's --

def of_file(name, field, *words):
    """The file of weights is what the function makes of it."""
    def add(function):
        row(name, field, *words)(
            lambda c, g, t: {WEIGHTS: function(checkpoints.weights_file(t, "F32"))})
    return add


of_file("an empty file", WEIGHTS)(lambda b: b"")
of_file("7 bytes", WEIGHTS)(lambda b: b[:7])
of_file("a header of 2^63 bytes", WEIGHTS)(lambda b: struct.pack("<Q", 1 << 63) + b[8:])
of_file("a header of 2^64 - 1 bytes", WEIGHTS)(lambda b: b"\xff" * 8 + b[8:])
of_file("a header longer than the file", WEIGHTS)(
    lambda b: struct.pack("<Q", len(b)) + b[8:])
of_file("a header of 0 bytes", WEIGHTS)(lambda b: bytes(8) + b[8:])
of_file("half the data", WEIGHTS)(lambda b: b[:-20])
of_file("a byte too many", WEIGHTS)(lambda b: b + b"\0")
of_file("a header that is no JSON", WEIGHTS)(lambda b: checkpoints.pack(b"hello"))
of_file("a header that is an array", WEIGHTS)(lambda b: checkpoints.pack(b"[1, 2]"))
of_file("a pickle", WEIGHTS)(lambda b: b"\x80\x02ctorch\nload\n." + b)
of_file("zeros", WEIGHTS)(lambda b: bytes(len(b)))
of_file("an empty header", "tensors")(lambda b: checkpoints.pack({}))


# -- tensors of the header --

def of_tensor(name, field, *words, tensor=EMBEDDED, **values):
    """Changes of what the header says of one tensor; None: it does not say so."""
    def change(header, data):
        for key, value in values.items():
            if value is None:
                header[tensor].pop(key)
            else:
                header[tensor][key] = value
        return data
    of_header(name, field, *words)(change)


of_tensor("a tensor without a type", WEIGHTS, dtype=None)
of_tensor("a tensor without extents", WEIGHTS, shape=None)
of_tensor("a tensor without a place", WEIGHTS, data_offsets=None)
of_tensor("a type that nobody knows", WEIGHTS, dtype="F13")
of_tensor("a type that is a number", WEIGHTS, dtype=32)
of_tensor("another type of the same size", "embeddings.word_embeddings.weight", dtype="I32")
of_tensor("a type of half the size", WEIGHTS, dtype="F16")
of_tensor("a field besides", WEIGHTS, scale=2)
of_tensor("2^42 + 1 rows", WEIGHTS, shape=[2 ** 42 + 1, 4])
of_tensor("extents whose product is 2^64 + 32", WEIGHTS, shape=[2 ** 60 + 2, 16])
of_tensor("extents whose product wraps to the right one", WEIGHTS, shape=[2 ** 62 + 8, 4])
of_tensor("a negative extent of a tensor", WEIGHTS, shape=[-8, -4])
of_tensor("an extent of 0 in a tensor", WEIGHTS, shape=[0, 4])
of_tensor("9 axes", WEIGHTS, shape=[8, 4] + [1] * 7)
of_tensor("an extent that is a string", WEIGHTS, shape=["8", 4])
of_tensor("an extent with an exponent", WEIGHTS, shape=[8.0, 4])
of_tensor("extents exchanged", "embeddings.word_embeddings.weight", shape=[4, 8])
of_tensor("one axis too few", "embeddings.word_embeddings.weight", shape=[32])
of_tensor("one axis too many", "embeddings.word_embeddings.weight", shape=[8, 4, 1])
of_tensor("offsets that go back", WEIGHTS, data_offsets=[128, 0])
of_tensor("a negative offset", WEIGHTS, data_offsets=[-128, 0])
of_tensor("offsets beyond the file", WEIGHTS, data_offsets=[2 ** 40, 2 ** 40 + 128])
of_tensor("offsets near 2^63", WEIGHTS, data_offsets=[2 ** 63 - 129, 2 ** 63 - 1])
of_tensor("offsets of 2^64", WEIGHTS, data_offsets=[2 ** 64, 2 ** 64 + 128])
of_tensor("one offset", WEIGHTS, data_offsets=[0])
of_tensor("three offsets", WEIGHTS, data_offsets=[0, 128, 128])
of_tensor("offsets that overlap", WEIGHTS, "where another one ends", data_offsets=[4, 132])
of_tensor("a NaN as an offset", WEIGHTS, data_offsets=["NaN", 128])


@of_header("a hole between tensors", WEIGHTS, "where another one ends")
def hole(header, data):
    for t in header.values():
        if "data_offsets" in t and t["data_offsets"][0] > 0:
            t["data_offsets"] = [at + 4 for at in t["data_offsets"]]
    return data + bytes(4)


@of_header("a tensor twice", "tensors", "two tensors")
def twice(header, data):
    text = json.dumps(header)[:-1]
    size = len(data)
    again = json.dumps({EMBEDDED: {"dtype": "F32", "shape": [8, 4],
                                   "data_offsets": [size, size + 128]}})
    return (checkpoints.pack((text + ", " + again[1:]).encode(), data + bytes(128)),)


@of_header("a name of control characters", WEIGHTS)
def control(header, data):
    header["\x1b]0;title\x07"] = header.pop(EMBEDDED)
    return data


@of_header("a name of 300 characters", WEIGHTS)
def long_name(header, data):
    header["n" * 300] = header.pop(EMBEDDED)
    return data


@of_header("an empty name", WEIGHTS)
def no_name(header, data):
    header[""] = header.pop(EMBEDDED)
    return data


@of_header("a tensor that is a number", WEIGHTS)
def number(header, data):
    header[EMBEDDED] = 7
    return data


@of_header("200,000 empty tensors", WEIGHTS, "131072")
def many(header, data):
    header |= {f"t{i}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
               for i in range(200000)}
    return data


def of_tensors(name, field, *words, variant="bert"):
    """A change of the tensors before they are written."""
    def add(function):
        def change(config, generation, tensors):
            function(tensors)
            return {}
        row(name, field, *words, variant=variant)(change)
    return add


of_tensors("no tokens", "", "no tensor")(lambda t: t.pop(EMBEDDED))
of_tensors("no first layer", "tensors", "no tensor")(
    lambda t: [t.pop(n) for n in list(t) if ".layer.0." in n])
of_tensors("a bias that is missing", "", "no tensor")(lambda t: t.pop(LAST))
of_tensors("a bias that is too long", "", "5 elements")(
    lambda t: t.update({LAST: numpy.zeros(5)}))
of_tensors("a matrix that is a vector", "", "axes")(
    lambda t: t.update({"bert.encoder.layer.0.output.dense.weight": numpy.zeros(16)}))
of_tensors("a NaN among the weights", "bert.encoder.layer.0.output.LayerNorm.bias", "not finite")(
    lambda t: t[LAST].__setitem__(2, numpy.nan))
of_tensors("an infinity among the weights", "", "not finite")(
    lambda t: t[EMBEDDED].__setitem__((3, 1), -numpy.inf))
of_tensors("a projection to logits that is missing", "", "lm_head", variant="t5-gated")(
    lambda t: t.pop("lm_head.weight"))
of_tensors("a bias of logits that is too long", "final_logits_bias", variant="bart")(
    lambda t: t.update({"final_logits_bias": numpy.zeros((1, 9))}))


# -- which files there are --

@row("no weights", "model.safetensors")
def no_weights(config, generation, tensors):
    return {WEIGHTS: None}


@row("no config", "config.json")
def no_config(config, generation, tensors):
    return {"config.json": None}


def of_index(name, field, index, *words):
    """Shards that an index names; the files are those of a good model in two parts."""
    def change(config, generation, tensors):
        files = {WEIGHTS: None, "model.safetensors.index.json": index if isinstance(index, bytes)
                 else json.dumps(index).encode()}
        names = sorted(tensors)
        for i in range(2):
            files[f"model-0000{i + 1}-of-00002.safetensors"] = checkpoints.weights_file(
                {n: tensors[n] for n in names[i::2]}, "F32")
        return files
    row(name, field, *words)(change)


INDEX = "model.safetensors.index.json"
SHARD = "model-%05d-of-%05d.safetensors"
of_index("a shard of another folder", INDEX, {"weight_map": {"a": "../" + SHARD % (1, 2)}})
of_index("a shard at the root", INDEX, {"weight_map": {"a": "/etc/passwd"}})
of_index("a shard with a NUL", INDEX, {"weight_map": {"a": SHARD % (1, 2) + "\0"}})
of_index("shard 3 of 2", INDEX, {"weight_map": {"a": SHARD % (3, 2)}})
of_index("shard 0 of 2", INDEX, {"weight_map": {"a": SHARD % (0, 2)}})
of_index("10,000 shards", INDEX, {"weight_map": {"a": SHARD % (1, 10000)}})
of_index("shards that disagree", INDEX, {"weight_map": {"a": SHARD % (1, 2), "b": SHARD % (1, 3)}})
of_index("a shard that is missing", SHARD % (1, 3), {"weight_map": {"a": SHARD % (1, 3)}})
of_index("shards without zeros", INDEX, {"weight_map": {"a": "model-1-of-2.safetensors"}})
of_index("shards as numbers", INDEX, {"weight_map": {"a": 1}})
of_index("no weight_map", INDEX, {"metadata": {}})
of_index("an empty weight_map", INDEX, {"weight_map": {}})
of_index("an index that is no JSON", INDEX, b"weight_map: {}")
of_index("fewer shards than the index names", "", {"weight_map": {"a": SHARD % (1, 1)}})


@row("layers whose types differ", "", "another type")
def mixed(config, generation, tensors):
    config["num_hidden_layers"] = 2
    other = {n.replace("layer.0", "layer.1"): x for n, x in tensors.items() if "layer.0" in n}
    files = {WEIGHTS: None, INDEX: json.dumps({"weight_map": {"a": SHARD % (1, 2)}}).encode()}
    files[SHARD % (1, 2)] = checkpoints.weights_file(tensors, "F32")
    files[SHARD % (2, 2)] = checkpoints.weights_file(other, "F16")
    return files


# ---- runs ----

class Runs:
    """heed-model in a limited address space."""

    def __init__(self, program):
        self.program, self.failures, self.count = program, 0, 0
        self.base = None
        linked = subprocess.run(["nm", "-D", program], capture_output=True, text=True).stdout
        self.sanitized = "__asan" in linked or "__tsan" in linked

    def call(self, folder, command, limit):
        """Status, standard output, lines of standard error."""
        def limited():
            if limit:
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        done = subprocess.run([self.program, command, str(folder), "--threads", "1"], input=IDS,
                              capture_output=True, preexec_fn=limited, timeout=120)
        self.count += 1
        return done.returncode, done.stdout, done.stderr.decode(errors="replace").splitlines()

    def limit_of(self, folder):
        """1.2 times the files and 16 MiB above what a good run takes."""
        if self.sanitized:
            return 0
        size = sum(path.lstat().st_size for path in folder.iterdir())
        return self.base + int(1.2 * size) + (16 << 20)

    def measure(self, folder):
        """The least address space, to a MiB, in which a good model runs."""
        low, high = 1, 4096
        while low < high and not self.sanitized:
            middle = (low + high) // 2
            low, high = (low, middle) if self.call(folder, "states", middle << 20)[0] == 0 \
                else (middle + 1, high)
        self.base = low << 20
        if self.call(folder, "states", self.limit_of(folder))[0]:
            self.fail("a good model does not run")

    def fail(self, text):
        self.failures += 1
        print(text)

    def judge(self, name, folder, command, field, words):
        """One line that begins with the field and has the words."""
        status, out, lines = self.call(folder, command, self.limit_of(folder))
        right = status == 2 and not out and len(lines) == 1
        said = lines[0].removeprefix("heed-model: ") if right else ""
        if not (right and said.startswith(field) and all(w in said for w in words)
                and said.isprintable()):
            self.fail(f"{name}: status {status}, {len(out)} bytes, {lines[:3]}; wanted "
                      f"{field or 'one line'} {words}")

    def either(self, name, folder):
        """A success, or one line."""
        status, out, lines = self.call(folder, "states", self.limit_of(folder))
        if not (status == 0 and out and not lines or
                status == 2 and not out and len(lines) == 1 and lines[0].isprintable()):
            self.fail(f"{name}: status {status}, {len(out)} bytes, {lines[:3]}")


def malformed(folder, variant, change):
    """Writes one; files of None are not there."""
    config, generation, tensors = good(variant)
    files = change(config, generation, tensors)
    checkpoints.save(folder, config, tensors)
    for name, data in files.items():
        if data is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(data)


def not_files(runs, folder):
    """What is no file where one should be."""
    for name in ("config.json", WEIGHTS):
        for kind in ("folder", "pipe", "link"):
            where = folder / f"{kind}-{name}"
            malformed(where, "bert", lambda c, g, t: {name: None})
            path = where / name
            if kind == "folder":
                path.mkdir()
            elif kind == "pipe":
                os.mkfifo(path)
            else:
                path.symlink_to("/nowhere/else")
            runs.judge(f"{name} is a {kind}", where, "states", name, ())


def sweep(runs, folder):
    """Every truncation, and every bit of the header, of a file of 4 KiB."""
    config, _, tensors = good("bert")
    checkpoints.save(folder, config, tensors)
    path = folder / WEIGHTS
    blob = bytearray(path.read_bytes())
    length = 8 + struct.unpack("<Q", blob[:8])[0]
    for size in range(len(blob)):
        path.write_bytes(blob[:size])
        runs.either(f"{size} of {len(blob)} bytes", folder)
    for bit in range(8 * length):
        blob[bit // 8] ^= 1 << bit % 8
        path.write_bytes(blob)
        runs.either(f"bit {bit} of {8 * length}", folder)
        blob[bit // 8] ^= 1 << bit % 8


def main():
    """The exit status."""
    runs, folder = Runs(sys.argv[1]), running.scratch()
    try:
        malformed(folder / "good", "bert", lambda c, g, t: {})
        runs.measure(folder / "good")
        names = [name for name, *_ in ROWS]
        if len(names) != len(set(names)):
            runs.fail("a name stands twice in the table")
        every = "--all" in sys.argv
        for name, field, words, variant, change in ROWS[::1 if every else 2]:
            where = folder / "bad"
            malformed(where, variant, change)
            decodes = checkpoints.family_of(variant) not in checkpoints.ENCODERS
            runs.judge(name, where, "generate" if decodes else "states", field, words)
            shutil.rmtree(where)
        not_files(runs, folder)
        if every:
            sweep(runs, folder / "sweep")
    finally:
        shutil.rmtree(folder)
    print(f"{len(ROWS)} rows, {runs.count} runs, {runs.failures} failures; a good run "
          f"takes {runs.base >> 20} MiB of address space")
    return 1 if runs.failures else 0


if __name__ == "__main__":
    sys.exit(main())
