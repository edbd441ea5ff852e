"""Whose words a text holds: what its sender only quotes, and what tells an agent to do something. Pure.

Nobody says where a paste begins and ends, so this goes by its form: quotation marks of mail and Markdown, code, mail
headers, what stands behind "summarise this:", markup, turns that are forged inside a message, an order in quotation
marks. What is taken for a quotation although it is none loses nothing but the right to found a rule or a preference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

Span = tuple[int, int]

LONGEST_LEAD: Final = 120
"""Characters of the line before a colon that still introduces what follows."""
MOST_LEADS, MOST_TURNS = 50, 20
"""So many lines of a message are looked at; nobody introduces more quotations."""
ORDER_CHARACTERS: Final = 4_000
"""What comes later in a text does not make it an order."""

_NOUN: Final = (
    r"(?:(?:web ?)?pages?|(?:web ?)?sites?|articles?|texts?|e-?mails?|mails?|messages?|letters?|notes?|notices?|posts?|threads?|reviews?|"
    r"comments?|documents?|files?|readme|pdfs?|contracts?|offers?|newsletters?|paragraphs?|paste|logs?|output|snippets?|issues?|tickets?|transcripts?)"
)
_ASKED: Final = (
    r"summari[sz]e|translate|proof-?read|rewrite|rephrase|paraphrase|tl;?dr|analy[sz]e|classify|extract|decode|explain"
    r"|answer|reply|respond|review|check|read|look|see|think|mean|got|received|found|here"
)
_LEADS: Final = (
    # What is asked about a text, and the text that it is about.
    rf"\b(?:{_ASKED})\b.{{0,60}}\b(?:this|that|the|these|following|below|an?)\b(?:.{{0,30}}\b{_NOUN}\b|\W*\Z|\W+(?:mean|say|for me)\b)",
    rf"\b(?:this|that|the|these|following|below)\b.{{0,40}}\b{_NOUN}\b.{{0,40}}\b(?:says?|said|reads?|states?|claims?|contains?|mean)\b",
    r"\bwhat (?:do you think (?:of|about)|does|about) (?:this|that|it)\b",
    r"(?:이|다음|아래|받은) ?(?:글|메일|이메일|메시지|문서|기사|페이지|파일|내용)",
    r"(?:总结|總結|概括|翻译|翻譯|解释|解釋|分析|校对).{0,6}(?:这|這|以下|下面|一下)|这(?:篇|封|段|个)(?:文章|邮件|网页|文字)",
    r"この(?:記事|メール|ページ|文章|文書)|以下(?:の|を)",
    r"\best[ea] (?:página|correo|mensaje|texto|artículo|nota)\b|\b(?:resum[ea]|traduce|corrige) (?:esto|lo siguiente)\b",
    r"\bdiese[srnm]? (?:seite|mail|nachricht|text|artikel|brief)\b|\b(?:fass[et]?|übersetze?) (?:das|folgendes|dies)\b",
    r"\bcet(?:te)? (?:page|article|message|texte|lettre|courriel|mail)\b|\b(?:résume|traduis) (?:ceci|ça)\b",
    r"هذه الصفحة|هذا النص|هذه الرسالة|הדף הזה|הטקסט הזה|המייל הזה",
)
_COLON_LEADS: Final = (
    r"\b(?:summari[sz]e|translate|proof-?read|rewrite|rephrase|paraphrase|tl;?dr|explain|analy[sz]e|extract|decode)\b",
    r"요약|번역|교정|해석|总结|總結|概括|翻译|翻譯|要約|翻訳|校正|لخص|ترجم|סכם|תרגם",
    r"\b(?:resum[ea]|traduce|traduzca|fass[et]?|übersetze?|résume[rz]?|tradui\w*)\b",
)
_LEAD: Final = re.compile("|".join(f"(?:{pattern})" for pattern in _LEADS), re.I)
_LEAD_BY_COLON: Final = re.compile("|".join(f"(?:{pattern})" for pattern in (*_LEADS, *_COLON_LEADS)), re.I)
_LINE: Final = re.compile(r"[^\n]+")
_OWN: Final = re.compile(r"\b(?:my|our|mi|mein\w*|mon|ma) (?:own )?(?:rules?|preferences?|wish\w*|goals?|instructions?|note)\b", re.I)
"""Behind "check my rules:" stand the sender's own words."""
_MAIL: Final = re.compile(
    r"^(?:-{2,}[ \t]*(?:forwarded|original) message\b|begin forwarded message|from: .+\n(?:to|sent|date|subject): "
    r"|on .{5,80} wrote:[ \t]*$|-{2,}[ \t]*(?:전달된|원본) ?메[시세]지|보낸 ?사람: |发件人[:：]|差出人[:：]"
    r"|-{2,}[ \t]*(?:mensaje reenviado|weitergeleitete nachricht|message transféré))",
    re.I | re.M,
)
_QUOTED_LINES: Final = re.compile(r"^[ \t]*(?:[>|｜│]|&gt;)[^\n]*(?:\n[ \t]*(?:[>|｜│]|&gt;)[^\n]*)*", re.M)
_FENCED: Final = re.compile(r"^[ \t]*(?P<fence>`{3,}|~{3,}).*?(?:^[ \t]*(?P=fence)|\Z)", re.M | re.S)
_MARKUP: Final = re.compile(r"^[^\n]*</?(?:div|span|p|html|body|head|meta|script|style|td|tr|table|li|section|template|noscript|iframe)\b[^\n]*", re.I | re.M)
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_TEMPLATE: Final = re.compile(
    r"<\|[a-z_]+\|>|\[/?INST\]|<</?SYS>>|<(?:system|instructions?|tool_call|function_calls?)>|^#{1,6}[ \t]*(?:system|instructions?|user|assistant)[ \t]*:?[ \t]*$",
    re.I | re.M,
)
"""Where a chat template, or what looks like one, begins: nobody types that."""
_TURN: Final = re.compile(
    r"^(?P<label>[ \t*_#>\[]*(?:user|owner|human|assistant|agent|ai|system|developer|사용자|시스템|어시스턴트|用户|系统|助手|ユーザー|システム|アシスタント|usuario|sistema|nutzer|utilisateur)"
    r"[ \t*_\]]*[:：])[^\n]*",
    re.I | re.M,
)
_SAID: Final = re.compile(
    r"[\"“„«「『‘]([^\"“”„«»「」『』\n]{8,2000})[\"”“»」』’]|[\"“„«「『]([^\n]{8,2000})\Z",
)
_REPORTS: Final = re.compile(
    r"\b(?:says?|said|reads?|read|states?|wrote|writes?|tells?|told|claims?|asks?|asked|dice|dijo|sagt|sagte|steht|dit|écrit)\b[^\n\"“„«「『]{0,40}\Z"
    r"|(?:说|写|写着|言う|書いて|라고|적혀|쓰여)[^\n\"“„«「『]{0,20}\Z|[:：]\s*\Z",
    re.I,
)

