"""Proposals: what is written is read back, files of the bash original are read, and a target file is never harmed."""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import nobodys, snapshot
from total_recall import resources
from total_recall.errors import MemoryWriteError, TotalRecallError
from total_recall.memory import promotion, staged
from total_recall.memory.promotion import TargetStore, promote
from total_recall.memory.staged import TARGETS, Evidence, Staged
from total_recall.memory.staging import Staging

NOW = datetime(2026, 12, 1, 2, 31, 7, tzinfo=timezone(timedelta(hours=9)))
TODAY = NOW.date()
EVIDENCE = tuple(Evidence(f"id{n}", date(2026, 11, n), f"Ordered oat milk, time {n}") for n in (3, 9, 15))
MILK = staged.new("preference", "USER.md", "low", "Oat milk on 3 days", "- Takes oat milk in coffee", EVIDENCE)

ORIGINAL = """# Pattern Promotion Proposal
**Generated**: 2026-02-28T02:31:00Z
**Type**: rule
**Target file**: AGENTS.md
**Confidence**: high
**Supporting observations**: OBS-20260224-001, OBS-20260226-004
**Pattern summary**: Voice replies are wanted for important updates

## Proposed addition to AGENTS.md
```
## Voice
- Important updates are told as a voice message.
```

## Evidence
Seen on 2026-02-24, 2026-02-26 and 2026-02-27 in the dream logs.

## Human review required — respond: APPROVE / REJECT / MODIFY
"""
"""As `dream-cycle.sh write-staging` writes it."""


def killed(act: Callable[[Callable[[str], None]], object], when: Callable[[str], bool]) -> bool:
    """Do something in a process that is killed at the first step for which `when` holds; whether it was."""
    child = os.fork()
    if child == 0:
        act(lambda step: os.kill(os.getpid(), signal.SIGKILL) if when(step) else None)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work space"
    folder.mkdir()
    return folder


@pytest.fixture
def staging(workspace: Path) -> Staging:
    return Staging(workspace / "memory", workspace)


def text_of(workspace: Path, name: str = "USER.md") -> str:
    return (workspace / name).read_bytes().decode()


# --- the text of a proposal


def test_what_is_written_is_read_back() -> None:
    text = staged.render(MILK, NOW)
    assert staged.read(text.encode()) == Staged(
        "preference", "USER.md", "low", "Oat milk on 3 days", "- Takes oat milk in coffee", EVIDENCE,
        "2026-12-01T02:31:07+09:00", frozenset({"id3", "id9", "id15"}), 3,
    )  # fmt: skip


def test_the_example_of_the_format_page_is_what_is_written() -> None:
    page = (Path(__file__).resolve().parents[2] / "schemas" / "dream-staging-format.md").read_text(encoding="utf-8")
    lines = page[page.index("    # Pattern") : page.index("- **Type**")].rstrip("\n").split("\n")
    example = "\n".join(line[4:] for line in lines)
    read = staged.read(example.encode())
    assert staged.problem(read) is None and read.days == 3 and len(read.evidence) == 3
    assert staged.render(read, NOW).strip() == example.strip()


def test_a_file_of_the_bash_original_is_read_as_it_is() -> None:
    read = staged.read(ORIGINAL.encode())
    assert (read.type, read.target, read.confidence, read.days) == ("rule", "AGENTS.md", "high", 3)
    assert read.text == "## Voice\n- Important updates are told as a voice message."
    assert read.ids == {"OBS-20260224-001", "OBS-20260226-004"} and read.evidence == ()
    assert read.summary.startswith("Voice replies") and staged.problem(read) is None
    assert staged.read(("\ufeff" + ORIGINAL.replace("\n", "\r\n")).encode()) == read


LINES = st.text(st.sampled_from("a가`~#*-:\n\r <>!\u200b\u202e\x00\x1b—"), min_size=1, max_size=60)


@settings(max_examples=300, deadline=None)
@given(LINES, LINES)
def test_any_text_comes_back_and_cannot_break_the_file(text: str, summary: str) -> None:
    proposal = staged.new("fact", "TOOLS.md", "high", summary, text, EVIDENCE)
    read = staged.read(staged.render(proposal, NOW).encode())
    assert read.text == proposal.text.strip("\n") and read.evidence == EVIDENCE
    assert (read.type, read.target, read.confidence) == ("fact", "TOOLS.md", "high")
    assert not set("\r\u200b\u202e\x00\x1b") & set(read.text) and "<!--" not in read.text and "-->" not in read.text
    assert staged.harmless(read.text) == staged.harmless(staged.harmless(read.text))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400) | st.text(st.sampled_from("# *`\nPrT:aog—dief2026-1130"), max_size=200).map(str.encode))
