"""log session: what happened in a session, told in order, with the sub-agents that it started."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo

from total_recall import clock
from total_recall.commands import places
from total_recall.commands.log_lines import fields_of, harmless, money, story_lines
from total_recall.commands.logged import Asked, opened
from total_recall.commands.observing import counted
from total_recall.commands.places import Configuration
from total_recall.sidecar import queries, story
from total_recall.sidecar.story import Told


@dataclass(frozen=True, slots=True)
class Options:
    """A session's id, key, or the beginning of its id; of several agents that have it, one."""

    session: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The steps of the story, and what a person should know."""

    tz: tzinfo
    told: tuple[Told, ...]
    notes: tuple[str, ...] = ()

    def payload(self) -> dict[str, object]:
        """The fields of the JSON answer; `depth` 1 is a sub-agent's."""
        events = [step for step in self.told if step.event is not None]
        return {
            "time_zone": str(self.tz),
            "sessions": [
                {"session": s.id, "session_key": s.key, "agent": s.agent, "class": s.kind, "depth": step.depth}
                for step in self.told
                if step.event is None
                for s in [step.session]
            ],
            "total": len(events),
            "events": [{"depth": s.depth, **fields_of(s.event, self.tz)} for s in events if s.event is not None],
            "warnings": list(self.notes),
        }

    def lines(self) -> list[str]:
        """The answer for a person."""
        return [*story_lines(self.told, self.tz), "", self._sums(), *(f"  warning: {note}" for note in self.notes)]

    def _sums(self) -> str:
        events = [step.event for step in self.told if step.event is not None]
        calls = [event for event in events if event.type == "tool_call"]
        failed = [event for event in events if event.ok is False]
        # The tokens of a run are those of the model calls in it.
        models = [event for event in events if event.type == "model_call"]
        costs = [event.cost_usd for event in models if event.cost_usd is not None]
        tokens = sum((event.tokens_in or 0) + (event.tokens_out or 0) for event in models)
        parts = [counted(len(events), "event"), counted(len(calls), "tool call"), f"{len(failed):,} failed"]
        parts += [f"{tokens:,} tokens"] if tokens else []
        parts += [money(sum(costs))] if any(costs) else []
        if failed:
            names = dict.fromkeys(" ".join(filter(None, (e.type, harmless(e.name or "")))) for e in failed)
            parts[2] += f" ({', '.join(names)})"
        return ", ".join(parts)


def run(options: Options, config: Configuration | None = None) -> Result:
    """Tell the story. Raises TotalRecallError when no log has the session, StoreError when it cannot be read."""
    now = clock.now()
    config = config or places.configure()
    asked = Asked(session=options.session, agent=options.agent)
    with opened(config, now, asked) as found:
        told = tuple(
            step
            for log in found.logs
            for step in story.tell(log.events.db, queries.sessions(log.events.db, log.wanted))
        )
    return Result(config.settings.tz, told, found.notes)
