"""How often recall finds the turns of a conversation that answer a question, with the index and scorer of the product.

    retrieval.py DATA [DATA ...] [--ablate] [--cross-validate] [--categories 1,2,3,4]
    retrieval.py DATA --answer [--questions 200] [-k 10]
    retrieval.py --scale 100000

DATA is JSON, in one of three shapes:
- `[{"id", "sessions": [{"id", "date", "turns": [{"id", "speaker", "text"}]}], "qa": [{"q", "a", "evidence",
  "category"}]}]`
- `[{"sample_id", "conversation": {"session_1": [{"speaker", "dia_id", "text"}], "session_1_date_time"}, "qa":
  [{"question", "answer", "evidence", "category"}]}]` (LoCoMo's own)
- `[{"question_id", "question_type", "question", "answer", "question_date", "answer_session_ids",
  "haystack_sessions", "haystack_session_ids", "haystack_dates"}]`, turns `{"role", "content", "has_answer"}`
  (LongMemEval's own)

A turn is a memory, with its session, place, speaker and time. Measured: recall@k, hit@k (any) and NDCG@10 for the turns
that are evidence, the same for their sessions (a session ranks as its best turn), by category, beside plain FTS5 with
its Porter stemmer and, where it is installed, bm25s; time for a question, and the largest resident set in MB.
`--answer` also has the questions answered from the first `-k` turns and judged, by the model that LLM_BASE_URL,
LLM_MODEL and, where one is needed, LLM_API_KEY name (JUDGE_MODEL for the judge); two requests a question.
`--ablate` takes the parts of the model away one by one. `--cross-validate` chooses the most important parameters on all
conversations but one, looks at that one, in turn, and reports what that costs against the defaults.
`--scale N` measures N made-up memories: time for a question in process, of the command from a cold start (`--runs`),
the size of the index by that of the document and of the bare text in it, and the time for one memory more.
To be reached with 100,000: p95 under 20 ms, a cold start under 200 ms, at most twice the document.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import math
import os
import random
import re
import resource
import sqlite3
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import answering
from measure import SCRIPTS, Home, milliseconds, report

sys.path.insert(0, str(SCRIPTS))

from total_recall.llm.client import ChatMessage, Client, Endpoint, ModelError
from total_recall.llm.reply import without_thoughts
from total_recall.recall import index as indexes
from total_recall.recall.candidates import Wanted
from total_recall.recall.index import RecallIndex
from total_recall.recall.memories import Memory
from total_recall.recall.querying import parse_query
from total_recall.recall.scoring import DEFAULT, Parameters
from total_recall.recall.searching import search
from total_recall.records import ModelCall

DEEP = 100
"""Turns that are ranked, so that a session can be found by one of them."""


# --- what is asked ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turn:
    id: str
    session: str
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    turns: frozenset[str]
    sessions: frozenset[str]
    category: str
    at: datetime
    answer: str | None = None
    """None where the conversation does not say."""


@dataclass(frozen=True, slots=True)
class Conversation:
    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


_DATE_FORMS = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d")
_DIALOGUE = re.compile(r"D:?(\d+):(\d+)")


def moment(text: str) -> datetime:
    """A date as one of the three shapes writes it, as UTC. Raises ValueError."""
    text = re.sub(r"\([A-Za-z]{3}\)\s*", "", text).strip()
    for form in _DATE_FORMS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=timezone.utc)
        except ValueError:
            continue
    raise ValueError(f"{text!r} is no date")


def conversations(path: Path) -> Iterator[Conversation]:
    """The conversations of a file. Raises KeyError when it has none of the three shapes."""
    items = json.loads(path.read_text("utf-8"))
    for item in items if isinstance(items, list) else items["items"]:
        shape = next(shape for key, shape in _SHAPES.items() if key in item)
        name, sessions, questions = shape(item)
        turns = [
            # A turn a minute, so that they keep their order.
            Turn(id, session, speaker, text, date + timedelta(minutes=n))
            for session, date, said in sessions
            for n, (id, speaker, text) in enumerate(said)
        ]
        home = {turn.id: turn.session for turn in turns}
        last = max(turn.at for turn in turns) + timedelta(days=1)
        asked = []
        for text, evidence, answer_sessions, category, at, answer in questions:
            found = frozenset(evidence) & home.keys()
            places = frozenset(answer_sessions) or frozenset(home[id] for id in found)
            if places:
                told = None if answer in (None, "") else str(answer)
                asked.append(Question(text, frozenset(found), places, str(category), at or last, told))
        yield Conversation(name, tuple(turns), tuple(asked))


Session = tuple[str, datetime, list[tuple[str, str, str]]]
Asked = tuple[str, list[str], list[str], Any, "datetime | None", Any]
"""The question, the turns and the sessions that answer it, its category, when it is asked, the answer."""


def _compact(item: dict[str, Any]) -> tuple[str, list[Session], list[Asked]]:
    sessions = [
        (s["id"], moment(s["date"]), [(t["id"], t["speaker"], t["text"]) for t in s["turns"]]) for s in item["sessions"]
    ]
    asked: list[Asked] = [(q["q"], q["evidence"], [], q["category"], None, q.get("a")) for q in item["qa"]]
    return item["id"], sessions, asked


def _numbered(item: dict[str, Any]) -> tuple[str, list[Session], list[Asked]]:
    said = item["conversation"]
    numbers = sorted(int(key.removeprefix("session_")) for key in said if re.fullmatch(r"session_\d+", key))
    sessions = [
        (
            f"D{n}",
            moment(said[f"session_{n}_date_time"]),
            [(t["dia_id"], t["speaker"], t["text"]) for t in said[f"session_{n}"]],
        )
        for n in numbers
    ]
    asked: list[Asked] = []
    for q in item["qa"]:
        evidence = [f"D{a}:{int(b)}" for a, b in _DIALOGUE.findall(" ".join(q.get("evidence", [])))]
        asked.append((q["question"], evidence, [], q["category"], None, q.get("answer")))
    return item["sample_id"], sessions, asked


def _haystack(item: dict[str, Any]) -> tuple[str, list[Session], list[Asked]]:
    sessions: list[Session] = []
    evidence: list[str] = []
    for id, date, turns in zip(
        item["haystack_session_ids"], item["haystack_dates"], item["haystack_sessions"], strict=True
    ):
        sessions.append((id, moment(date), [(f"{id}#{n}", t["role"], t["content"]) for n, t in enumerate(turns)]))
        evidence += [f"{id}#{n}" for n, t in enumerate(turns) if t.get("has_answer")]
    at = moment(item["question_date"]) if item.get("question_date") else None
    # The answer to a question about what was never said only tells that it was not (ids end with _abs).
    answer = None if str(item["question_id"]).endswith("_abs") else item.get("answer")
    asked = (item["question"], evidence, item["answer_session_ids"], item["question_type"], at, answer)
    return item["question_id"], sessions, [asked]


_SHAPES: Mapping[str, Callable[[dict[str, Any]], tuple[str, list[Session], list[Asked]]]] = {
    "sessions": _compact,
    "conversation": _numbered,
    "haystack_sessions": _haystack,
}


# --- who answers -----------------------------------------------------------------------------------------------

Engine = Callable[[Question], list[str]]
"""The ids of turns, the best first."""


def filed(conversation: Conversation) -> RecallIndex:
    index = indexes.in_memory()
    memories = [
        Memory(turn.id, turn.text, turn.at, group=turn.session, speaker=turn.speaker) for turn in conversation.turns
    ]
    index.sync("conversation", "live", (0,), memories)
    return index


def recall_engine(index: RecallIndex, p: Parameters = DEFAULT) -> Engine:
    def ask(question: Question) -> list[str]:
        query = parse_query(question.text, question.at.date())
        hits = search(index, query, Wanted(count=DEEP), now=question.at, p=p)
        return [hit.filed.memory.key for hit in hits]

    return ask


_FEW_WORDS = frozenset(
    "a an the of to in on at is are was were be been do does did has have had what when where who which how why for "
    "with and or by from as that this it its his her their he she they i you we would could should might not no".split()
)


def fts5_engine(conversation: Conversation) -> Engine:
    """What SQLite does by itself: `porter unicode61`, its own BM25, speaker and text as one."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE turn USING fts5 (id UNINDEXED, text, tokenize = 'porter unicode61')")
    db.executemany("INSERT INTO turn VALUES (?, ?)", [(t.id, f"{t.speaker}: {t.text}") for t in conversation.turns])

    def ask(question: Question) -> list[str]:
        words = [word for word in re.findall(r"\w+", question.text.lower()) if word not in _FEW_WORDS]
        match = " OR ".join(f'"{word}"' for word in words) or '""'
        rows = db.execute("SELECT id FROM turn WHERE turn MATCH ? ORDER BY rank LIMIT ?", (match, DEEP))
        return [id for (id,) in rows]

    return ask


