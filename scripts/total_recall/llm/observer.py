"""A batch becomes observations by a model, checked line by line; when no model is of use, by the offline compressor."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo

from total_recall.llm import offline
from total_recall.llm.client import Answer, ChatMessage, ModelError
from total_recall.llm.grounding import Grounded, ground
from total_recall.llm.prompting import frame
from total_recall.llm.reply import ReadReply, read_reply
from total_recall.llm.roster import Instead, Roster
from total_recall.records import Batch, Message, Observation
from total_recall.tokens import estimate_tokens

REPLY_TOKENS = 4_000
"""Room for some thoughts beside the lines."""
MOST_REPLY_TOKENS = 8_000
SMALLEST_REPLY_TOKENS = 256
CALLS_PER_BATCH = 16
"""What is left of a batch after so many questions is compressed offline."""
CONTEXT_MESSAGES = 4
OFFLINE = "offline"

Ask = Callable[[str, Sequence[ChatMessage], int], Answer]
"""(model, messages, max_tokens) → answer; raises ModelError."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What the model is shown of the memory: its last lines, and (id, text) of what is still open."""

    known: tuple[str, ...] = ()
    open_lines: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Compressed:
    """Observations of a batch in time order, who made them, and what a person should know about how it went.

    `by` names the model; where a part of the batch had to be compressed offline, `offline`, since that is what a
    person must hear of.
    """

    observations: tuple[Observation, ...]
    by: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What asking a model about a part of a batch gave. `useful` says that the part is done but for `rest`."""

    observations: tuple[Observation, ...] = ()
    rest: tuple[Batch, ...] = ()
    useful: bool = False
    says_nothing: bool = False
    note: str | None = None


@dataclass(slots=True)
class _Model:
    """What was learnt of a model in this run."""

    name: str
    reply_tokens: int = REPLY_TOKENS
    too_large: int | None = None
    """Prompts of so many tokens, by our estimate, did not fit."""


@dataclass(slots=True)
class _Job:
    """The work on one batch: what is still to do, in order, and what was found."""

    todo: list[Batch]
    found: list[Observation] = field(default_factory=list)
    by: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    calls: int = 0

    def note(self, text: str | None) -> None:
        if text and text not in self.notes:
            self.notes.append(text)


class ModelObserver:
    """Asks the models in turn, for one run: what it learns of a model holds until then.

    When all of them are gone, `instead` may name others.
    """

    def __init__(
        self, ask: Ask, models: Sequence[str], *, system: str, tz: tzinfo, instead: Instead | None = None
    ) -> None:
        self._ask = ask
        self._roster = Roster(models, instead)
        self._learnt: dict[str, _Model] = {}
        self._system = system
        self._tz = tz

    def compress(self, batch: Batch, knowledge: Knowledge = Knowledge()) -> Compressed:  # frozen
        """The batch's observations by the first model that gives a useful answer, else offline.

        A part that did not fit, or that a cut answer did not reach, is asked about again on its own.
        """
        job = _Job([batch])
        while job.todo:
            part = job.todo.pop(0)
            rest = self._part(part, knowledge, job)
            job.todo[:0] = rest
        for error in self._roster.gone:
            # Not before: when all are gone, one line about those that stand in for them says it.
            job.note(str(error))
        observations = _with_own_ids(sorted(job.found, key=lambda o: o.at))
        by = OFFLINE if OFFLINE in job.by else " and ".join(sorted(job.by))
        return Compressed(observations, by, tuple(job.notes))

    def _part(self, part: Batch, knowledge: Knowledge, job: _Job) -> tuple[Batch, ...]:
        """Compress a part into `job`; what comes back is to be done on its own."""
        quiet: list[str] = []
        for name in self._roster.in_turn(job.note):
            model = self._learnt.setdefault(name, _Model(name))
            if job.calls >= CALLS_PER_BATCH:
                job.note(f"stopped after {CALLS_PER_BATCH} questions about one batch; the rest was compressed offline")
                break
            outcome = self._by_model(model, part, knowledge, job)
            job.note(outcome.note)
            if outcome.useful:
                job.found += outcome.observations
                job.by.add(model.name)
                return outcome.rest
            if outcome.says_nothing:
                quiet.append(model.name)
                if len(quiet) == 2 or not offline.rates_medium(part, tz=self._tz):
                    job.by.add(model.name)
                    return ()
        if quiet:
            job.note(f"{quiet[0]} found nothing notable where there is something; compressed offline")
        job.found += offline.compress(part, tz=self._tz)
        job.by.add(OFFLINE)
        return ()

    def _by_model(self, model: _Model, part: Batch, knowledge: Knowledge, job: _Job) -> _Outcome:
        messages = self._framed(part, knowledge)
        size = sum(estimate_tokens(m.content) for m in messages)
        if model.too_large is not None and size >= model.too_large and len(part.messages) > 1:
            return _Outcome(useful=True, rest=_halves(part))
        try:
            answer = self._answer(model, messages, job)
        except ModelError as error:
            if error.kind == "too-large" and len(part.messages) > 1:
                model.too_large = min(size, model.too_large or size)
                return _Outcome(useful=True, rest=_halves(part))
            self._roster.failed(model.name, error)
            return _Outcome(note=None if error.kind == "gone" else str(error))
        self._roster.answered(model.name)
        if answer.prompt_was_cut and len(part.messages) > 1:
            model.too_large = min(size, model.too_large or size)
            note = f"{model.name} reads only {answer.prompt_tokens:,} tokens at a time; asked in smaller parts"
            return _Outcome(useful=True, rest=_halves(part), note=note)
        read = read_reply(answer.text, answer.thoughts, cut=answer.cut)
        shown = (*knowledge.known, *(text for _, text in knowledge.open_lines))
        return self._judged(model, part, answer, read, ground(read.observations, part, tz=self._tz, known=shown))

    def _answer(self, model: _Model, messages: Sequence[ChatMessage], job: _Job) -> Answer:
        """The model's answer; asked once more where only the room for the answer was wrong."""
        room = model.reply_tokens
        job.calls += 1
        try:
            answer = self._ask(model.name, messages, room)
        except ModelError as error:
            fitting = _fitting(error, room)
            if fitting is None:
                raise
            model.reply_tokens = fitting
        else:
            if not answer.cut or read_reply(answer.text, cut=True).observations or room != REPLY_TOKENS:
                return answer
            # It thought until the room was gone: a reasoning model.
            model.reply_tokens = MOST_REPLY_TOKENS
        job.calls += 1
        return self._ask(model.name, messages, model.reply_tokens)

    def _judged(self, model: _Model, part: Batch, answer: Answer, read: ReadReply, grounded: Grounded) -> _Outcome:
        """Whether the answer is of use: most lines stand on the conversation, or it says there is nothing."""
        note = _dropped(model.name, grounded)
        if grounded.observations and len(grounded.dropped) <= len(grounded.observations):
            rest = _after(part, grounded.observations) if read.cut else ()
            return _Outcome(grounded.observations, rest, useful=True, note=note)
        if read.nothing_notable or _is_quiet(answer, read) or (grounded.repeated and not grounded.dropped):
            return _Outcome(says_nothing=True)
        if note is None and read.problems:
            note = f"{model.name}: {read.problems[0]}"
        return _Outcome(note=note)

    def _framed(self, part: Batch, knowledge: Knowledge) -> tuple[ChatMessage, ...]:
        return frame(
            part,
            system=self._system,
            tz=self._tz,
            fence=f"talk-{secrets.token_hex(4)}",
            known=knowledge.known,
            open_lines=knowledge.open_lines,
        )


