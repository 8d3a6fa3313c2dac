#!/usr/bin/env python3
# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""The tokenizers of libheed-model beside the public library `tokenizers`.

peer_tokenizers.py TOKENS [--strings N] [--seed S] [--folder FOLDER] [--family NAME]: trains a small
tokenizer of every family on the documentation of this tree, writes its tokenizer.json to a
temporary folder, and compares ids and decoded texts of TOKENS (tests/model/tokens.c) with those of
the library: on strings made from the seed and on the texts of a folder.

Exit status 0: nothing differs. 1: something does. 77: there is no library.

The library has tables of several versions of Unicode. Strings are drawn from the characters that
Unicode 3.2 had, which all of them have; --all draws from all characters and counts what differs
without judging it.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unicodedata

try:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
    from tokenizers import pre_tokenizers, processors, trainers
except ImportError:
    print("no Python library `tokenizers`")
    sys.exit(77)
try:
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
except ImportError:
    sentencepiece = None

TOP = pathlib.Path(__file__).resolve().parents[2]
OLD = unicodedata.ucd_3_2_0


def training_lines():
    lines = []
    for path in sorted((TOP / "docs").rglob("*.md")):
        lines += path.read_text(encoding="utf-8").splitlines()
    lines += ["Über die Straße läuft der Bär, naïve façade, œuvre, İstanbul, ǅ",
              "日本語のテキスト 中文字符 한국어 문장 Привет, мир! Ελληνικά עברית العربية हिन्दी",
              "don't won't I'll you've we're he'd I'm it's  two  spaces\tand\ttabs",
              "ﬁne ﬂour ½ ² ™ ℌ ① Ａ ｶﾞ 🙂 👩‍👩‍👧 e\u0301 a\u0308\u0323 1234567890"] * 20
    return [line for line in lines if line.strip()]


# ---- families

def add_some(tok):
    """Added tokens of every kind; the special ones of the model come first."""
    tok.add_tokens([AddedToken("heed", single_word=True, normalized=False),
                    AddedToken("Über", normalized=True), AddedToken("two words", normalized=True),
                    AddedToken("ab", normalized=False), AddedToken("abc", normalized=False)])
    tok.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False),
                            AddedToken("<right>", rstrip=True, special=True, normalized=False),
                            AddedToken("<Both>", lstrip=True, rstrip=True, special=True,
                                       normalized=True)])
    return tok


def bpe(prefix, processor, specials, add=True, **model):
    tok = Tokenizer(models.BPE(**model))
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(training_lines(), trainers.BpeTrainer(
        vocab_size=3000, special_tokens=specials, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tok.post_processor = processor(tok)
    return add_some(tok) if add else tok


def gpt2():
    return bpe(False, lambda tok: processors.ByteLevel(trim_offsets=False), ["<|endoftext|>"])


def roberta(prefix):
    return bpe(prefix, lambda tok: processors.RobertaProcessing(
        ("</s>", tok.token_to_id("</s>")), ("<s>", tok.token_to_id("<s>")),
        add_prefix_space=prefix), ["<s>", "<pad>", "</s>", "<unk>"])


def pair():
    """What two files make: the special tokens are those of BART."""
    tok = bpe(False, lambda tok: processors.RobertaProcessing(
        ("</s>", tok.token_to_id("</s>")), ("<s>", tok.token_to_id("<s>")),
        add_prefix_space=False), ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], add=False)
    tok.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
    return tok


def whole_words():
    return bpe(False, lambda tok: processors.ByteLevel(), ["<s>"], ignore_merges=True)


def split_bpe():
    """GPT-2's expression as a Split before a byte level that splits nothing."""
    tok = gpt2()
    expression = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    tok.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(expression), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return tok


def suffix_bpe():
    tok = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tok.normalizer = normalizers.Sequence([normalizers.NFC(),
                                           normalizers.Replace(Regex(r"\s+"), " "),
                                           normalizers.Lowercase()])
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    tok.decoder = decoders.BPEDecoder("</w>")
    tok.train_from_iterator(training_lines(), trainers.BpeTrainer(
        vocab_size=2000, special_tokens=["<unk>"], end_of_word_suffix="</w>",
        show_progress=False))
    return add_some(tok)


def fallback_bpe():
    tok = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"),
                                           normalizers.Replace(" ", "▁")])
    tok.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                     decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tok.train_from_iterator(training_lines(), trainers.BpeTrainer(
        vocab_size=3000, show_progress=False, max_token_length=12,
        special_tokens=["<unk>", "<s>"] + [f"<0x{i:02X}>" for i in range(256)]))
    data = json.loads(tok.to_str())     # the bytes are plain tokens
    data["added_tokens"] = [a for a in data["added_tokens"] if a["content"][:3] != "<0x"]
    tok = Tokenizer.from_str(json.dumps(data))
    tok.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", tok.token_to_id("<s>"))])
    return add_some(tok)


