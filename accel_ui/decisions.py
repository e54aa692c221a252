"""What the program decided for the user, each with its reason in words.

The same sentences go to the log, to `doctor` and to the page.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Decision:
    """One choice: what was chosen (`value`) for `subject`, and why."""

    subject: str
    value: str
    reason: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.value} ({self.reason})"
