"""The emulated device itself: it must refuse what the hardware refuses, or the other tests prove little."""

from __future__ import annotations

import pytest

from .scenarios import rules, tensors


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("mixed devices", "Expected all tensors to be on the same device"),
        ("float64", "does not support torch.float64"),
        ("float64 by conversion", "does not support torch.float64"),
        ("generator of the CPU", "Expected a 'neuron' device type for generator but found 'cpu'"),
        ("another core", "neuron:1 does not exist"),
        ("dynamic shapes", "compiles static shapes only"),
        ("graph of CPU tensors", "compiles graphs of neuron tensors only"),
    ],
)
def test_broken_rule_is_an_error(in_process, rule, words):
    assert words in in_process(rules, name=rule)


def test_modules_copies_and_resized_outputs_work(in_process):
    found = in_process(tensors)
    assert found["same"]
    assert found["device"] == "neuron:0"
    assert found["text"].startswith("neuron:0 tensor(")
    assert found["resized"] == (2, 4)
    assert found["state"] == ["0.bias", "0.weight", "1.bias", "1.weight"]