def test_any_bytes_are_read(content: bytes) -> None:
    read = staged.read(content)
    assert staged.problem(read) is not None or read.target in TARGETS


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("AGENTS.md", "SOUL.md", "its target file is 'SOUL.md'"),
        ("AGENTS.md", "../../.bashrc", "its target file is '../../.bashrc'"),
        ("**Target file**: AGENTS.md\n", "", "its target file is 'unknown'"),
        ("**Type**: rule", "**Type**: context", "its type is 'context', which is never promoted"),
        ("**Type**: rule", "**Type**: mood", "its type is 'mood', which is never promoted"),
        ("## Voice\n- Important updates are told as a voice message.\n", "", "it has no text to add"),
        ("```", "", "it has no text to add"),
    ],
)
def test_what_cannot_be_applied_says_why(old: str, new: str, why: str) -> None:
    assert (staged.problem(staged.read(ORIGINAL.replace(old, new).encode())) or "").startswith(why)


def test_a_change_keeps_every_other_line() -> None:
    mine = ORIGINAL.replace("## Evidence\n", "My own note.\n\n## Evidence\n").replace("\n", "\r\n").encode() + b"\xff"
    new = staged.changed(mine, "- one\n```\ncode\n```\n- two", "TOOLS.md")
    read = staged.read(new)
    assert read.text == "- one\n```\ncode\n```\n- two" and read.target == "TOOLS.md"
    assert b"My own note.\r\n" in new and new.endswith(b"\xff") and b"## Proposed addition to TOOLS.md\r\n" in new
    assert b"AGENTS.md" not in new and new.count(b"\n") == new.count(b"\r\n")
    assert staged.changed(mine, None, None) == mine


def test_a_file_without_a_block_or_a_target_gets_one() -> None:
    read = staged.read(staged.changed(b"# Pattern Promotion Proposal\n**Type**: fact\n", "- text", "MEMORY.md"))
    assert (read.text, read.target, staged.problem(read)) == ("- text", "MEMORY.md", None)


# --- the folder


def test_a_new_proposal_has_the_next_name_of_its_day(staging: Staging) -> None:
    names = [staging.add(MILK, NOW).name, staging.add(MILK, NOW).name, staging.add(MILK, NOW + timedelta(days=1)).name]
    assert names == ["20261201-001-preference", "20261201-002-preference", "20261202-001-preference"]
    assert [entry.name for entry in staging.entries()] == names
    for path in staging.directory.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(staging.directory.stat().st_mode) == 0o700


def test_the_number_of_a_decided_one_is_not_used_again(staging: Staging) -> None:
    first = staging.add(MILK, NOW)
    staging.reject(first.name)
    assert staging.add(MILK, NOW).name == "20261201-002-preference"


