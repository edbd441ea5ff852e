"""The benchmark reads three shapes of a conversation and finds in each what a small one makes plain."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
        "qa": [{"q": QUESTION[0], "evidence": [QUESTION[1]], "category": QUESTION[2]}],
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
            {"question": QUESTION[0], "evidence": [f"{QUESTION[1]}; D9:9"], "category": QUESTION[2]},
            {"question": "without evidence", "evidence": [], "category": 5},
        ],
    }
]
HAYSTACK = [
    {
        "question_id": "h",
        "question": "Which kettle did I buy?",
        "question_type": "single",
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


def figures(*arguments: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, str(BENCHMARK), *arguments], capture_output=True, text=True, timeout=120)
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
