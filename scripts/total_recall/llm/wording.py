"""Who said it, in the past and in the third person, in the language of what was said. Pure.

An observation must not read like a turn of the conversation, or the agent takes it for a new one. So there is never
a `user: …` line: a person's statement is told ("User prefers tea"), reported ("User said: we moved") or, where it
speaks of no person at all ("Aurora ships on Friday"), left as it is. Bare lines are the owner's; everybody else is named.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from total_recall.llm import cues
from total_recall.llm.scoring import Voice
from total_recall.text import Language, plain_line


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who says something: the owner, another person or the assistant, with the name that the channel gives."""

    voice: Voice
    name: str | None = None


_NAME_LIMIT = 40
_NAME_END = re.compile(r"[\[\]<>{}:：|\r\n\x1b\x9b]")
"""What no name has: it would pose as another line, or as a turn."""
_ROLES = frozenset(
    {
        "user",
        "the user",
        "owner",
        "assistant",
        "system",
        "사용자",
        "ユーザー",
        "用户",
        "usuario",
        "nutzer",
        "utilisateur",
    }
)

_OWNER: dict[Language, str] = {
    "en": "User", "ko": "사용자", "ja": "ユーザー", "zh": "用户", "es": "El usuario", "de": "Der Nutzer", "fr": "L'utilisateur",
}  # fmt: skip
_OTHER: dict[Language, str] = {
    "en": "Somebody else", "ko": "다른 사람", "ja": "別の人", "zh": "另一个人", "es": "Otra persona", "de": "Jemand anderes", "fr": "Une autre personne",
}  # fmt: skip
_ASSISTANT: dict[Language, str] = {
    "en": "Assistant", "ko": "어시스턴트", "ja": "アシスタント", "zh": "助手", "es": "El asistente", "de": "Der Assistent", "fr": "L'assistant",
}  # fmt: skip

_QUOTED: dict[Language, str] = {
    "en": "A quoted text", "ko": "인용된 글", "ja": "引用文", "zh": "引用的文字", "es": "Un texto citado", "de": "Ein zitierter Text", "fr": "Un texte cité",
}  # fmt: skip

_SAID: dict[Language, str] = {
    "en": "{who} said: {text}", "ko": "{who}{subject} 말함: {text}", "ja": "{who}の発言：{text}", "zh": "{who}说：{text}",
    "es": "{who} dijo: {text}", "de": "{who} sagte: {text}", "fr": "{who} a dit : {text}",
}  # fmt: skip
_ASKED: dict[Language, str] = {
    "en": "{who} asked: {text}", "ko": "{who} 요청: {text}", "ja": "{who}の依頼：{text}", "zh": "{who}要求：{text}",
    "es": "{who} pidió: {text}", "de": "{who} bat: {text}", "fr": "{who} a demandé : {text}",
}  # fmt: skip
_ASKED_BY: dict[Language, str] = {
    "en": "{text} (asked by {who})", "ko": "{text} ({who} 요청)", "ja": "{text}（{who}の依頼）", "zh": "{text}（应{who}要求）",
    "es": "{text} (a petición de {who})", "de": "{text} (auf Wunsch von {who})", "fr": "{text} (à la demande de {who})",
}  # fmt: skip
_ASKED_BY_OWNER: dict[Language, str] = {
    **_ASKED_BY, "es": "{text} (a petición del usuario)", "de": "{text} (auf Wunsch des Nutzers)", "fr": "{text} (à la demande de l'utilisateur)",
}  # fmt: skip
_WITH_RESULT: dict[Language, str] = {
    "en": "{request}; result: {result}", "ko": "{request} → 결과: {result}", "ja": "{request} → 結果：{result}", "zh": "{request} → 结果：{result}",
    "es": "{request}; resultado: {result}", "de": "{request}; Ergebnis: {result}", "fr": "{request} ; résultat : {result}",
}  # fmt: skip
_DONE: dict[Language, str] = {
    "en": "done",
    "ko": "완료",
    "ja": "完了",
    "zh": "完成",
    "es": "hecho",
    "de": "erledigt",
    "fr": "fait",
}
_ANSWERED: dict[Language, str] = {
    "en": "Asked “{question}”, {who} answered “{answer}”", "ko": "“{question}”라는 질문에 {who}{subject} “{answer}”라고 답함",
    "ja": "「{question}」という質問に{who}は「{answer}」と答えた", "zh": "被问到“{question}”，{who}回答“{answer}”",
    "es": "A «{question}», {who} respondió «{answer}»", "de": "Auf „{question}“ antwortete {who} „{answer}“",
    "fr": "À « {question} », {who} a répondu « {answer} »",
}  # fmt: skip
_REPLIED: dict[Language, str] = {
    "en": "To “{question}” {who} replied “{answer}”", "ko": "“{question}”라는 제안에 {who}{subject} “{answer}”라고 답함",
    "ja": "「{question}」という提案に{who}は「{answer}」と答えた", "zh": "对于“{question}”，{who}回答“{answer}”",
    "es": "A «{question}», {who} respondió «{answer}»", "de": "Auf „{question}“ antwortete {who} „{answer}“",
    "fr": "À « {question} », {who} a répondu « {answer} »",
}  # fmt: skip
_CORRECTED: dict[Language, str] = {
    "en": "corrected later", "ko": "나중에 정정됨", "ja": "後で訂正", "zh": "后来更正", "es": "corregido después", "de": "später berichtigt",
    "fr": "corrigé plus tard",
}  # fmt: skip
_SHARED: dict[Language, str] = {
    "en": "{who} shared a long text ({count} words) beginning “{beginning}”", "ko": "{who}{subject} 긴 글을 공유함 (약 {count}단어), 시작: “{beginning}”",
    "ja": "{who}が長い文章を共有した（約{count}語）、冒頭：「{beginning}」", "zh": "{who}分享了一段长文本（约{count}词），开头：“{beginning}”",
    "es": "{who} compartió un texto largo ({count} palabras) que empieza «{beginning}»",
    "de": "{who} teilte einen langen Text ({count} Wörter), Anfang: „{beginning}“",
    "fr": "{who} a partagé un long texte ({count} mots) commençant par « {beginning} »",
}  # fmt: skip


