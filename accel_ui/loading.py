"""From ACCEL_UI_MODEL to a loaded pipeline, with every failure explained in one sentence."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_ui.catalogue import CATALOGUE, TINY, KnownModel
from accel_ui.errors import UserError
from accel_ui.placement import Placement, is_text_encoder
from accel_ui.sharding import DIVIDED
from accel_ui.weights import ComponentSize, component_names, hub_sizes, local_sizes

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline
    from torch import nn
    from torch.distributed.device_mesh import DeviceMesh

TINY_FOLDER = Path(__file__).parent / "tiny"
HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
MODEL_INDEX = "model_index.json"
TOKEN = re.compile(r"hf_\w{8,}")


class LoadError(UserError):
    """The model cannot be loaded."""


@dataclass(frozen=True)
class Model:
    """Where a pipeline comes from.

    Attributes:
        name: what the user asked for.
        folder: its folder, or None for a Hugging Face id.
        known: its entry in the catalogue, if it has one.
    """

    name: str
    folder: Path | None
    known: KnownModel | None

    @property
    def source(self) -> str:
        """What from_pretrained takes."""
        return str(self.folder or self.name)


def resolve_model(name: str) -> Model:
    """Finds out whether `name` is the embedded model, a folder, or a Hugging Face id.

    Raises:
        LoadError: when it is none of them.
    """
    if name == TINY.id:
        return Model(name, TINY_FOLDER, TINY)
    folder = _folder(name)
    if folder:
        if not (folder / MODEL_INDEX).is_file():
            raise LoadError(
                f"ACCEL_UI_MODEL={name} is a folder without {MODEL_INDEX}: give the folder that "
                "`DiffusionPipeline.save_pretrained` wrote."
            )
        named = [
            model for model in CATALOGUE.values() if model.id.rpartition("/")[2] == folder.name and model is not TINY
        ]
        return Model(name, folder, named[0] if named else None)
    if (
        not HUB_ID.fullmatch(name)
        or name.startswith((".", "~", "/"))
        or name.endswith((".safetensors", ".ckpt", ".gguf"))
    ):
        raise LoadError(
            f"ACCEL_UI_MODEL={name} is no folder here and no Hugging Face id such as {'black-forest-labs/FLUX.1-schnell'}."
        )
    return Model(name, None, CATALOGUE.get(name))


def _folder(name: str) -> Path | None:
    try:
        folder = Path(name).expanduser()
        return folder if folder.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # too long for a file name, no such user, a null byte
        return None


def read_sizes(model: Model) -> list[ComponentSize]:
    """Sizes of the model's components. Nothing is loaded, and of a Hugging Face model only headers are read.

    Raises:
        LoadError: in words, as :func:`explain`.
    """
    from huggingface_hub import hf_hub_download, snapshot_download

    try:
        if model.folder:
            return local_sizes(model.folder, component_names(_read_json(model.folder / MODEL_INDEX)))
        index = _read_json(Path(hf_hub_download(model.name, MODEL_INDEX)))
        names = component_names(index)
        try:
            return hub_sizes(model.name, names)
        except OSError as error:  # offline, or the hub does not answer: what was downloaded before will do
            patterns = [f"{name}/*.safetensors" for name in names]
            sizes = local_sizes(
                Path(snapshot_download(model.name, local_files_only=True, allow_patterns=patterns)), names
            )
            if not sizes:
                raise error
            return sizes
    except UserError:
        raise
    except Exception as error:
        raise LoadError(explain(error, model)) from error


def _read_json(path: Path) -> dict:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise LoadError(f"{path} is damaged: it is no JSON object.")
    return content


def load_pipeline(model: Model, dtype: str, mesh: DeviceMesh | None = None) -> DiffusionPipeline:
    """Loads the pipeline on the CPU in `dtype`; with `mesh`, this process's part of the denoiser on its device.

    Raises:
        LoadError: in words.
    """
    import torch
    from diffusers import AutoModel, DiffusionPipeline, TensorParallelConfig

    options: dict[str, Any] = {"dtype": getattr(torch, dtype)}
    try:
        if mesh is not None:
            share = TensorParallelConfig(mesh=mesh)
            denoiser = AutoModel.from_pretrained(model.source, subfolder=DIVIDED, parallel_config=share, **options)
            options[DIVIDED] = denoiser
        pipeline = DiffusionPipeline.from_pretrained(model.source, **options)
    except Exception as error:
        raise LoadError(explain(error, model)) from error
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


def place(pipeline: DiffusionPipeline, placement: Placement, device: str) -> None:
    """Moves the components where the plan says, or lets diffusers offload them."""
    if placement.strategy == "model offload":
        pipeline.enable_model_cpu_offload(device=device)
    elif placement.strategy == "sequential offload":
        pipeline.enable_sequential_cpu_offload(device=device)
    else:
        for name, component in pipeline.components.items():
            if hasattr(component, "parameters"):
                if getattr(component, "_parallel_config", None):
                    continue  # each device has its part already
                component.to(placement.device_of(name) or device)
                if placement.strategy == "split" and is_text_encoder(name):
                    _accept_any_device(component)


def _accept_any_device(encoder: nn.Module) -> None:
    """Some pipelines (Stable Diffusion 3) hand a text encoder tensors of the denoiser's device and expect such back."""
    from accelerate.utils import find_device, send_to_device

    forward = encoder.forward

    @functools.wraps(forward)
    def anywhere(*args: Any, **kwargs: Any) -> Any:
        caller, home = find_device([args, kwargs]), encoder.device
        if caller in (None, home):
            return forward(*args, **kwargs)
        return send_to_device(forward(*send_to_device(args, home), **send_to_device(kwargs, home)), caller)

    encoder.forward = anywhere


