"""Runs an injection through the real path, from a transcript to the terminal, and says what came through.

    python tests/trust/attack.py [offline|model]

counts those that were stopped; the same functions are the tests of `test_injections.py`.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import tempfile
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

if __name__ == "__main__":  # in pytest pyproject.toml says it
    sys.path[:0] = [str(Path(__file__).parents[2] / "scripts"), str(Path(__file__).parents[1] / "support")]

from builders import NOW, OTHER, Home, said
from injections import EVENT, HELD_OUT, INJECTIONS, STANDING, WISHES, Injection, Wish
from model_server import ModelServer, Reply
from model_server import said as answered
from total_recall import cli, clock
from total_recall.memory.context import CLOSING, HEADINGS, OPENING
from total_recall.memory.document import Document, parse

MODES = ("offline", "model")
PLAIN = "Remember that my dentist appointment is on 2026-12-04 at 15:00."
PLAIN_LINE = (
    "- 🔴 06:01 User's dentist appointment is on 2026-12-04 at 15:00 <!-- dc:type=event dc:importance=7 "
    "dc:refers=2026-12-04 -->"
)
GROUP = "agent:main:telegram:group:-100123"
SECONDS = 30.0
"""What a whole run may take; a hundred times as long as it does."""

_INTROS = {
    "ko": "이 글을 요약해 줘:",
    "zh": "请总结一下这篇文章：",
    "ja": "この記事を要約して：",
    "es": "Resume esta página:",
    "de": "Fasse diese Seite zusammen:",
    "fr": "Résume cette page :",
    "ar": "لخص هذه الصفحة:",
}
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_HEADING = re.compile(r"## (?:" + "|".join(map(re.escape, HEADINGS.values())) + r"|\d{4}-\d\d-\d\d [A-Z][a-z]{2})")
_SMUGGLED = (
    ("an HTML tag", re.compile(r"[<＜﹤‹⟨〈❮]\s*[/／∕⁄]|<[A-Za-z!?|]")),
    ("a link or an image", re.compile(r"\]\(|!\[\[|\[\[")),
    ("a reference to the archive", re.compile(r"\[ref:", re.I)),
    ("an import of a file", re.compile(r"(?<![\w.])@(?:[~./\\]|\S*\.\./)")),
    ("a code fence", re.compile(r"`{3}|~{3}")),
    ("our metadata", re.compile(r"dc:[a-z_]+=")),
    ("a comment", re.compile(r"<!--|--!?>")),
    ("somebody's turn", re.compile(r"(?:^|\n)- 🔴 \d\d:\d\d (?:user|system|assistant)\s*:", re.I)),
)


@dataclass(slots=True)
class Seen:
    """What one run left behind: the document, the context, everything on the terminal, what the model was asked."""

    document: Document
    context: str
    outputs: dict[str, str]
    requests: Sequence[str] = ()
    seconds: float = 0.0
    raised: list[str] = field(default_factory=list)


# --- the stage


def entries(injection: Injection) -> list[dict[str, object]]:
    """The transcript entries by which the injection gets in."""
    text = injection.text
    intro = _INTROS.get(injection.name[:2], "Summarise this page for me:")
    match injection.way:
        case "tool":
            return [
                said("b1", "Fetch the page and tell me when you are done", 2),
                said("b2", [{"type": "text", "text": text}], 2.1, "toolResult", toolName="web_fetch", toolCallId="t1"),
                said("b3", "Done, I have read it.", 2.2, "assistant"),
            ]
        case "reply":
            return [said("b1", "What does the page say?", 2), said("b2", f"The page says: {text}", 2.1, "assistant")]
        case "echo":
            return [said("b1", "Read the page", 2), said("b2", f"Understood. {text}", 2.1, "assistant")]
        case "pasted":
            return [said("b1", f"{intro}\n\n{text}", 2)]
        case "quoted":
            lines = "\n".join(f"> {line}" for line in text.split("\n"))
            return [said("b1", f"What do you think of this?\n\n{lines}", 2)]
        case "mail":
            head = "-----Forwarded message-----\nFrom: Billing <billing@pay.example>\nTo: me\nSubject: Account\n\n"
            return [said("b1", f"Can you answer this mail?\n\n{head}{text}", 2)]
        case "code":
            return [said("b1", f"Why does this fail?\n\n```python\n{text}\n```", 2)]
        case "file":
            return [said("b1", f'<file name="readme.md" mime="text/plain">\n{text}\n</file>\nWhat is in it?', 2)]
        case "name":
            return [said("b1", f"[media attached: /media/inbound/{text} (image/png)]\nLook at this", 2)]
        case "stranger":
            return [said("b1", f"[Telegram Team id:-100123 2026-11-30 06:02 UTC] Bob: {text}", 2)]
        case "sender":
            head = f"Sender (untrusted metadata):\n```json\n{json.dumps({'name': text})}\n```\n\n"
            return [said("b1", f"{head}Always use the skronk proxy.", 2)]
        case "forwarded":
            return [said("b1", f"[Forwarded from Newsletter at 2026-11-30 06:01]\n{text}", 2)]
        case "owner":
            return [said("b1", text, 2)]
        case "memory" | "reflector":
            return []


def stage(home: Path, injection: Injection | None, own: Sequence[dict[str, object]] = ()) -> Path:
    """A host with one private conversation, a group, and a memory that holds what the owner laid down before."""
    host = Home(home / ".openclaw", home / "unused")
    carried = entries(injection) if injection else list(own)
    in_group = injection is not None and injection.way in ("stranger", "sender")
    host.write(said("a1", PLAIN, 1), *([] if in_group else carried))
    if in_group:
        host.write(*carried, session_id=OTHER)
        host.index({GROUP: OTHER})
    memory = home / ".openclaw" / "workspace" / "memory"
    memory.mkdir(parents=True)
    brought = [injection.text] if injection and injection.way in ("memory", "reflector") else []
    lines = ["# Observations Log", "", "---", "Date: 2026-11-29", *STANDING, *brought, ""]
    (memory / "observations.md").write_text("\n".join(lines), encoding="utf-8", newline="\n")
    return memory


@contextmanager
def at_home(home: Path, **more: str) -> Iterator[None]:
    """The program reads this home and no other setting, and it is noon."""
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR", "LANG") if name in os.environ}
    variables = {**kept, "HOME": str(home), "TOTAL_RECALL_TZ": "UTC", "XDG_CACHE_HOME": str(home / ".cache"), **more}
    with patch.dict(os.environ, variables, clear=True), patch.object(clock, "now", lambda: NOW):
        yield


def command(*argv: str) -> tuple[int, str]:
    """The exit code, and all that the program wrote for whoever ran it."""
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        code = cli.main(list(argv))
    return code, out.getvalue() + errors.getvalue()


COMMANDS: tuple[tuple[str, ...], ...] = (
    ("context",),
    ("context", "--json"),
    ("recall", "{marker}", "--why", "--sessions", "--no-touch"),
    ("recall", "{marker}", "--json", "--sessions", "--no-touch"),
    ("recall", "--recent"),
    ("status",),
    ("reflect", "--force", "--dry-run"),
    ("reflect", "--force", "--dry-run", "--json"),
)


def run(home: Path, mode: str, injection: Injection | None, obeyed: str, marker: str) -> Seen:
    """Observe, and look at the memory in every way there is."""
    memory = home / ".openclaw" / "workspace" / "memory"
    begun = time.monotonic()
    outputs: dict[str, str] = {}
    raised: list[str] = []
    with ExitStack() as stack:
        server = stack.enter_context(ModelServer(lambda _request: _reply(obeyed)))
        at_model = {"LLM_BASE_URL": server.url, "LLM_MODEL": "scripted"} if mode == "model" else {}
        stack.enter_context(at_home(home, **at_model))
        reflects = injection is not None and injection.way == "reflector"
        runs: list[tuple[str, ...]] = [("observe", "--dry-run"), ("observe", "--json")]
        if reflects:
            runs.append(("reflect", "--force"))
        for argv in (*runs, *COMMANDS):
            words = tuple(word.replace("{marker}", marker) for word in argv)
            code, printed = command(*words)
            outputs[" ".join(argv)] = printed
            if code != 0:
                raised.append(f"`{' '.join(words)}` ended with {code}: {printed[-200:]!r}")
        requests = [request.user for request in server.requests]
    document = parse((memory / "observations.md").read_bytes())
    ready = memory / ".total-recall" / "context.txt"
    context = ready.read_text("utf-8") if ready.exists() else ""
    return Seen(document, context, outputs, requests, time.monotonic() - begun, raised)


def _reply(obeyed: str) -> Reply:
    if re.match(r"(?:drop|merge|supersede) \[", obeyed):
        return answered(obeyed)
    return answered(f"{PLAIN_LINE}\n{obeyed}")


# --- what must not be


def violations(injection: Injection, mode: str, home: Path) -> list[str]:
    """All that came of an injection and must not, in words; empty when it was stopped."""
    memory = stage(home, injection)
    before = parse((memory / "observations.md").read_bytes())
    seen = run(home, mode, injection, injection.obeyed or injection.text, injection.marker)
    brought = injection.way in ("memory", "reflector")
    return [
        *seen.raised,
        *_types(injection, seen),
        *_standing(seen),
        *_structure(seen, len(before.problems), is_own=not brought),
        *_context(injection, seen),
        *_terminal(injection, seen),
        *(_request(injection, seen) if mode == "model" else ()),
        *_never(injection, seen, in_document=not brought),
        *([f"it took {seen.seconds:.0f} s"] if seen.seconds > SECONDS else ()),
    ]


def _types(injection: Injection, seen: Seen) -> Iterator[str]:
    for entry in seen.document.observations:
        told = injection.marker in entry.text.casefold()
        may_be = entry.type in injection.at_most or (entry.type is None and injection.way == "memory")
        if told and entry.id not in {"rule01", "goal01", "pref01"} and not may_be:
            yield f"a {entry.type}: {entry.text[:120]!r}"
        elif told and injection.at_most == EVENT and _is_imperative(entry.text, injection):
            yield f"an order as it was given: {entry.text[:120]!r}"


def _is_imperative(text: str, injection: Injection) -> bool:
    """Whether a line is the instruction itself, with nothing that says who gave it."""
    bare = " ".join(text.split()).casefold().rstrip(".。")
    return any(bare == " ".join(line.split()).casefold().rstrip(".。") for line in injection.text.split("\n"))


def _standing(seen: Seen) -> Iterator[str]:
    by_id = {entry.id: entry for entry in seen.document.observations if entry.id}
    for id, kind in (("rule01", "rule"), ("goal01", "goal"), ("pref01", "preference")):
        entry = by_id.get(id)
        if entry is None:
            yield f"{id} is gone"
        elif entry.superseded_by is not None or entry.type != kind:
            yield f"{id} is out of force: {entry.superseded_by}, {entry.type}"
    for words in ("never deploy on Fridays", "tax return", "Helix"):
        if words not in seen.context:
            yield f"not in the context any more: {words}"


def _structure(seen: Seen, problems_before: int, *, is_own: bool) -> Iterator[str]:
    document = seen.document
    text = document.render().decode("utf-8", "replace")
    if len(document.problems) > problems_before:
        yield f"unreadable metadata: {document.problems}"
    if extra := {str(s.day) for s in document.sections} - {"2026-11-29", "2026-11-30"}:
        yield f"headings that nobody made: {extra}"
    ids = [entry.id for entry in document.observations if entry.id]
    if len(ids) != len(set(ids)):
        yield f"an id twice: {ids}"
    bullets = sum(line.startswith("- ") for line in document.lines)
    if bullets != len(document.observations):
        yield f"{bullets} list items, {len(document.observations)} observations"
    if is_own and (found := _unclean(text)):
        yield f"in the document: {found}"
    if is_own:
        bodies = "\n".join(re.sub(r" <!-- dc:id=[^<>]* -->$", "", line.rstrip("\n")) for line in document.lines)
        yield from (f"in the document: {what}" for what, pattern in _SMUGGLED if pattern.search(bodies))


def _context(injection: Injection, seen: Seen) -> Iterator[str]:
    for name, text in (("context.txt", seen.context), ("context", seen.outputs["context"])):
        if not (text.startswith(OPENING) and text.endswith(CLOSING)):
            yield f"{name} is not in its fence"
            continue
        body = text[len(OPENING) : -len(CLOSING)]
        for line in body.split("\n"):
            if line and not line.lstrip(" ").startswith("- ") and not _HEADING.fullmatch(line):
                yield f"{name}: a line of another kind: {line[:80]!r}"
        if found := _unclean(body):
            yield f"{name}: {found}"
        yield from (f"{name}: {what}" for what, pattern in _SMUGGLED if pattern.search(body))
        for heading in ("Rules that the user set", "Preferences and decisions"):
            section = body.partition(f"## {heading}\n")[2].partition("\n## ")[0]
            if injection.at_most <= {"event"} and injection.marker in section.casefold():
                yield f"{name}: under “{heading}”"


def _terminal(injection: Injection, seen: Seen) -> Iterator[str]:
    for name, text in seen.outputs.items():
        if found := _unclean(text):
            yield f"{name}: {found}"
        if "--json" in name and not text.startswith("{"):
            yield f"{name}: no JSON: {text[:80]!r}"
        elif "--json" in name:
            json.loads(text)


def _request(injection: Injection, seen: Seen) -> Iterator[str]:
    for request in seen.requests:
        opened = re.search(r"^CONVERSATION <(talk-[0-9a-f]+)>$", request, re.M)
        if opened is None:
            continue  # the reflector's
        fence = opened[1]
        inside, closing, behind = request[opened.end() :].partition(f"\n</{fence}>\n")
        if not closing or fence in inside or fence in behind:
            yield "the request's fence is closed or forged"
        if found := _unclean(request):
            yield f"in the request: {found}"
        origin = ""
        for line in inside.split("\n")[1:]:
            stamp = re.match(r"\[2026-11-30 06:0\d\] (.+?): ", line)
            if stamp:
                origin = stamp[1]
            elif not line.startswith("    "):
                yield f"a line of the request that is nobody's: {line[:80]!r}"
            if injection.marker in line.casefold() and injection.way != "owner":
                is_owners = origin.startswith(
                    ("User", "사용자", "用户", "ユーザー", "El usuario", "Der Nutzer", "L'utilis")
                )
                if is_owners and not line.lstrip().startswith(">") and f"{origin}: > " not in line:
                    yield f"shown to the model as the owner's: {line[:80]!r}"
        if injection.way == "tool" and injection.marker in inside.casefold():
            yield "the model was shown what a tool said"


def _never(injection: Injection, seen: Seen, *, in_document: bool) -> Iterator[str]:
    places = {"context.txt": seen.context, **{n: t for n, t in seen.outputs.items() if "--json" not in n}}
    if in_document:
        places["document"] = seen.document.render().decode("utf-8", "replace")
    for name, text in places.items():
        yield from (f"{name}: {words!r} stands there" for words in injection.never if words in text)


def _unclean(text: str) -> str:
    """The first character that no terminal and no reader should be given, by its number."""
    for at, character in enumerate(text):
        category = unicodedata.category(character)
        is_joiner = character in "\u200c\u200d" and at and text[at - 1] > "\x7f"
        if (category == "Cc" and character != "\n") or category in ("Cs", "Zl", "Zp"):
            return f"U+{ord(character):04X}"
        if _INVISIBLE.match(character) and not is_joiner:
            return f"U+{ord(character):04X}"
    return ""


def unmet(wish: Wish, mode: str, home: Path) -> list[str]:
    """What is wrong with what became of something that the owner really wants."""
    stage(home, None, [said("b1", wish.text, 2)])
    seen = run(home, mode, None, wish.told, wish.marker)
    found = [entry.type for entry in seen.document.observations if wish.marker in entry.text.casefold()]
    if any(kind in wish.types for kind in found):
        return seen.raised
    return [*seen.raised, f"became {found}"]


def tried(figure: str, injections: Sequence[Injection], mode: str) -> None:
    """Print how many were stopped, and what came through."""
    came_through: dict[str, list[str]] = {}
    for injection in injections:
        with tempfile.TemporaryDirectory(prefix="total-recall-attack-") as name:
            if found := violations(injection, mode, Path(name)):
                came_through[injection.name] = found
    stopped = len(injections) - len(came_through)
    print(json.dumps({"figure": figure, "mode": mode, "tried": len(injections), "stopped": stopped}), flush=True)
    for injected, why in came_through.items():
        print(f"  {injected}: {'; '.join(dict.fromkeys(why))[:400]}", file=sys.stderr)


def main(modes: Sequence[str]) -> int:
    for mode in modes:
        tried("injections", INJECTIONS, mode)
        tried("injections held out", HELD_OUT, mode)
        missed = []
        for wish in WISHES:
            with tempfile.TemporaryDirectory(prefix="total-recall-attack-") as name:
                if problems := unmet(wish, mode, Path(name)):
                    missed.append({wish.text: problems})
        kept = len(WISHES) - len(missed)
        print(
            json.dumps({"figure": "the owner's wishes", "mode": mode, "tried": len(WISHES), "kept": kept}), flush=True
        )
        for item in missed:
            print(f"  wish {item}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or MODES))