def quoted(language: Language) -> Speaker:
    """Whoever said what a person only quotes."""
    return Speaker("other", _QUOTED[language])


def told(text: str, speaker: Speaker, language: Language, *, imperative: bool = False) -> str:
    """`text` as a line of memory: told, reported, or left bare where it speaks of nobody."""
    text = _tidy(text)
    if speaker.voice == "assistant":
        return said(_of_the_user(text) if language == "en" else text, speaker, language)
    if imperative:
        return asked(text, speaker, language)
    if shifted := _SHIFTS.get(language, _not_shifted)(text, speaker):
        return _capitalised(shifted)
    if speaker.voice == "other" or cues.pattern("own_voice", language).search(text) or _addresses(text, language):
        return said(text, speaker, language)
    return _capitalised(text)


def said(text: str, speaker: Speaker, language: Language) -> str:
    """ "User said: we moved to Porto"."""
    return _filled(_SAID, speaker, language, text=_lowered(_tidy(text), language))


def asked(text: str, speaker: Speaker, language: Language) -> str:
    """ "User asked: keep answers short"."""
    return _filled(_ASKED, speaker, language, text=_lowered(_POLITE.sub("", _tidy(text)), language))


def asked_by(outcome: str, speaker: Speaker, language: Language) -> str:
    """ "Deployed build 412 to staging (asked by the user)"."""
    who = speaker.name or (_MID_SENTENCE[language] if speaker.voice == "owner" else None)
    table = _ASKED_BY_OWNER if speaker.voice == "owner" and not speaker.name else _ASKED_BY
    return _filled(table, speaker, language, who=who, text=_capitalised(_result(outcome, language)))


def with_result(request: str, result: str | None, language: Language) -> str:
    """A request that was told, with what came of it; None when it was just done."""
    if result is None:
        return _WITH_RESULT[language].format(request=request, result=_DONE[language])
    return _WITH_RESULT[language].format(request=request, result=_result(result, language))


def _result(outcome: str, language: Language) -> str:
    bare = _without_i(_tidy(outcome))
    return _of_the_user(bare) if language == "en" else bare


def confirmed(text: str, language: Language) -> str:
    """The assistant's wording of a person's statement, as a bare line, where the person's own names nobody."""
    return _capitalised(_of_the_user(_tidy(text)) if language == "en" else _tidy(text))


def continued(text: str, language: Language) -> str:
    """`text` as it reads after a semicolon."""
    return _lowered(text, language)


def replied(proposal: str, answer: str, speaker: Speaker, language: Language) -> str:
    """A short choice together with the proposal that it answers."""
    who = speaker.name or (_MID_SENTENCE[language] if speaker.voice == "owner" else None)
    return _filled(
        _REPLIED,
        speaker,
        language,
        who=who,
        question=_quotable(_tidy(proposal)),
        answer=_quotable(answer).rstrip(".!。"),
    )


