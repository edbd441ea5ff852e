"""Files that come with the program: in a checkout or bundle beside `scripts/`, in a wheel inside the package."""

from __future__ import annotations

from pathlib import Path

from total_recall.errors import StoreError

_PACKAGE = Path(__file__).resolve().parent


def demo_homes() -> list[Path]:
    """The real transcripts that `demo` shows, one host home each; empty where they are not shipped (bundle, wheel)."""
    fixtures = _PACKAGE.parent.parent / "tests" / "fixtures"
    names = ("openclaw-2026.3.24-jsonl", "openclaw-2026.9.6-sqlite")
    return [fixtures / name for name in names if (fixtures / name / ".openclaw").is_dir()]


def prompt(name: str, workspace: Path) -> str:
    """The text of a prompt: the user's own in `<workspace>/config/total-recall/`, else the one that comes with us.

    Raises StoreError when it cannot be read.
    """
    own = workspace / "config" / "total-recall" / name
    for path in (own, _PACKAGE / "prompts" / name, _PACKAGE.parent.parent / "prompts" / name):
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}; check its permissions") from error
    raise StoreError(f"{path} is missing; install Total Recall again")
