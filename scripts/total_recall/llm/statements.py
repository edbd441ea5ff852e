"""From a message to its statements: what a person would say again, without greetings, code and pasted text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from total_recall import taint
from total_recall.llm import cues
from total_recall.records import Message
from total_recall.text import Language, content_words, language_of, plain_line, sentences
from total_recall.tokens import count_words

Kind = Literal["statement", "request", "question"]

LONGEST_STATEMENT_WORDS = 45
_LONGEST_JOINED_WORDS = 35
_PASTED_BLOCK_WORDS = 120
_PASTED_MESSAGE_WORDS = 250
_PASTED_ALWAYS_WORDS = 800
_OWN_VOICE_SHARE = 0.015
_LONGEST_SMALL_TALK = 160
_LONGEST_READ, _LONGEST_OPENING = 12_000, 300
"""In characters."""
_LONGEST_STATEMENT = 400
_FRAGMENT_WORDS = 3


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing said: its words without filler, and what kind of saying it is.

    `remember` means that the speaker asked to keep it ("remember that …"); `quoted` that these are not the speaker's
    own words.
    """

    text: str
    kind: Kind
    language: Language
    remember: bool = False
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Shared:
    """A long text that the message carried and that its sender need not have written."""

    words: int
    beginning: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A message and what it says. `choices` are the items of its lists, in order, for "option 2"."""

    message: Message
    language: Language
    statements: tuple[Statement, ...]
    choices: tuple[str, ...] = ()
    shared: Shared | None = None


def read(message: Message, default: Language = "en") -> Turn:
    """What `message` says. `default` is the language of the conversation, for words that do not tell their own."""
    typed = _ENVELOPE_TIME.sub(" ", _DIRECTIVE.sub(" ", message.text))
    language = language_of(typed, default)
    own = message.role == "assistant"
    said = typed[:_LONGEST_READ] if own else taint.own_words(typed)
    blocks, pasted = _own_blocks(said, language, all_own=own)
    found: list[Statement] = []
    choices: list[str] = []
    for block in blocks:
        choices.extend(plain_line(_unmarked(item)) for item in block.items)
        found.extend(_of_block(block, language))
    statements = list(_joined(found))
    if not own and said != typed:
        quoted, more = _quoted(taint.quoted_words(typed), language)
        # "Here is his mail:" says nothing by itself.
        statements = [s for s in statements if s.kind != "statement" or not s.text.endswith((":", "："))] + quoted
        pasted += more
    return Turn(message, language, tuple(statements), tuple(choices), _shared(pasted))


def _quoted(text: str, default: Language) -> tuple[list[Statement], list[str]]:
    """What a quotation says, and the parts of it that are too long to be looked at."""
    language = language_of(text, default)
    blocks, pasted = _own_blocks(text, language, all_own=False)
    found = _joined([statement for block in blocks for statement in _of_block(block, language)])
    return [replace(statement, quoted=True) for statement in found], pasted


def _shared(pasted: list[str]) -> Shared | None:
    """The long text; how it begins is not told where it begins with orders to an agent."""
    if not pasted:
        return None
    beginning = " ".join(plain_line(pasted[0]).split()[:8])[:80]
    return Shared(sum(map(count_words, pasted)), "…" if taint.is_order(pasted[0][:_LONGEST_OPENING]) else beginning)


# --- what is whose ---------------------------------------------------------------------------------------------

_DIRECTIVE = re.compile(r"\[\[[^\[\]\n]{0,2000}\]\]")
_ENVELOPE_TIME = re.compile(r"\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d \d\d:\d\d[^\]\n]{0,12}\]")
_FENCE = re.compile(r"(?:```|~~~).*?(?:```|~~~|\Z)", re.DOTALL)
_FORWARDED = re.compile(
    r"^(?:-{2,}\s*(?:forwarded|original) message|begin forwarded message|from: .+\n(?:to|sent|date|subject): |"
    r"on .{5,80} wrote:\s*$|"
    r"-{2,}\s*(?:전달된|원본) ?메[시세]지|보낸 ?사람: )",
    re.IGNORECASE | re.MULTILINE,
)
_ITEM = re.compile(r"^\s*(?:[-*+•‣·]|\(?(?:\d{1,2}|[a-zA-Z])[.)]|\d️?⃣)\s+(?=\S)")
_CODE_LINE = re.compile(
    r"^(?:\s*(?:\$ |>>> |\.\.\. |#!|// |/\*|@\w+\(|(?:const|let|var) \w+ =|import \w+(?:;|$| from)|"
    r"from \w[\w.]* import|def \w+\(|class \w+[:({]"
    r"|function \w*\(|at \S+[:(]|File \"|Traceback |"
    r"(?:SELECT|INSERT|UPDATE|DELETE) .*\b(?:FROM|INTO|SET)\b|<\/?\w+[^>]*>\s*$)"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*\s+\S|"
    r"\[?\d\d:\d\d:\d\d[\].,]?\d*\s+\S|[d-](?:[r-][w-][xsS-]){3}\s|total \d+$|\s*\|.*\|\s*$)"
)
_SYMBOLS = re.compile(r"[{}\[\]<>=;|\\/_$#&^~`]")
_URL = re.compile(r"https?://\S+")
_CODED_WORD = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])\S+")


@dataclass(frozen=True, slots=True)
class _Block:
    """A paragraph, or the line above a list with the list's items."""

    text: str
    items: tuple[str, ...] = ()


