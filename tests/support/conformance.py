"""What every adapter for a host with one JSONL file a session must do; its test inherits the suite.

    class TestToyHost(Conformance):
        form = toy_host.FORMAT
        def spoken(self, entry_id, text, minute, role): ...
"""

from __future__ import annotations

import json
import random
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import NOW, at, line, ms
from total_recall.sessions import transcript_files
from total_recall.sessions.entries import latest_believable
from total_recall.sessions.selection import DEFAULT_INCLUDE
from total_recall.sessions.source import PROBLEMS, Problems
from total_recall.sessions.taking import Window, take_new
from total_recall.sessions.transcript_files import Format, TranscriptFiles
from total_recall.state import State

STEPS = ("append", "half", "rename", "rewrite", "fork")
TEXTS = ("the demo is on Thursday", "데모는 목요일이다 🍵", "a line\u2028of two\u0085kinds", 'a "quote" \\ and \t tab')


class Store:
    """A store of the host, and a reader that keeps its state between runs."""

    def __init__(self, root: Path, form: Format) -> None:
        self.folder = root / "store" / Path(*[f"{level}" for level in range(form.depth)])
        self.root = root / "store"
        self.folder.mkdir(parents=True)
        self.own = root / "own"
        self.form = form
        self.problems = Problems()

    def read(self, *, fresh_since: datetime | None = None, **source: Any) -> list[str]:
        """The texts that one run takes, in time order."""
        self.problems = Problems()
        reader = TranscriptFiles(self.form, self.root, latest_ms=latest_believable(NOW), **source)
        window = Window(DEFAULT_INCLUDE, "main", promote_since_ms=None if fresh_since is None else ms(fresh_since))
        with State.open(self.own) as state:
            known = {item.row for item in state.queue()}
            take_new([reader], state, window, self.problems)
            return [item.message.text for item in state.queue() if item.row not in known]


