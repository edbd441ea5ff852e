"""A day in one paragraph: what SQL counted, in the user's language. Pure but for the counting.

Names come from programs and strangers, and an agent reads the paragraph: they are cut down to letters, digits and few
signs, and nothing else that anybody said is in it.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from hashlib import blake2b
from typing import Final, Literal

from total_recall import clock, periods
from total_recall.harmless import inert
from total_recall.sidecar import statistics
from total_recall.sidecar.queries import Wanted
from total_recall.sidecar.statistics import HUMAN, Count
from total_recall.text import Language, language_of, plain_line

NAMED: Final = 5
"""So many tools and jobs are named, the most frequent first."""
SAMPLED: Final = 200
"""So many messages say which language the user writes in."""
WORDING_CHARACTERS: Final = 900
_NAME: Final = re.compile(r"[^\w.:/ -]+")
_NAME_CHARACTERS: Final = 40

Thing = Literal["message", "reply", "session", "call", "run", "subagent", "error", "reset", "compaction", "token"]
Named = tuple[tuple[str, int], ...]
"""(Name, how often), the most frequent first."""


@dataclass(frozen=True, slots=True)
class Day:
    """What happened on a local day, our own runs apart. `first` and `last` are in the user's zone.

    `messages` are those that people wrote. `failed` counts what went wrong, by its name.
    """

    day: date
    first: datetime
    last: datetime
    messages: int = 0
    replies: int = 0
    sessions: int = 0
    calls: int = 0
    tools: Named = ()
    failed_calls: int = 0
    failed_tools: Named = ()
    runs: int = 0
    jobs: Named = ()
    failed_runs: int = 0
    failed_jobs: Named = ()
    subagents: int = 0
    failed_subagents: int = 0
    errors: int = 0
    resets: int = 0
    compactions: int = 0
    tokens: int = 0
    cost_usd: float | None = None

    @property
    def digest(self) -> str:
        """A short name for all the counts: another one when something was counted since."""
        return blake2b(repr(self).encode("utf-8", "replace"), digest_size=6).hexdigest()


def count_day(db: sqlite3.Connection, day: date, tz: tzinfo) -> Day | None:
    """What SQL counts of a local day; None when nothing happened."""
    begin, end = periods.calendar_span("day", day, tz)
    span = (periods.milliseconds(begin), periods.milliseconds(end))
    edges = "SELECT min(at), max(at) FROM event WHERE at >= ? AND at < ? AND +type <> 'own_run'"
    first, last = db.execute(edges, span).fetchone()
    if first is None:
        return None
    wanted = Wanted(since_ms=span[0], until_ms=span[1])
    counts = statistics.gather(db, wanted, tz)
    calls, runs, models = (counts.total(kind) for kind in ("tool_call", "cron_run", "model_call"))
    spawned, finished = counts.total("subagent_spawned"), counts.total("subagent_finished")
    return Day(
        day=day,
        first=clock.from_epoch_ms(first).astimezone(tz),
        last=clock.from_epoch_ms(last).astimezone(tz),
        messages=counts.total("user_message", HUMAN).times,
        replies=counts.total("assistant_reply").times,
        sessions=statistics.sessions_of(db, wanted),
        calls=calls.times,
        tools=_named(counts.by_name("tool_call"), lambda c: c.times),
        failed_calls=calls.failed,
        failed_tools=_named(counts.by_name("tool_call"), lambda c: c.failed),
        runs=runs.times,
        jobs=_named(counts.by_name("cron_run"), lambda c: c.times),
        failed_runs=runs.failed,
        failed_jobs=_named(counts.by_name("cron_run"), lambda c: c.failed),
        subagents=max(spawned.times, finished.times),
        failed_subagents=finished.failed,
        errors=counts.total("error").times,
        resets=counts.total("session_reset").times,
        compactions=counts.total("compaction").times,
        tokens=models.tokens_in + models.tokens_out,
        cost_usd=models.cost_usd,
    )


def language(db: sqlite3.Connection, day: date, tz: tzinfo, default: Language = "en") -> Language:
    """The language that people wrote in that day, else the last time they wrote."""
    _, end = periods.calendar_span("day", day, tz)
    query = "SELECT summary FROM event WHERE type = 'user_message' AND at < ? AND +name = ? ORDER BY at DESC LIMIT ?"
    texts = [row[0] for row in db.execute(query, (periods.milliseconds(end), HUMAN, SAMPLED))]
    return language_of("\n".join(texts), default)


def _named(counts: Mapping[str, Count], number: Callable[[Count], int]) -> Named:
    found = sorted(((safe_name(name), number(c)) for name, c in counts.items()), key=lambda item: (-item[1], item[0]))
    return tuple((name, times) for name, times in found if times)[:NAMED]


def safe_name(name: str) -> str:
    """A name that says nothing else."""
    return " ".join(_NAME.sub(" ", plain_line(name)).split())[:_NAME_CHARACTERS].strip() or "?"


# --- in words --------------------------------------------------------------------------------------------------

_WORDS: Final[Mapping[Language, Mapping[Thing | Literal["failed"], tuple[str, str]]]] = {
    "en": {
        "message": ("{n} message from people", "{n} messages from people"), "reply": ("{n} reply", "{n} replies"),
        "session": ("{n} session", "{n} sessions"), "call": ("{n} tool call", "{n} tool calls"),
        "run": ("{n} scheduled run", "{n} scheduled runs"), "subagent": ("{n} sub-agent", "{n} sub-agents"),
        "error": ("{n} error", "{n} errors"), "reset": ("{n} reset", "{n} resets"),
        "compaction": ("{n} compaction", "{n} compactions"), "token": ("{n} model token", "{n} model tokens"),
        "failed": ("{n} failed", "{n} failed"),
    },
    "ko": {
        "message": ("사람이 보낸 메시지 {n}건",) * 2, "reply": ("답장 {n}건",) * 2, "session": ("세션 {n}개",) * 2,
        "call": ("도구 호출 {n}회",) * 2, "run": ("예약 실행 {n}회",) * 2, "subagent": ("하위 에이전트 {n}개",) * 2,
        "error": ("오류 {n}건",) * 2, "reset": ("초기화 {n}회",) * 2, "compaction": ("압축 {n}회",) * 2,
        "token": ("모델 토큰 {n}개",) * 2, "failed": ("{n}회 실패",) * 2,
    },
    "ja": {
        "message": ("人からのメッセージ{n}件",) * 2, "reply": ("返信{n}件",) * 2, "session": ("セッション{n}件",) * 2,
        "call": ("ツール呼び出し{n}回",) * 2, "run": ("定期実行{n}回",) * 2, "subagent": ("サブエージェント{n}件",) * 2,
        "error": ("エラー{n}件",) * 2, "reset": ("リセット{n}回",) * 2, "compaction": ("圧縮{n}回",) * 2,
        "token": ("モデルのトークン{n}",) * 2, "failed": ("{n}回失敗",) * 2,
    },
    "zh": {
        "message": ("人发来的消息{n}条",) * 2, "reply": ("回复{n}条",) * 2, "session": ("会话{n}个",) * 2,
        "call": ("工具调用{n}次",) * 2, "run": ("定时运行{n}次",) * 2, "subagent": ("子代理{n}个",) * 2,
        "error": ("错误{n}个",) * 2, "reset": ("重置{n}次",) * 2, "compaction": ("压缩{n}次",) * 2,
        "token": ("模型令牌{n}个",) * 2, "failed": ("{n}次失败",) * 2,
    },
    "es": {
        "message": ("{n} mensaje de personas", "{n} mensajes de personas"),
        "reply": ("{n} respuesta", "{n} respuestas"),
        "session": ("{n} sesión", "{n} sesiones"),
        "call": ("{n} llamada a herramientas", "{n} llamadas a herramientas"),
        "run": ("{n} ejecución programada", "{n} ejecuciones programadas"),
        "subagent": ("{n} subagente", "{n} subagentes"),
        "error": ("{n} error", "{n} errores"), "reset": ("{n} reinicio", "{n} reinicios"),
        "compaction": ("{n} compactación", "{n} compactaciones"),
        "token": ("{n} token del modelo", "{n} tokens del modelo"), "failed": ("{n} con fallo", "{n} con fallo"),
    },
    "de": {
        "message": ("{n} Nachricht von Menschen", "{n} Nachrichten von Menschen"),
        "reply": ("{n} Antwort", "{n} Antworten"),
        "session": ("{n} Sitzung", "{n} Sitzungen"), "call": ("{n} Werkzeugaufruf", "{n} Werkzeugaufrufe"),
        "run": ("{n} geplanter Lauf", "{n} geplante Läufe"), "subagent": ("{n} Unteragent", "{n} Unteragenten"),
        "error": ("{n} Fehler", "{n} Fehler"), "reset": ("{n} Neustart", "{n} Neustarts"),
        "compaction": ("{n} Verdichtung", "{n} Verdichtungen"), "token": ("{n} Modell-Token", "{n} Modell-Tokens"),
        "failed": ("{n} fehlgeschlagen", "{n} fehlgeschlagen"),
    },
    "fr": {
        "message": ("{n} message de personnes", "{n} messages de personnes"),
        "reply": ("{n} réponse", "{n} réponses"),
        "session": ("{n} session", "{n} sessions"), "call": ("{n} appel d’outil", "{n} appels d’outils"),
        "run": ("{n} exécution planifiée", "{n} exécutions planifiées"),
        "subagent": ("{n} sous-agent", "{n} sous-agents"),
        "error": ("{n} erreur", "{n} erreurs"), "reset": ("{n} réinitialisation", "{n} réinitialisations"),
        "compaction": ("{n} compactage", "{n} compactages"), "token": ("{n} jeton du modèle", "{n} jetons du modèle"),
        "failed": ("{n} en échec", "{n} en échec"),
    },
}  # fmt: skip
"""For one, and for any other number."""


def offline(day: Day, tongue: Language) -> str:
    """The counts in one line: `09:12–18:40: 3 sessions; 14 messages from people; 57 tool calls (exec 31 …) …`

    Times are the user's.
    """
    parts = [
        _part(tongue, "session", day.sessions),
        _part(tongue, "message", day.messages),
        _part(tongue, "reply", day.replies),
        _part(tongue, "call", day.calls, day.tools, day.failed_calls, day.failed_tools),
        _part(tongue, "run", day.runs, day.jobs, day.failed_runs, day.failed_jobs),
        _part(tongue, "subagent", day.subagents, (), day.failed_subagents),
        _part(tongue, "error", day.errors),
        _part(tongue, "reset", day.resets),
        _part(tongue, "compaction", day.compactions),
        _part(tongue, "token", day.tokens) + (f" (${day.cost_usd:.2f})" if day.tokens and day.cost_usd else ""),
    ]
    return f"{day.first:%H:%M}–{day.last:%H:%M}: {'; '.join(part for part in parts if part)}."


def _part(
    tongue: Language, thing: Thing, number: int, names: Named = (), failed: int = 0, failed_names: Named = ()
) -> str:
    if not number:
        return ""
    said = _WORDS[tongue][thing][number != 1].format(n=f"{number:,}") + _listed(names, number)
    if failed:
        said += f", {_WORDS[tongue]['failed'][failed != 1].format(n=f'{failed:,}')}{_listed(failed_names, failed)}"
    return said


def _listed(names: Named, number: int) -> str:
    if not names:
        return ""
    more = ", …" if sum(times for _, times in names) < number else ""
    return f" ({', '.join(f'{name} {times:,}' for name, times in names)}{more})"


# --- in a model's words ----------------------------------------------------------------------------------------

Ask = Callable[[str, str], str]
"""(system, user) → reply."""
Readings = Callable[[str], frozenset[str]]
"""All spellings of all numbers in a text."""


def question(counts: str, notes: Sequence[str], tongue: Language) -> str:
    """What the model is asked: the counts, and what was noted that day."""
    noted = "\n".join(f"- {plain_line(note)}" for note in notes)
    return f"Language: {tongue}\n\nCounts:\n{counts}\n\nNotes:\n{noted}\n"


def checked(reply: str, counts: str, notes: Sequence[str], readings: Readings) -> str | None:
    """The model's paragraph as one line; None when it names a number that was not counted or noted, or is none."""
    line = inert(plain_line(reply.strip().strip("`")))
    known = readings("\n".join([counts, *notes]))
    if not 20 <= len(line) <= WORDING_CHARACTERS or readings(line) - known or re.search(r"https?://|[<>`\[\]]", line):
        return None
    return line
