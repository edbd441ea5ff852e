"""A night from beginning to end, as a plan: what leaves, in which groups, and what it is found by. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from total_recall import retention
from total_recall.dream.chunk import chunks, fitted
from total_recall.dream.collapse import repeats
from total_recall.dream.decide import due_lines, pressed_lines
from total_recall.dream.hooks import hook_line, hooks_of, outcome_of, topic_of, week_of
from total_recall.dream.items import Group, Item, Leaving, Plan
from total_recall.dream.topics import by_topic
from total_recall.tokens import estimate_tokens

HOOK_SHARE: Final = 0.25
"""Share of the target that hook lines may fill; the oldest go when there are more."""
HEADING_TOKENS: Final = 12
"""What the heading above the hook lines costs."""
SHORT_LINE_TOKENS: Final = 50
"""What the hook line of a chunk costs when it says little; there are not more chunks than have room."""
TOPICS_NAMED: Final = 4
SHORTER: Final = (60, 45, 35, 25, 0)
"""Characters of what a chunk's line says, in turn, when the hook lines do not fit."""
PLACE: Final = "archive/observations/0000-00-00.md#OBS-00000000-000"


@dataclass(frozen=True, slots=True)
class Night:
    """What a night is told beside the lines.

    `target_tokens` is the length aimed at. `other_tokens` is what everything else in the document costs (a person's own
    text), `hook_tokens` what the hook lines that stand already do. `disputes` are pairs of line numbers that cannot
    both be true. `with_chunks` is off in phase 1.
    """

    today: date
    target_tokens: int
    other_tokens: int = 0
    hook_tokens: int = 0
    disputes: Sequence[tuple[int, int]] = ()
    with_chunks: bool = True


def plan(items: Sequence[Item], night: Night) -> Plan:
    """What leaves tonight. The same lines, day and target give the same plan."""
    today, share = night.today, round(HOOK_SHARE * night.target_tokens)
    floor = night.other_tokens + sum(i.tokens for i in items if not i.is_open or retention.protected(i.memory, today))
    leaving = list(due_lines(items, today))
    lost, flagged = _disputed(items, night, {one.item.number for one in leaving})
    leaving += lost
    leaving += repeats(items, [one.item.number for one in leaving], today)
    before_pressure = len(leaving)
    leaving += pressed_lines(
        items,
        [one.item.number for one in leaving],
        today,
        most_tokens=night.target_tokens - night.other_tokens,
        hook_share=share,
        hook_tokens=night.hook_tokens,
    )
    kept = _tokens_kept(items, {one.item.number for one in leaving}) + night.other_tokens
    room = min(share, night.target_tokens - kept) if kept < night.target_tokens else share
    room = max(0, room - HEADING_TOKENS)
    groups = grouped(
        [_with_hooks(one) for one in sorted(leaving, key=lambda one: one.item.order)], room, night.with_chunks
    )
    flagged += [
        f"{one.item.name}: left with a confidence of {one.item.memory.confidence:.2f} ({one.reason})"
        for one in leaving
        if one.item.memory.confidence < retention.REVIEW_BELOW
    ]
    return Plan(groups, tuple(flagged), floor, kept, room, len(leaving) > before_pressure)


