"""The benchmark reads three shapes of a conversation and finds in each what a small one makes plain."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from model_server import ModelServer, Reply, Request, said

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "retrieval.py"

SESSIONS = (
    ("D1", "9:00 am on 8 May, 2026", [("Ann", "I bought a red kettle yesterday"), ("Ben", "How nice of you")]),
    ("D2", "9:00 am on 9 June, 2026", [("Ben", "Where did you go?"), ("Ann", "To the lake, by bicycle")]),
)
QUESTION = ("Did Ann buy the red kettle?", "D1:1", 4)

COMPACT = [
    {
        "id": "c",
        "sessions": [
            {
                "id": session,
                "date": date,
                "turns": [
                    {"id": f"{session}:{n}", "speaker": who, "text": text} for n, (who, text) in enumerate(turns, 1)
                ],
            }
            for session, date, turns in SESSIONS
        ],
        "qa": [{"q": QUESTION[0], "a": "Yes", "evidence": [QUESTION[1]], "category": QUESTION[2]}],
    }
]
NUMBERED = [
    {
        "sample_id": "n",
        "conversation": {
            "speaker_a": "Ann",
            **{
                f"session_{session[1:]}": [
                    {"speaker": who, "dia_id": f"{session}:{n}", "text": text} for n, (who, text) in enumerate(turns, 1)
                ]
                for session, _, turns in SESSIONS
            },
            **{f"session_{session[1:]}_date_time": date for session, date, _ in SESSIONS},
        },
        "qa": [
            {"question": QUESTION[0], "answer": "Yes", "evidence": [f"{QUESTION[1]}; D9:9"], "category": QUESTION[2]},
            {"question": "without evidence", "evidence": [], "category": 5},
        ],
    }
]
HAYSTACK = [
    {
        "question_id": "h",
        "question": "Which kettle did I buy?",
        "answer": "the red one",
        "question_type": "single-session-user",
        "question_date": "2026/06/20 (Sat) 10:00",
        "answer_session_ids": ["D1"],
        "haystack_session_ids": ["D1", "D2"],
        "haystack_dates": ["2026/05/08 (Fri) 09:00", "2026/06/09 (Tue) 09:00"],
        "haystack_sessions": [
            [{"role": "user", "content": text, "has_answer": "kettle" in text} for _, text in turns]
            for _, _, turns in SESSIONS
        ],
    }
]


def figures(*arguments: str, **env: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **env},
    )
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


@pytest.mark.parametrize("data", [COMPACT, NUMBERED, HAYSTACK], ids=["compact", "numbered", "haystack"])
def test_the_shapes(tmp_path: Path, data: object) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps(data), "utf-8")
    found = figures(str(path))
    assert found["benchmark"] == "retrieval" and found["turns"] == 4
    for engine in ("recall", "fts5"):
        assert found[engine]["questions"] == 1
        assert found[engine]["turn_recall@5"] == found[engine]["session_hit@1"] == 1.0


def test_ablations(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps([*COMPACT, *NUMBERED]), "utf-8")
    found = figures(str(path), "--ablate", "--categories", "4")
    assert {"decay off", "boost off", "links off"} <= found["ablations"].keys()
    assert found["ablations"]["decay off"]["turn_recall@10"] == 1.0


def test_many_made_up_memories() -> None:
    found = figures("--scale", "200", "--runs", "0")["scale"]
    assert found["memories"] == 200 and found["ms"]["p95"] > 0 and found["index_by_document"] > 0


# --- answers


def scripted(request: Request) -> Reply:
    """Answers what the excerpts say, and judges by the words of the right answer."""
    system, user = request.body["messages"][0]["content"], request.user
    if "You judge" in system:
        right, given = (line.partition(": ")[2] for line in user.splitlines()[1:])
        return said("<think>no?</think>YES" if right.split()[-1].strip(".") in given else "NO")
    return said("the red one" if "red kettle" in user else "The conversations do not say.", usage={"prompt_tokens": 9})


def test_questions_are_answered_and_judged_by_a_model(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    unsaid = {
        **HAYSTACK[0],
        "question_id": "q_abs",
        "question": "Which piano did I buy?",
        "question_type": "abstention",
    }
    unsaid["haystack_sessions"] = [[{"role": "user", "content": "Hello", "has_answer": False}] for _ in SESSIONS]
    wrong = {**HAYSTACK[0], "question_id": "w", "answer": "the blue"}
    path.write_text(json.dumps([*HAYSTACK, unsaid, wrong]), "utf-8")
    with ModelServer(scripted) as server:
        found = figures(str(path), "--answer", LLM_BASE_URL=server.url, LLM_MODEL="m", JUDGE_MODEL="j")["answers"]
    assert (found["model"], found["judge"], found["questions"], found["failed"]) == ("m", "j", 3, 0)
    assert found["accuracy"] == 0.6667
    assert found["by_category"] == {"abstention": 1.0, "single-session-user": 0.5}
    assert server.calls("m") == server.calls("j") == 3
    asked = next(request.user for request in server.requests if request.model == "m")
    assert "[2026-05-08 09:00] user: I bought a red kettle yesterday" in asked
    assert "Question, asked on 2026-06-20: Which kettle did I buy?" in asked
    assert "the red one" not in asked


def test_a_choice_of_questions_and_a_model_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps([{**HAYSTACK[0], "question_id": f"q{n}"} for n in range(5)]), "utf-8")
    with ModelServer("http401") as server:
        found = figures(str(path), "--answer", "--questions", "2", LLM_BASE_URL=server.url, LLM_MODEL="m")["answers"]
    assert (found["questions"], found["failed"], found["accuracy"]) == (0, 2, 0.0)


def test_without_a_model_it_is_said_what_to_set(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps(HAYSTACK), "utf-8")
    command = [sys.executable, str(BENCHMARK), str(path), "--answer"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "LLM_BASE_URL" in done.stderr and "Traceback" not in done.stderr
