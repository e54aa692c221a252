"""How well an exported pipeline does what prompts say: `python -m training.evaluate FOLDER`."""

from __future__ import annotations

import argparse
import json
import random
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL, DiffusionPipeline
from PIL import Image

from .config import FORMATS, TEXT_LENGTH
from .judge import Judge, labels_of, load_judge, normalized, prepared
from .latents import LatentBasis
from .prompts import EXAMS, Question, questions
from .vae import psnr
from .world import render, sample_scene

BATCH = 20
VAE_SCENES = 60


@dataclass(frozen=True)
class Setting:
    """How pictures are made: steps, and the strength of classifier-free guidance (1 is none)."""

    steps: int
    guidance: float

    def arguments(self, count: int) -> dict[str, object]:
        arguments: dict[str, object] = {
            "num_inference_steps": self.steps,
            "guidance_scale": 0.0,
            "max_sequence_length": TEXT_LENGTH,
        }
        if self.guidance > 1:
            arguments |= {"true_cfg_scale": self.guidance, "negative_prompt": [""] * count}
        return arguments


def generate(
    pipe: DiffusionPipeline, prompts: list[str], setting: Setting, format_name: str = "square", seed: int = 0
) -> list[Image.Image]:
    """One picture a prompt, each with a seed of its own, so that batches do not matter."""
    width, height = FORMATS[format_name]
    images: list[Image.Image] = []
    for first in range(0, len(prompts), BATCH):
        chunk = prompts[first : first + BATCH]
        generators = [torch.Generator().manual_seed(seed + first + index) for index in range(len(chunk))]
        result = pipe(chunk, width=width, height=height, generator=generators, **setting.arguments(len(chunk)))
        images += result.images
    return images


def answers_right(judge: Judge, exam: list[Question], images: list[Image.Image]) -> list[dict[str, bool]]:
    """For every picture: which of the judge's factors are as the scene says?"""
    answers = judge.read(normalized(torch.stack([prepared(image) for image in images])))
    return [
        {name: int(answers[name][row]) == label for name, label in labels_of(question.scene).items()}
        for row, question in enumerate(exam)
    ]


def verdicts(exam: list[Question], right: list[dict[str, bool]]) -> dict[str, list[bool]]:
    """For every picture: is the time right, the terrain, the objects, the named sky, and all of it?"""
    results: dict[str, list[bool]] = {"time": [], "terrain": [], "objects": [], "sky": [], "all": []}
    for question, factors in zip(exam, right, strict=True):
        objects = all(
            factors[f"{thing.position} kind"] and (thing.color is None or factors[f"{thing.position} color"])
            for thing in question.scene.objects
        )
        sky = all(factors[name] for name in question.extras)
        results["time"].append(factors["time"])
        results["terrain"].append(factors["terrain"])
        results["objects"].append(objects)
        results["sky"].append(sky)
        results["all"].append(objects and sky and factors["time"] and factors["terrain"])
    return results


def frechet_distance(judge: Judge, generated: list[Image.Image], real: list[Image.Image]) -> float:
    """The Frechet distance between two sets of pictures in the judge's feature space."""

    def moments(images: list[Image.Image]) -> tuple[np.ndarray, np.ndarray]:
        with torch.no_grad():
            features = judge.features(normalized(torch.stack([prepared(image) for image in images])))
        return features.double().mean(0).numpy(), np.cov(features.double().numpy(), rowvar=False)

    (mean_a, cov_a), (mean_b, cov_b) = moments(generated), moments(real)
    # The trace of the root of a product of covariances is the sum of the roots of its eigenvalues.
    roots = np.sqrt(np.clip(np.linalg.eigvals(cov_a @ cov_b).real, 0, None)).sum()
    return float(np.square(mean_a - mean_b).sum() + np.trace(cov_a) + np.trace(cov_b) - 2 * roots)


def real_pictures(exam: list[Question], salt: str) -> list[Image.Image]:
    """The scenes of an exam as the world draws them."""
    return [
        render(question.scene, *FORMATS["square"], random.Random(f"{salt}/{index}")).image
        for index, question in enumerate(exam)
    ]


def vae_quality(folder: Path, basis: LatentBasis, pictures: torch.Tensor) -> dict[str, float]:
    """PSNR in dB of encode-then-decode, and of the decoder alone on the exact latents."""
    vae = AutoencoderKL.from_pretrained(folder / "vae")
    pixels = normalized(pictures.permute(0, 3, 1, 2))
    with torch.no_grad():
        return {
            "encode and decode": psnr(vae.decode(vae.encode(pixels).latent_dist.mode()).sample, pixels),
            "decode": psnr(vae.decode(basis(pictures)).sample, pixels),
        }


def vae_scenes() -> torch.Tensor:
    """Square scenes nobody trained on, as bytes (n, h, w, 3)."""
    pictures = []
    for index in range(VAE_SCENES):
        rng = random.Random(f"vae exam/{index}")
        pictures.append(np.asarray(render(sample_scene(rng, allow_held_out=True), *FORMATS["square"], rng).image))
    return torch.from_numpy(np.stack(pictures))


def evaluate(folder: Path, judge: Judge, setting: Setting) -> dict[str, object]:
    """All exams at one setting."""
    pipe = DiffusionPipeline.from_pretrained(folder)
    pipe.set_progress_bar_config(disable=True)
    shares: dict[str, dict[str, float]] = {}
    all_results: dict[str, list[bool]] = {"time": [], "terrain": []}
    named_sky: dict[str, list[bool]] = {}
    generated: list[Image.Image] = []
    real: list[Image.Image] = []
    others: list[Image.Image] = []
    started = time.monotonic()
    for number, exam in enumerate(EXAMS):
        asked = questions(exam)
        images = generate(pipe, [question.prompt for question in asked], setting, seed=1000 * number)
        right = answers_right(judge, asked, images)
        results = verdicts(asked, right)
        shares[exam.name] = _percentages(results)
        for name, collected in all_results.items():
            collected += results[name]
        for question, factors in zip(asked, right, strict=True):
            for name in question.extras:
                named_sky.setdefault(name, []).append(factors[name])
        generated += images
        real += real_pictures(asked, "real")
        others += real_pictures(asked, "others")
        print(f"{setting} {exam.name}: {shares[exam.name]}", flush=True)
    return {
        "setting": asdict(setting),
        "seconds a picture, in batches": round((time.monotonic() - started) / len(generated), 3),
        "overall": _percentages(all_results),
        "named in the sky": _percentages(named_sky),
        "exams": shares,
        "frechet": round(frechet_distance(judge, generated, real), 2),
        "frechet of real scenes": round(frechet_distance(judge, others, real), 2),
    }


def _percentages(results: dict[str, list[bool]]) -> dict[str, float]:
    return {name: round(100 * sum(right) / len(right), 1) for name, right in results.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="an exported pipeline")
    parser.add_argument("--judge", type=Path, required=True, help="the judge.pt of a training run")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--guidance", type=float, default=3.0)
    parser.add_argument("--output", type=Path, help="write the numbers here as JSON")
    options = parser.parse_args()
    report = evaluate(options.folder, load_judge(options.judge), Setting(options.steps, options.guidance))
    text = json.dumps(report, indent=2)
    print(text)
    if options.output:
        options.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
