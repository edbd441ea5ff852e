"""The host's database: both schemas, damage, rewrites, a host that writes while it is read. It is only ever read."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from builders import (
    DELETED,
    IMPORT_ROOTS,
    OTHER,
    SCHEMA_4,
    SCHEMA_23,
    SESSION,
    Database,
    Home,
    append,
    header,
    line,
    ms,
    nobodys,
    said,
    snapshot,
)
from builders import at as time_at
from total_recall.sessions import openclaw_sqlite
from total_recall.sessions.openclaw_sqlite import OpenClawSqlite
from total_recall.sessions.source import Portion, Problems
from total_recall.state import State

ONE, TWO, THREE = said("e1", "one", 1), said("e2", "two", 2), said("e3", "three", 3)
SCHEMAS = {"23": SCHEMA_23, "4": SCHEMA_4}


@pytest.fixture(params=SCHEMAS)
def database(store: Home, request: pytest.FixtureRequest) -> Database:
    """A live database in WAL mode with one session that has its header."""
    made = Database(store.database, SCHEMAS[request.param])
    made.session()
    made.add(header())
    return made


@pytest.fixture
def newest_schema(store: Home) -> Database:
    made = Database(store.database)
    made.session()
    made.add(header())
    return made


def test_what_is_new_is_read_once(store: Home, database: Database) -> None:
    database.add(ONE, TWO)
    assert store.read() == ["one", "two"]
    assert store.read() == []
    database.add(THREE)
    assert store.read() == ["three"]
    assert store.counted() == {}


def test_the_class_of_a_session_is_read_with_it(store: Home, database: Database) -> None:
    for number, key in enumerate(("agent:main:cron:1", "agent:main:subagent:1", "agent:main:explicit:a"), 1):
        database.session(f"s{number}", key)
        database.add(said(f"id{number}", key), session_id=f"s{number}")
    assert store.read() == ["agent:main:explicit:a"]


def test_a_hook_under_the_key_of_a_cron_job_or_of_none_is_no_conversation(store: Home, newest_schema: Database) -> None:
    newest_schema.db.execute("UPDATE session_windows SET hook_external_content_source = 'webhook', session_key = ''")
    newest_schema.add(ONE)
    assert store.read() == []


def test_compressed_events_are_read_in_their_place(store: Home, newest_schema: Database) -> None:
    newest_schema.add(ONE)
    newest_schema.add(TWO, packed=True)
    newest_schema.add(THREE)
    assert store.read() == ["one", "two", "three"]


def test_a_reset_keeps_the_session_and_hides_nothing(store: Home, newest_schema: Database) -> None:
    newest_schema.add(ONE, {"type": "reset", "id": "0badcafe", "reason": "new"}, TWO)
    assert store.read() == ["one", "two"]
    assert store.counted() == {}


# --- damaged events

EVENTS: tuple[tuple[str, bytes, list[str], dict[str, int]], ...] = (
    ("half an event", line(TWO)[:-9], [], {"broken-line": 1}),
    ("invalid UTF-8", line(TWO).replace(b"two", b"tw\xff"), ["tw\ufffd"], {"bad-text": 1}),
    ("a lone surrogate", line(TWO).replace(b"two", rb"tw\ud83d"), ["tw\ufffd"], {"bad-text": 1}),
    ("NUL bytes", line(TWO).replace(b"two", b"t\0wo"), ["two"], {"nul-bytes": 1}),
    ("no object", b"[]", [], {"not-object": 1}),
    ("an unknown type", b'{"type":"hologram"}', [], {"unknown-type": 1}),
    ("a type that is no string", b'{"type":["message"]}', [], {"unknown-type": 1}),
    ("nested too deep", b"[" * 100_000, [], {"broken-line": 1}),
    ("a number past all range", b'{"type":"label","n":' + b"9" * 9000 + b"}", [], {"bad-text": 1}),
)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("event", "texts", "counts"), [c[1:] for c in EVENTS], ids=[c[0] for c in EVENTS])
def test_damage_is_counted_and_the_rest_is_read(
    store: Home, newest_schema: Database, event: bytes, texts: list[str], counts: dict[str, int], packed: bool
) -> None:
    newest_schema.add(ONE)
    newest_schema.add(event, packed=packed)
    newest_schema.add(THREE)
    assert store.read() == ["one", *texts, "three"]
    assert store.counted() == counts
    assert store.read() == []


BOMB = zstandard.ZstdCompressor().compress(b" " * (64 << 20))
NAMELESS_BOMB = zstandard.ZstdCompressor(write_content_size=False).compress(b" " * (64 << 20))
PACKED = zstandard.ZstdCompressor().compress(line(TWO) * 9)


@pytest.mark.parametrize(
    "packed",
    [b"", b"not zstd", PACKED[:-9], PACKED[9:], BOMB, NAMELESS_BOMB, None, 7],
    ids=["empty", "foreign", "cut", "headless", "bomb", "bomb without its size", "nothing", "a number"],
)
def test_a_compressed_event_that_cannot_be_unpacked_is_counted(
    store: Home, newest_schema: Database, packed: object
) -> None:
    newest_schema.add(ONE)
    values = (SESSION, 5, ms(time_at(1)), packed)
    newest_schema.db.execute(
        "INSERT INTO transcript_events (session_id, seq, created_at, event_zstd) VALUES (?, ?, ?, ?)", values
    )
    newest_schema.add(THREE)
    assert store.read() == ["one", "three"]
    assert store.counted() == {"zstd": 1}


def test_a_session_id_of_any_bytes_ends_no_run(store: Home, newest_schema: Database) -> None:
    newest_schema.add(ONE)
    columns = "session_id, seq, created_at, event_json"
    newest_schema.db.execute(f"INSERT INTO transcript_events ({columns}) VALUES (CAST(x'ff' AS TEXT), 0, 0, '{{}}')")
    assert store.read() == ["one"]


# --- databases that are none, or not now


def _corrupt(path: Path) -> None:
    Database(path, journal="DELETE").close()
    content = bytearray(path.read_bytes())
    content[:100] = b"\xaa" * 100
    path.write_bytes(content)


def _cut_off(path: Path) -> None:
    made = Database(path, journal="DELETE")
    made.session()
    made.add(*(said(f"e{n}", "word " * 300) for n in range(99)))
    made.close()
    os.truncate(path, 4096)


def _unknown(path: Path) -> None:
    Database(path, "CREATE TABLE transcript (id, event)", journal="DELETE").close()


def _without_rowid(path: Path) -> None:
    schema = SCHEMA_4.replace("PRIMARY KEY (session_id, seq))", "PRIMARY KEY (session_id, seq)) WITHOUT ROWID")
    made = Database(path, schema, journal="DELETE")
    made.session()
    made.add(ONE)
    made.close()


def _no_tables(path: Path) -> None:
    Database(path, "PRAGMA user_version = 3", journal="WAL").close()


def _directory(path: Path) -> None:
    path.mkdir()


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


NO_DATABASES: tuple[tuple[Callable[[Path], object], str], ...] = (
    (_corrupt, "database"),
    (_cut_off, "database"),
    (_unknown, "schema"),
    (_without_rowid, "schema"),
    (_no_tables, "empty-database"),
    (Path.touch, "empty-database"),
    (_directory, "not-a-file"),
    (_fifo, "not-a-file"),
    (_loop, "unreadable"),
)


@pytest.mark.parametrize(("make", "kind"), NO_DATABASES)
def test_a_database_that_cannot_be_used_is_counted_and_the_files_are_read(
    store: Home, make: Callable[[Path], object], kind: str
) -> None:
    store.write(ONE)
    make(store.database)
    assert store.read() == ["one"]
    assert store.counted() == {kind: 1}


@pytest.mark.parametrize(("make", "kind"), [c for c in NO_DATABASES if c[1] in ("database", "schema", "unreadable")])
def test_a_database_that_cannot_be_used_never_looks_the_same_as_before(
    store: Home, make: Callable[[Path], object], kind: str
) -> None:
    """Else an idle run would go on saying that there is nothing new when the host has repaired or migrated it."""
    make(store.database)
    source = store.sources()[1]
    with State.open(store.own) as state:
        assert not list(source.portions(state, fresh=False, problems=Problems()))
    assert [(w.ino, w.size) for w in source.watches()] == [(0, 0)]


def test_an_empty_database_is_read_when_the_host_has_filled_it(store: Home) -> None:
    store.database.touch()
    assert store.read() == []
    made = Database(store.database)
    made.session()
    made.add(ONE)
    assert store.read() == ["one"]


@pytest.mark.parametrize("missing", [("event_zstd BLOB, ", ""), ("updated_at INTEGER NOT NULL", "stamp INTEGER")])
def test_a_newer_or_older_schema_is_probed_column_by_column(store: Home, missing: tuple[str, str]) -> None:
    made = Database(store.database, SCHEMA_23.replace(*missing))
    made.whole = True
    made.session()
    made.add(ONE)
    assert store.read() == ["one"]
    made.add(TWO)
    made.rewritten("again")
    assert store.read() == ["two"]
    assert store.counted() == {}


def test_columns_that_are_not_known_do_no_harm(store: Home, newest_schema: Database) -> None:
    newest_schema.db.executescript(
        "ALTER TABLE transcript_events ADD COLUMN colour TEXT; ALTER TABLE session_windows ADD COLUMN mood TEXT"
    )
    newest_schema.db.execute("PRAGMA user_version = 99")
    newest_schema.add(ONE)
    assert store.read() == ["one"]


def test_a_locked_database_is_counted_and_read_when_it_is_free(store: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openclaw_sqlite, "BUSY_SECONDS", 0.05)
    made = Database(store.database, journal="DELETE")
    made.session()
    made.add(ONE)
    store.write(said("f", "from a file"), session_id=OTHER)
    made.db.execute("BEGIN EXCLUSIVE")
    assert store.read() == ["from a file"]
    assert store.counted() == {"database": 1}
    made.db.execute("COMMIT")
    assert store.read() == ["one"]


def test_a_damaged_page_costs_the_sessions_on_it_and_no_other(store: Home) -> None:
    made = Database(store.database, journal="DELETE")
    for name in ("a", "m", "z"):
        made.session(name, f"agent:main:explicit:{name}")
        made.add(*(said(f"{name}{n}", f"{name} {n} " + "word " * 700, n) for n in range(30)), session_id=name)
    pages = [row[0] for row in made.db.execute("SELECT rowid FROM transcript_events WHERE session_id = 'm'")]
    made.close()
    content = store.database.read_bytes()
    damaged = content.index(b'"id":"m15"') // 4096 * 4096
    store.database.write_bytes(content[:damaged] + b"\xaa" * 4096 + content[damaged + 4096 :])
    texts = store.read()
    assert len(pages) == 30
    assert sum(text.startswith("a ") for text in texts) == 30
    assert sum(text.startswith("z ") for text in texts) == 30
    assert store.counted() == {"database": 1}
    store.database.write_bytes(content)
    assert len(texts) + len(store.read()) == 90


def test_a_database_that_may_not_be_read_is_counted() -> None:
    with nobodys() as folder:
        store = Home(folder / "openclaw", folder / "own")
        made = Database(store.database, journal="DELETE")
        made.session()
        made.add(ONE)
        made.close()
        store.database.chmod(0)
        assert store.read() == []
        assert store.counted() == {"database": 1}
        store.database.chmod(0o600)
        assert store.read() == ["one"]


def test_a_store_of_any_name_is_read(tmp_path: Path) -> None:
    store = Home(tmp_path / "a b%20c?d#e'ü", tmp_path / "own")
    made = Database(store.database)
    made.session()
    made.add(ONE)
    assert store.read() == ["one"]


# --- rewrites, and rows whose numbers are given out anew


def _new_generation(database: Database) -> None:
    if database.whole:
        database.rewritten("second")


def _nothing(_: Database) -> None:
    """A host, or a schema, that leaves no sign."""


SIGNS = (_new_generation, _nothing)


@pytest.mark.parametrize("sign", SIGNS)
def test_rows_that_replace_deleted_ones_are_read(
    store: Home, database: Database, sign: Callable[[Database], None]
) -> None:
    """The new rows have the numbers of the old ones, rowid and seq."""
    database.add(ONE, TWO, THREE)
    store.read()
    database.delete(2, 3)
    database.add(said("n1", "new one", 4), said("n2", "new two", 5))
    sign(database)
    assert store.read() == ["new one", "new two"]
    database.add(said("z", "later", 9))
    assert store.read() == ["later"]


@pytest.mark.parametrize("sign", SIGNS)
def test_fewer_rows_that_replace_deleted_ones_are_read(
    store: Home, database: Database, sign: Callable[[Database], None]
) -> None:
    database.add(ONE, TWO, THREE)
    store.read()
    database.delete(1, 2, 3)
    database.add(said("n1", "new one", 4))
    sign(database)
    assert store.read() == ["new one"]
    database.add(said("z", "later", 9))
    assert store.read() == ["later"]


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("order", [(SESSION, OTHER), (OTHER, SESSION)])
def test_the_number_of_a_deleted_row_may_go_to_another_session(
    store: Home, database: Database, sign: Callable[[Database], None], order: tuple[str, str]
) -> None:
    database.session(OTHER, "agent:main:explicit:other")
    database.add(ONE, TWO)
    database.add(header(OTHER), said("o1", "other one", 3), session_id=OTHER)
    store.read()
    database.delete(1, session_id=OTHER)
    database.delete(2)
    for number, session_id in enumerate(order):
        database.add(said(f"n{number}", f"new {number}", 4 + number), session_id=session_id)
    sign(database)
    assert store.read() == ["new 0", "new 1"]


def test_a_rewrite_in_place_yields_only_what_is_new(store: Home, newest_schema: Database) -> None:
    newest_schema.add(ONE, TWO, THREE)
    store.read()
    rows = newest_schema.db.execute("SELECT event_json FROM transcript_events ORDER BY seq").fetchall()
    newest_schema.db.execute("BEGIN")
    newest_schema.delete(*range(4))
    newest_schema.add(*(row[0].encode() for row in rows), said("c", "new", 9))
    newest_schema.rewritten("second")
    newest_schema.db.execute("COMMIT")
    assert store.read() == ["new"]
    assert store.counted() == {}


def test_a_changed_text_under_a_known_id_is_no_new_message(store: Home, newest_schema: Database) -> None:
    """The host rewrites media fields and redacts; the time stays."""
    newest_schema.add(ONE)
    store.read()
    newest_schema.db.execute("UPDATE transcript_events SET event_json = replace(event_json, 'one', 'ONE')")
    newest_schema.rewritten("second")
    assert store.read() == []


@pytest.mark.parametrize("deleted", [(), (1,), (1, 2, 3)])
def test_vacuum_renumbers_rows_and_nothing_is_lost(store: Home, database: Database, deleted: tuple[int, ...]) -> None:
    database.session(OTHER, "agent:main:explicit:other")
    database.add(ONE, TWO, THREE)
    database.add(said("o1", "other one", 3), said("o2", "other two", 4), session_id=OTHER)
    store.read()
    database.delete(*deleted)
    database.add(said("n1", "new one", 5))
    database.db.execute("VACUUM")
    database.add(said("n2", "new two", 6), session_id=OTHER)
    assert store.read() == ["new one", "new two"]
    database.add(said("z", "later", 9))
    assert store.read() == ["later"]


def test_a_session_that_was_deleted_leaves_a_cursor_that_does_no_harm(store: Home, database: Database) -> None:
    database.add(ONE)
    store.read()
    database.delete(0, 1)
    assert store.read() == []
    database.add(header(), ONE, TWO)
    assert store.read() == ["two"]


def test_all_rows_gone_and_others_in_their_place(store: Home, database: Database) -> None:
    database.session(OTHER, "agent:main:explicit:other")
    database.add(ONE, TWO)
    store.read()
    database.delete(0, 1, 2)
    assert store.read() == []
    database.add(header(OTHER), said("o1", "other one"), said("o2", "other two", 2), session_id=OTHER)
    assert store.read() == ["other one", "other two"]


# --- interruptions, and a host that writes meanwhile


def _portions(store: Home, state: State) -> Any:
    return store.sources()[1].portions(state, fresh=False, problems=Problems())


def _save(state: State, portion: Portion) -> list[str]:
    state.take((), rows=portion.rows, mark=portion.mark)
    return [message.text for message in portion.messages]


@pytest.mark.parametrize("known", [0, 3], ids=["a new session", "a session that grew"])
@pytest.mark.parametrize("stop", range(1, 5))
def test_a_run_that_ends_between_portions_is_continued(
    store: Home, database: Database, monkeypatch: pytest.MonkeyPatch, known: int, stop: int
) -> None:
    entries = [said(f"e{n}", f"text {n}", n) for n in range(12)]
    database.add(*entries[:known])
    store.read()
    database.add(*entries[known:])
    monkeypatch.setattr(openclaw_sqlite, "ROWS_A_QUERY", 2)
    taken: list[str] = []
    with State.open(store.own) as state:
        for number, portion in enumerate(_portions(store, state), 1):
            taken += _save(state, portion)
            if number == stop:
                break
        for portion in _portions(store, state):
            taken += _save(state, portion)
        assert not [text for portion in _portions(store, state) for text in _save(state, portion)]
    assert set(taken) == {f"text {n}" for n in range(known, 12)}


@pytest.mark.parametrize("stop", range(1, 6))
def test_a_rewritten_session_is_found_again_after_an_interruption(
    store: Home, newest_schema: Database, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    newest_schema.add(*(said(f"e{n}", f"text {n}", n) for n in range(8)))
    store.read()
    newest_schema.db.execute("UPDATE transcript_events SET event_json = replace(event_json, '\"e', '\"n')")
    newest_schema.rewritten("second")
    monkeypatch.setattr(openclaw_sqlite, "ROWS_A_QUERY", 2)
    with State.open(store.own) as state:
        portions = _portions(store, state)
        taken = [text for _, portion in zip(range(stop), portions, strict=False) for text in _save(state, portion)]
        portions.close()
        taken += [text for portion in _portions(store, state) for text in _save(state, portion)]
    assert set(taken) == {f"text {n}" for n in range(8)}


@pytest.mark.parametrize("when", range(1, 7))
@pytest.mark.parametrize("sign", SIGNS)
def test_what_comes_while_it_is_read_is_read_then_or_next_time(
    store: Home, database: Database, monkeypatch: pytest.MonkeyPatch, when: int, sign: Callable[[Database], None]
) -> None:
    database.session(OTHER, "agent:main:explicit:other")
    database.add(*(said(f"e{n}", f"text {n}", n) for n in range(4)))
    store.read()
    database.add(*(said(f"e{n}", f"text {n}", n) for n in range(4, 8)))
    sign(database)
    monkeypatch.setattr(openclaw_sqlite, "ROWS_A_QUERY", 2)
    taken: list[str] = []
    with State.open(store.own) as state:
        for number, portion in enumerate(_portions(store, state), 1):
            taken += _save(state, portion)
            if number == when:
                database.add(said("l1", "late one", 20))
                database.add(said("l2", "late two", 21), session_id=OTHER)
        for portion in _portions(store, state):
            taken += _save(state, portion)
    late = {"late one", "late two"} if "late two" in taken else set()
    assert set(taken) >= {f"text {n}" for n in range(4, 8)} | late
    assert {"late one", "late two"} & set(taken) in ({"late one", "late two"}, set())


def test_no_read_transaction_stays_open_between_portions(
    store: Home, newest_schema: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An open one would keep the host from truncating its write-ahead log."""
    newest_schema.add(*(said(f"e{n}", f"text {n}", n) for n in range(9)))
    monkeypatch.setattr(openclaw_sqlite, "ROWS_A_QUERY", 2)
    with State.open(store.own) as state:
        for portion in _portions(store, state):
            newest_schema.add({"type": "label", "id": "x"})
            blocked, _, _ = newest_schema.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            assert blocked == 0
            _save(state, portion)