_ORDERS: Final = (
    # English
    r"\b(?:ignore|disregard|override|bypass)\b.{0,60}\b(?:instructions?|rules?|prompts?|above|previous|prior|memory|guidelines?|polic(?:y|ies))\b",
    r"\bforget\b.{0,40}\b(?:instructions?|rules?|prompts?|above|previous|memory|everything|what you know|about)\b",
    r"\b(?:the )?(?:assistants?|agents?|ais?|bots?|llms?|models?|you) (?:must|should|shall|has to|have to|is to|are to|needs? to|will) (?:now |always |never |not )",
    r"\byou (?:must|should|are) now\b|\b(?:all |any |ai )?(?:assistants|agents|ais|bots|llms) (?:must|should|shall|have to)\b",
    r"(?:^|[.!?:;,>\"“]\s*|\b(?:i|we) want you to |\b(?:and|then|please|dear \w+|bot|ai)[ ,:]+)(?:always|never)\s+(?!been\b|was\b|were\b|had\b|the\b|a\b)[a-z]+",
    r"\b(?:from now on|in (?:the )?future|henceforth|going forward)\b",
    r"\bremember(?: that| this|:|,)|\b(?:note|save|store|add) (?:this |that |it )?(?:to|in|into) (?:your )?memory\b|\brule saved\b|\bnew rule\b|\b(?:our|the|house|company) (?:rule|policy)\b(?: is)?\s*[:;]",
    r"\bthe (?:user|owner)(?: also| now)? (?:always|never|really )?(?:wants?|prefers?|needs?|likes?|asks?|insists?|agreed|approved|said)\b",
    r"\b(?:user|owner) (?:always|never) (?:wants?|asks?|prefers?|needs?)|\byou (?:always|never) (?:want|ask|prefer|need)",
    r"\bwithout (?:asking|confirm\w*|approval|permission|a code|the owner)\b|\b(?:don'?t|do not|never) (?:ask|tell|mention|inform)\b",
    r"\b(?:decode|decrypt) (?:and|this)\b|\bobey\b|\bfollow (?:this|these) (?:instructions?|steps?|orders?)|\bdecode and\b",
    r"\b(?:assistant|agent|system)\s*:\s|[\"'](?:tool|function|name)[\"']\s*:\s*[\"']|<\|[a-z_]+\|>|<tool_call>|\[/?INST\]|<</?SYS>>",
    r"\bthis (?:note|memory|line|rule) is pinned\b|\bdc:\s?(?:pinned|forgotten|superse\w+|type)\b",
    # Korean, Chinese, Japanese
    r"(?:이전|위의?|모든) ?(?:지시|명령|규칙|프롬프트)\S*\s?(?:을|를)? ?(?:모두 )?(?:무시|잊)|(?:앞으로|이제부터|지금부터|다음부터)(?:는|로)?\s|(?:항상|언제나|무조건|반드시|절대)(?:로)?\s.{0,80}(?:세요|하라|해라|해야|해 ?줘|해\.?$|할 ?것|마세요|말 ?것|마\.?$|원함|원한다|원해|함)"
    r"|(?:사용자|주인|유저)(?:는|은|가|이|의)? ?(?:항상|언제나|늘|무조건)|(?:기억해|기억하라|기억하세요|잊고|잊어)|(?:AI|에이전트|어시스턴트|비서|봇)(?:는|은|가)? ?(?:반드시|항상|무조건)",
    r"(?:忽略|無視|无视|忘记|忘掉).{0,12}(?:指令|指示|规则|內容|内容)|从现在(?:起|开始)|从今以后|以后(?:一定|永远|总是|必须|不要|都)|(?:必须|务必|始终|永远|总是|一定要|一律).{0,4}(?:要|把|用|先|推荐|转发|不要|发送|告诉|使用|听)|请记住|记住[：:，,]|用户(?:总是|始终|永远|一直|希望|要求)|永远不要|不要告诉",
    r"(?:指示|命令|ルール).{0,6}(?:無視|忘れ)|(?:今後|これから)(?:は|も|、)|(?:必ず|常に|絶対に?|決して|いつも).{0,80}(?:ください|下さい|こと|ように|しろ|せよ)|(?:ユーザー|主人)は(?:常に|いつも|必ず)|(?:AI|アシスタント|エージェント).{0,4}(?:常に|必ず)|覚えておいて",
    # Spanish, German, French
    r"\bignora\w*\b.{0,40}\b(?:instrucciones|reglas|anterior\w*)|\b(?:a partir de|desde) ahora\b|\bde ahora en adelante\b|\bdebes?\b.{0,20}\b(?:siempre|nunca)\b|\brecuerda que\b|\bel usuario (?:siempre|nunca|quiere|prefiere)\b|(?:^|[.!?:;,]\s*|\by )\w+[ae] siempre\b|^(?:siempre|nunca) \w+|\b(?:enviar|pagar|usar|recomendar) siempre\b",
    r"\bignorier\w*\b.{0,40}\b(?:anweisung\w*|regel\w*|vorherig\w*)|\bab (?:sofort|jetzt)\b|\b(?:musst|sollst|müssen|sollen) (?:du |sie |ki\w* )?.{0,30}\b(?:immer|nie\w*|stets)\b|\bmerke? dir\b|\bder (?:nutzer|besitzer) (?:will|möchte|wünscht)\b|(?:^|[.!?:;,]\s*|\bund )\w+e immer\b|^(?:immer|nie(?:mals)?) \w+|\b(?:immer|nie|stets) .{0,40}\w+(?:leiten|senden|schicken|zahlen|nutzen|empfehlen)\b",
    r"\bignore[rz]?\b.{0,40}\b(?:instructions|consignes|règles)|\bdésormais\b|\bà partir de maintenant\b|\b(?:tu dois|vous devez)\b|\btoujours (?:recommander|envoyer|utiliser|payer)\b|\bl['’]utilisateur (?:veut|préfère)\b",
    # Arabic, Hebrew
    r"تجاهل|من الآن|يجب (?:عليك|دائما|أن)|تذكر أن|المستخدم يريد|دائما|لا تخبر",
    r"מעכשיו|תמיד ת|התעלם|זכור ש|המשתמש (?:רוצה|תמיד)|תמיד ל|לעולם אל",
)
_ORDER: Final = re.compile("|".join(f"(?:{pattern})" for pattern in _ORDERS), re.I | re.M)

