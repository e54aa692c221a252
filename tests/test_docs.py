"""README, .env.example and the settings say the same; the README's commands are the ones CI runs."""

from __future__ import annotations

import re

import pytest

from accel_ui.settings import Settings, choices_of, default_text, load_settings, variable_name
from conftest import ROOT

README = (ROOT / "README.md").read_text()
EXAMPLE = (ROOT / ".env.example").read_text()
FIELDS = list(Settings.model_fields)


def described(field: str) -> str:
    choices = choices_of(field)
    return Settings.model_fields[field].description + (f" ({', '.join(choices)})" if choices else "")


def test_the_same_names_in_the_same_order():
    names = [variable_name(field) for field in FIELDS]
    assert re.findall(r"^(ACCEL_UI_\w+)=", EXAMPLE, re.M) == names
    assert re.findall(r"^\| `(ACCEL_UI_\w+)` \|", README, re.M) == names


@pytest.mark.parametrize("field", FIELDS)
def test_defaults_and_descriptions_agree(field):
    default = default_text(field)
    assert f"# {described(field)}\n{variable_name(field)}={default}\n" in EXAMPLE
    shown = f"`{default}`" if default else ""
    assert f"| `{variable_name(field)}` | {shown} | {described(field)} |\n" in README


@pytest.mark.usefixtures("environment_put_back")
def test_copied_example_file_means_the_defaults():
    assert load_settings(ROOT / ".env.example") == Settings()


def test_ci_runs_the_readme_test_command():
    section = README.split("## Tests")[1]
    command = re.search(r"```bash\n(.+)\n```", section).group(1)
    script = (ROOT / ".ci" / "run").read_text().replace("install -q", "install")
    for part in command.split(" && "):
        assert part in script


def test_files_named_in_the_readme_exist():
    for path in re.findall(r"\]\(([\w./-]+)\)|!\[[^\]]*\]\(([\w./-]+)\)", README):
        assert (ROOT / (path[0] or path[1])).exists(), path


def test_no_registry_address_in_any_file():
    for path in [*ROOT.glob("*.txt"), *ROOT.glob("*.toml"), *ROOT.glob("tests/*.txt"), ROOT / ".ci" / "run"]:
        assert not re.search(r"index-url|pypi\.org|pythonhosted", path.read_text()), path