def bert(lowercase, strip_accents, clean=True, chinese=True):
    tok = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=40))
    tok.normalizer = normalizers.BertNormalizer(clean_text=clean, handle_chinese_chars=chinese,
                                                strip_accents=strip_accents, lowercase=lowercase)
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.decoder = decoders.WordPiece(prefix="##", cleanup=lowercase)
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tok.train_from_iterator(training_lines(), trainers.WordPieceTrainer(
        vocab_size=2500, special_tokens=specials, show_progress=False))
    cls, sep = tok.token_to_id("[CLS]"), tok.token_to_id("[SEP]")
    if lowercase:
        tok.post_processor = processors.TemplateProcessing(
            single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
            special_tokens=[("[CLS]", cls), ("[SEP]", sep)])
    else:
        tok.post_processor = processors.BertProcessing(("[SEP]", sep), ("[CLS]", cls))
    return add_some(tok)


SPIECE = {}


def spiece(fallback=False):
    """A model of SentencePiece with the rules nmt_nfkc, trained once."""
    if fallback not in SPIECE:
        class Sink:
            data = b""

            def write(self, data):
                self.data += data
        sink = Sink()
        sentencepiece.SentencePieceTrainer.Train(
            sentence_iterator=iter(training_lines()), model_writer=sink, model_type="unigram",
            vocab_size=2200, normalization_rule_name="nmt_nfkc", byte_fallback=fallback,
            pad_id=0, eos_id=1, unk_id=2, bos_id=-1, minloglevel=2, num_threads=1)
        proto = sentencepiece_model_pb2.ModelProto()
        proto.ParseFromString(sink.data)
        SPIECE[fallback] = proto
    return SPIECE[fallback]


def unigram(normal, splitter, template="$A </s>", fallback=False, extra=()):
    proto = spiece(fallback)
    vocab = [(piece.piece, piece.score) for piece in proto.pieces] + [(e, 0.0) for e in extra]
    tok = Tokenizer(models.Unigram(vocab, unk_id=2, byte_fallback=fallback))
    charsmap = normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap)
    tok.normalizer = normalizers.Sequence(normal(charsmap))
    tok.pre_tokenizer = splitter
    tok.decoder = decoders.Metaspace()
    tok.add_special_tokens([AddedToken(text, normalized=False, special=True)
                            for text in ("<pad>", "</s>", "<unk>") + tuple(extra)])
    tok.post_processor = processors.TemplateProcessing(
        single=template, pair=template + " $B </s>",
        special_tokens=[("</s>", 1), ("<s>", 0)])
    return add_some(tok)


def two_spaces(to):
    return normalizers.Replace(Regex(" {2,}"), to)


def meta(scheme="always", split=True):
    return pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=scheme, split=split)


def white_meta(scheme="always"):
    return pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), meta(scheme)])