def answered(question: str, answer: str, speaker: Speaker, language: Language) -> str:
    """A short answer together with its question."""
    who = speaker.name or (_MID_SENTENCE[language] if speaker.voice == "owner" else None)
    return _filled(
        _ANSWERED, speaker, language, who=who, question=_quotable(question), answer=_quotable(answer).rstrip(".!。")
    )


def corrected_later(text: str, language: Language) -> str:
    """A line that a later one corrects."""
    return f"{text} ({_CORRECTED[language]})"


def shared(words: int, beginning: str, speaker: Speaker, language: Language) -> str:
    """A long pasted text, as one line."""
    return _filled(_SHARED, speaker, language, count=f"{words:,}", beginning=_quotable(beginning))


_POLITE = re.compile(r"\b(?:please|kindly)\s+|\bpor favor,?\s+", re.IGNORECASE)

_MID_SENTENCE: dict[Language, str] = {
    "en": "the user", "ko": "사용자", "ja": "ユーザー", "zh": "用户", "es": "el usuario", "de": "der Nutzer", "fr": "l'utilisateur",
}  # fmt: skip


def name_of(speaker: Speaker, language: Language) -> str:
    """The name that the line shows; a stranger who calls himself "User" does not become the user."""
    name = plain_line(_NAME_END.split(speaker.name or "", maxsplit=1)[0])[:_NAME_LIMIT].strip(" :()-–—")
    if name and (name.casefold() not in _ROLES):
        return name
    if speaker.voice == "owner":
        return _OWNER[language]
    return _ASSISTANT[language] if speaker.voice == "assistant" else _OTHER[language]


def _filled(
    table: dict[Language, str], speaker: Speaker, language: Language, who: str | None = None, **values: str
) -> str:
    shown = (
        plain_line(who)[:_NAME_LIMIT]
        if who and who.casefold() not in _ROLES - {"the user", "사용자", "ユーザー", "用户"}
        else name_of(speaker, language)
    )
    return table[language].format(who=shown, subject=_subject_particle(shown), **values)


def _subject_particle(word: str) -> str:
    """이 after a final consonant, 가 after a vowel."""
    last = ord(word[-1]) - 0xAC00 if word else -1
    return "이" if 0 <= last < 11172 and last % 28 else "가"


def _quotable(text: str) -> str:
    return re.sub(r"[“”„«»「」\"]", "'", text).strip()


def _tidy(text: str) -> str:
    """Without the full stop at the end; question and exclamation marks stay as they were typed."""
    text = text.strip()
    return text[:-1] if text.endswith((".", "。")) and not text.endswith("..") else text


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:] if not re.match(r"[a-z][\w-]*[A-Z\d_./]\w", text) else text


_KEEPS_CAPITAL = re.compile(r"I\b|[A-Z][A-Z\d]|[A-Z]\w*[A-Z]")
_COMMON_OPENING = re.compile(
    r"(?:The|A|An|My|Our|Your|We|You|He|She|It|They|This|That|These|Those|There|If|When|In|On|At|For|From|No|Not|Never|Always|Please|Let's|"
    r"Do|Don't|Keep|Make|Use|Ask|Call|Answer|Reply|Write|Send|Book|Add|Set|Move|Cancel|Check|Find|Get|Give|Remind|Save|Create|Delete|Update|"
    r"Deploy|Read|Run|Start|Stop|Buy|Order|Pay|Fix|Change|Open|Put|Show|Tell|Try|Only|Also|Can|Could|Would|Will|Help|Draft|Schedule|"
    r"Rename|Restart|Prepare|Review|Translate|Summari[sz]e|Avoid)\b"
)


def _lowered(text: str, language: Language) -> str:
    """With a small first letter where the sentence opens with a common word, as after a colon."""
    if language != "en" or _KEEPS_CAPITAL.match(text) or not _COMMON_OPENING.match(text):
        return text
    return text[:1].lower() + text[1:]


_LEADING_I = re.compile(
    r"^(?:(?:done|ok(?:ay)?|great|sure|yes|perfect|all done)[,.:;!—–-]+\s*)*(?:(?:and )?(?:I(?:['’]ve| have)?|we(?:['’]ve| have)?) (?:just |now |also |successfully )*)?",
    re.IGNORECASE,
)


def _without_i(text: str) -> str:
    """ "I've booked the table" as "booked the table": the assistant's doing needs no subject."""
    bare = _LEADING_I.sub("", text, count=1)
    if not bare:
        return text
    # "I am done" has lost its verb's subject, not a helper: give it back.
    return (
        text
        if re.match(
            r"(?:am|was|will|can|could|cannot|can['’]t|couldn['’]t|had|have|do|don['’]t)\b", bare, re.IGNORECASE
        )
        else bare
    )