def bm25s_engine(conversation: Conversation) -> Engine:
    """bm25s with its English stop words, and PyStemmer where there is one."""
    import bm25s  # type: ignore[import-not-found, unused-ignore]  # not a dependency

    stemmer = None
    if importlib.util.find_spec("Stemmer"):
        import Stemmer  # type: ignore[import-not-found, unused-ignore]  # not a dependency

        stemmer = Stemmer.Stemmer("english")

    def cut(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    model = bm25s.BM25()
    model.index(cut([f"{t.speaker}: {t.text}" for t in conversation.turns]), show_progress=False)

    def ask(question: Question) -> list[str]:
        found, _ = model.retrieve(cut([question.text]), k=min(DEEP, len(conversation.turns)), show_progress=False)
        return [conversation.turns[n].id for n in found[0]]

    return ask


# --- how well --------------------------------------------------------------------------------------------------

Scores = dict[str, float]


def judged(question: Question, turns: list[str], home: Mapping[str, str]) -> Scores:
    sessions = list(dict.fromkeys(home[turn] for turn in turns))
    scores: Scores = {}
    for unit, found, gold in (("turn", turns, question.turns), ("session", sessions, question.sessions)):
        if not gold:
            continue
        for k in (1, 5, 10):
            right = len(gold.intersection(found[:k]))
            scores[f"{unit}_recall@{k}"] = right / len(gold)
            scores[f"{unit}_hit@{k}"] = float(right > 0)
        gain = sum(1 / math.log2(n + 2) for n, id in enumerate(found[:10]) if id in gold)
        scores[f"{unit}_ndcg@10"] = gain / sum(1 / math.log2(n + 2) for n in range(min(10, len(gold))))
    return scores


SHOWN = (
    "turn_recall@5", "turn_recall@10", "turn_hit@5", "turn_hit@10", "turn_ndcg@10",
    "session_hit@1", "session_recall@5", "session_ndcg@10",
)  # fmt: skip


def mean(scores: Sequence[Scores], name: str) -> float:
    values = [s[name] for s in scores if name in s]
    return round(sum(values) / len(values), 4) if values else 0.0


def measured(
    data: Sequence[Conversation], engine: Callable[[Conversation], Engine], categories: frozenset[str] | None
) -> tuple[dict[str, list[tuple[str, Scores]]], list[float]]:
    """(category, scores) of each question by conversation, and the seconds that each question took."""
    found: dict[str, list[tuple[str, Scores]]] = {}
    seconds: list[float] = []
    for conversation in data:
        ask = engine(conversation)
        home = {turn.id: turn.session for turn in conversation.turns}
        answers = found.setdefault(conversation.name, [])
        for question in conversation.questions:
            if categories is None or question.category in categories:
                begun = time.perf_counter()
                turns = ask(question)
                seconds.append(time.perf_counter() - begun)
                answers.append((question.category, judged(question, turns, home)))
    return found, seconds


def summary(found: Mapping[str, Sequence[tuple[str, Scores]]], seconds: Sequence[float]) -> dict[str, Any]:
    everything = [scores for answers in found.values() for _, scores in answers]
    by_category: defaultdict[str, list[Scores]] = defaultdict(list)
    for answers in found.values():
        for category, scores in answers:
            by_category[category].append(scores)
    return {
        "questions": len(everything),
        **{name: mean(everything, name) for name in SHOWN},
        "by_category_recall@10": {c: mean(s, "turn_recall@10") for c, s in sorted(by_category.items())},
        "ms": {"p50": percentile(seconds, 0.5), "p95": percentile(seconds, 0.95)},
    }


def percentile(seconds: Sequence[float], share: float) -> float:
    return round(sorted(seconds)[min(len(seconds) - 1, int(len(seconds) * share))] * 1000, 2)


ABLATIONS: Mapping[str, Parameters] = {
    "decay off": replace(DEFAULT, decay_floor=1.0),
    "boost off": replace(DEFAULT, time_factor=1.0, superseded_factor=1.0, use_gain=0.0),
    "links off": replace(DEFAULT, shares=(), share_by_rare_words=0.0),
    "neighbours at one place": replace(DEFAULT, shares=DEFAULT.shares[:1]),
    "questions lend like all": replace(DEFAULT, share_of_question=DEFAULT.shares[0]),
    "rare words off": replace(DEFAULT, share_by_rare_words=0.0),
    "context off": replace(DEFAULT, context=0.0),
    "speaker off": replace(DEFAULT, speaker_factor=1.0),
    "answer form off": replace(DEFAULT, answer_factor=1.0),
    "question form off": replace(DEFAULT, question_factor=1.0),
    "coverage off": replace(DEFAULT, coverage=0.0),
    "kin off": replace(DEFAULT, kin_weight=0.0),
    "near spellings off": replace(DEFAULT, typo_weight=0.0),
    "k1 1.2, b 0.75": replace(DEFAULT, saturation=1.2, length_weight=0.75),
    "decay floor 0.3": replace(DEFAULT, decay_floor=0.3),
}

CHOICES: Mapping[str, tuple[Any, ...]] = {
    "shares": ((0.5, 0.25), (0.5, 0.3, 0.2), (0.6, 0.4, 0.3)),
    "share_of_question": (0.6, 0.8, 1.0),
    "speaker_factor": (1.5, 1.8, 2.2),
    "context": (0.6, 1.1),
}
"""What is chosen in turn by `--cross-validate`; the product of all is tried."""


def cross_validated(
    data: Sequence[Conversation], ready: Mapping[str, RecallIndex], categories: frozenset[str] | None
) -> dict[str, Any]:
    tried: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for values in itertools.product(*CHOICES.values()):
        p = replace(DEFAULT, **dict(zip(CHOICES, values, strict=True)))
        found, _ = measured(data, lambda c, p=p: recall_engine(ready[c.name], p), categories)  # type: ignore[misc]
        tried[values] = {name: [s["turn_recall@10"] for _, s in answers] for name, answers in found.items()}
    defaults = tuple(getattr(DEFAULT, name) for name in CHOICES)
    folds: dict[str, dict[str, Any]] = {}
    for name in ready:

        def on_the_others(values: tuple[Any, ...], left_out: str = name) -> float:
            scores = [score for other, found in tried[values].items() if other != left_out for score in found]
            return sum(scores) / len(scores)

        best = max(tried, key=on_the_others)
        folds[name] = {
            "chosen": dict(zip(CHOICES, best, strict=True)),
            "recall@10": average(tried[best][name]),
            "defaults": average(tried[defaults][name]),
        }
    left_out = [score for name, fold in folds.items() for score in tried[tuple(fold["chosen"].values())][name]]
    everything = [average([s for found in scores.values() for s in found]) for scores in tried.values()]
    return {
        "recall@10": average(left_out),
        "defaults": average([s for found in tried[defaults].values() for s in found]),
        "of_all_choices": {"least": min(everything), "most": max(everything)},
        "folds": folds,
    }


def average(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)


# --- how right the answers are ---------------------------------------------------------------------------------

ANSWER_TOKENS = 400
ANSWER_SECONDS = 300.0


def answered(
    data: Sequence[Conversation],
    ready: Mapping[str, RecallIndex],
    categories: frozenset[str] | None,
    count: int,
    limit: int | None,
) -> dict[str, Any]:
    """Accuracy with the model of the environment; of more than `limit` questions a fixed choice at random."""
    base_url, model = os.environ.get("LLM_BASE_URL", ""), os.environ.get("LLM_MODEL", "")
    if not base_url or not model:
        raise SystemExit("--answer: set LLM_BASE_URL and LLM_MODEL to the endpoint and the model that shall answer")
    judge = os.environ.get("JUDGE_MODEL") or model
    asked = [(c, q) for c in data for q in c.questions if categories is None or q.category in categories]
    if limit is not None and limit < len(asked):
        asked = random.Random(1).sample(asked, limit)
    calls: list[ModelCall] = []
    with Client(Endpoint(base_url, os.environ.get("LLM_API_KEY")), calls.append) as client:

        def by(name: str) -> answering.Ask:
            def ask(system: str, user: str) -> str:
                messages = (ChatMessage("system", system), ChatMessage("user", user))
                said = client.chat(
                    name, messages, max_tokens=ANSWER_TOKENS, purpose="benchmark", deadline_seconds=ANSWER_SECONDS
                )
                return without_thoughts(said.text)

            return ask

        found: list[answering.Judged] = []
        failed = 0
        for conversation, question in asked:
            turns = {turn.id: turn for turn in conversation.turns}
            first = recall_engine(ready[conversation.name])(question)[:count]
            excerpts = [answering.Excerpt(turns[id].at, turns[id].speaker, turns[id].text) for id in first]
            try:
                found.append(
                    answering.judged(
                        question.text, question.at, question.category, question.answer, excerpts, by(model), by(judge)
                    )
                )
            except ModelError as error:
                failed += 1
                print(error, file=sys.stderr)
    tokens = sum((call.tokens_in or 0) + (call.tokens_out or 0) for call in calls)
    return {
        "model": model,
        "judge": judge,
        "turns": count,
        **answering.summary(found),
        "failed": failed,
        "tokens": tokens,
    }


# --- how fast --------------------------------------------------------------------------------------------------


def scale(count: int, runs: int) -> dict[str, Any]:
    """Made-up memories with words as frequent as in English: a few in most memories, most in a few."""
    dice = random.Random(1)
    vocabulary = [_word(dice) for _ in range(30_000)]
    weights = list(itertools.accumulate(1 / (rank + 10) for rank in range(len(vocabulary))))
    now = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
    kinds: tuple[Any, ...] = ("event", "context", "fact", "preference", "goal", "habit")
    lines, memories = [], []
    for number in range(count):
        at = (now - timedelta(minutes=20 * (count - number))).replace(second=0)
        text = " ".join(dice.choices(vocabulary, cum_weights=weights, k=dice.randint(6, 24)))
        kind = dice.choice(kinds)
        memories.append(Memory(f"m{number}", text, at, f"day {at:%Y-%m-%d}", kind, 5.0))
        lines.append((at, f"- 🟡 {at:%H:%M} {text} <!-- dc:id=m{number} dc:type={kind} dc:importance=5.0 -->"))
    questions = [" ".join(dice.choices(vocabulary, cum_weights=weights, k=dice.randint(2, 7))) for _ in range(300)]
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "own"
        begun = time.perf_counter()
        indexes.using(directory, lambda index: index.sync("document", "live", (0,), memories))
        built = time.perf_counter() - begun
        size = sum(path.stat().st_size for path in directory.iterdir())
        seconds: list[float] = []
        of_processor: list[float] = []

        def ask(index: RecallIndex) -> float:
            for question in questions:
                begun, worked = time.perf_counter(), time.process_time()
                search(index, parse_query(question, now.date()), Wanted(), now=now)
                seconds.append(time.perf_counter() - begun)
                of_processor.append(time.process_time() - worked)
            one = Memory("one", "one more of them", now, "day")
            begun = time.perf_counter()
            index.sync("another", "live", (1,), [one])
            return time.perf_counter() - begun

        one_more = indexes.using(directory, ask)
        document = ["# Observations Log"]
        for day, group in itertools.groupby(lines, key=lambda line: line[0].date()):
            document += ["---", f"Date: {day}", *(line for _, line in group)]
        written = ("\n".join(document) + "\n").encode()
        from_cold = cold_starts(Path(folder) / "home", written, questions[:runs]) if runs else {}
    text_bytes = sum(len(memory.text.encode()) for memory in memories)
    return {
        "memories": count,
        "ms": {"p50": percentile(seconds, 0.5), "p95": percentile(seconds, 0.95)},
        "cpu_ms": {"p50": percentile(of_processor, 0.5), "p95": percentile(of_processor, 0.95)},
        **from_cold,
        "one_more_ms": round(one_more * 1000, 2),
        "built_seconds": round(built, 1),
        "index_by_document": round(size / len(written), 2),
        "index_by_bare_text": round(size / text_bytes, 2),
    }


def cold_starts(folder: Path, document: bytes, questions: Sequence[str]) -> dict[str, float]:
    """The command from a cold start: the first, which builds the index, and the median of those after it."""
    home = Home(folder)
    home.memory.mkdir(parents=True)
    (home.memory / "observations.md").write_bytes(document)
    command = ("/bin/sh", str(SCRIPTS / "total-recall"), "recall", "--json")
    first = home.run(*command, questions[0])
    cold = [home.run(*command, question) for question in questions]
    return {
        "first_ms": round(first.seconds * 1000),
        "cold_ms": milliseconds([took.seconds for took in cold]),
        "cold_cpu_ms": milliseconds([took.cpu_seconds for took in cold]),
    }


def _word(dice: random.Random) -> str:
    syllables = [dice.choice("bdfgklmnprstvz") + dice.choice("aeiou") for _ in range(dice.randint(1, 4))]
    return "".join(syllables) + dice.choice(("", "n", "r", "s", "t", "ng"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="*", type=Path)
    parser.add_argument("--categories", help="only these, separated by commas")
    parser.add_argument("--answer", action="store_true", help="have a model answer, and judge the answers")
    parser.add_argument("--questions", type=int, metavar="N", help="with --answer: so many of them")
    parser.add_argument("-k", type=int, default=10, help="with --answer: turns that the model is shown")
    parser.add_argument("--ablate", action="store_true")
    parser.add_argument("--cross-validate", action="store_true")
    parser.add_argument("--scale", type=int, metavar="N", help="also measure N made-up memories")
    parser.add_argument("--runs", type=int, default=9, help="cold starts of the command, 0 for none")
    options = parser.parse_args()
    if not options.data and not options.scale:
        parser.error("give a file, or --scale")
    figures: dict[str, Any] = {}
    if options.scale:
        figures["scale"] = scale(options.scale, options.runs)
    if options.data:
        figures |= retrieval(options)
    figures["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _BYTES_PER_MB, 1)
    report("retrieval", **figures)


_BYTES_PER_MB = 1_000_000 if sys.platform == "darwin" else 1_000


def retrieval(options: argparse.Namespace) -> dict[str, Any]:
    data = [conversation for path in options.data for conversation in conversations(path)]
    categories = frozenset(options.categories.split(",")) if options.categories else None
    begun = time.perf_counter()
    ready = {conversation.name: filed(conversation) for conversation in data}
    indexed = time.perf_counter() - begun
    found, seconds = measured(data, lambda c: recall_engine(ready[c.name]), categories)
    figures: dict[str, Any] = {
        "turns": sum(len(conversation.turns) for conversation in data),
        "indexed_seconds": round(indexed, 2),
        "recall": summary(found, seconds),
        "by_conversation_recall@10": {n: mean([s for _, s in a], "turn_recall@10") for n, a in found.items()}
        if len(found) <= 20
        else {},
        "fts5": summary(*measured(data, fts5_engine, categories)),
    }
    if importlib.util.find_spec("bm25s"):
        figures["bm25s"] = summary(*measured(data, bm25s_engine, categories))
    if options.answer:
        figures["answers"] = answered(data, ready, categories, options.k, options.questions)
    if options.ablate:
        figures["ablations"] = {}
        for name, p in ABLATIONS.items():
            ablated, _ = measured(data, lambda c, p=p: recall_engine(ready[c.name], p), categories)  # type: ignore[misc]
            scores = [s for answers in ablated.values() for _, s in answers]
            shown = ("turn_recall@5", "turn_recall@10", "session_hit@1")
            figures["ablations"][name] = {n: mean(scores, n) for n in shown}
    if options.cross_validate:
        figures["cross_validation"] = cross_validated(data, ready, categories)
    return figures


if __name__ == "__main__":
    main()
