"""What was cut from a long prompt, and the memory of embeddings: real tokenizers, real pipeline classes."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from accel_ui.catalogue import TINY
from accel_ui.encoding import REMEMBERED_PROMPTS, PromptMemory, cut_from
from accel_ui.loading import TINY_FOLDER
from accel_ui.presets import Preset
from test_presets import bare

SQUARE = TINY.presets[0]  # 32 tokens
TEMPLATE = (
    "{% for message in messages %}<user> {{ message.content }} <end> {% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture(scope="module")
def flux():
    """The embedded model's pipeline with its two tokenizers; the last one, T5's, is the one that counts."""
    pipeline = bare("FluxPipeline")
    for name in ("tokenizer", "tokenizer_2"):
        pipeline.register_modules(**{name: AutoTokenizer.from_pretrained(TINY_FOLDER / name)})
    return pipeline


@pytest.fixture(scope="module")
def stable_diffusion(flux):
    """A class without max_sequence_length: its tokenizer alone says how much it reads."""
    pipeline = bare("StableDiffusionPipeline")
    pipeline.register_modules(tokenizer=flux.tokenizer)
    return pipeline


@pytest.fixture(scope="module")
def klein():
    """FLUX.2's class puts the prompt into a chat message; its tokenizer is made here, one token a word."""
    words = ["<unk>", "<user>", "<end>", "<assistant>", *(f"w{index}" for index in range(40))]
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    pipeline = bare("Flux2KleinPipeline")
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", pad_token="<unk>")
    fast.chat_template = TEMPLATE
    pipeline.register_modules(tokenizer=fast)
    return pipeline


@pytest.mark.parametrize("prompt", ["", "a red house", "🌋" * 5, "家在山上", "A RED HOUSE at NIGHT!"])
def test_nothing_is_cut_from_a_prompt_that_fits(flux, stable_diffusion, prompt):
    assert cut_from(flux, SQUARE, prompt) == ""
    assert cut_from(stable_diffusion, SQUARE, prompt) == ""


@pytest.mark.parametrize("count", [9, 10, 11, 100])
@pytest.mark.parametrize("text", ["a red house ", "on the hill, at night! ", "家 on a hill ", "🌋 red "])
def test_cut_is_what_t5_does_not_read(flux, text, count):
    prompt = (text * count).strip()
    cut = cut_from(flux, SQUARE, prompt)
    all_ids = flux.tokenizer_2(prompt, verbose=False)["input_ids"]
    assert bool(cut) == (len(all_ids) > 32)
    assert prompt.endswith(cut)
    kept = prompt[: len(prompt) - len(cut)]
    read = flux.tokenizer_2(prompt, truncation=True, max_length=32)["input_ids"][:-1]
    assert flux.tokenizer_2(kept)["input_ids"][:-1] == read[: len(flux.tokenizer_2(kept)["input_ids"]) - 1]
    assert len(read) - (len(flux.tokenizer_2(kept)["input_ids"]) - 1) < 2  # at most half a character


def test_preset_decides_where_the_pipeline_has_a_length(flux):
    short = Preset("short", "Short", 128, 128, 4, max_sequence_length=5)
    assert cut_from(flux, short, "a red house on a hill") == "a hill"


def test_tokenizer_decides_where_the_pipeline_has_none(stable_diffusion):
    """32 tokens with a start and an end: 30 words."""
    ignored = Preset("square", "Square", 128, 128, 4, max_sequence_length=5)
    assert cut_from(stable_diffusion, ignored, " ".join(["house"] * 30)) == ""
    assert cut_from(stable_diffusion, ignored, " ".join(["house"] * 30 + ["red", "hill"])) == "red hill"


@pytest.mark.parametrize("count", [3, 7, 8, 9, 10, 11, 30])
def test_cut_is_what_a_chat_message_has_no_room_for(klein, count):
    prompt = " ".join(f"w{index}" for index in range(count))
    message = klein.tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
    )
    read = klein.tokenizer.decode(klein.tokenizer(message, truncation=True, max_length=10)["input_ids"]).split()
    preset = Preset("square", "Square", 1024, 1024, 4, max_sequence_length=10)
    assert cut_from(klein, preset, prompt).split() == [word for word in prompt.split() if word not in read]


def test_pipeline_without_a_tokenizer_cuts_nothing_that_we_know_of():
    assert cut_from(bare("FluxPipeline"), SQUARE, "word " * 1000) == ""


class Encoder:
    """Stands for a pipeline: counts how often the text encoders would run."""

    def __init__(self):
        self.calls: list[str] = []
        self.broken = False

    def encode_prompt(self, prompt, *, device=None, max_sequence_length=32, prompt_embeds=None):
        if self.broken:
            raise RuntimeError("out of memory")
        self.calls.append(prompt)
        return torch.full((1, 2), float(len(self.calls))), None


@pytest.fixture
def watched():
    return []


@pytest.fixture
def pipeline(watched):
    @contextmanager
    def watch():
        watched.append("encoding")
        yield

    pipeline = Encoder()
    pipeline.memory = PromptMemory(pipeline)
    pipeline.memory.watch = watch
    return pipeline


def test_same_prompt_is_encoded_once(pipeline, watched):
    first = pipeline.encode_prompt("a house", device=torch.device("cpu"))
    second = pipeline.encode_prompt("a house", device=torch.device("cpu"))
    assert (first[0] == second[0]).all()
    assert pipeline.calls == ["a house"]
    assert watched == ["encoding"]


@pytest.mark.parametrize("other", [{"max_sequence_length": 16}, {"device": torch.device("meta")}, {"device": None}])
def test_another_length_or_device_is_another_embedding(pipeline, other):
    pipeline.encode_prompt("a house", device=torch.device("cpu"))
    pipeline.encode_prompt("a house", **{"device": torch.device("cpu"), **other})
    assert len(pipeline.calls) == 2


def test_lists_of_prompts_are_told_apart(pipeline):
    for prompt in (["a", "b"], ["b", "a"], ["a", "b"], "a b"):
        pipeline.encode_prompt(prompt)
    assert pipeline.calls == [["a", "b"], ["b", "a"], "a b"]


def test_memory_is_bounded_and_drops_what_was_not_used_for_longest(pipeline):
    for index in range(REMEMBERED_PROMPTS):
        pipeline.encode_prompt(f"prompt {index}")
    pipeline.encode_prompt("prompt 0")
    pipeline.encode_prompt("one more")
    pipeline.calls.clear()
    for prompt in ("prompt 0", "one more", "prompt 1"):
        pipeline.encode_prompt(prompt)
    assert pipeline.calls == ["prompt 1"]


def test_embeddings_given_by_hand_pass_through(pipeline):
    for _ in range(2):
        pipeline.encode_prompt("a house", prompt_embeds=torch.zeros(1))
    assert len(pipeline.calls) == 2


def test_failed_encoding_is_not_remembered(pipeline):
    pipeline.broken = True
    with pytest.raises(RuntimeError):
        pipeline.encode_prompt("a house")
    pipeline.broken = False
    assert pipeline.encode_prompt("a house")[0].shape == (1, 2)


def test_forget_frees_everything(pipeline):
    pipeline.encode_prompt("a house")
    pipeline.memory.forget()
    pipeline.encode_prompt("a house")
    assert pipeline.calls == ["a house"] * 2
