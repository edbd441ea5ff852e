"""What becomes of a batch when models answer well, badly, in part, or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import timezone

import pytest

from talk import batch_of
from total_recall.llm import observer as module
from total_recall.llm.client import Answer, ChatMessage, ModelError
from total_recall.llm.observer import OFFLINE, Compressed, Knowledge, ModelObserver
from total_recall.llm.quirks import Fault, Finish
from total_recall.llm.roster import OUT_OF_TIME
from total_recall.records import Batch
from total_recall.tokens import estimate_tokens

SYSTEM = "Write observations."
THANKS = batch_of("U: thanks!\nA: You're welcome!")
"""A batch without anything that the offline scorer rates medium."""


def invoices(*numbers: int) -> Batch:
    return batch_of("\n".join(f"U: Invoice {n} over {n + 7} EUR is due on 14 December." for n in numbers))


def shown(messages: Sequence[ChatMessage]) -> list[int]:
    """The invoices in the conversation that a model is asked about, not those that it is told as known."""
    conversation = messages[-1].content.partition("CONVERSATION <")[2]
    return [int(n) for n in re.findall(r"Invoice (\d+)", conversation)]


def line(number: int) -> str:
    return f"- 🔴 09:00 Invoice {number} over {number + 7} EUR is due on 14 December <!-- dc:type=fact dc:importance=7.0 -->"


def answer(
    text: str, *, finish: Finish = "stop", was_cut: bool = False, counted: int | None = None, thoughts: str = ""
) -> Answer:
    return Answer("m", text, thoughts, finish, was_cut, counted)


def failure(kind: str, model: str = "m", fault: Fault | None = None) -> ModelError:
    return ModelError(model, kind, f"{model} failed: {kind}", fault)


Reply = Answer | ModelError | Callable[[Sequence[ChatMessage]], Answer]


def told(messages: Sequence[ChatMessage]) -> Answer:
    """A good model: a line for each invoice."""
    return answer("\n".join(line(n) for n in shown(messages)))


class Models:
    """Scripted models: what each answers in turn, the last for ever, and what they were asked."""

    def __init__(self, **scripts: Reply | list[Reply]) -> None:
        self.scripts = {name: script if isinstance(script, list) else [script] for name, script in scripts.items()}
        self.asked: list[tuple[str, list[int], int]] = []
        """(model, the invoices that it was shown, room for its answer)"""
        self.observer = ModelObserver(self.ask, list(scripts), system=SYSTEM, tz=timezone.utc)

    def ask(self, model: str, messages: Sequence[ChatMessage], max_tokens: int) -> Answer:
        self.asked.append((model, shown(messages), max_tokens))
        script = self.scripts[model]
        reply = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(reply, ModelError):
            raise reply
        return reply if isinstance(reply, Answer) else reply(messages)

    def compress(self, batch: Batch, knowledge: Knowledge = Knowledge()) -> Compressed:  # noqa: B008  # frozen
        return self.observer.compress(batch, knowledge)

    @property
    def names(self) -> list[str]:
        return [model for model, _, _ in self.asked]


def numbers_in(done: Compressed) -> list[int]:
    return [int(n) for o in done.observations for n in re.findall(r"[Ii]nvoice (\d+)", o.text)]


def fits(tokens: int) -> Callable[[Sequence[ChatMessage]], Answer]:
    """A model that refuses what is over its window."""

    def reply(messages: Sequence[ChatMessage]) -> Answer:
        if sum(estimate_tokens(m.content) for m in messages) > tokens:
            raise failure("too-large")
        return told(messages)

    return reply


def test_a_good_answer_is_one_question() -> None:
    models = Models(m=told)
    done = models.compress(invoices(1001, 1002))
    assert models.asked == [("m", [1001, 1002], module.REPLY_TOKENS)]
    assert (numbers_in(done), done.by, done.notes) == ([1001, 1002], "m", ())
    assert [("s1", f"e{n}") in o.sources for n, o in enumerate(done.observations)] == [True, True]


def test_what_does_not_fit_is_halved_until_it_does_in_order() -> None:
    models = Models(m=fits(90))
    done = models.compress(invoices(1001, 1002, 1003, 1004))
    assert [numbers for _, numbers, _ in models.asked][:2] == [[1001, 1002, 1003, 1004], [1001, 1002]]
    assert numbers_in(done) == [1001, 1002, 1003, 1004]
    assert (done.by, done.notes) == ("m", ())


def test_a_window_once_learnt_is_not_run_into_again() -> None:
    models = Models(m=fits(110))
    models.compress(invoices(1001, 1002, 1003, 1004))
    assert [len(numbers) for _, numbers, _ in models.asked] == [4, 2, 2]
    done = models.compress(invoices(*range(2001, 2009)))
    assert max(len(numbers) for _, numbers, _ in models.asked[3:]) < 8
    assert numbers_in(done) == list(range(2001, 2009))


def test_one_message_that_does_not_fit_goes_to_the_next_model() -> None:
    models = Models(small=fits(10), large=told)
    done = models.compress(invoices(1001))
    assert models.names == ["small", "large"] and done.by == "large"
    assert done.notes == ("m failed: too-large",)


def test_a_prompt_that_was_cut_silently_is_asked_in_smaller_parts() -> None:
    def window(messages: Sequence[ChatMessage]) -> Answer:
        cut = len(shown(messages)) > 1
        return answer(told(messages).text, was_cut=cut, counted=2048)

    models = Models(m=window)
    done = models.compress(invoices(1001, 1002))
    assert [numbers for _, numbers, _ in models.asked] == [[1001, 1002], [1001], [1002]]
    assert numbers_in(done) == [1001, 1002]
    assert done.notes == ("m reads only 2,048 tokens at a time; asked in smaller parts",)


def test_a_cut_answer_keeps_its_whole_lines_and_the_rest_is_asked_for() -> None:
    """Although what is left is worded like what is done, and counts as a source of it."""
    cut = answer(f"{line(1001)}\n{line(1002)}\n- 🔴 09:02 Invoice 10", finish="length")
    models = Models(m=[cut, told])
    done = models.compress(invoices(1001, 1002, 1003, 1004))
    assert [numbers for _, numbers, _ in models.asked] == [[1001, 1002, 1003, 1004], [1003, 1004]]
    assert numbers_in(done) == [1001, 1002, 1003, 1004] and done.by == "m"


def test_a_model_that_thinks_its_room_away_gets_more_and_keeps_it() -> None:
    models = Models(m=[answer("", finish="length"), told])
    assert numbers_in(models.compress(invoices(1001))) == [1001]
    models.compress(invoices(1002))
    assert [room for _, _, room in models.asked] == [4000, 8000, 8000]


@pytest.mark.parametrize(
    ("fault", "room"),
    [
        (Fault("too-large", 413, "", limit_tokens=6000, requested_tokens=9000), 1000),
        (Fault("credit", 402, "", affordable_tokens=2534), 2534),
    ],
)
def test_room_that_was_too_large_is_fitted_once(fault: Fault, room: int) -> None:
    models = Models(m=[failure(fault.kind, fault=fault), told])
    done = models.compress(invoices(1001, 1002))
    assert [asked for _, _, asked in models.asked] == [4000, room]
    assert (numbers_in(done), done.notes) == ([1001, 1002], ())


def test_room_that_would_be_too_small_is_not_asked_for() -> None:
    fault = Fault("credit", 402, "", affordable_tokens=100)
    models = Models(m=failure("credit", fault=fault))
    assert models.compress(invoices(1001)).by == OFFLINE
    assert len(models.asked) == 1


@pytest.mark.parametrize("quiet", [answer(""), answer("NOTHING NOTABLE"), answer("", thoughts="Nothing here.")])
def test_two_quiet_models_are_believed_whatever_was_said(quiet: Answer) -> None:
    models = Models(a=quiet, b=quiet, c=told)
    done = models.compress(invoices(1001))
    assert models.names == ["a", "b"]
    assert (done.observations, done.by, done.notes) == ((), "b", ())


def test_one_quiet_model_is_not_believed_where_there_is_something() -> None:
    models = Models(a=answer("NOTHING NOTABLE"))
    done = models.compress(invoices(1001))
    assert (numbers_in(done), done.by) == ([1001], OFFLINE)
    assert done.notes == ("a found nothing notable where there is something; compressed offline",)


def test_one_quiet_model_is_believed_where_there_is_nothing() -> None:
    models = Models(a=answer("NOTHING NOTABLE"), b=told)
    done = models.compress(THANKS)
    assert models.names == ["a"]
    assert (done.observations, done.by, done.notes) == ((), "a", ())


def test_a_model_that_finds_what_the_quiet_one_did_not_is_used() -> None:
    done = Models(a=answer(""), b=told).compress(invoices(1001))
    assert (numbers_in(done), done.by) == ([1001], "b")


def test_lines_that_nobody_said_are_told_but_not_kept() -> None:
    models = Models(m=answer(f"{line(1001)}\n{line(5555)}"))
    done = models.compress(invoices(1001))
    assert numbers_in(done) == [1001] and done.by == "m"
    (note,) = done.notes
    assert note.startswith("m: 1 of 2 lines left out") and "5555" not in note


def test_an_answer_that_is_mostly_invented_is_not_used() -> None:
    models = Models(bad=answer("\n".join(line(n) for n in (1001, 7777, 8888))), good=told)
    done = models.compress(invoices(1001))
    assert (numbers_in(done), done.by) == ([1001], "good")


def test_what_is_known_already_is_repeated_by_a_model_in_vain() -> None:
    knowledge = Knowledge(known=("Invoice 1001 over 1008 EUR is due on 14 December",))
    done = Models(m=told).compress(invoices(1001), knowledge)
    assert done.by in ("m", OFFLINE)
    assert Models(m=told).compress(invoices(1001, 1002), knowledge).by == "m"


def test_a_batch_costs_no_more_than_so_many_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CALLS_PER_BATCH", 5)
    models = Models(m=fits(90))
    done = models.compress(invoices(*range(1001, 1011)))
    assert len(models.asked) <= 6
    assert "stopped after 5 questions about one batch; the rest was compressed offline" in done.notes
    assert done.by == OFFLINE and set(numbers_in(done)) == set(range(1001, 1011))


def test_the_limit_is_for_each_batch_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CALLS_PER_BATCH", 2)
    models = Models(m=told)
    assert [models.compress(invoices(n)).by for n in range(1001, 1006)] == ["m"] * 5


def test_a_model_that_failed_twice_in_a_row_is_not_asked_again() -> None:
    models = Models(a=failure("busy", "a"), b=told)
    notes = [models.compress(invoices(n)).notes for n in (1001, 1002, 1003)]
    assert models.names == ["a", "b", "a", "b", "b"]
    assert notes == [("a failed: busy",), ("a failed: busy",), ()]


def test_an_answer_in_between_counts_from_the_start() -> None:
    busy = failure("busy", "a")
    models = Models(a=[busy, told, busy, told], b=told)
    for n in range(1001, 1005):
        models.compress(invoices(n))
    assert models.names.count("a") == 4


@pytest.mark.parametrize("kind", ["gone", "auth", "credit"])
def test_a_model_that_cannot_be_had_is_asked_once(kind: str) -> None:
    models = Models(a=failure(kind, "a"), b=told)
    notes = models.compress(invoices(1001)).notes
    models.compress(invoices(1002))
    assert models.names == ["a", "b", "b"] and notes == (f"a failed: {kind}",)


@pytest.mark.parametrize("kind", ["unreachable", OUT_OF_TIME])
def test_where_nobody_can_answer_nobody_else_is_asked(kind: str) -> None:
    models = Models(a=failure(kind, "a"), b=told)
    first, second = models.compress(invoices(1001)), models.compress(invoices(1002))
    assert models.names == ["a"]
    assert (first.by, first.notes, numbers_in(first)) == (OFFLINE, (f"a failed: {kind}",), [1001])
    assert (second.by, second.notes, numbers_in(second)) == (OFFLINE, (), [1002])


def test_parts_know_nothing_of_each_others_ids() -> None:
    """The same line from two parts of a batch is one observation; two lines never share an id."""
    models = Models(m=fits(80))
    done = models.compress(invoices(1001, 1002, 1001, 1003))
    ids = [o.id for o in done.observations]
    assert len(ids) == len(set(ids))
    assert sorted(numbers_in(done)) in ([1001, 1001, 1002, 1003], [1001, 1002, 1003])
    assert [o.at for o in done.observations] == sorted(o.at for o in done.observations)


def test_a_part_that_only_the_rules_could_do_makes_it_offline() -> None:
    models = Models(m=[failure("too-large"), told, failure("busy")])
    done = models.compress(invoices(1001, 1002))
    assert done.by == OFFLINE and set(numbers_in(done)) == {1001, 1002}


def test_a_model_named_twice_is_one() -> None:
    asked: list[str] = []

    def ask(model: str, _messages: Sequence[ChatMessage], _room: int) -> Answer:
        asked.append(model)
        raise failure("refused", model)

    ModelObserver(ask, ["a", "a", "b"], system=SYSTEM, tz=timezone.utc).compress(invoices(1001))
    assert asked == ["a", "b"]


class Others:
    """Names models in the place of those that are gone, each answer once."""

    def __init__(self, *answers: tuple[Sequence[str], str]) -> None:
        self.answers = list(answers)
        self.gone: list[list[str]] = []

    def __call__(self, errors: Sequence[ModelError]) -> tuple[Sequence[str], str]:
        self.gone.append([error.model for error in errors])
        return self.answers.pop(0)


def standing_in(others: Others, **scripts: Reply | list[Reply]) -> Models:
    """Models of which only `a` and `b` are known at first."""
    models = Models(**scripts)
    models.observer = ModelObserver(models.ask, ["a", "b"], system=SYSTEM, tz=timezone.utc, instead=others)
    return models


def test_when_all_are_gone_others_stand_in_and_one_line_says_so() -> None:
    others = Others((["c"], "a and b are gone; c is asked"))
    models = standing_in(others, a=failure("gone", "a"), b=failure("gone", "b"), c=told)
    done = models.compress(invoices(1001))
    assert (numbers_in(done), done.by, done.notes) == ([1001], "c", ("a and b are gone; c is asked",))
    again = models.compress(invoices(1002))
    assert (models.names, others.gone, again.notes) == (["a", "b", "c", "c"], [["a", "b"]], ())


def test_while_one_is_left_nobody_stands_in() -> None:
    models = standing_in(Others(), a=failure("gone", "a"), b=[failure("busy", "b"), told])
    first, second = models.compress(invoices(1001)), models.compress(invoices(1002))
    assert (first.by, set(first.notes)) == (OFFLINE, {"a failed: gone", "b failed: busy"})
    assert (second.by, models.names) == ("b", ["a", "b", "b"])


def test_when_those_are_gone_as_well_the_rules_do_it() -> None:
    others = Others((["c"], "c is asked"), ((), "nobody is left"))
    models = standing_in(others, **{name: failure("gone", name) for name in "abc"})
    done = models.compress(invoices(1001))
    assert (numbers_in(done), done.by, done.notes) == ([1001], OFFLINE, ("c is asked", "nobody is left"))
    assert models.compress(invoices(1002)).notes == ()
    assert (models.names, others.gone) == (["a", "b", "c"], [["a", "b"], ["c"]])
