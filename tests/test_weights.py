"""Component sizes from the headers of real safetensors files: whole, in shards, damaged."""

from __future__ import annotations

import json
import struct
from types import SimpleNamespace

import huggingface_hub
import pytest
import torch
from safetensors.torch import save_file

from accel_ui.loading import TINY_FOLDER
from accel_ui.weights import (
    WEIGHT_FILE,
    ComponentSize,
    DamagedWeights,
    component_names,
    hub_sizes,
    local_sizes,
    read_header,
)

WHOLE = "model.safetensors"


@pytest.fixture
def write(tmp_path):
    """Writes a safetensors file of zeros; returns its path."""

    def make(name: str, **shapes: tuple[torch.dtype, tuple[int, ...]]):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        tensors = {key: torch.zeros(shape, dtype=dtype) for key, (dtype, shape) in shapes.items()}
        save_file(tensors, path, metadata={"format": "pt"})
        return path

    return make


def raw(header: str, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header.encode() + data


def test_header_counts_elements_by_dtype(write):
    path = write(
        WHOLE, a=(torch.bfloat16, (3, 4)), b=(torch.bfloat16, (5,)), c=(torch.float32, ()), d=(torch.int64, (2, 0))
    )
    assert read_header(path) == {"BF16": 17, "F32": 1, "I64": 0}


@pytest.mark.parametrize(("dtype", "expected"), [("float32", 4 * 30 + 8 * 5), ("bfloat16", 2 * 30 + 8 * 5)])
def test_bytes_follow_the_dtype_they_are_loaded_as(dtype, expected):
    size = ComponentSize("vae", {"F32": 10, "BF16": 20, "I64": 5})
    assert size.bytes_as(dtype) == expected
    assert size.parameters == 35


def test_shards_are_added_and_other_variants_are_not(write, tmp_path):
    write("vae/diffusion_pytorch_model.safetensors", a=(torch.float32, (7,)))
    write("vae/diffusion_pytorch_model.fp16.safetensors", a=(torch.float16, (7,)))
    write("text_encoder/model-00001-of-00002.safetensors", a=(torch.bfloat16, (10,)))
    write("text_encoder/model-00002-of-00002.safetensors", b=(torch.bfloat16, (20,)))
    (tmp_path / "tokenizer").mkdir()
    sizes = local_sizes(tmp_path, ["vae", "text_encoder", "tokenizer", "absent"])
    assert sizes == [ComponentSize("vae", {"F32": 7}), ComponentSize("text_encoder", {"BF16": 30})]


def test_embedded_model_is_measured_right():
    names = component_names(json.loads((TINY_FOLDER / "model_index.json").read_text()))
    sizes = {size.name: size for size in local_sizes(TINY_FOLDER, names)}
    assert list(sizes) == [name for name in names if (TINY_FOLDER / name / "config.json").is_file()]
    for name, size in sizes.items():
        (file,) = [path for path in (TINY_FOLDER / name).iterdir() if WEIGHT_FILE.fullmatch(path.name)]
        stored = sum(count * {"F32": 4, "BF16": 2, "F16": 2, "I64": 8}[kind] for kind, count in size.elements.items())
        assert 0 < file.stat().st_size - stored < 100_000  # the rest is the header


def test_components_without_a_class_are_left_out():
    index = {"_class_name": "FluxPipeline", "vae": ["diffusers", "AutoencoderKL"], "image_encoder": [None, None],
             "requires_safety_checker": True, "empty": []}  # fmt: skip
    assert component_names(index) == ["vae"]


@pytest.mark.parametrize("keep", [0, 5, 8, 20, 0.5, -1])
def test_truncated_file_is_named(write, keep):
    path = write(WHOLE, a=(torch.float32, (1000,)))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep) if isinstance(keep, float) else keep])
    with pytest.raises(DamagedWeights) as error:
        read_header(path)
    assert str(path) in str(error.value)
    assert "download or copy it again" in str(error.value)


@pytest.mark.parametrize(
    "content",
    [
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123\n",
        b"<html><body>404: not found</body></html>",
        b"\x00" * 100,
        b"\xff" * 100,
        raw("not json"),
        raw("\x80\x80"),
        raw("[]"),
        raw("12"),
        raw("null"),
        raw('{"a": 5}'),
        raw('{"a": {"data_offsets": []}}'),
        raw('{"a": {"data_offsets": [0, 0]}}'),
        raw('{"a": {"data_offsets": [0, 0], "dtype": "F32"}}'),
        raw('{"a": {"data_offsets": [0, 0], "dtype": "F32", "shape": 5}}'),
        raw('{"a": {"data_offsets": [0, 4], "dtype": "F32", "shape": [1]}}', b"12345"),
        raw("[" * 100_000),
    ],
    ids=lambda content: repr(content[:50]),
)
def test_junk_in_place_of_weights_is_named(tmp_path, content):
    path = tmp_path / WHOLE
    path.write_bytes(content)
    with pytest.raises(DamagedWeights) as error:
        read_header(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_unreadable_path_is_named(tmp_path):
    with pytest.raises(DamagedWeights, match=r"none\.safetensors"):
        read_header(tmp_path / "none.safetensors")


def test_one_damaged_shard_spoils_the_component(write, tmp_path):
    write("transformer/diffusion_pytorch_model-00001-of-00002.safetensors", a=(torch.float32, (10,)))
    bad = write("transformer/diffusion_pytorch_model-00002-of-00002.safetensors", b=(torch.float32, (10,)))
    bad.write_bytes(bad.read_bytes()[:-4])
    with pytest.raises(DamagedWeights, match="00002-of-00002"):
        local_sizes(tmp_path, ["transformer"])


def test_hub_is_asked_for_headers_only_and_keeps_the_order(monkeypatch):
    """The hub's answers are made up: there is no network here."""
    names = ["transformer", "vae", "text_encoder", "text_encoder_2", "text_encoder_3", "image_encoder"]
    stem = "diffusion_pytorch_model"
    files = [f"{name}/{stem}.safetensors" for name in names[:2]] + [f"{name}/{WHOLE}" for name in names[2:]]
    others = [f"vae/{stem}.fp16.safetensors", "vae/config.json", f"other/{WHOLE}", WHOLE]

    def header(self, repo, file):
        assert (repo, file in files) == ("me/model", True)
        return SimpleNamespace(parameter_count={"BF16": 9})

    monkeypatch.setattr(huggingface_hub.HfApi, "list_repo_files", lambda self, repo: others + files[::-1])
    monkeypatch.setattr(huggingface_hub.HfApi, "parse_safetensors_file_metadata", header)
    assert hub_sizes("me/model", [*names, "tokenizer"]) == [ComponentSize(name, {"BF16": 9}) for name in names]