def _fitting(error: ModelError, room: int) -> int | None:
    """Room for the answer that fits what the provider said, or None when it did not say or too little is left."""
    fits = error.affordable_tokens
    if error.kind == "too-large" and error.limit_tokens is not None and error.requested_tokens is not None:
        fits = error.limit_tokens - (error.requested_tokens - room)
    return fits if fits is not None and SMALLEST_REPLY_TOKENS <= fits < room else None


def _halves(part: Batch) -> tuple[Batch, Batch]:
    middle = len(part.messages) // 2
    return _slice(part, 0, middle), _slice(part, middle, len(part.messages))


def _slice(part: Batch, start: int, end: int) -> Batch:
    """Some messages of a batch with what was said before them."""
    messages = part.messages[start:end]
    before = (*part.context, *part.messages[:start])[-CONTEXT_MESSAGES:]
    return replace(part, messages=messages, context=before, tokens=sum(estimate_tokens(m.text) for m in messages))


def _after(part: Batch, observations: Sequence[Observation]) -> tuple[Batch, ...]:
    """The messages behind the last one that an observation is about: a cut answer did not reach them.

    An observation has the time of the message that it is about. Its other sources, worded alike, may come later and are
    not done with that.
    """
    about = {(source, observation.at) for observation in observations for source in observation.sources}
    last = max((n for n, m in enumerate(part.messages) if (_key(m), m.at) in about), default=-1)
    return (_slice(part, last + 1, len(part.messages)),) if last + 1 < len(part.messages) else ()


def _key(message: Message) -> tuple[str, str]:
    return message.session_id, message.entry_id


def _is_quiet(answer: Answer, read: ReadReply) -> bool:
    """An empty answer that ended by itself: perhaps there was nothing to say."""
    return answer.finish == "stop" and not answer.text.strip() and not read.observations


def _dropped(model: str, grounded: Grounded) -> str | None:
    """`m: 2 of 5 lines left out: number that nobody said (2)`; what the lines said is nobody's business here."""
    if not grounded.dropped:
        return None
    reasons = Counter(why.partition(":")[0] for _, why in grounded.dropped)
    total = len(grounded.dropped) + len(grounded.observations) + len(grounded.repeated)
    told = ", ".join(f"{why} ({count})" for why, count in reasons.most_common())
    return f"{model}: {len(grounded.dropped)} of {total} lines left out: {told}"


def _with_own_ids(observations: Sequence[Observation]) -> tuple[Observation, ...]:
    """Parts of a batch are compressed apart and cannot know each other's ids; of the same line one is enough."""
    by_id: dict[str, Observation] = {}
    for observation in observations:
        by_id.setdefault(observation.id, observation)
    return tuple(by_id.values())
