# SPDX-FileCopyrightText: The heed authors
# SPDX-License-Identifier: Apache-2.0
"""transformers' own tests of attention implementations, with heed as the implementation.

The source distribution of transformers has test_modeling_common.py, which scripts/peers --make lays
aside; HEED_HF_TESTS names its folder. Of it run, for small models of several families: the
equivalence of eager attention and "sdpa", in every type, padding and mask, with its own tolerances,
where "heed" stands wherever it asks for "sdpa"; and the equivalence for implementations by name.
"""

import copy
import functools
import importlib
import os
import pathlib
import sys
import types
import unittest.mock

import torch
import transformers as hf

import common
import hf_models

ITEMS, TOKENS = 3, 7
NOT_BY_NAME = ("DeepSeek 3",)     # that test changes head_dim, which its rotary channels do not follow
FAMILIES = ["Mistral, windows", "Llama", "Qwen3", "Gemma 2", "Gemma 3", "GPT-OSS", "Phi 3", "GPT-NeoX",
            "GPT-2", "OPT", "Cohere 2", "Mixtral", "DeepSeek 3", "T5", "BART", "BERT", "RoBERTa",
            "ALBERT", "ModernBERT, windows"]


def suite():
    """The module test_modeling_common; the two that it takes mixins from are not distributed."""
    folder = pathlib.Path(os.environ["HEED_HF_TESTS"])
    package = types.ModuleType("hf_tests")
    package.__path__ = [str(folder)]
    sys.modules["hf_tests"] = package
    for name, mixin in (("exporters.test_export", "ExportTesterMixin"),
                        ("generation.test_utils", "GenerationTesterMixin")):
        made = types.ModuleType("hf_tests." + name)
        setattr(made, mixin, type(mixin, (), {}))
        sys.modules["hf_tests." + name.partition(".")[0]] = types.ModuleType("between")
        sys.modules["hf_tests." + name] = made
    return importlib.import_module("hf_tests.test_modeling_common")


class Tester:
    """What the tests ask for a configuration and inputs."""
    seq_length = TOKENS

    def __init__(self, name):
        self.name = name

    def prepare_config_and_inputs_for_common(self):
        config = copy.deepcopy(hf_models.CONFIGS[self.name]())
        for field, size in (("initializer_range", 0.02), ("init_std", 0.02),
                            ("initializer_factor", 1.0)):
            if hasattr(config, field):
                setattr(config, field, size)
        ids, there = hf_models.prompts(ITEMS, TOKENS)
        inputs = {"input_ids": ids, "attention_mask": there}
        if config.is_encoder_decoder:
            inputs.update(decoder_input_ids=ids, decoder_attention_mask=there)
        return config, inputs


def case_of(module, name):
    """A test case of the suite, for one model."""
    kind = hf_models.KINDS[name]
    model_class = kind._model_mapping[type(hf_models.CONFIGS[name]())]
    case = type("Case", (module.ModelTesterMixin, unittest.TestCase),
                {"all_model_classes": (model_class,), "has_attentions": True})()
    case.model_tester = Tester(name)
    return case, model_class


def heed_for_sdpa(model_class):
    """While it is entered, whoever loads the model for "sdpa" gets it for "heed"."""
    load = model_class.from_pretrained.__func__

    def loaded(cls, *args, attn_implementation=None, **more):
        if attn_implementation == "sdpa":
            attn_implementation = "heed"
        return load(cls, *args, attn_implementation=attn_implementation, **more)
    return unittest.mock.patch.object(model_class, "from_pretrained", classmethod(loaded))


def one(report, label, counted, run):
    """A test passed where it raised nothing and heed computed attentions in it."""
    try:
        run()
        report.add(label, counted.calls > 0, said=f"heed computed {counted.calls} attentions")
    except unittest.SkipTest as why:
        report.add(label, False, said=f"skipped: {why}")
    except Exception as error:
        report.add(label, False, said=f"{type(error).__name__}: {str(error)[:300]}")


def equivalence(module, name, report):
    case, model_class = case_of(module, name)
    for label, *given in module.TEST_EAGER_MATCHES_SDPA_INFERENCE_PARAMETERIZATION:
        if given[3] or not model_class._supports_sdpa:  # weights are refused: hf_refused.py
            continue
        with heed_for_sdpa(model_class), hf_models.Counted() as counted:
            one(report, f"{name}: eager is {label}", counted, functools.partial(
                module._test_eager_matches_sdpa_inference, case, label, *given))
    if not model_class._supports_flash_attn or not model_class._supports_attention_backend or \
            model_class._compatible_flash_implementations or name in NOT_BY_NAME:  # or: those alone
        return
    for side in ("left", "right"):
        with torch.no_grad(), hf_models.Counted() as counted:
            one(report, f"{name}: by name, padding on the {side}", counted, functools.partial(
                case.flash_attn_inference_equivalence, "heed", side))


if __name__ == "__main__":
    if not os.environ.get("HEED_HF_TESTS"):
        sys.exit("HEED_HF_TESTS names no folder with transformers' tests")
    torch.set_num_threads(2)
    hf.logging.set_verbosity_error()
    hf.logging.disable_progress_bar()
    own = suite()
    names = sys.argv[1:] or FAMILIES
    common.run([functools.partial(equivalence, own, name) for name in names])