def grouped(leaving: Sequence[Leaving], room_tokens: int, with_chunks: bool = True) -> tuple[Group, ...]:
    """What leaves, in groups whose hook lines have room: chunks, then topics, then weeks, months, all of it.

    Without room for a line each, lines are told together, the oldest first, and chunks in fewer words.
    """
    most = max(1, room_tokens // SHORT_LINE_TOKENS - 1)
    found, rest = chunks(leaving, most) if with_chunks else ((), tuple(leaving))
    singles = _by_topic(rest)
    for coarser in (_week, _month, _everything):
        excess = _tokens_of((*found, *singles)) - room_tokens
        if excess <= 0:
            return (*found, *singles)
        singles = _told_together(singles, coarser, excess)
    for most in SHORTER:
        if _tokens_of((*found, *singles)) <= room_tokens:
            break
        found = tuple(replace(group, outcome=fitted(group, group.outcome, most)) for group in found)
    return (*found, *singles)


def _by_topic(leaving: Sequence[Leaving]) -> list[Group]:
    """Two lines on a topic together, each other line on its own."""
    paired = by_topic([one.item.text for one in leaving], 2)
    inside = {place for _, places in paired for place in places}
    groups = [_group(topic, [leaving[place] for place in places]) for topic, places in paired]
    groups += [_group(topic_of(one.item.text), [one]) for n, one in enumerate(leaving) if n not in inside]
    return sorted(groups, key=lambda group: group.members[0].item.order)


def _group(topic: str, members: Sequence[Leaving]) -> Group:
    ordered = tuple(sorted(members, key=lambda member: member.item.order))
    best = max(ordered, key=lambda member: (member.item.memory.importance, member.item.order))
    outcome = outcome_of(best.item.text)
    return Group(topic, outcome if len(ordered) == 1 else f"{len(ordered)} notes: {outcome}", ordered)


def _told_together(groups: Sequence[Group], coarser: Callable[[Group], str], too_many: int) -> list[Group]:
    """Groups of one week, month, … as one, the oldest first, until so many tokens are saved."""
    shelves: dict[str, list[Group]] = {}
    for group in groups:
        shelves.setdefault(coarser(group), []).append(group)
    found: list[Group] = []
    saved = 0
    for topic, shelf in shelves.items():
        if len(shelf) == 1 or saved >= too_many:
            found += shelf
            continue
        members = tuple(member for group in shelf for member in group.members)
        ordered = tuple(sorted(members, key=lambda member: member.item.order))
        topics = dict.fromkeys(
            topic_of(member.item.text) for member in sorted(members, key=_by_importance)[:TOPICS_NAMED]
        )
        whole = Group(topic, f"{len(members)} notes: {', '.join(topics)}", ordered)
        saved += _tokens_of(shelf) - _tokens_of((whole,))
        found.append(whole)
    return found


def _week(group: Group) -> str:
    return week_of(group.members[0].item.day)


def _month(group: Group) -> str:
    day = group.members[0].item.day
    return f"Notes of {day:%Y-%m}" if day else "Undated notes"


def _everything(_group: Group) -> str:
    return "Older notes"


def _by_importance(member: Leaving) -> tuple[float, int]:
    return -member.item.memory.importance, member.item.number


def _tokens_of(groups: Iterable[Group]) -> int:
    """What the hook lines of groups cost."""
    return sum(estimate_tokens(hook_line(group.topic, group.outcome, group.span, PLACE)) + 1 for group in groups)


def _with_hooks(one: Leaving) -> Leaving:
    return replace(one, hooks=hooks_of(one.item))


def _tokens_kept(items: Sequence[Item], gone: Collection[int]) -> int:
    kept = [item for item in items if item.number not in gone]
    return sum(item.tokens for item in kept) + sum({item.section: item.section_tokens for item in kept}.values())


# --- contradictions


def _disputed(items: Sequence[Item], night: Night, gone: Collection[int]) -> tuple[list[Leaving], list[str]]:
    """Of two lines that cannot both be true the less founded leaves, and both are named to a person."""
    by_number: Mapping[int, Item] = {item.number: item for item in items}
    away = set(gone)
    lost: dict[int, Leaving] = {}
    flagged: list[str] = []
    for one, other in night.disputes:
        if not away.isdisjoint((one, other)) or one not in by_number or other not in by_number:
            continue
        better, worse = sorted((by_number[one], by_number[other]), key=_foundation, reverse=True)
        stays = retention.protected(worse.memory, night.today) or (
            None if worse.is_open and not worse.nested else "lines hang on it"
        )
        said = f"{better.name} and {worse.name} contradict each other"
        if stays:
            flagged.append(f"{said}; both stay ({worse.name}: {stays})")
            continue
        flagged.append(f"{said}; {better.name} is better founded and stays")
        away.add(worse.number)
        lost[worse.number] = Leaving(worse, "contradicted", f"contradicted by {better.name}, which is better founded")
    return list(lost.values()), flagged


def _foundation(item: Item) -> tuple[float, float, object]:
    """How well founded a line is: how sure, then how important, then how new."""
    return item.memory.confidence, item.memory.importance, item.order
