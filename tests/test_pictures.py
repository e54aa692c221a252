"""Numbers that are no picture are refused; a PNG tells how it was made."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from accel_ui.metadata import read_info
from accel_ui.pictures import BadPicture, check_picture, save_picture, to_image

INFO = {"preset": "square", "seed": 2**63 - 1, "prompt": "Ein „rotes\" Haus 🏠\n家 <script>\x00", "timings": {"total": 1.25},
        "notices": [], "guidance_scale": 0.0}  # fmt: skip


@pytest.fixture
def pixels() -> np.ndarray:
    return np.random.default_rng(0).random((16, 24, 3)).astype(np.float32)


def spoilt(pixels: np.ndarray, value: float) -> np.ndarray:
    pixels[3, 4, 1] = value
    return pixels


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_one_value_that_is_no_number_is_enough(pixels, value):
    with pytest.raises(BadPicture, match="not-a-number values in place of a picture"):
        check_picture(spoilt(pixels, value), "bfloat16")


@pytest.mark.parametrize("colour", [(0, 0, 0), (1, 1, 1), (0.2, 0.5, 0.9)])
def test_flat_colour_is_refused(pixels, colour):
    with pytest.raises(BadPicture, match="one flat colour"):
        check_picture(np.ones_like(pixels) * np.array(colour, dtype=np.float32), "float16")


def test_noise_below_one_shade_is_flat_too(pixels):
    with pytest.raises(BadPicture, match="flat"):
        check_picture(0.5 + (pixels - 0.5) / 255, "float16")


@pytest.mark.parametrize("scale", [1.0, 0.02])
def test_picture_passes_and_so_does_a_faint_one(pixels, scale):
    check_picture(pixels * scale, "float32")


@pytest.mark.parametrize(
    ("dtype", "advice"),
    [("float16", "ACCEL_UI_DTYPE=bfloat16"), ("bfloat16", "ACCEL_UI_DTYPE=float32"), ("float32", "another seed")],
)
def test_advice_fits_the_dtype(pixels, dtype, advice):
    with pytest.raises(BadPicture) as error:
        check_picture(spoilt(pixels, float("nan")), dtype)
    assert advice in str(error.value)
    assert f"({dtype})" in str(error.value)


def test_pixels_become_the_nearest_shade():
    picture = to_image(np.array([[[0.0, 1.0, 0.5], [-0.1, 1.1, 0.25]]]))
    assert (picture.mode, picture.size) == ("RGB", (2, 1))
    assert np.asarray(picture).tolist() == [[[0, 255, 128], [0, 255, 64]]]


def test_file_keeps_the_pixels_and_every_parameter(pixels, tmp_path):
    picture = to_image(pixels)
    path = save_picture(picture, tmp_path / "new" / "folder", INFO)
    assert read_info(path) == read_info(str(path)) == INFO
    assert (np.asarray(Image.open(path)) == np.asarray(picture)).all()
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert path.suffix == ".png"


def test_longest_prompt_fits(pixels, tmp_path):
    info = {**INFO, "prompt": "🏠" * 16_000}
    assert read_info(save_picture(to_image(pixels), tmp_path, info)) == info


def test_same_seed_twice_gives_two_files(pixels, tmp_path):
    names = {save_picture(to_image(pixels), tmp_path, INFO).name for _ in range(3)}
    assert len(names) == 3
    assert all("square" in name and str(INFO["seed"]) in name for name in names)


def test_truncated_png_has_no_parameters_or_the_right_ones(pixels, tmp_path):
    path = save_picture(to_image(pixels), tmp_path, INFO)
    whole, damaged = path.read_bytes(), tmp_path / "damaged.png"
    found = []
    for length in range(0, len(whole), 7):
        damaged.write_bytes(whole[:length])
        found.append(read_info(damaged))
    assert None in found
    assert all(info in (None, INFO) for info in found)


def test_png_with_a_changed_byte_never_raises(pixels, tmp_path):
    path = save_picture(to_image(pixels), tmp_path, INFO)
    whole, damaged = path.read_bytes(), tmp_path / "damaged.png"
    for index in range(0, len(whole), 5):
        damaged.write_bytes(whole[:index] + bytes([whole[index] ^ 0xFF]) + whole[index + 1 :])
        assert read_info(damaged) in (None, INFO), index


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int = 1, height: int = 1, text: bytes = b"") -> bytes:
    """A PNG of another program, made by hand."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IDAT", zlib.compress(b"\0\0\0\0")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + (chunk(b"tEXt", text) if text else b"") + body


@pytest.mark.parametrize(
    "content",
    [
        png(),
        png(text=b"parameters\0a house, Steps: 4, Seed: 1"),
        png(text=b"accel_ui\0{not json"),
        png(text=b"accel_ui\0[1, 2]"),
        png(text=b"accel_ui\0null"),
        png(text=b"accel_ui\0" + b"[" * 100_000),
        png(width=60_000, height=60_000),
        b"",
        b"not a picture",
        b"\x89PNG\r\n\x1a\n",
    ],
    ids=lambda content: f"{content[-60:-30]!r}-{len(content)}",
)
def test_foreign_or_hostile_file_has_no_parameters(tmp_path, content):
    path = tmp_path / "foreign.png"
    path.write_bytes(content)
    assert read_info(path) is None


def test_other_formats_and_missing_files_have_no_parameters(pixels, tmp_path):
    to_image(pixels).save(tmp_path / "photo.jpg")
    assert read_info(tmp_path / "photo.jpg") is None
    assert read_info(tmp_path / "missing.png") is None
    assert read_info(tmp_path) is None
