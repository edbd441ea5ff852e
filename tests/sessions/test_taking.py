"""From portions to the queue: which sessions, which words, since when, and what was taken before."""

from __future__ import annotations

import pytest

from builders import DELETED, NOW, OTHER, RESET, SESSION, Database, Home, append, at, header, line, ms, said
from total_recall.records import Message
from total_recall.sessions import openclaw_files, openclaw_sqlite
from total_recall.state import State

ONE, TWO, THREE = said("e1", "one", 1), said("e2", "two", 2), said("e3", "three", 3)


def queue(store: Home) -> list[Message]:
    with State.open(store.own) as state:
        return [item.message for item in state.queue()]


KEYS = (
    ("agent:main:main", True),
    ("agent:main:telegram:direct:5", True),
    ("agent:main:telegram:group:-1", True),
    ("agent:main:explicit:mine", True),
    ("agent:main:dashboard:1", True),
    ("agent:main:subagent:1", False),
    ("agent:main:cron:1", False),
    ("agent:main:hook:1", False),
    ("agent:main:acp:1", False),
    ("agent:main:boot:1", False),
    ("agent:main:explicit:model-run-1", False),
    ("temp:slug-generator", False),
    ("unknown", False),
)


@pytest.mark.parametrize(("key", "counts"), KEYS)
@pytest.mark.parametrize("kind", ["files", "database"])
def test_only_conversations_of_the_person_are_taken(store: Home, key: str, counts: bool, kind: str) -> None:
    if kind == "files":
        store.index({key: SESSION})
        store.write(ONE)
    else:
        database = Database(store.database)
        database.session(key=key)
        database.add(ONE)
    assert store.read() == ["one"] * counts
    assert store.read() == []


def test_what_is_observed_can_be_narrowed(store: Home) -> None:
    store.index({"agent:main:telegram:group:-1": SESSION, "agent:main:main": OTHER})
    store.write(ONE)
    store.write(TWO, session_id=OTHER)
    with State.open(store.own):
        assert store.read(include=frozenset({"main"})) == ["two"]


def test_the_main_session_may_have_another_name(store: Home) -> None:
    store.index({"agent:main:home": SESSION})
    store.write(ONE)
    assert store.read() == []
    assert store.read(main_key="home", promote_since_ms=0) == ["one"]


FIRST_WORDS = (
    ("Hello", True),
    ("[cron:5 nightly] check the mail\nCurrent time: now", False),
    ("[Subagent Context] You are a sub-agent.\n\n[Subagent Task]: count words", False),
    ("[OpenClaw heartbeat poll]", True),
)


@pytest.mark.parametrize(("words", "counts"), FIRST_WORDS)
@pytest.mark.parametrize("ending", [RESET, DELETED])
def test_an_archive_that_no_index_names_is_told_by_its_first_words(
    store: Home, words: str, counts: bool, ending: str
) -> None:
    store.write(said("a", words, 1), said("b", "and then?", 2), ending=ending)
    assert ("and then?" in store.read()) is counts


def test_a_session_of_the_assistant_alone_is_a_conversation(store: Home) -> None:
    store.write(said("a", "Good morning.", role="assistant"), ending=RESET)
    assert store.read() == ["Good morning."]


def test_a_message_carries_where_it_was_said_and_by_whom(store: Home) -> None:
    store.index({"agent:main:telegram:group:-1": SESSION})
    store.write(
        said("a", "mine", 1, __openclaw={"senderIsOwner": True}),
        said("b", "hers", 2, __openclaw={"senderIsOwner": False}),
        said("c", "yours", 3, role="assistant"),
    )
    store.read()
    mine, hers, yours = queue(store)
    assert (mine.is_owner, hers.is_owner, yours.is_owner) == (True, False, False)
    assert {m.channel for m in (mine, hers, yours)} == {"telegram"}
    assert mine.session_key == "agent:main:telegram:group:-1"
    assert (mine.at, mine.source, mine.session_id, mine.entry_id) == (at(1), "openclaw-files", SESSION, "a")


@pytest.mark.parametrize("tool", ["heartbeat", "hook", "cron"])
def test_words_that_the_host_put_in_are_nobodys(store: Home, tool: str) -> None:
    provenance = {"kind": "internal_system", "sourceTool": tool}
    store.index({"agent:main:main": SESSION})
    store.write(said("a", "Say hello", 1, provenance=provenance), TWO)
    assert store.read() == ["two"]


def test_the_answer_to_the_hosts_memory_flush_reaches_nobody(store: Home) -> None:
    flush = "Pre-compaction memory flush. Store durable memories now."
    store.write(ONE, said("f", flush, 2), said("r", "Stored 3 notes.", 2.5, role="assistant"), THREE)
    assert store.read() == ["one", "three"]


# --- since when


def test_a_first_run_marks_what_is_older_as_seen(store: Home) -> None:
    path = store.write(said("a", "old", -600), said("b", "new", 1))
    assert store.read(since_ms=ms(at(0))) == ["new"]
    append(path, said("c", "late, with an old time", -600))
    assert store.read() == ["late, with an old time"]
    assert store.read(promote_since_ms=0) == ["old"]
    assert store.read(promote_since_ms=0) == []