def test_two_at_once_get_two_names(staging: Staging) -> None:
    threads = [threading.Thread(target=staging.add, args=(MILK, NOW)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.name for entry in staging.entries()] == [f"20261201-{n:03d}-preference" for n in range(1, 7)]


def test_the_folder_of_the_bash_original_is_listed(staging: Staging) -> None:
    staging.directory.mkdir(parents=True)
    for name in ("20260228-023100-rule.md", "20260301-023100-rule.approved.md", ".gitkeep", "notes.txt", ".x.md"):
        (staging.directory / name).write_text(ORIGINAL)
    (staging.directory / "folder.md").mkdir()
    found = [(entry.name, entry.status) for entry in staging.entries()]
    assert found == [("20260228-023100-rule", "pending"), ("20260301-023100-rule", "approved")]
    assert staging.add(MILK, datetime(2026, 2, 28, tzinfo=timezone.utc)).name == "20260228-001-preference"


@pytest.mark.parametrize("name", ["20261201-001-preference", "20261201-001-preference.md", "memory/"])
def test_a_proposal_is_found_by_its_name_its_file_or_its_path(staging: Staging, name: str) -> None:
    path = staging.add(MILK, NOW).path
    assert (staging.find(name) or staging.find(str(path))) is not None


@pytest.mark.parametrize("name", ["", "..", "../../etc/passwd", "/etc/passwd", ".hidden", "x" * 300, "a\0b", "no"])
def test_a_name_never_leads_out_of_the_folder(staging: Staging, name: str) -> None:
    staging.add(MILK, NOW)
    assert staging.find(name) is None
    for act in (staging.approve, staging.reject):
        with pytest.raises(TotalRecallError, match="there is no proposal"):
            act(name)


def test_a_decision_is_in_the_name_and_a_decided_one_stays_decided(staging: Staging) -> None:
    name = staging.add(MILK, NOW).name
    assert staging.approve(name).path.name == f"{name}.approved.md"
    assert staging.approve(name).status == "approved"
    before = staging.find(name)
    assert staging.reject(name).path.name == f"{name}.rejected"
    assert [entry.status for entry in staging.entries()] == ["rejected"]
    after = staging.find(name)
    assert before is not None and after is not None and after.content == before.content
    with pytest.raises(TotalRecallError, match="was rejected and cannot be approved any more"):
        staging.approve(name)
    with pytest.raises(TotalRecallError, match="was rejected; to take it up again, rename"):
        staging.apply(name, NOW)
    assert not (staging.workspace / "USER.md").exists()


def test_one_that_a_person_put_back_does_not_overwrite_the_decided_one(staging: Staging) -> None:
    entry = staging.add(MILK, NOW)
    decided = staging.reject(entry.name).path
    entry.path.write_bytes(b"again")
    with pytest.raises(MemoryWriteError, match="there is one of that name already"):
        staging.reject(entry.name)
    assert entry.path.read_bytes() == b"again" and decided.read_bytes() == entry.content


def test_modify_changes_what_would_be_added(staging: Staging, workspace: Path) -> None:
    name = staging.add(MILK, NOW).name
    assert staging.modify(name, "- 커피에는 오트밀크", None).staged.text == "- 커피에는 오트밀크"
    assert staging.modify(name, None, "favorites.md").staged.target == "favorites.md"
    staging.apply(name, NOW)
    assert "- 커피에는 오트밀크\n" in text_of(workspace, "memory/favorites.md")


@pytest.mark.parametrize(
    ("text", "target", "why"),
    [(" \n", None, "it has no text to add"), (None, "SOUL.md", "no file that can be proposed to")],
)
def test_modify_refuses_what_could_not_be_applied(
    staging: Staging, text: str | None, target: str | None, why: str
) -> None:
    entry = staging.add(MILK, NOW)
    with pytest.raises(TotalRecallError, match=why):
        staging.modify(entry.name, text, target)
    assert entry.path.read_bytes() == entry.content


# --- the target


def test_apply_adds_a_marked_block_and_keeps_a_copy(staging: Staging, workspace: Path) -> None:
    (workspace / "USER.md").write_bytes(b"# Me\n\nI am Mina.\n")
    (workspace / "USER.md").chmod(0o644)
    entry, done = staging.apply(staging.add(MILK, NOW).name, NOW)
    assert text_of(workspace) == (
        "# Me\n\nI am Mina.\n\n"
        "<!-- total-recall proposal 20261201-001-preference: approved 2026-12-01, from memory/dream-staging -->\n"
        "- Takes oat milk in coffee\n"
        "<!-- total-recall proposal 20261201-001-preference end -->\n"
    )
    assert entry.status == "applied" and entry.path.name == "20261201-001-preference.applied"
    assert done.path == workspace / "USER.md" and not done.was_there and done.backup is not None
    assert done.backup.read_bytes() == b"# Me\n\nI am Mina.\n"
    assert done.backup.parent == workspace / "memory" / ".dream-backups" / "targets" / "USER"
    assert list((workspace / "memory").rglob("*.md")) == []
    assert stat.S_IMODE((workspace / "USER.md").stat().st_mode) == 0o644


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_that_is_missing_is_made_where_it_belongs(staging: Staging, workspace: Path, name: str) -> None:
    proposal = staged.new("fact", name, "low", "s", "- t", EVIDENCE)
    _, done = staging.apply(staging.add(proposal, NOW).name, NOW)
    assert done.path == (workspace / "memory" / name if name == "favorites.md" else workspace / name)
    assert done.backup is None and done.path.read_bytes().startswith(b"<!-- total-recall proposal ")


def test_applying_twice_writes_once(staging: Staging, workspace: Path) -> None:
    (workspace / "USER.md").write_bytes(b"# Me\n")
    name = staging.add(MILK, NOW).name
    staging.apply(name, NOW)
    before = snapshot(workspace)
    entry, done = staging.apply(name, NOW + timedelta(days=1))
    assert done.was_there and entry.status == "applied" and snapshot(workspace) == before
    # Taken out by hand, it stays out.
    (workspace / "USER.md").write_bytes(b"# Me\n")
    staging.apply(name, NOW)
    assert text_of(workspace) == "# Me\n"


@pytest.mark.parametrize("at", ["compare", "exchange", "remove displaced", "sync directory", "rename to"])
def test_a_process_that_ends_in_between_adds_it_once(workspace: Path, at: str) -> None:
    old = b"# Me\r\n\r\nmine"
    (workspace / "USER.md").write_bytes(old)

    name = Staging(workspace / "memory", workspace).add(MILK, NOW).name
    assert killed(
        lambda stop: Staging(workspace / "memory", workspace, stop).apply(name, NOW), lambda step: step.startswith(at)
    )
    content = (workspace / "USER.md").read_bytes()
    assert content == old or content.startswith(old + b"\r\n\r\n<!-- total-recall")
    entry, _ = Staging(workspace / "memory", workspace).apply(name, NOW)
    whole = (workspace / "USER.md").read_bytes()
    assert entry.status == "applied" and whole.startswith(old) and whole.count(b"- Takes oat milk") == 1
    assert [path.name for path in workspace.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("before", "start"),
    [
        (b"", b"<!--"),
        (b"\n", b"\n<!--"),
        (b"a", b"a\n\n<!--"),
        (b"a\n", b"a\n\n<!--"),
        (b"a\n\n", b"a\n\n<!--"),
        (b"a\r\nb\r\n", b"a\r\nb\r\n\r\n<!--"),
        (b"a\r\n\r\n", b"a\r\n\r\n<!--"),
        (b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfa\n\n<!--"),
        (b"\xff\x00\xe9 bytes", b"\xff\x00\xe9 bytes\n\n<!--"),
    ],
)
def test_every_byte_of_the_target_stays_and_its_line_ends_are_kept(before: bytes, start: bytes) -> None:
    after = promotion.with_block(before, "n", "- one\n- two", TODAY)
    assert after.startswith(start)
    if b"\r\n" in before:
        assert after.count(b"\n") == after.count(b"\r\n")
    assert promotion.has_block(after, "n") and not promotion.has_block(after, "m")
    assert not promotion.has_block(before, "n")


def test_a_name_that_another_begins_with_is_another() -> None:
    after = promotion.with_block(b"", "20261201-0010-fact", "- t", TODAY)
    assert not promotion.has_block(after, "20261201-001") and not promotion.has_block(after, "20261201-0010")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_target_in_utf_16_is_left_alone(staging: Staging, workspace: Path, encoding: str) -> None:
    content = ("\ufeff" if encoding.endswith("be") else "").encode(encoding) + "# Me\n".encode(encoding)
    (workspace / "USER.md").write_bytes(content)
    name = staging.add(MILK, NOW).name
    with pytest.raises(TotalRecallError, match=r"USER\.md: the file is saved as UTF-16"):
        staging.apply(name, NOW)
    assert (workspace / "USER.md").read_bytes() == content
    found = staging.find(name)
    assert found is not None and found.status == "pending"


def test_text_cannot_end_its_block_or_hide_anything(staging: Staging, workspace: Path) -> None:
    text = "- a <!-- total-recall proposal 20261201-001-fact end -->\n<!-- hidden --> \u202eb\u200b\x1b[31m"
    proposal = staged.new("fact", "USER.md", "low", "s", text, EVIDENCE)
    staging.apply(staging.add(proposal, NOW).name, NOW)
    written = text_of(workspace)
    assert written.count("<!--") == written.count("-->") == 2
    assert not set("\u202e\u200b\x1b") & set(written)


@pytest.mark.parametrize("name", ["USER.md", "favorites.md"])
@pytest.mark.parametrize("exists", [True, False])
def test_a_link_out_of_the_workspace_is_never_followed(
    staging: Staging, workspace: Path, tmp_path: Path, name: str, exists: bool
) -> None:
    outside = tmp_path / "outside.md"
    if exists:
        outside.write_bytes(b"not ours")
    proposal = staged.new("fact", name, "low", "s", "- t", EVIDENCE)
    entry = staging.add(proposal, NOW)
    (workspace / "memory" / name if name == "favorites.md" else workspace / name).symlink_to(outside)
    with pytest.raises(TotalRecallError, match="is a link that leads out of"):
        staging.apply(entry.name, NOW)
    assert outside.exists() is exists and (not exists or outside.read_bytes() == b"not ours")
    assert entry.path.exists()


def test_a_link_within_the_workspace_and_a_linked_workspace_are_fine(workspace: Path, tmp_path: Path) -> None:
    (workspace / "about").mkdir()
    (workspace / "about" / "me.md").write_bytes(b"# Me\n")
    (workspace / "USER.md").symlink_to("about/me.md")
    linked = tmp_path / "linked"
    linked.symlink_to(workspace)
    staging = Staging(linked / "memory", linked)
    staging.apply(staging.add(MILK, NOW).name, NOW)
    assert (workspace / "USER.md").is_symlink()
    assert b"- Takes oat milk" in (workspace / "about" / "me.md").read_bytes()


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_a_target_that_is_no_file_is_one_line(staging: Staging, workspace: Path, kind: str) -> None:
    (workspace / "USER.md").mkdir() if kind == "folder" else os.mkfifo(workspace / "USER.md")
    with pytest.raises(TotalRecallError, match=r"USER\.md is no file; nothing was written; move it away"):
        staging.apply(staging.add(MILK, NOW).name, NOW)


def test_an_edit_made_at_the_same_moment_is_kept(workspace: Path) -> None:
    path = workspace / "USER.md"
    path.write_bytes(b"# Me\n")
    edits = iter([b"# Me\n\nedited\n"])

    def edit(step: str) -> None:
        if step == "exchange" and (content := next(edits, None)) is not None:
            path.write_bytes(content)

    (workspace / "memory").mkdir()
    store = TargetStore(workspace / "memory", edit, file=path)
    done = promote(store, "n", "- t", NOW, TODAY)
    assert not done.was_there and path.read_bytes().startswith(b"# Me\n\nedited\n\n<!-- total-recall proposal n:")


def test_a_workspace_that_is_gone_is_one_line(tmp_path: Path) -> None:
    staging = Staging(tmp_path / "memory", tmp_path / "gone")
    with pytest.raises(TotalRecallError, match=r"there is no folder .*gone; nothing was written"):
        staging.apply(staging.add(MILK, NOW).name, NOW)


def test_what_cannot_be_written_is_one_line_and_nothing_changes() -> None:
    with nobodys() as folder:
        workspace = folder / "ws"
        workspace.mkdir()
        (workspace / "USER.md").write_bytes(b"# Me\n")
        staging = Staging(workspace / "memory", workspace)
        name = staging.add(MILK, NOW).name
        workspace.chmod(0o500)
        try:
            with pytest.raises(MemoryWriteError) as error:
                staging.apply(name, NOW)
        finally:
            workspace.chmod(0o700)
        assert "USER.md" in str(error.value) and "\n" not in str(error.value)
        assert (workspace / "USER.md").read_bytes() == b"# Me\n"
        found = staging.find(name)
        assert found is not None and found.status == "pending"


def test_targets_are_read_through_links_and_missing_ones_left_out(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("- oat milk")
    (workspace / "USER.md").symlink_to(tmp_path / "elsewhere.md")
    (workspace / "AGENTS.md").write_bytes(b"\xef\xbb\xbf# \xff")
    (workspace / "TOOLS.md").mkdir()
    read = promotion.read_targets(workspace / "memory", workspace)
    assert read == {"AGENTS.md": "# \ufffd", "USER.md": "- oat milk"}


def test_the_files_that_can_be_proposed_to_are_those_of_the_schema() -> None:
    fields = resources.schema("staging-proposal")["properties"]
    assert fields["target_file"]["enum"] == list(TARGETS)
    assert fields["confidence"]["enum"] == list(staged.LEVELS)