def test_large_rows_are_fetched_a_few_at_a_time(
    store: Home, newest_schema: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openclaw_sqlite, "BYTES_A_QUERY", 10_000)
    newest_schema.add(*(said(f"e{n}", f"{n} " + "x" * 4000, n) for n in range(20)))
    with State.open(store.own) as state:
        sizes = [len(portion.messages) for portion in _portions(store, state) if portion.rows or portion.messages]
        assert max(sizes) <= 3
    assert len(store.read()) == 20


def test_the_usual_run_reads_nothing_but_the_new_rows(
    store: Home, newest_schema: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every query steps through an index; none walks over the table of events."""
    for number in range(30):
        newest_schema.session(f"s{number}", f"agent:main:explicit:{number}")
        newest_schema.add(*(said(f"e{number}-{n}", "text", n) for n in range(10)), session_id=f"s{number}")
    store.read()
    newest_schema.add(ONE)
    asked: list[str] = []
    connect = sqlite3.connect

    def traced(*args: Any, **keywords: Any) -> sqlite3.Connection:
        db: sqlite3.Connection = connect(*args, **keywords)
        if "mode=ro" in str(args[0]):
            db.set_trace_callback(asked.append)
        return db

    monkeypatch.setattr(sqlite3, "connect", traced)
    assert store.read() == ["one"]
    monkeypatch.undo()
    queries = [query for query in asked if query.startswith("SELECT") and openclaw_sqlite.NEWEST_ROW not in query]
    plans = [row[3] for query in queries for row in newest_schema.db.execute(f"EXPLAIN QUERY PLAN {query}")]
    assert len(queries) >= 4
    assert not [plan for plan in plans if plan.startswith("SCAN transcript_events")]


WRITER = """
import sys
sys.path[:0] = sys.argv[2:]
from pathlib import Path
from builders import Database, said
database = Database(Path(sys.argv[1]), "SELECT 1")
database.whole = True
print("ready", flush=True)
sys.stdin.readline()
for n in range(400):
    database.add(said(f"w{n}", f"live {n}", n), packed=n % 3 == 0)
    if n % 50 == 0:
        database.db.execute("PRAGMA wal_checkpoint(PASSIVE)")
"""


def test_a_host_that_writes_meanwhile_is_read_without_loss(store: Home, newest_schema: Database) -> None:
    host = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(store.database), *IMPORT_ROOTS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert host.stdin is not None
    assert host.stdout is not None
    assert host.stdout.readline() == "ready\n"
    host.stdin.write("go\n")
    host.stdin.close()
    texts: list[str] = []
    runs = 0
    while host.poll() is None:
        texts += store.read()
        assert store.counted() == {}
        runs += 1
    texts += store.read()
    host.stdout.close()
    assert host.returncode == 0
    assert texts == [f"live {n}" for n in range(400)]
    assert runs >= 2


def test_reading_leaves_the_database_as_it_was(store: Home, newest_schema: Database) -> None:
    newest_schema.add(ONE)
    newest_schema.close()
    before = snapshot(store.root)
    assert store.read() == ["one"]
    after = snapshot(store.root)
    assert before.items() <= after.items()
    assert not [content for name, content in after.items() if name.endswith("-wal") and content]


def test_a_query_is_short(store: Home, newest_schema: Database) -> None:
    """Design section 10, point 4: no read transaction lasts over 100 ms. A page is what one transaction reads."""
    newest_schema.db.execute("BEGIN")
    newest_schema.add(*(said(f"e{n}", "word " * 400, n) for n in range(2000)))
    newest_schema.db.execute("COMMIT")
    db = sqlite3.connect(store.database)
    query = f"SELECT seq, created_at, CAST(event_json AS BLOB), event_zstd FROM transcript_events LIMIT {2000}"
    begun = time.perf_counter()
    rows = openclaw_sqlite._fetch(db, query, ())
    assert time.perf_counter() - begun < 0.1
    assert sum(len(row[2]) for row in rows) < openclaw_sqlite.BYTES_A_QUERY + 10_000
    db.close()


# --- beside files, after an upgrade


def test_a_message_in_both_stores_counts_once_whatever_its_bytes(store: Home) -> None:
    store.write(ONE, TWO)
    store.write(THREE, session_id=OTHER, ending=DELETED)
    assert store.read() == ["one", "two", "three"]
    made = Database(store.database)
    made.session()
    made.add(header(), ONE, said("e2", "two with media://inbound/1", 2.5), said("e4", "four", 4))
    assert store.read() == ["four"]
    append(store.transcript(), said("e5", "five", 5))
    assert store.read() == ["five"]


def test_both_stores_at_once_on_a_first_run(store: Home, newest_schema: Database) -> None:
    store.write(ONE, TWO)
    newest_schema.add(ONE, TWO, THREE)
    assert store.read() == ["one", "two", "three"]
    assert store.counted() == {}


def test_the_source_names_its_database(store: Home, newest_schema: Database) -> None:
    newest_schema.add(ONE)
    source = OpenClawSqlite(store.database, "main", latest_ms=ms(time_at(999)))
    with State.open(store.own) as state:
        list(source.portions(state, fresh=False, problems=Problems()))
    assert source.location == store.database
    assert source.transcripts() == 1
    assert not source.unread()
    assert {w.path for w in source.watches()} == {str(store.database), f"{store.database}-wal"}