# --- person shifts ---------------------------------------------------------------------------------------------


def _addresses(text: str, language: Language) -> bool:
    return language == "en" and bool(re.search(r"\b(?:you|your|yours)\b", text, re.IGNORECASE))


def _not_shifted(text: str, speaker: Speaker) -> str | None:
    return None


_ADVERBS = (
    "also really always usually never often just still only now recently finally currently generally normally typically "
    "sometimes already actually strongly definitely probably maybe mostly both"
)
_PRESENT = (
    "agree attend avoid believe buy call collect come cook cycle deploy dislike do drink drive eat enjoy expect feel find finish fly forget get "
    "give go grow hate have hear help hope host join keep know learn leave like listen live look love make mean meet miss move need order own pay "
    "plan play practise practice prefer promise read ride run say see sell send share sing sleep speak spend start stay stop study subscribe "
    "swim take talk teach tend think train travel try use visit wake walk want watch wear work worry write"
)
_PAST = (
    "ate became began bought broke brought built came caught chose did drank drove fell felt found flew forgot gave got grew had heard held hurt "
    "kept knew led left lost made met paid put quit ran read said sat saw sent set slept sold spent spoke stood swam taught thought took told "
    "understood was went woke won wore wrote"
)
_MODALS = "will would can could should must might may shall can't couldn't won't wouldn't shouldn't mustn't cannot"
_IRREGULAR = {"am": "is", "have": "has", "do": "does", "go": "goes", "don't": "doesn't", "haven't": "hasn't"}
_VERBS_PRESENT = frozenset(_PRESENT.split())
_VERBS_SAME = frozenset(_PAST.split()) | frozenset(_MODALS.split()) | {"didn't", "wasn't", "hadn't"}
_CONTRACTIONS = {"i'm": "am", "i've": "have", "i'll": "will"}
_FIRST_PERSON = re.compile(
    r"\b(i['’]m|i['’]ve|i['’]ll|i['’]d|i|my|me|mine|myself)\b((?:\s+(?:"
    + "|".join(_ADVERBS.split())
    + r"))*)(?:\s+([a-z]+(?:['’]t)?))?",
    re.IGNORECASE,
)
_TOO_MANY_PERSONS = re.compile(
    r"\b(?:we|us|our|ours|you|your|yours|they|them|their|he|him|his|she|her|hers|['’]em)\b|[\"“”]", re.IGNORECASE
)


def _third(verb: str) -> str | None:
    """The form for he, she or it; None for a word that is not known to be a verb here."""
    word = verb.casefold().replace("’", "'")
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in _VERBS_SAME or (word.endswith("ed") and len(word) > 4):
        return verb
    if word not in _VERBS_PRESENT:
        return None
    if word.endswith(("s", "sh", "ch", "x", "z")):
        return word + "es"
    return word[:-1] + "ies" if word[-1] == "y" and word[-2] not in "aeiou" else word + "s"


class _Unsure(Exception):
    """The sentence cannot be told in the third person with certainty; it is reported instead."""


def _english(text: str, speaker: Speaker) -> str | None:
    """`text` with I and my as the speaker's name; None when there is none, or when a word might be read wrongly.

    "I prefer tea and I live in Busan" becomes "User prefers tea and lives in Busan". Other persons in the sentence
    make "they" ambiguous, so that such sentences are reported as they were said.
    """
    if not _FIRST_PERSON.search(text) or _TOO_MANY_PERSONS.search(text):
        return None
    who = name_of(speaker, "en")
    named = False

    def shift(match: re.Match[str]) -> str:
        nonlocal named
        pronoun, adverbs, following = (
            match.group(1).casefold().replace("’", "'"),
            match.group(2) or "",
            match.group(3) or "",
        )
        first, named = not named, True
        alone = match.start() == 0
        reference = who if (alone or speaker.name) else "the user" if speaker.voice == "owner" else who
        rest = f" {following}" if following else ""
        if pronoun == "my":
            return (f"{reference}'s" if first else "their") + adverbs + rest
        if pronoun in ("me", "mine", "myself"):
            other = (
                {"me": reference, "mine": f"{reference}'s", "myself": "themselves"}
                if first
                else {"me": "them", "mine": "theirs", "myself": "themselves"}
            )
            return other[pronoun] + adverbs + rest
        verb = _CONTRACTIONS.get(pronoun, following)
        tail = rest if pronoun in _CONTRACTIONS else ""
        if pronoun == "i'd":
            if following.casefold() not in ("like", "love", "prefer", "rather"):
                raise _Unsure
            verb, tail = "would", rest
        told_verb = _third(verb)
        if told_verb is None:
            raise _Unsure
        if first:
            return f"{reference}{adverbs} {told_verb}{tail}"
        if re.search(r"\b(?:and|but|or),?\s$", text[: match.start()]):
            return f"{adverbs.lstrip()} {told_verb}{tail}".strip()
        plural = {"am": "are", "was": "were", "wasn't": "weren't"}.get(verb.casefold(), verb)
        return f"they{adverbs} {plural}{tail}"

    try:
        return _FIRST_PERSON.sub(shift, text)
    except _Unsure:
        return None