def _own_blocks(text: str, language: Language, *, all_own: bool) -> tuple[list[_Block], list[str]]:
    """The blocks that the sender wrote, and the texts that look pasted or forwarded.

    Long text counts as pasted unless it speaks in the first person all along, as a dictated story does, or `all_own`
    says that its sender writes at length, as the assistant does.
    """
    pasted: list[str] = []
    typed = text
    if len(typed) > _LONGEST_READ:
        # Nobody types so much at once; the line before a paste is looked at all the same.
        opening, _, rest = typed.partition("\n")
        if not rest or len(opening) > _LONGEST_OPENING:
            return [], [typed]
        text, pasted = opening, [rest]
    text = _FENCE.sub("\n", text)
    if forwarded := _FORWARDED.search(text):
        pasted.append(text[forwarded.start() :])
        text = text[: forwarded.start()]
    lines = [
        line for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if not line.lstrip().startswith(">")
    ]
    coded = [line for line in lines if _is_code(line)]
    if sum(map(count_words, coded)) >= _PASTED_BLOCK_WORDS:
        pasted.append("\n".join(coded))
    blocks = list(_blocks(line for line in lines if not _is_code(line)))
    own: list[_Block] = []
    for block in blocks:
        if _looks_pasted(block):
            pasted.append(block.text)
        else:
            own.append(block)
    total = sum(count_words(" ".join((block.text, *block.items))) for block in own)
    if all_own or total <= _PASTED_MESSAGE_WORDS:
        return own, pasted
    if total > _PASTED_ALWAYS_WORDS or not _speaks_for_itself(own, total, language):
        short = [block for block in own if count_words(block.text) <= 25 and not block.items][:1]
        others = [" ".join((block.text, *block.items)) for block in own if block not in short]
        return short, others + pasted
    return own, pasted


def _is_code(line: str) -> bool:
    bare = _URL.sub("", line)
    if _CODE_LINE.match(line):
        return True
    return len(bare) > 12 and len(_SYMBOLS.findall(bare)) > 0.12 * len(bare)


def _looks_pasted(block: _Block) -> bool:
    """A long run of words without the stops of sentences, or mostly of coded words."""
    found = block.text.split()
    if len(found) > 8 and sum(bool(_CODED_WORD.fullmatch(word)) for word in found) > len(found) / 2:
        return True
    length = count_words(block.text)
    return length > _PASTED_BLOCK_WORDS and length / max(1, len(sentences(block.text))) > 50


def _speaks_for_itself(blocks: list[_Block], total: int, language: Language) -> bool:
    voices = sum(len(cues.pattern("own_voice", language).findall(block.text)) for block in blocks)
    return voices >= _OWN_VOICE_SHARE * total


def _blocks(lines: Iterable[str]) -> Iterator[_Block]:
    """Paragraphs; each line is one, except a line that goes on in the next and a list, which keeps its heading."""
    heading = ""
    items: list[str] = []
    for line in [*lines, ""]:
        if _ITEM.match(line):
            items.append(_ITEM.sub("", line).strip())
            continue
        if items and line.startswith("  ") and line.strip():
            items[-1] += " " + line.strip()
            continue
        stripped = line.strip().lstrip("#").strip()
        if not stripped and heading.rstrip("*").endswith((":", "：")) and not items:
            continue
        if not items and heading and stripped and _goes_on(heading, stripped):
            heading += " " + stripped
            continue
        if heading or items:
            yield _Block(heading, tuple(items))
        heading, items = stripped, []
    if heading:
        yield _Block(heading)


def _goes_on(line: str, following: str) -> bool:
    return len(line) > 55 and following[:1].islower() and not line.endswith((".", "!", "?", ":", ";"))


# --- statements ------------------------------------------------------------------------------------------------

_MARKUP = (
    (re.compile(r"\[([^\]\n]{1,200})\]\((?:[^()\s]{1,500})\)"), r"\1"),
    (re.compile(r"[*_]{2,3}|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|`"), ""),
)
_STAMP = re.compile(r"^\[[^\]]{0,60}\]\s*")


def _unmarked(text: str) -> str:
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return text


