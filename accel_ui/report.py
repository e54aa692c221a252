"""What `doctor` says: the machine, the versions, the plan and its reasons. Plain data, then words."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from accel_ui.environment import ARTIFACTS, FolderError, ensure_folder
from accel_ui.errors import UserError
from accel_ui.placement import show_bytes
from accel_ui.settings import Settings, variable_name

PACKAGES = ("torch", "diffusers", "transformers", "gradio", "accelerate", "torch_tpu", "torch-neuronx")


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that matter, of those that are installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def diagnose(settings: Settings) -> dict[str, Any]:
    """Looks at everything that serving needs, without loading a weight.

    ``problem`` is None when this machine can serve the model, else the sentence that says what to change.
    """
    from accel_ui.backends import detect_all
    from accel_ui.survey import fits_by_degree, survey

    report: dict[str, Any] = {
        "problem": None,
        "versions": versions(),
        "devices": {name: vars(detection) for name, detection in detect_all().items()},
        "model": settings.model,
        "folders": {},
    }
    try:
        for field in ("cache_dir", "output_dir"):
            report["folders"][variable_name(field)] = _folder(
                ensure_folder(getattr(settings, field), variable_name(field))
            )
        report["fits"] = fits_by_degree(settings)
        plan = survey(settings)
    except FolderError as error:
        report["problem"] = str(error)
        return report
    except UserError as error:
        report["problem"] = str(error)
        return report
    report["decisions"] = [vars(decision) for decision in plan.decisions]
    report["components"] = [vars(assignment) for assignment in plan.placement.assignments]
    report["presets"] = [vars(preset) for preset in plan.presets] if plan.presets else []
    report["kept_programs"] = plan.backend.kept_programs(settings.cache_dir)
    report["kept_graphs"] = sorted(path.name for path in (settings.cache_dir / ARTIFACTS).glob("[!.]*"))
    return report


def _folder(path: Path) -> dict[str, Any]:
    used = sum(os.path.getsize(file) for file in path.rglob("*") if file.is_file())
    return {"path": str(path), "bytes": used}


def in_words(report: dict[str, Any]) -> str:
    """The report for a terminal."""
    lines = ["Versions    " + ", ".join(f"{name} {version}" for name, version in report["versions"].items()), ""]
    lines += [
        f"Device      {name:<7} {'yes' if detection['available'] else 'no ':<4} {detection['reason']}"
        for name, detection in report["devices"].items()
    ]
    lines += ["", f"Model       {report['model']}"]
    lines += [
        f"Component   {row['component']:<15} {show_bytes(row['bytes']):>9} on {row['device']:<7} {row['reason']}"
        for row in report.get("components", ())
    ]
    lines += [
        f"Fits on     {degree} device{'s' * (degree > 1)}: {said}" for degree, said in report.get("fits", {}).items()
    ]
    lines += [
        "",
        *(f"Decision    {row['subject']}: {row['value']} ({row['reason']})" for row in report.get("decisions", ())),
    ]
    lines += [
        f"Preset      {row['id']:<10} {row['width']} x {row['height']}, {row['steps']} steps, guidance {max(row['guidance_scale'], row['true_cfg_scale']):g}"
        for row in report.get("presets", ())
    ]
    if "presets" in report and not report["presets"]:
        lines.append("Preset      derived from the pipeline's own defaults once it is loaded")
    lines += [
        f"Folder      {name}: {row['path']} ({show_bytes(row['bytes'])})" for name, row in report["folders"].items()
    ]
    if "kept_graphs" in report:
        lines.append(f"Graphs      {len(report['kept_graphs'])} kept on disk")
    if report.get("kept_programs") is not None:
        lines.append(f"Programs    {report['kept_programs']} of the device's own compiler kept on disk")
    lines += ["", report["problem"] or "This machine can serve the model."]
    return "\n".join(lines)
