"""What visitors may read: sentences without the folders of this machine. The log keeps them whole."""

from __future__ import annotations

import re
from typing import Any

# An absolute path of two parts or more, not the tail of an address such as https://host/a/b, nor a device's file; its
# last part stays.
FOLDERS = re.compile(
    r"(?<![\w./:~*-])(?!/dev/)(?:~|[A-Za-z]:)?(?:[/\\][^\s/\\'\"`,;()<>]+)*[/\\](?=[^\s/\\'\"`,;()<>]+[/\\]?)"
)


def public(value: Any) -> Any:
    """`value` (text, or plain data holding text) with each path cut to its last part."""
    if isinstance(value, str):
        return FOLDERS.sub("…/", value)
    if isinstance(value, dict):
        return {key: public(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [public(item) for item in value]
    return value