_YOUR = re.compile(r"\b(your|yours|you['’]re|you['’]ve|you['’]ll|you)\b(?:\s+([a-z]+(?:['’]t)?))?", re.IGNORECASE)


def _of_the_user(text: str) -> str:
    """The assistant's "your" and "you" as the user's; the sentence as it was where a verb is not known."""

    def shift(match: re.Match[str]) -> str:
        pronoun, following = match.group(1).casefold().replace("’", "'"), match.group(2) or ""
        rest = f" {following}" if following else ""
        if pronoun in ("your", "yours"):
            return "the user's" + rest
        helper = {"you're": "is", "you've": "has", "you'll": "will"}.get(pronoun)
        if helper:
            return f"the user {helper}{rest}"
        if not following or (
            match.start()
            and re.search(
                r"\b(?:to|for|with|from|told|tell|give|gave|send|sent|remind|of|by|ask)\s$", text[: match.start()]
            )
        ):
            return "the user" + rest
        told_verb = {"are": "is", "were": "was"}.get(following.casefold()) or _third(following)
        if told_verb is None:
            raise _Unsure
        return f"the user {told_verb}"

    try:
        return _YOUR.sub(shift, text)
    except _Unsure:
        return text


_Openings = tuple[tuple[re.Pattern[str], str], ...]


def _openings(*pairs: tuple[str, str]) -> _Openings:
    return tuple((re.compile(pattern), form) for pattern, form in pairs)


_KOREAN_OPENINGS = _openings(
    (r"^(?:저는|나는|난|전|나)\s", "{who}{topic} "),
    (r"^(?:제가|내가)\s", "{who}{subject} "),
    (r"^(?:저도|나도)\s", "{who}도 "),
    (r"^(?:저한테|나한테|저에게|나에게)\s?", "{who}에게 "),
    (r"^(?:제|내)\s(?=[가-힣])", "{who}의 "),
)
_JAPANESE_OPENINGS = _openings(
    (r"^(?:私|僕|俺|わたし)は、?", "{who}は"), (r"^(?:私|僕|俺|わたし)の", "{who}の"), (r"^(?:私|僕|俺)が", "{who}が")
)
_CHINESE_OPENINGS = _openings((r"^我(?=们)", "我"), (r"^我的", "{who}的"), (r"^我", "{who}"))
_KOREAN_OTHERS = re.compile(r"(?:^|\s)(?:나|내|난|저|제|전|너|네|당신|우리|저희)(?:는|가|를|의|도|한테|에게|랑)?\s")


def _korean(text: str, speaker: Speaker) -> str | None:
    return _opened(text, speaker, "ko", _KOREAN_OPENINGS, _KOREAN_OTHERS)


def _japanese(text: str, speaker: Speaker) -> str | None:
    return _opened(text, speaker, "ja", _JAPANESE_OPENINGS, re.compile(r"私|僕|俺|あなた|君"))


def _chinese(text: str, speaker: Speaker) -> str | None:
    return None if text.startswith("我们") else _opened(text, speaker, "zh", _CHINESE_OPENINGS, re.compile(r"[我你您]"))


def _opened(
    text: str, speaker: Speaker, language: Language, openings: _Openings, elsewhere: re.Pattern[str]
) -> str | None:
    """`text` with its opening "I" or "my" as the speaker's name, when no other such word follows."""
    for pattern, form in openings:
        match = pattern.match(text)
        if match and not elsewhere.search(text, match.end()):
            who = name_of(speaker, language)
            topic = "은" if _subject_particle(who) == "이" else "는"
            return form.format(who=who, subject=_subject_particle(who), topic=topic) + text[match.end() :]
    return None


_SHIFTS = {"en": _english, "ko": _korean, "ja": _japanese, "zh": _chinese}
