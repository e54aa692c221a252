"""Every ACCEL_UI_* variable: typed, validated, documented once.

The environment (and a `.env` file in the working directory) is the only source. The description of each
field is what `.env.example` and the README print; a test keeps the three together.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Annotated, Literal, get_args

from dotenv import load_dotenv
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from accel_ui.errors import UserError
from accel_ui.space import space_defaults

PREFIX = "ACCEL_UI_"
DEFAULT_CACHE_DIR = Path("~/.cache/accel-ui")
HUGGINGFACE = "huggingface"


class SettingsError(UserError):
    """A variable has a value that cannot be used; the message is one sentence for the user."""


class Settings(BaseSettings):
    """The settings of one process; read them with :func:`load_settings`."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True, env_ignore_empty=True)

    model: str = Field(
        "tiny", description="`tiny` (embedded), a Hugging Face id, or a folder with a diffusers pipeline"
    )
    device: Literal["auto", "cpu", "cuda", "xpu", "mps", "tpu", "neuron"] = Field(
        "auto", description="accelerator to use; `auto` takes the first one found, else the CPU"
    )
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = Field(
        "auto", description="number format of the weights; `auto` takes the device's best"
    )
    mode: Literal["compile", "eager", "eager-fused", "eager-blocking"] = Field(
        "compile", description="how the pipeline runs; the last two exist on a TPU only"
    )
    cold: Literal["auto", "eager", "compile"] = Field(
        "auto",
        description="a preset without a graph: answer eagerly and compile when idle, or compile first; "
        "`auto` chooses by device",
    )
    compile_components: Annotated[tuple[str, ...], NoDecode] = Field(
        ("auto",), description="components to compile, comma-separated; `auto` is the denoiser and the VAE decoder"
    )
    compile_blocks: bool = Field(
        False, description="compile the denoiser's repeated blocks in place of its whole graph (faster to compile)"
    )
    warmup: Literal["none", "default", "all"] = Field(
        "default", description="presets compiled in the background after loading"
    )
    presets: Path | None = Field(None, description="TOML file with presets of your own")
    text_encoder_device: Literal["auto", "cpu", "device"] = Field(
        "auto", description="where the text encoders live; `auto` is the device when everything fits"
    )
    cache_dir: Path = Field(
        DEFAULT_CACHE_DIR, description="compiled graphs and compiler caches; keep it across restarts"
    )
    output_dir: Path = Field(Path("outputs"), description="folder for the pictures")
    history: Literal["private", "shared"] = Field(
        "private", description="who sees a picture in the history: the browser that made it, or everybody"
    )
    auth: SecretStr | None = Field(
        None,
        description="who may use the page and the API: `user:password`, several with commas between, or `huggingface` "
        "(sign in with Hugging Face, on a Space); empty is everybody",
    )
    max_queue: int = Field(20, ge=1, le=1000, description="requests that may wait; one more is refused")
    max_per_client: int = Field(
        10, ge=1, le=1000, description="of these, requests of one visitor (one address, or one user)"
    )
    time_limit: float = Field(600.0, gt=0, le=86_400, description="seconds one run may take, compilation not counted")
    compile_limit: float = Field(
        3600.0, gt=0, le=86_400, description="seconds a background compilation may take; then the preset stays eager"
    )
    grace: float = Field(
        30.0, ge=0, le=3600, description="seconds the running picture may still take after SIGTERM or Ctrl-C"
    )
    max_output_gb: float = Field(
        10.0, gt=0, le=1e6, description="size of the pictures that are kept; the oldest are deleted beyond it"
    )
    max_cache_gb: float = Field(
        50.0, gt=0, le=1e6, description="size of the caches; what was unused for longest is deleted beyond it, at start"
    )
    log: Literal["text", "json"] = Field(
        "text", description="form of the log: lines to read, or one JSON object a line"
    )
    log_prompts: bool = Field(False, description="write prompts into the log")
    preview_every: int = Field(2, ge=0, le=1000, description="steps between two previews on the page; 0 is off")

    @field_validator("compile_components", mode="before")
    @classmethod
    def _split_names(cls, value: object) -> object:
        if isinstance(value, str):
            value = tuple(name.strip() for name in value.split(",") if name.strip())
        if not value:
            raise ValueError("at least one name")
        return value

    @field_validator("presets")
    @classmethod
    def _presets_file_exists(cls, value: Path | None) -> Path | None:
        if value is not None and not (value := _expanded(value)).is_file():
            raise ValueError("an existing TOML file")
        return value

    @field_validator("auth")
    @classmethod
    def _names_somebody(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None:
            return value
        if value.get_secret_value() != HUGGINGFACE:
            _parsed_users(value.get_secret_value())
        elif not (os.environ.get("SYSTEM") == "spaces" and os.environ.get("OAUTH_CLIENT_ID")):  # as Gradio decides it
            raise ValueError("elsewhere Gradio would sign everybody in as the user of this machine")
        return value

    @property
    def users(self) -> list[tuple[str, str]]:
        """Names and passwords of ACCEL_UI_AUTH; empty when it is not set, or asks for Hugging Face."""
        return [] if self.auth is None or self.signs_in_at_hub else _parsed_users(self.auth.get_secret_value())

    @property
    def signs_in_at_hub(self) -> bool:
        """Whether visitors sign in with Hugging Face."""
        return self.auth is not None and self.auth.get_secret_value() == HUGGINGFACE

    @field_validator("cache_dir", "output_dir")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return _expanded(value).absolute()

    @field_validator("output_dir")
    @classmethod
    def _holds_pictures_alone(cls, value: Path) -> Path:
        real = value.resolve()
        if any(place.resolve().is_relative_to(real) for place in (Path.cwd(), Path.home())):
            raise ValueError("a folder for pictures alone")
        return value


def _parsed_users(text: str) -> list[tuple[str, str]]:
    pairs = [part.strip().partition(":") for part in text.split(",")]
    if not all(name and password for name, _, password in pairs):
        raise ValueError("user:password")
    return [(name, password) for name, _, password in pairs]


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:  # ~nobody
        raise ValueError(str(error)) from None


def variable_name(field: str) -> str:
    """`cache_dir` -> `ACCEL_UI_CACHE_DIR`."""
    return PREFIX + field.upper()


def accepted_values(field: str) -> str:
    """What the variable of `field` accepts, in words for an error message."""
    choices = choices_of(field)
    if choices:
        return "one of " + ", ".join(choices)
    words = {
        "compile_blocks": "true or false",
        "log_prompts": "true or false",
        "auth": "user:password, several with commas between, or huggingface on a Space with `hf_oauth: true`",
        "compile_components": "component names, comma-separated, or auto",
        "cache_dir": "a folder",
        "output_dir": "a folder for pictures alone, because visitors can read what lies in it",
        "presets": "the path of an existing TOML file",
        "preview_every": "a whole number from 0 to 1000",
        "max_queue": "a whole number from 1 to 1000",
        "max_per_client": "a whole number from 1 to 1000",
        "time_limit": "a number of seconds above 0 and up to 86400",
        "compile_limit": "a number of seconds above 0 and up to 86400",
        "grace": "a number of seconds from 0 to 3600",
        "max_output_gb": "a number of gigabytes above 0",
        "max_cache_gb": "a number of gigabytes above 0",
    }
    return words.get(field) or str(Settings.model_fields[field].description)


def choices_of(field: str) -> tuple[str, ...]:
    """The words a field accepts; empty when it takes anything else."""
    arguments = get_args(Settings.model_fields[field].annotation)
    return arguments if all(isinstance(argument, str) for argument in arguments) else ()


def load_settings(env_file: str | Path = ".env") -> Settings:
    """Reads `env_file` into the environment (it does not override what is set there), then the settings.

    The file goes through the environment because GRADIO_*, HF_* and the compilers read theirs from it too.

    Raises:
        SettingsError: one sentence that names the variable and what it accepts.
    """
    load_dotenv(env_file)
    for name, value in space_defaults().items():
        os.environ[name] = os.environ.get(name) or value
    known = {variable_name(field) for field in Settings.model_fields}
    for name in os.environ:
        if name.startswith(PREFIX) and name not in known:
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
            hint = f"did you mean {close[0]}?" if close else "see .env.example for the list."
            raise SettingsError(f"{name} is not a setting of Accel UI; {hint}")
    try:
        return Settings()
    except ValidationError as error:
        problem = error.errors()[0]
        field = str(problem["loc"][0]) if problem["loc"] else "model"
        value = "..." if field == "auth" else repr(problem["input"])  # never a password
        raise SettingsError(
            f"{variable_name(field)}={value} cannot be used: it accepts {accepted_values(field)}."
        ) from None


def as_environment(settings: Settings) -> dict[str, str]:
    """The variables that give another process the same settings, but for who may visit it."""
    values = settings.model_dump(mode="json", exclude_none=True, exclude={"auth"})
    return {
        variable_name(field): ",".join(value) if isinstance(value, (list, tuple)) else str(value)
        for field, value in values.items()
    }


def default_text(field: str) -> str:
    """The default as one would write it in a `.env` file; empty when there is none."""
    value = Settings.model_fields[field].default
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else str(value)