def _of_block(block: _Block, language: Language) -> Iterator[Statement]:
    text = plain_line(_unmarked(block.text))
    if not block.items:
        for sentence in sentences(text):
            yield from _statement(sentence, language)
        return
    *before, heading = sentences(text) or ("",)
    for sentence in before:
        yield from _statement(sentence, language)
    items = [plain_line(_unmarked(item)).rstrip(".;,") for item in block.items]
    whole = f"{heading} {'; '.join(items)}" if heading.endswith((":", "：")) else ""
    if whole and count_words(whole) <= _LONGEST_JOINED_WORDS:
        yield from _statement(whole, language)
        return
    yield from _statement(heading, language)
    for item in items:
        yield from _statement(item, language)


def _statement(sentence: str, language: Language) -> Iterator[Statement]:
    """The statement in one sentence, if it says anything."""
    sentence = _shortened(sentence.strip(" \t*•–—"))
    if language == "en":
        sentence = _HURRIED.sub(lambda match: _WRITTEN_OUT[match.group().casefold()], sentence)
    if is_small_talk(sentence, language):
        return
    text = cues.strip("tail", cues.strip("lead_in", sentence, language), language) or sentence
    kind: Kind = "statement"
    if cues.has("question", text, language):
        kind = "question"
    remember = cues.has("remember", text, language)
    if remember:
        text = _said_to_remember(text, language)
        kind = "statement"
    if cues.has("request", text, language) and not remember:
        kind = "request"
    text = cues.strip("lead_in", text, language).strip(" ,;")
    if text and not is_small_talk(text, language):
        yield Statement(text, kind, language, remember)


_KOREAN_THING = re.compile(r"(?<=[는은을] )[거걸]$")
"""있는 거 (기억해 줘): the written form, now that the verb is gone."""


def _said_to_remember(text: str, language: Language) -> str:
    bare = _KOREAN_THING.sub("것", cues.strip("remember", text, language).strip(" ,.!。！"))
    return bare if content_words(bare) else text


_WRITTEN_OUT = {
    "im": "I'm", "ive": "I've", "i'm": "I'm", "i've": "I've", "i'll": "I'll", "i'd": "I'd", "i": "I", "dont": "don't",
    "doesnt": "doesn't", "didnt": "didn't", "cant": "can't", "isnt": "isn't", "wasnt": "wasn't", "whats": "what's",
    "thats": "that's", "pls": "please", "plz": "please",
}  # fmt: skip
_HURRIED = re.compile(
    r"(?<![\w'’./-])(?:" + "|".join(sorted(_WRITTEN_OUT, key=len, reverse=True)) + r")(?![\w'’./-]\w|\w)", re.IGNORECASE
)
"""What people type in a hurry, and as it is spelled; the cues and the telling know one spelling."""


def is_small_talk(text: str, language: Language) -> bool:
    """Greetings, thanks, offers and the like, which nobody wants to read again."""
    bare = _STAMP.sub("", text).strip()
    if not any(character.isalnum() for character in bare):
        return True
    return len(bare) <= _LONGEST_SMALL_TALK and cues.has("small_talk", bare, language)


def _shortened(text: str) -> str:
    """`text`, cut after its first words when it runs on for longer than a line of memory should."""
    if len(text) <= _LONGEST_STATEMENT and count_words(text) <= LONGEST_STATEMENT_WORDS:
        return text
    text = text[:_LONGEST_STATEMENT]
    pieces = text.split(" ")
    if len(pieces) < 8:
        return text[: int(LONGEST_STATEMENT_WORDS * 1.6)] + "…"
    kept: list[str] = []
    for piece in pieces:
        if count_words(" ".join((*kept, piece))) > LONGEST_STATEMENT_WORDS:
            break
        kept.append(piece[:120])
    return " ".join(kept).rstrip(",;:") + "…"


def _leans(statement: Statement) -> bool:
    """Whether a sentence needs the one before it; advice is better left than joined."""
    text, language = statement.text, statement.language
    if cues.has("advice", text, language):
        return False
    short = len(content_words(text)) <= 1 or (language in ("ko", "ja", "zh") and count_words(text) <= _FRAGMENT_WORDS)
    return short or bool(cues.pattern("depends", language).match(text))


def _joined(found: list[Statement]) -> Iterator[Statement]:
    """Sentences that need the one before ("She lives in Porto"), or are too short to stand alone, go with it."""
    pending: Statement | None = None
    for statement in found:
        if pending is None:
            pending = statement
            continue
        together = f"{pending.text} {statement.text}"
        stub = pending.text.endswith((".", "。")) and count_words(pending.text) == 1
        both_told = pending.kind == statement.kind == "statement"
        if both_told and (stub or _leans(statement)) and count_words(together) <= _LONGEST_JOINED_WORDS:
            pending = Statement(together, "statement", pending.language, pending.remember or statement.remember)
            continue
        yield pending
        pending = statement
    if pending is not None:
        yield pending