class Conformance:
    """Inherit it, set `form`, and say how the host writes a message. `file` names a transcript of a session."""

    form: Format

    def spoken(self, entry_id: str, text: str, minute: float, role: str = "user") -> dict[str, Any]:
        """An entry in which the person, or the assistant, says a text."""
        raise NotImplementedError

    def file(self, session: str) -> str:
        return f"{session}.jsonl"

    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return Store(tmp_path, self.form)

    def lines(self, *texts: str, first: int = 0) -> bytes:
        """User and assistant in turn."""
        roles = ("user", "assistant")
        numbered = enumerate(texts, first)
        return b"".join(line(self.spoken(f"e{n}", text, 1 + n, roles[n % 2])) for n, text in numbered)

    # --- what is read

    def test_what_both_said_is_taken_once_in_order(self, store: Store) -> None:
        (store.folder / self.file("one")).write_bytes(self.lines(*TEXTS))
        assert store.read() == list(TEXTS)
        assert store.read() == []
        assert store.problems.counts == {}

    def test_who_said_it_when_in_which_session(self, store: Store) -> None:
        (store.folder / self.file("one")).write_bytes(self.lines("a question", "an answer"))
        store.read()
        with State.open(store.own) as state:
            said = [item.message for item in state.queue()]
        assert [(m.role, m.at, m.source) for m in said] == [
            ("user", at(1), self.form.source), ("assistant", at(2), self.form.source),
        ]  # fmt: skip
        assert {m.session_id for m in said} == {self.form.session_of(self.file("one"))}
        assert said[0].is_owner

    def test_other_files_are_left_alone(self, store: Store) -> None:
        for name in ("notes.txt", "one.jsonl.bak", ".jsonl", "one.json"):
            (store.folder / name).write_bytes(self.lines("not a transcript"))
        assert store.read() == []

    # --- a file that grows, moves, is cut or damaged

    def test_only_what_was_appended_is_read(self, store: Store) -> None:
        path = store.folder / self.file("one")
        path.write_bytes(self.lines("first"))
        assert store.read() == ["first"]
        with path.open("ab") as stream:
            stream.write(self.lines("second", first=1))
        assert store.read() == ["second"]

    def test_nothing_is_opened_that_did_not_change(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        (store.folder / self.file("one")).write_bytes(self.lines("first"))
        store.read()

        def blow_up(path: str) -> None:
            raise AssertionError(path)

        monkeypatch.setattr(transcript_files, "open_file", blow_up)
        assert store.read() == []

    def test_a_half_line_waits_for_its_end(self, store: Store) -> None:
        path, whole = store.folder / self.file("one"), self.lines("first", "second")
        path.write_bytes(whole[:-20])
        assert store.read() == ["first"]
        assert store.problems.counts == {"half-line": 1}
        path.write_bytes(whole)
        assert store.read() == ["second"]

    def test_a_last_line_without_its_newline_is_read_once(self, store: Store) -> None:
        path = store.folder / self.file("one")
        path.write_bytes(self.lines("first").rstrip(b"\n"))
        assert store.read() == ["first"]
        with path.open("ab") as stream:
            stream.write(b"\n" + self.lines("second", first=1))
        assert store.read() == ["second"]

    @pytest.mark.parametrize(
        ("damage", "kind"),
        [
            (b"\xef\xbb\xbf", "bom"),
            (b"\0" * 4096, "nul-bytes"),
            (b"no json\n", "broken-line"),
            (b"[1]\n", "not-object"),
            (b'{"type":"half', "glued-lines"),
        ],
    )
    def test_damage_costs_only_what_is_damaged(self, damage: bytes, kind: str, store: Store) -> None:
        (store.folder / self.file("one")).write_bytes(damage + self.lines("first", "second"))
        assert store.read() == ["first", "second"]
        assert set(store.problems.counts) <= {kind} <= PROBLEMS.keys()

    def test_a_lone_surrogate_is_a_replacement_character(self, store: Store) -> None:
        raw = self.lines("half XX of it").replace(b"XX", b"\\ud83d")
        (store.folder / self.file("one")).write_bytes(raw)
        assert store.read() == ["half \ufffd of it"]

    def test_windows_line_ends_are_read(self, store: Store) -> None:
        (store.folder / self.file("one")).write_bytes(self.lines("first", "second").replace(b"\n", b"\r\n"))
        assert store.read() == ["first", "second"]

    def test_a_very_long_line_is_read_without_its_binary_part(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(transcript_files, "LINE_LIMIT", 2048)
        entry = {**self.spoken("e0", "first", 1), "picture": "A" * (3 << 20)}
        (store.folder / self.file("one")).write_bytes(line(entry) + self.lines("x", "second")[len(self.lines("x")) :])
        assert store.read() == ["first", "second"]
        assert store.problems.counts == {"long-line": 1}

    def test_entries_of_no_known_kind_are_no_problem(self, store: Store) -> None:
        kinds = [{"type": "of-next-year", "timestamp": "2026-11-30T06:00:00Z"}, {"type": 7}, {}]
        (store.folder / self.file("one")).write_bytes(b"".join(map(line, kinds)) + self.lines("first"))
        assert store.read() == ["first"]

    def test_a_file_that_was_renamed_is_not_read_again(self, store: Store) -> None:
        path = store.folder / self.file("one")
        path.write_bytes(self.lines("first"))
        store.read()
        path.rename(store.folder / self.file("two"))
        assert store.read() == []

    def test_a_rewritten_file_yields_only_what_is_new(self, store: Store) -> None:
        path = store.folder / self.file("one")
        path.write_bytes(self.lines("first", "second", "third"))
        store.read()
        path.write_bytes(self.lines("first", "second") + line(self.spoken("e9", "instead", 9)))
        assert store.read() == ["instead"]

    def test_a_copy_in_a_forked_session_counts_once(self, store: Store) -> None:
        (store.folder / self.file("one")).write_bytes(self.lines("first", "second"))
        store.read()
        fork = self.lines("first", "second") + line(self.spoken("f0", "after the fork", 9))
        (store.folder / self.file("two")).write_bytes(fork)
        assert store.read() == ["after the fork"]

    def test_links_and_folders_named_like_a_transcript_are_left(self, store: Store, tmp_path: Path) -> None:
        outside = tmp_path / "outside.jsonl"
        outside.write_bytes(self.lines("somebody else's"))
        (store.folder / self.file("link")).symlink_to(outside)
        (store.folder / self.file("folder")).mkdir()
        assert store.read() == []
        assert store.problems.counts == {"symlink-out": 1, "not-a-file": 1}

    def test_a_store_that_is_not_there_yet_is_empty(self, tmp_path: Path) -> None:
        store = Store(tmp_path, self.form)
        for folder in (store.folder, *[p for p in store.folder.parents if p.is_relative_to(store.root)]):
            folder.rmdir()
        assert store.read() == []
        assert store.problems.counts == {}

    # --- what was there before this memory

    def test_what_was_there_before_stays_closed_until_asked_for(self, store: Store) -> None:
        (store.folder / self.file("one")).write_bytes(self.lines("old", "older", "new"))
        assert store.read(since_ms=ms(at(2.5))) == ["new"]
        assert store.read(since_ms=ms(at(2.5)), fresh_since=at(0)) == ["old", "older"]

    # --- in any order

    def test_everything_is_taken_once_whatever_happens_to_the_files(self) -> None:
        @settings(max_examples=40, deadline=None)
        @given(st.lists(st.sampled_from(STEPS), max_size=12), st.integers())
        def whatever(steps: list[str], seed: int) -> None:
            with tempfile.TemporaryDirectory() as name:
                self._live_through(Store(Path(name), self.form), steps, random.Random(seed))

        whatever()

    def _live_through(self, store: Store, steps: list[str], chance: random.Random) -> None:
        files: dict[str, list[int]] = {"s0": [0]}
        number, taken = 1, list[str]()

        def write(session: str, half: bytes = b"") -> None:
            told = b"".join(line(self.spoken(f"e{n}", f"text {n}", 1 + n / 100)) for n in files[session])
            (store.folder / self.file(session)).write_bytes(told + half)

        write("s0")
        for step in steps:
            session, half = chance.choice(sorted(files)), b""
            if step == "append":
                files[session].append(number)
            elif step == "half":
                half = line(self.spoken("half", "never finished", 1))[:-9]
            elif step == "rename":
                old, session = session, f"r{number}"
                files[session] = files.pop(old)
                (store.folder / self.file(old)).rename(store.folder / self.file(session))
            elif step == "rewrite":
                files[session] = [*files[session][: chance.randint(0, len(files[session]))], number]
            else:
                files[f"f{number}"] = [*files[session]]
                session = f"f{number}"
            number += 1
            write(session, half)
            if chance.random() < 0.6:
                taken += store.read()
        for session in files:
            write(session)
        taken += store.read()
        assert len(taken) == len(set(taken))
        assert {f"text {n}" for numbers in files.values() for n in numbers} <= set(taken)

    def test_what_it_reads_is_json_a_line(self) -> None:
        """The suite's own builder writes what the suite says."""
        assert json.loads(self.lines("x")) == self.spoken("e0", "x", 1) and at(1) - at(0) == timedelta(minutes=1)