FAMILIES = {
    "gpt2": gpt2,
    "bart": lambda: roberta(False),
    "bart-pair": pair,
    "longformer": lambda: roberta(True),
    "whole-words": whole_words,
    "gpt2-split": split_bpe,
    "bpe-suffix": suffix_bpe,
    "bpe-bytes": fallback_bpe,
    "bert-uncased": lambda: bert(True, None),
    "bert-cased": lambda: bert(False, None),
    "bert-accents": lambda: bert(False, True, clean=False, chinese=False),
    "bert-lower": lambda: bert(True, False),
}
if sentencepiece:
    FAMILIES.update({
        "t5": lambda: unigram(lambda m: [m, two_spaces("▁")], meta(),
                              extra=tuple(f"<extra_id_{i}>" for i in range(12))),
        "t5-first": lambda: unigram(lambda m: [m, normalizers.Strip(left=False, right=True),
                                               two_spaces("▁")], meta("first", split=False)),
        "pegasus": lambda: unigram(
            lambda m: [normalizers.Replace(Regex(r"\n"), " "), m, two_spaces(" ")], white_meta()),
        "white-first": lambda: unigram(lambda m: [m], white_meta("first")),
        "xlm-roberta": lambda: unigram(lambda m: [m], white_meta(), "<s> $A </s>"),
        "unigram-bytes": lambda: unigram(lambda m: [m], meta(), fallback=True),
        "albert": lambda: unigram(
            lambda m: [normalizers.Replace("``", '"'), normalizers.Replace("''", '"'),
                       normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), m,
                       two_spaces(" ")], white_meta()),
        "deberta-v2": lambda: unigram(
            lambda m: [normalizers.Lowercase(), normalizers.Strip(), m, two_spaces(" ")],
            pre_tokenizers.Sequence([pre_tokenizers.Punctuation("isolated"), meta()])),
        "deberta-v3": lambda: unigram(
            lambda m: [normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "), normalizers.NFC(),
                       normalizers.Strip(left=False, right=True)], meta()),
        "digits": lambda: unigram(
            lambda m: [normalizers.Nmt(), normalizers.NFKC(), normalizers.NFC()],
            pre_tokenizers.Sequence([
                pre_tokenizers.Digits(individual_digits=False),
                pre_tokenizers.Split("-", "merged_with_previous"),
                pre_tokenizers.Split("(", "merged_with_next"),
                pre_tokenizers.Split(" ", "removed"),
                pre_tokenizers.Split("a", "contiguous"), meta("never")])),
        "nfd": lambda: unigram(lambda m: [normalizers.NFD(), m], meta()),
    })


def older(data):
    """The file as libraries of before 2024 wrote it: merges as strings, add_prefix_space."""
    if data["model"]["type"] == "BPE" and not any(
            " " in part for merge in data["model"]["merges"] for part in merge):
        data["model"]["merges"] = [" ".join(merge) for merge in data["model"]["merges"]]
    return data


def write(name, tok, folder):
    """The files that say what a tokenizer does."""
    data = json.loads(tok.to_str())
    if name == "bart-pair":
        merges = "".join(" ".join(merge) + "\n" for merge in data["model"]["merges"])
        (folder / "vocab.json").write_text(json.dumps(data["model"]["vocab"]), encoding="utf-8")
        (folder / "merges.txt").write_text("#version: 0.2\n" + merges, encoding="utf-8")
        return [folder / "vocab.json", folder / "merges.txt"]
    path = folder / f"{name}.json"
    path.write_text(json.dumps(older(data), ensure_ascii=name == "bart"), encoding="utf-8")
    return [path]


# ---- texts

WHITE = [" ", " ", " ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u3000", "\u2028", "\u200b",
         "\x0b", "\x0c", "\x85", "\u1680", "\ufeff"]
MARKS = [chr(c) for c in list(range(0x300, 0x340)) + [0x5b0, 0x64b, 0x93c, 0x94d, 0x3099, 0x309a]]
OTHERS = ["\x00", "\x01", "\x7f", "\x9f", "\ufffd", "\u200d", "\u00ad", "\ue000", "\ufe0f", "🙂",
          "👩‍👩‍👧", "🇩🇪", "👍🏽", "é", "e\u0301", "ﬁ", "①", "½", "Å", "ſ", "ß", "İ", "ı", "Σς", "ǅ",
          "가", "각", "\u1100\u1161", "\u1100\u1161\u11a8", "日本", "中", "ｶﾞ", "ﷺ", "क्ष", "नि",
          "'s", "'t", "n't", " 'll", "''", "``", "do not", " .", " ?", "▁", "▁▁", "Ġ", "##", "</w>",
          "<0x41>", "<0xC3>", "heed", "Heed", "heedless", "über", "Über", "two words", "ab", "abc",
          "abcd", "<mask>", " <mask> ", "<right>  ", "  <Both>  ", "<both>", "<s>", "</s>", "<pad>",
          "<unk>", "[CLS]", "[MASK]", "[unk]", "<extra_id_0>", "<extra_id_1", "<|endoftext|>"]


