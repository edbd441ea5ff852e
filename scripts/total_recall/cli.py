"""Arguments → command → rendered result. The one place that prints, and the one that turns errors into exit codes.

Exit codes: 0 done or nothing to do, 1 expected failure, 2 usage, 3 a bug, 130 interrupted.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta, timezone
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from total_recall import clock, gate, logs
from total_recall.arguments import parser
from total_recall.errors import TotalRecallError, of_the_computer
from total_recall.harmless import printable, printable_json

if TYPE_CHECKING:
    from total_recall.commands.observe import Idle
    from total_recall.commands.places import Configuration

JSON_VERSION = 1
GARBAGE_AFTER = 50_000
"""Objects that are made before Python looks for garbage."""


class Answer(Protocol):
    """What every command returns."""

    def payload(self) -> dict[str, object]: ...

    def lines(self) -> list[str]: ...


@runtime_checkable
class Repeatable(Answer, Protocol):
    """The answer of a run that may have had nothing to do: then `idle` says what it looked at."""

    @property
    def idle(self) -> Idle | None: ...

    def when_idle(self) -> Answer: ...


@runtime_checkable
class OnScreen(Answer, Protocol):
    """An answer that is drawn on a terminal: whatever is in it must not steer the terminal."""

    def screen(self, columns: int, colours: bool) -> list[str]: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # cron has no locale, and a message may hold anything.
        getattr(stream, "reconfigure", lambda **_: None)(encoding="utf-8", errors="replace")
    options = parser().parse_args(arguments)
    # What was imported stays, and most of what a run makes: looking through it for garbage takes a tenth of a long run.
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)
    try:
        return _run(options, tuple(arguments))
    except TotalRecallError as error:
        return _failed(options, str(error))
    except KeyboardInterrupt:
        print("total-recall: interrupted; nothing is lost, the next run goes on", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        said = of_the_computer(error)
        return _bug(error) if said is None else _failed(options, said)
    except sqlite3.OperationalError as error:
        # A disk or a lock that fails under a database. What a table or a statement of ours lacks is a bug.
        if str(error).startswith(("no such", "near ")):
            return _bug(error)
        return _failed(options, f"a database: {error}; nothing is lost: check the disk, then run it again")
    except Exception as error:  # noqa: BLE001  # the one place that turns a bug into a line, a log and exit code 3
        return _bug(error)


def _run(options: argparse.Namespace, argv: tuple[str, ...]) -> int:
    answer = COMMANDS[options.command](options, argv)
    _print(options, answer)
    if isinstance(answer, Repeatable) and answer.idle is not None:
        _remember(argv, answer.idle, _rendered(options, answer.when_idle()))
    return 1 if getattr(answer, "failed", False) else 0


# A command's modules are imported when it is run: most of them need what the others do without.


def _observe(o: argparse.Namespace, argv: tuple[str, ...]) -> Answer:
    from total_recall.commands import observe

    config = _configured(o)
    return observe.run(
        observe.Options(
            since=o.since.start(clock.now(), config.settings.tz) if config else None,
            everything=o.all,
            session_id=o.session,
            agent=o.agent,
            dry_run=o.dry_run,
            max_batches=o.max_batches,
            argv=argv,
        ),
        config,
    )


def _configured(o: argparse.Namespace) -> Configuration | None:
    """What is set, where a time was asked for: `yesterday` is another one in another time zone."""
    from total_recall.commands import places

    return places.configure() if o.since or getattr(o, "until", None) else None


def _recover(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import recover

    return recover.run(recover.Options(agent=o.agent, trigger=o.trigger))


def _flush(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import flush

    return flush.run(flush.Options(agent=o.agent, trigger=o.trigger, seconds=o.seconds))


def _watch(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import watch

    return watch.run(watch.Options(agent=o.agent))


def _reflect(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import reflect

    return reflect.run(reflect.Options(force=o.force, dry_run=o.dry_run, agent=o.agent))


def _undo(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import undo

    return undo.run(undo.Options(agent=o.agent, what=o.what, day=o.day))


def _dream(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    if o.step is not None:
        from total_recall.commands import dream_steps

        is_asked = dream_steps.STEPS[o.step].schema is not None and o.payload in (None, "-") and not sys.stdin.isatty()
        payload = sys.stdin.read() if is_asked else o.payload
        return dream_steps.run(dream_steps.Options(o.step, payload, o.agent, o.dry_run))
    from total_recall.commands import dream

    return dream.run(dream.Options(dry_run=o.dry_run, agent=o.agent))


def _context(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import context

    return context.run(context.Options(budget_tokens=o.budget_tokens, agent=o.agent))


def _recall(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import recall

    config = _configured(o)
    now, tz = clock.now(), config.settings.tz if config else timezone.utc
    since = o.since and o.since.start(now, tz)
    # What ends at midnight ends on the day before.
    until = o.until and o.until.end(now, tz) - timedelta(microseconds=1)
    options = recall.Options(
        o.query, o.count, o.kind, since, until, o.archived, o.sessions, o.why, o.touch, o.recent, o.agent
    )
    return recall.run(options, config)


def _why(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import why

    return why.run(why.Options(o.id, o.agent))


def _pin(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import pin

    return pin.run(pin.Options(o.id, o.command == "pin", o.agent))


def _forget(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import forget

    config = _configured(o)
    now, tz = clock.now(), config.settings.tz if config else timezone.utc
    since, until = o.since and o.since.start(now, tz), o.until and o.until.end(now, tz)
    wish = forget.Wish(tuple(o.what), o.session, since, until, o.keep_backups)
    return forget.run(forget.Options(wish, o.yes, o.dry_run, o.agent), _asking(o), config)


def _log(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.arguments import log_answers

    answer: Answer = log_answers.answer(o, _say)
    return answer


def _say(line: str) -> None:
    """Show a line of an answer that may have no end."""
    sys.stdout.write(f"{printable(line)}\n")


def _staging(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import staging

    text = sys.stdin.read() if getattr(o, "text", None) == "-" else getattr(o, "text", None)
    return staging.run(
        staging.Options(
            action=o.action,
            name=getattr(o, "name", None),
            text=text,
            target=getattr(o, "target", None),
            apply=getattr(o, "apply", False),
            everything=getattr(o, "all", False),
            agent=o.agent,
        )
    )


def _forecast(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import forecast

    return forecast.run(forecast.Options(o.days, o.id, o.agent))


def _status(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import status

    return status.run(cost=o.cost, every_setting=o.settings)


def _report(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import report

    return report.run(report.Options(o.output, o.open, o.serve, o.port, o.lang, o.agent, as_json=o.json), _say_now)


def _say_now(line: str) -> None:
    """Show a line while the command goes on."""
    _say(line)
    sys.stdout.flush()


def _setup(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import setup

    scheduler = None if o.scheduler == "auto" else o.scheduler
    options = setup.Options(COMMANDS, o.yes, o.dry_run, scheduler, o.openclaw, o.agents_md, o.hosts)
    return setup.run(options, _asking(o))


def _uninstall(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import uninstall

    return uninstall.run(uninstall.Options(COMMANDS, o.yes, o.dry_run, o.openclaw), _asking(o))


def _doctor(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import doctor

    return doctor.run(doctor.Options(COMMANDS, online=o.online, agent=o.agent))


def _asking(o: argparse.Namespace) -> Callable[[Sequence[str]], bool | None]:
    """Shows a plan and asks; the answer is None where there is no terminal, or a program reads what is said."""

    def ask(plan: Sequence[str]) -> bool | None:
        if o.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
            return None
        print(*map(printable, plan), sep="\n")
        return input("Go ahead? [y/N] ").strip().casefold() in ("y", "yes", "j", "ja", "o", "예", "네")

    return ask


def _demo(_o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.commands import demo

    return demo.run()


def _completion(o: argparse.Namespace, _: tuple[str, ...]) -> Answer:
    from total_recall.arguments import completion

    return completion.run(o.shell, parser())


COMMANDS: dict[str, Callable[[argparse.Namespace, tuple[str, ...]], Answer]] = {
    "observe": _observe,
    "recover": _recover,
    "flush": _flush,
    "watch": _watch,
    "reflect": _reflect,
    "dream": _dream,
    "undo": _undo,
    "context": _context,
    "recall": _recall,
    "forecast": _forecast,
    "why": _why,
    "pin": _pin,
    "unpin": _pin,
    "forget": _forget,
    "log": _log,
    "staging": _staging,
    "status": _status,
    "report": _report,
    "setup": _setup,
    "uninstall": _uninstall,
    "doctor": _doctor,
    "completion": _completion,
    "demo": _demo,
}


def _remember(argv: tuple[str, ...], idle: Idle, said: str) -> None:
    """Let the gate answer the next run of this command line."""
    asked = {w.path for w in idle.watches if w.query}
    databases = asked | {f"{path}-wal" for path in asked}
    plain = [w for w in idle.watches if not w.query]
    gate.record(
        argv,
        said=said,
        same=[(w.path, w.ino, w.size, w.mtime_ns) for w in plain if w.path not in databases],
        databases=[(w.path, w.ino, w.size, w.mtime_ns) for w in plain if w.path in databases],
        questions=[(w.path, w.query, w.answer) for w in idle.watches if w.query],
        stamps=idle.stamps,
        begun_ns=idle.begun_ns,
        until=idle.until,
    )


def _rendered(options: argparse.Namespace, answer: Answer) -> str:
    if options.json:
        fields = {"version": JSON_VERSION, "command": options.command, "ok": True, **answer.payload()}
        return printable_json(json.dumps(fields, ensure_ascii=False)) + "\n"
    return "".join(f"{printable(line)}\n" for line in answer.lines())


def _print(options: argparse.Namespace, answer: Answer) -> None:
    if isinstance(answer, OnScreen) and not options.json and sys.stdout.isatty():
        sys.stdout.write(_drawn(answer))
    else:
        sys.stdout.write(_rendered(options, answer))
    sys.stdout.flush()


def _drawn(answer: OnScreen) -> str:
    from total_recall import settings

    columns = shutil.get_terminal_size().columns
    return "".join(f"{line}\n" for line in answer.screen(columns, settings.wants_colours()))


def _failed(options: argparse.Namespace, message: str) -> int:
    if options.json:
        fields = {"version": JSON_VERSION, "command": options.command, "ok": False, "error": message}
        print(printable_json(json.dumps(fields, ensure_ascii=False)))
    print(printable(f"total-recall: {message}"), file=sys.stderr)
    return 1


def _bug(error: Exception) -> int:
    path = logs.bug_report(error)
    details = f"the details are in {path}" if path else "the details could not be written anywhere"
    print(printable(f"total-recall: a bug: {type(error).__name__}: {error}; {details}"), file=sys.stderr)
    return 3
