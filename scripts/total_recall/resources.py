"""Files that come with the program: in a checkout or bundle beside `scripts/`, in a wheel inside the package."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def demo_homes() -> list[Path]:
    """The real transcripts that `demo` shows, one host home each; empty where they are not shipped (bundle, wheel)."""
    fixtures = _PACKAGE.parent.parent / "tests" / "fixtures"
    names = ("openclaw-2026.3.24-jsonl", "openclaw-2026.9.6-sqlite")
    return [fixtures / name for name in names if (fixtures / name / ".openclaw").is_dir()]
