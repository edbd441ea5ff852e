"""Every test gets an empty home directory and none of the settings of whoever runs it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

XDG_FOLDERS = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
    "XDG_RUNTIME_DIR": ".run",
}
FOREIGN_SETTINGS = (
    "OPENCLAW_", "CLAUDE_", "OPENROUTER_", "LLM_", "EMBEDDING_", "OBSERVER_", "REFLECTOR_", "DREAM_",
    "TOTAL_RECALL_", "MEMORY_DIR", "SESSIONS_DIR", "READ_ONLY_MODE",
)  # fmt: skip
KEPT = {"TOTAL_RECALL_E2E_DIR", "TOTAL_RECALL_REAL_MODEL_URL", "TOTAL_RECALL_REAL_MODEL"}
"""Where tests/e2e/install put the real OpenClaws, which are in nobody's home directory for the tests; the endpoint of
tests/llm/test_real_model.py."""

collection_home: Path


def settings_of(home: Path) -> dict[str, str]:
    """The variables that lead a program to `home`."""
    return {"HOME": str(home)} | {name: str(home / folder) for name, folder in XDG_FOLDERS.items()}


def foreign_settings() -> list[str]:
    return [name for name in os.environ if name.startswith(FOREIGN_SETTINGS) and name not in KEPT]


def pytest_configure(config: pytest.Config) -> None:
    """While tests are collected, and in fixtures that live longer than a test, home is empty as well."""
    global collection_home
    collection_home = Path(tempfile.mkdtemp(prefix="total-recall-home-"))
    os.environ.update(settings_of(collection_home))
    for name in foreign_settings():
        del os.environ[name]


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(collection_home)


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home directory of this test alone."""
    folder = tmp_path_factory.mktemp("home")
    for name, value in settings_of(folder).items():
        monkeypatch.setenv(name, value)
    return folder