_OVERRIDES: Final = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|rules?|prompts?|above|previous|memory)\b"
    r"|\b(?:the )?(?:assistant|agent|ai|you) (?:must|should|shall|has to|have to|is to|are to|needs? to) (?:now |always |never )"
    r"|\byou (?:must|should|are) now\b|\b(?:assistant|agent|system)\s*:\s|[\"'](?:tool|function|name)[\"']\s*:\s*[\"']"
    r"|<\|[a-z_]+\|>|<tool_call>|\[/?INST\]|(?:이전|위의?|모든) ?(?:지시|명령|규칙)\S*\s?(?:을|를)? ?(?:모두 )?(?:무시|잊)"
    r"|(?:忽略|無視|无视|忘记).{0,12}(?:指令|指示|规则)|(?:指示|命令).{0,6}(?:無視|忘れ)|\bignora\w*\b.{0,40}\b(?:instrucciones|reglas)"
    r"|\bignorier\w*\b.{0,40}\b(?:anweisung|regel)\w*|\bignore[rz]?\b.{0,40}\b(?:instructions|consignes|règles)|تجاهل|התעלם",
    re.I,
)
_ATTEMPT: Final = re.compile(
    r"\b(?:tried|tries|attempt\w*|contain(?:s|ed))\b|시도|试图|試圖|試み|\bintentó\b|\bversuchte\b|\ba tenté\b|حاول|ניסה", re.I
)
_ATTRIBUTED: Final = re.compile(
    r"\b(?:said|says|asked|asks|told|tells|claims?|claimed|demand\w*|request\w*|instruct\w*|urged?|quoted|wrote|reads)\b"
    r"|요청|말함|말했|적혀|라고 함|지시|要求|声称|写着|说：|依頼|求め|発言|書かれ"
    rf"|\b(?:dijo|pidió|sagte|bat|forderte|a dit|a demandé)\b|طلب|قال|ביקש|אמר|{_ATTEMPT.pattern}",
    re.I,
)