def test_what_was_seen_is_taken_from_the_time_that_is_asked_for(store: Home) -> None:
    store.write(*(said(f"e{day}", f"{day} days ago", -1440 * day) for day in range(5)))
    assert store.read(since_ms=ms(NOW)) == []
    assert store.read(promote_since_ms=ms(at(-1440 * 2))) == ["2 days ago", "1 days ago", "0 days ago"]
    assert store.read(promote_since_ms=0) == ["4 days ago", "3 days ago"]


# --- one session


@pytest.mark.parametrize("kind", ["files", "database"])
def test_a_run_for_one_session_leaves_the_others_to_the_next(
    store: Home, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Also where a later portion of another session holds no message, whose cursor would pass what was left."""
    monkeypatch.setattr(openclaw_files, "PORTION_BYTES", 300)
    monkeypatch.setattr(openclaw_sqlite, "ROWS_A_QUERY", 2)
    labels = [{"type": "label", "id": f"l{n}", "label": "x" * 200} for n in range(5)]
    if kind == "files":
        store.write(ONE, *labels)
        store.write(TWO, *labels, session_id=OTHER)
    else:
        database = Database(store.database)
        for session_id, entry in ((SESSION, ONE), (OTHER, TWO)):
            database.session(session_id, f"agent:main:explicit:{session_id}")
            database.add(header(session_id), entry, *labels, session_id=session_id)
    assert store.read(session_id=OTHER, promote_since_ms=0) == ["two"]
    assert store.read() == ["one"]
    assert store.read() == []


# --- copies and collisions (design section 10, point 1)


def test_entries_that_a_fork_copied_count_once(store: Home) -> None:
    store.write(ONE, TWO)
    store.write(ONE, TWO, THREE, session_id=OTHER)
    assert store.read() == ["one", "two", "three"]
    assert store.counted() == {}


def test_a_fork_is_known_by_its_copies_after_it_was_rewritten(store: Home) -> None:
    store.write(ONE, TWO)
    store.read()
    path = store.write(ONE, TWO, session_id=OTHER)
    assert store.read() == []
    path.write_bytes(line(header(OTHER)) + line(TWO) + line(THREE))
    assert store.read() == ["three"]


def test_the_same_id_in_two_sessions_is_two_messages(store: Home) -> None:
    store.write(said("deadbeef", "here", 1))
    store.write(said("deadbeef", "there", 2), session_id=OTHER)
    assert store.read() == ["here", "there"]


def test_the_same_id_and_words_at_another_time_are_another_message(store: Home) -> None:
    store.write(said("deadbeef", "yes", 1))
    store.write(said("deadbeef", "yes", 2), session_id=OTHER)
    assert store.read() == ["yes", "yes"]


def test_the_same_words_twice_are_two_messages(store: Home) -> None:
    store.write(said("a", "yes", 1), said("b", "yes", 1))
    assert store.read() == ["yes", "yes"]


def test_an_archive_beside_the_live_file_of_the_same_session_counts_once(store: Home) -> None:
    store.write(ONE, TWO, ending=RESET)
    store.write(ONE, TWO, THREE)
    assert store.read() == ["one", "two", "three"]


def off(message: Message) -> bool:
    """What these tests keep out."""
    return message.text.startswith("secretly")


@pytest.mark.parametrize("kind", ["files", "database"])
@pytest.mark.parametrize("runs", [1, 4], ids=["in one run", "in a run for each"])
def test_what_is_kept_out_is_never_taken_nor_is_the_answer_to_it(store: Home, kind: str, runs: int) -> None:
    """Also when a run falls between the question and the answer."""
    entries = [
        said("e1", "one", 1),
        said("e2", "secretly two", 2),
        said("e3", "the answer to two", 3, role="assistant"),
        said("e4", "three", 4),
    ]
    taken: list[str] = []
    size = len(entries) // runs
    database = Database(store.database) if kind == "database" else None
    if database is not None:
        database.session(key="agent:main:main")
    path = store.write() if database is None else None
    for start in range(0, len(entries), size):
        part = entries[start : start + size]
        if path is not None:
            append(path, *part)
        elif database is not None:
            for entry in part:
                database.add(entry)
        taken += store.read(keeps_out=off)
    assert taken == ["one", "three"]
    assert store.read(keeps_out=off, promote_since_ms=0) == []


def test_the_answer_to_the_hosts_own_memory_flush_is_left_out_whenever_it_comes(store: Home) -> None:
    path = store.write(said("e1", "one", 1), said("e2", "Pre-compaction memory flush. Store durable memories now.", 2))
    assert store.read() == ["one"]
    append(path, said("e3", "I have stored the memories.", 3, role="assistant"))
    assert store.read() == []
    append(path, said("e4", "two", 4), said("e5", "fine", 5, role="assistant"))
    assert store.read() == ["two", "fine"]


def test_secrets_are_taken_out_before_anything_is_stored(store: Home) -> None:
    store.write(said("e1", "the word is mellon", 1))
    assert store.read(redact=lambda text: text.replace("mellon", "[secret]")) == ["the word is [secret]"]
    assert b"mellon" not in (store.own / "state.sqlite").read_bytes()
