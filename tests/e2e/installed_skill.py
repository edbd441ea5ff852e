"""Total Recall installed as a skill in the workspace of a real OpenClaw."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from openclaw_host import OpenClaw, wait_until
from total_recall_product import REPOSITORY, RUN_SECONDS, TotalRecall

SOON_SECONDS = 30.0
"""By then what was said stands in the document, whatever happened right after it was said."""
FENCE = re.compile(r"<total-recall-memory>.*?</total-recall-memory>", re.DOTALL)
AGENTS_MD = "# Agents\n\nBe kind."


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Every file that setup may touch, by path, with its bytes."""

    files: dict[str, bytes]

    @classmethod
    def of(cls, host: OpenClaw) -> Snapshot:
        roots = [host.state / "hooks", host.home / ".config"]
        files = [host.state / "openclaw.json", host.workspace / "AGENTS.md"]
        files += [path for root in roots if root.exists() for path in root.rglob("*") if path.is_file()]
        return cls({str(path): path.read_bytes() for path in files if path.exists()})


class Installed:
    """The skill in the workspace of a host, and how it is called."""

    def __init__(self, host: OpenClaw, product: TotalRecall) -> None:
        self.host = host
        self.product = product
        self.before = Snapshot.of(host)
        self.setups: list[dict[str, Any]] = []
        self.gateway: subprocess.Popen[bytes] | None = None

    @property
    def skill(self) -> Path:
        return self.host.workspace / "skills" / "total-recall"

    def command(self, *arguments: str) -> dict[str, Any]:
        """What a person types, with the host's command in reach; the JSON answer."""
        done = subprocess.run(
            ["/bin/sh", str(self.skill / "scripts" / "total-recall"), *arguments, "--json"],
            env=self.host.environment,
            cwd=self.host.home,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{arguments} ended with {done.returncode}: {done.stderr}{done.stdout}"
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def document(self) -> str:
        path = self.product.document
        return path.read_text("utf-8") if path.exists() else ""

    def stands_soon(self, word: str) -> None:
        """Wait until a line of the document has the word; fail after SOON_SECONDS."""
        wait_until(lambda: word in self.document(), SOON_SECONDS, f"{word} in observations.md")

    def fences(self, said: str) -> list[str]:
        """The memories in the last request that the model got for a text of the user's."""
        return FENCE.findall(whole(self.request(said)))

    def was_asked(self, said: str) -> bool:
        """Whether the model got a request with a text of the user's."""
        return any(said in whole(request) for request in self.host.model.requests)

    def request(self, said: str) -> dict[str, Any]:
        return next(r for r in reversed(self.host.model.requests) if said in whole(r))


def whole(request: dict[str, Any]) -> str:
    """All texts of a request."""
    contents = [message.get("content") or "" for message in request["messages"]]
    texts = [c if isinstance(c, str) else "\n".join(part.get("text", "") for part in c) for c in contents]
    return "\n".join(texts)


def with_shared_environments(host: OpenClaw, shared: Path) -> OpenClaw:
    """The host, configured, with Total Recall's environment of Python packages where all tests share it."""
    xdg = {"XDG_DATA_HOME": str(shared / "data"), "XDG_CACHE_HOME": str(shared / "cache")}
    host = replace(host, extra_environment=xdg)
    host.configure()
    return host


def install(host: OpenClaw, product: TotalRecall, dist: Path) -> Installed:
    """Build the bundle and install it, by the host's own installer where it has one."""
    subprocess.run([str(REPOSITORY / "scripts" / "build-bundle"), str(dist)], check=True, timeout=60)
    bundle = dist / "total-recall"
    if host.version > "2026.8":
        host.run("skills", "install", str(bundle))
    else:
        shutil.copytree(bundle, host.workspace / "skills" / "total-recall", copy_function=shutil.copyfile)
    (host.workspace / "AGENTS.md").write_text(AGENTS_MD, "utf-8")
    return Installed(host, product)