def strings(count, seed, everything):
    draw = random.Random(seed)
    lines = training_lines()
    old = [chr(c) for c in range(0x110000) if not 0xd800 <= c < 0xe000 and (
        everything or (OLD.category(chr(c)) != "Cn"
                       and OLD.category(chr(c)) == unicodedata.category(chr(c))))]
    low = [c for c in old if ord(c) < 0x3000]

    def part():
        kind = draw.randrange(12)
        if kind < 2:
            return draw.choice(WHITE)
        if kind == 2:
            return draw.choice(MARKS) * draw.choice([1, 1, 2, 40])
        if kind < 5:
            return draw.choice(OTHERS)
        if kind == 5:
            return draw.choice(low)
        if kind == 6:
            return draw.choice(old)
        if kind == 7:
            return draw.choice(["a", " ", "é", "=", "日", "_", "\n", "9"]) * draw.randrange(1, 70)
        if kind == 8:
            return "".join(draw.choice("abcdefghijklmnopqrstuvwxyzABC0123.,-'") for _ in range(6))
        words = draw.choice(lines).split(" ")
        at = draw.randrange(len(words))
        return " ".join(words[at:at + draw.randrange(1, 5)])

    return ["".join(part() for _ in range(draw.randrange(0, 12))) for _ in range(count)]


def folder_texts(folder):
    texts = []
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.is_file():
            texts.append(path.read_bytes().decode("utf-8", "replace"))
    return texts


# ---- comparison

def heed(program, paths, texts):
    """Of each text: ids, ids without special tokens, the text again, and with special tokens."""
    data = b"".join(b"%d\n%s" % (len(text.encode()), text.encode()) for text in texts)
    done = subprocess.run([program, *paths], input=data, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{program} {paths}: {done.stderr.decode()}")
    out, at = done.stdout, 0

    def line():
        nonlocal at
        end = out.index(b"\n", at)
        got, at = out[at:end], end + 1
        return got

    def counted():
        nonlocal at
        n = int(line())
        got, at = out[at:at + n], at + n + 1
        return got.decode()

    results = []
    for _ in texts:
        ids, plain = [int(i) for i in line().split()], [int(i) for i in line().split()]
        results.append((ids, plain, counted(), counted()))
    return results, float(done.stderr)


def library(tok, texts):
    results = []
    before = time.perf_counter()
    encoded = [tok.encode(text).ids for text in texts]
    spent = time.perf_counter() - before
    for text, ids in zip(texts, encoded):
        results.append((ids, tok.encode(text, add_special_tokens=False).ids,
                        tok.decode(ids), tok.decode(ids, skip_special_tokens=False)))
    return results, spent


def compare(name, tok, program, paths, texts, what):
    ours, our_time = heed(program, paths, texts)
    theirs, their_time = library(tok, texts)
    wrong = [i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]]
    size = sum(len(text.encode()) for text in texts) / 1e6
    print(f"{name:14} {what:8} {len(texts):6} texts {size:6.2f} MB  differ {len(wrong):5}  "
          f"seconds/MB {our_time / size:6.3f}, library {their_time / size:6.3f}", flush=True)
    for i in wrong[:3]:
        parts = ("ids", "plain ids", "text", "text with special tokens")
        for part, one, two in zip(parts, ours[i], theirs[i]):
            if one != two:
                at = next((k for k, (a, b) in enumerate(zip(one, two)) if a != b),
                          min(len(one), len(two)))
                print(f"  {part} at {at}: {one[at:at + 8]!r}, library {two[at:at + 8]!r} "
                      f"of {texts[i][:300]!r}")
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("tokens")
    parser.add_argument("--strings", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder")
    parser.add_argument("--family", choices=sorted(FAMILIES))
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()

    wrong = 0
    texts = strings(given.strings, given.seed, given.all)
    files = folder_texts(given.folder) if given.folder else []
    with tempfile.TemporaryDirectory() as work:
        for name in [given.family] if given.family else FAMILIES:
            paths = write(name, FAMILIES[name](), pathlib.Path(work))
            tok = FAMILIES[name]() if len(paths) > 1 else Tokenizer.from_file(str(paths[0]))
            wrong += compare(name, tok, given.tokens, paths, texts, "strings")
            if files:
                wrong += compare(name, tok, given.tokens, paths, files, "files")
    print(f"{wrong} differ")
    return 1 if wrong and not given.all else 0


if __name__ == "__main__":
    sys.exit(main())
