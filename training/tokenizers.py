"""Two small tokenizers of the classes FluxPipeline names, built from the captions of the world.

Both fold case in a way that survives saving and loading. CLIP's does so by construction. T5's class rebuilds
its backend when loaded and keeps only a SentencePiece character map from the saved normalizer, so the folding
is written as such a map: capitals become small letters, and sentence punctuation becomes space.
"""

from __future__ import annotations

import collections
import json
import math
import random
import string
import struct
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import CLIPTokenizer, T5TokenizerFast

from .config import TEXT_LENGTH
from .world import caption, sample_scene

CORPUS_SCENES = 20_000
CLIP_VOCABULARY = 900
# Words the captions never use: they get tokens of their own, so that later training can give them a meaning.
SPARE_WORDS = Path(__file__).with_name("spare_words.txt").read_text().split()
SPACE = "\u2581"  # SentencePiece's mark for the start of a word
SUFFIXES = ("s", "es", "ing", "ed", "er", "y", "ly")
SILENT_PUNCTUATION = '.!?;:"()-'


def build_tokenizers(folder: Path, seed: int) -> None:
    """Make both tokenizers and save them under the names they have in a FluxPipeline."""
    corpus = []
    for index in range(CORPUS_SCENES):
        rng = random.Random(f"{seed}/corpus/{index}")
        corpus.append(caption(sample_scene(rng, allow_held_out=True), rng, clean=True))
    _build_t5(corpus).save_pretrained(folder / "tokenizer_2")
    _build_clip(corpus).save_pretrained(folder / "tokenizer")


def load_tokenizers(folder: Path) -> tuple[CLIPTokenizer, T5TokenizerFast]:
    return (
        CLIPTokenizer.from_pretrained(folder / "tokenizer"),
        T5TokenizerFast.from_pretrained(folder / "tokenizer_2"),
    )


def token_ids(tokenizer: CLIPTokenizer | T5TokenizerFast, texts: list[str]) -> list[list[int]]:
    """Exactly what FluxPipeline makes of these prompts."""
    return tokenizer(texts, padding="max_length", max_length=TEXT_LENGTH, truncation=True).input_ids


def _build_t5(corpus: list[str]) -> T5TokenizerFast:
    """Whole words by frequency; a word outside the vocabulary becomes one unknown token, not many letters."""
    counts = collections.Counter(word for text in corpus for word in text.replace(",", " ").split())
    counts.update(SPARE_WORDS)
    total = counts.total()
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), (SPACE, -6.0), (",", -4.0)]
    pieces += [(SPACE + word, math.log(count / total)) for word, count in counts.most_common()]
    pieces += [(suffix, -10.0) for suffix in SUFFIXES]
    return T5TokenizerFast(
        vocab=pieces,
        extra_ids=0,
        model_max_length=TEXT_LENGTH,
        _spm_precompiled_charsmap=case_folding_charsmap(),
    )


def _build_clip(corpus: list[str]) -> CLIPTokenizer:
    """Byte-pair encoding with CLIP's own normalizer and splitting."""
    clip = CLIPTokenizer()
    backend = Tokenizer(models.BPE(end_of_word_suffix="</w>", unk_token="<|endoftext|>"))
    backend.normalizer = clip._tokenizer.normalizer
    backend.pre_tokenizer = clip._tokenizer.pre_tokenizer
    texts = [*corpus, " ".join(SPARE_WORDS), *SILENT_PUNCTUATION]
    # The trainer numbers the letters that end a word in the order of a hash map; named beforehand, they keep theirs.
    last_letters = sorted(letter + "</w>" for letter in set("".join(texts).lower()) - {" "})
    trainer = trainers.BpeTrainer(
        vocab_size=CLIP_VOCABULARY,
        end_of_word_suffix="</w>",
        special_tokens=["<|startoftext|>", "<|endoftext|>", *last_letters],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    model = json.loads(backend.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    return CLIPTokenizer(vocab=model["vocab"], merges=merges, model_max_length=TEXT_LENGTH)


def case_folding_charsmap() -> bytes:
    """A SentencePiece `precompiled_charsmap`: a double-array trie of replacements.

    Layout: the trie's size in bytes (uint32), the trie's units (uint32), the replacements, each ended by a
    zero byte. All keys are single ASCII characters, so the trie has one level: the root's offset is `base`,
    the unit of character c stands at base ^ c, and the leaf that holds its value stands at `leaves` ^ c.
    Unit: bits 0-7 label, bit 8 "has a leaf", bits 10-30 offset; a leaf: bit 31 and the value.
    """
    replacements = {letter: letter.lower() for letter in string.ascii_uppercase}
    replacements |= dict.fromkeys(SILENT_PUNCTUATION, " ")
    base, leaves = 256, 512
    units = [0] * (leaves + 256)
    units[0] = base << 10
    text = b""
    for character, replacement in replacements.items():
        code = ord(character)
        units[base ^ code] = ((base ^ leaves) << 10) | (1 << 8) | code
        units[leaves ^ code] = (1 << 31) | len(text)
        text += replacement.encode() + b"\0"
    trie = struct.pack(f"<{len(units)}I", *units)
    return struct.pack("<I", len(trie)) + trie + text