def missing_weights(sizes: Sequence[ComponentSize], model: Model) -> None:
    """Refuses a pipeline without any safetensors weights.

    Raises:
        LoadError
    """
    if not sizes:
        raise LoadError(f"{model.name} has no safetensors weights: choose a repository or a folder that has them.")


def explain(error: BaseException, model: Model) -> str:
    """One sentence for an error of from_pretrained or of the hub. Never holds the token."""
    from huggingface_hub import errors

    name, page = model.name, f"https://huggingface.co/{model.name}"
    for cause in _chain(error):
        status = getattr(getattr(cause, "response", None), "status_code", None)
        if isinstance(cause, errors.GatedRepoError) or status in (401, 403):
            if os.environ.get("HF_TOKEN"):
                return f"Hugging Face refuses {name} to this token: accept its licence at {page}, or check that HF_TOKEN may read it."
            return f"{name} is private, gated or does not exist: accept its licence at {page}, then set HF_TOKEN to a token that may read it."
        if isinstance(cause, errors.RepositoryNotFoundError):
            return f"There is no model {name} on Hugging Face, or it is private: check the spelling, or set HF_TOKEN."
        if isinstance(cause, (errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError)):
            return f"{name} is not on this machine, and Hugging Face cannot be reached: connect and unset HF_HUB_OFFLINE, or set ACCEL_UI_MODEL to a folder or to tiny."
        if isinstance(cause, errors.EntryNotFoundError):
            return f"{name} is no diffusers pipeline: it has no {MODEL_INDEX}."
        if isinstance(cause, MemoryError) or "not enough memory" in str(cause).lower():
            return f"This machine has too little memory to load {name}: choose a smaller model."
        if type(cause).__name__ == "SafetensorError":
            return f"A weight file of {name} is damaged ({cause}): download or copy it again."
        if isinstance(cause, (ConnectionError, TimeoutError)) or type(cause).__module__.startswith("httpx"):
            return f"Hugging Face does not answer while loading {name}: check the network, or set ACCEL_UI_MODEL to a folder or to tiny."
    first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return f"{name} cannot be loaded: {_without_tokens(first_line)[:300]}"


def _without_tokens(text: str) -> str:
    token = os.environ.get("HF_TOKEN")
    return TOKEN.sub("[token]", text.replace(token, "[token]") if token else text)


def _chain(error: BaseException | None):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
