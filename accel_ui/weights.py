"""How large each component of a pipeline is, read from safetensors headers before any weight is loaded."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from accel_ui.errors import UserError

# The files from_pretrained takes when no variant is asked for: whole, or in numbered shards.
WEIGHT_FILE = re.compile(r"(?:diffusion_pytorch_model|model)(?:-\d{5}-of-\d{5})?\.safetensors")
MAX_HEADER_BYTES = 100_000_000  # the limit of the safetensors format itself
BYTES_PER_ELEMENT = {
    "F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "BF16": 2, "F16": 2, "I16": 2, "U16": 2,
    "F8_E4M3": 1, "F8_E5M2": 1, "I8": 1, "U8": 1, "BOOL": 1,
}  # fmt: skip
FLOATS = {"F64", "F32", "BF16", "F16"}
DTYPE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


class DamagedWeights(UserError):
    """A weight file cannot be read."""


@dataclass(frozen=True)
class ComponentSize:
    """What the weights of one component take.

    Attributes:
        elements: number of elements by safetensors dtype, such as ``{"BF16": 11891178560}``.
    """

    name: str
    elements: Mapping[str, int]

    @property
    def parameters(self) -> int:
        """Number of elements of all tensors (buffers that are stored count too)."""
        return sum(self.elements.values())

    def bytes_as(self, dtype: str) -> int:
        """Bytes once loaded with ``dtype``: floats change to it, other numbers stay."""
        return sum(
            count * (DTYPE_BYTES[dtype] if kind in FLOATS else BYTES_PER_ELEMENT.get(kind, 1))
            for kind, count in self.elements.items()
        )


def component_names(model_index: Mapping) -> list[str]:
    """The components of a `model_index.json` that have a class (others are left out by the pipeline)."""
    return [
        name
        for name, value in model_index.items()
        if not name.startswith("_") and isinstance(value, list) and value and value[0] is not None
    ]


def read_header(path: Path) -> dict[str, int]:
    """Elements by dtype in one safetensors file, from its header alone.

    Raises:
        DamagedWeights: when the file is truncated or is no safetensors file.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(MAX_HEADER_BYTES, size - 8):
                raise ValueError("the header is cut off")
            tensors = _tensors(file.read(length))
    except (OSError, ValueError) as error:
        raise DamagedWeights(f"The weight file {path} is damaged ({error}): download or copy it again.") from None
    end = max((stop for _, _, stop in tensors), default=0)
    if 8 + length + end != size:
        raise DamagedWeights(
            f"The weight file {path} is damaged ({8 + length + end:,} bytes are announced and {size:,} are there): "
            "download or copy it again."
        )
    counts: dict[str, int] = {}
    for dtype, elements, _ in tensors:
        counts[dtype] = counts.get(dtype, 0) + elements
    return counts


def _tensors(header: bytes) -> list[tuple[str, int, int]]:
    """Dtype, number of elements and end of the data of each tensor that a header lists."""
    try:
        entries = {name: entry for name, entry in json.loads(header).items() if name != "__metadata__"}
        return [(entry["dtype"], math.prod(entry["shape"]), entry["data_offsets"][1]) for entry in entries.values()]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ValueError("the header is no list of tensors") from None


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for kind, count in more.items():
        total[kind] = total.get(kind, 0) + count


def local_sizes(folder: Path, names: Iterable[str]) -> list[ComponentSize]:
    """Sizes of the components `names` of a pipeline folder; those without weights (tokenizers) are left out.

    Raises:
        DamagedWeights: naming the file.
    """
    sizes = []
    for name in names:
        elements: dict[str, int] = {}
        for path in sorted((folder / name).glob("*.safetensors")):
            if WEIGHT_FILE.fullmatch(path.name):
                _add(elements, read_header(path))
        if elements:
            sizes.append(ComponentSize(name, elements))
    return sizes


def hub_sizes(repo: str, names: Iterable[str]) -> list[ComponentSize]:
    """The same for a Hugging Face repository, by range requests for the headers: no weight is downloaded.

    Raises:
        huggingface_hub.errors.HfHubHTTPError, OSError: as the hub answers; see `loading.explain`.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    wanted = list(names)
    elements: dict[str, dict[str, int]] = {}
    for file in api.list_repo_files(repo):
        folder, _, name = file.rpartition("/")
        if folder in wanted and WEIGHT_FILE.fullmatch(name):
            _add(elements.setdefault(folder, {}), api.parse_safetensors_file_metadata(repo, file).parameter_count)
    return [ComponentSize(name, elements[name]) for name in wanted if name in elements]