def is_order(text: str) -> bool:
    """Whether a text tells an agent what to do, or what its owner is to be taken to want, in any of nine languages.

    Of the owner's own words that is what rules are made of; of anybody else's, an attempt.
    """
    return bool(_ORDER.search(text, 0, ORDER_CHARACTERS))


def overrides(text: str) -> bool:
    """Whether an order poses as one that stands above what the agent was told before."""
    return bool(_OVERRIDES.search(text, 0, ORDER_CHARACTERS))


def is_attempt(text: str) -> bool:
    """Whether a line tells of an attempt: "a page tried to …"."""
    return bool(_ATTEMPT.search(text))


def is_attributed(text: str) -> bool:
    """Whether a line says that somebody said, asked or tried what it tells."""
    return bool(_ATTRIBUTED.search(text))


@lru_cache(maxsize=2_048)
def quoted(text: str) -> tuple[Span, ...]:
    """The parts [start, end) of a message that its sender only quotes, in order, none touching another."""
    found = sorted(_spans(text))
    merged: list[Span] = []
    for start, end in found:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        elif start < end:
            merged.append((start, end))
    return tuple(merged)


def _spans(text: str) -> Iterator[Span]:
    for pattern in (_QUOTED_LINES, _FENCED, _MARKUP, _COMMENT):
        yield from (found.span() for found in pattern.finditer(text))
    for pattern in (_MAIL, _TEMPLATE):
        if begin := pattern.search(text):
            yield begin.start(), len(text)
    leads = (_introduced(text, line) for line in islice(_LINE.finditer(text), MOST_LEADS))
    yield from ((start, len(text)) for start in leads if start is not None)
    for turn in islice(_TURN.finditer(text), MOST_TURNS):
        # "System: Ubuntu" in a report of a bug is no turn.
        if turn.start() and is_order(text[turn.end("label") : turn.start() + ORDER_CHARACTERS].strip()):
            yield turn.start(), len(text)
            break
    for said in _SAID.finditer(text):
        start = max(text.rfind("\n", 0, said.start()) + 1, said.start() - LONGEST_LEAD)
        inside = said[1] or said[2] or ""
        if is_order(inside) and _REPORTS.search(text, start, said.start()):
            yield said.end() - len(inside) - bool(said[1]), said.end() - bool(said[1])


def _introduced(text: str, line: re.Match[str]) -> int | None:
    """Where what a line introduces begins: behind its colon, or with the next line. None when it introduces nothing."""
    lead, colon, _ = re.sub("：", ":", line[0]).partition(":")
    if len(lead) > LONGEST_LEAD or _OWN.search(lead):
        return None
    begin = line.start() + len(lead) + 1 if colon else line.end()
    introduces = (_LEAD_BY_COLON if colon else _LEAD).search(lead)
    return begin if introduces and text[begin:].strip() else None


def own_words(text: str) -> str:
    """The text without what is only quoted."""
    return _without(text, quoted(text))


def quoted_words(text: str) -> str:
    """Only what is quoted, one part a paragraph."""
    return "\n\n".join(text[start:end] for start, end in quoted(text))


def _without(text: str, spans: tuple[Span, ...]) -> str:
    kept, at = [], 0
    for start, end in spans:
        kept.append(text[at:start])
        at = end
    return "\n".join((*kept, text[at:])) if spans else text


def marked(text: str) -> str:
    """The text with `> ` before each line that is quoted; a quotation begins a line of its own."""
    parts, at = [], 0
    for start, end in quoted(text):
        parts.append(text[at:start].rstrip("\n"))
        lines = text[start:end].strip("\n").split("\n")
        parts += [line if line.lstrip().startswith(">") else f"> {line}" for line in lines]
        at = end
    parts.append(text[at:].lstrip("\n") if at else text)
    return "\n".join(part for part in parts if part) if at else text
