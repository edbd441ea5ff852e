"""The words by which the offline compressor knows what a statement is, by language. Data and its compilation; pure.

A cue is looked up in the statement's own language and in English, which people mix into every language.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal

from total_recall.text import Language

Cue = Literal[
    "rule", "preference", "decision", "correction", "commitment", "goal", "deadline", "habit", "personal", "health", "event",
    "outcome", "error", "context", "request", "particulars", "reference", "question", "hedge", "remember", "advice", "small_talk", "acknowledged",
    "no_news", "reading", "answer", "machinery", "lead_in", "tail", "depends", "own_voice",
]  # fmt: skip

_CUES: dict[Cue, dict[Language, str]] = {
    # What the owner lays down for all time to come; open to the owner alone.
    "rule": {
        "en": r"^(?:from now on,? |in (?:the )?future,? |and |also |remember:? |rule:? |important:? |please )*"
        r"(?:never|always|you must(?: not)?|you should (?:never|always)|make sure (?:you |to )?(?:never|always)|under no circumstances)\b"
        r"|^(?:from now on|in (?:the )?future),? (?:do not|don't|ask|no )\b"
        r"|\bwithout (?:asking|checking with|my (?:ok|okay|approval|permission|consent))\b|\bask me (?:first|before)\b"
        r"|\b(?:is|are) (?:not |never |always )?(?:allowed|forbidden|prohibited|off[- ]limits)\b|\bno exceptions\b|^(?:house )?rule:",
        "ko": r"(?:앞으로|이제부터|다음부터)(?:로|는|은)? ?.*(?:지 ?마|말아|말 ?것|물어|확인|금지)|(?:언제나|항상|무조건|반드시|절대)(?:로|는|은)? ?.*(?:해 ?줘|해 ?주세요|하지 ?마|하지 ?말|지 ?마|말아|말 ?것|마세요|하세요|물어|확인)"
        r"|(?:허락|확인|승인|동의) ?(?:없이|받고|받은 ?후)|먼저 (?:나한테|저한테|나에게|저에게)? ?(?:물어|확인)|금지(?:야|입니다|예요|다|임)?[.!]?$",
        "ja": r"(?:今後は?|これからは?).*(?:ないで|禁止|確認して)|(?:必ず|絶対に?|決して|常に|いつも).*(?:ください|下さい|して[。！]?$|しないで|禁止|こと[。]?$|ように)|許可なく|勝手に.*ないで|禁止(?:です|だ)?[。]?$",
        "zh": r"(?:以后|今后|从现在起).*(?:不要|别|不得|不能|必须|先问)|(?:永远|绝对|一定|必须|务必|总是|始终).*(?:不要|别|不得|不能|要|用|先|请)|未经.*(?:许可|同意|批准)|禁止|先问我",
        "es": r"^(?:nunca|jamás|siempre|de ahora en adelante,? (?:nunca|siempre|no)|a partir de ahora,? (?:nunca|siempre|no))\b|\bsin (?:preguntarme|mi permiso|consultarme)\b|\bprohibido\b",
        "de": r"^(?:bitte )?(?:niemals|nie|immer|ab (?:jetzt|sofort) (?:nie|immer|nicht|kein\w*)|in zukunft (?:nie|immer|nicht))\b|\b(?:lösche|mache?|schicke?|sende) (?:nie(?:mals)?|immer)\b|\bohne (?:mich zu fragen|rücksprache|meine zustimmung)\b|\bverboten\b|\b(?:nie(?:mals)?|immer) \w+(?:en)?[.!]?$",
        "fr": r"^(?:ne .* jamais|toujours|jamais|désormais,? (?:ne|toujours))\b|\bsans (?:me demander|mon accord|mon autorisation)\b|\binterdit\b",
    },
    "preference": {
        "en": r"\b(?:i|we) (?:really |much |strongly |also |generally |usually |'d )?(?:prefer|like|love|enjoy|hate|dislike|loathe|can'?t stand|don'?t (?:like|want|eat|drink|use|care for))\b"
        r"|\bi(?:'d| would) rather\b|\bfavou?rite\b|\bprefer(?:s|red|ence)?\b|^from now on\b|^in (?:the )?future\b|\bcall me\b|\b(?:keep|make) (?:your |the |all )?(?:answers?|replies|responses|messages|emails?)\b"
        r"|\b(?:answer|reply|respond|write) (?:to me )?(?:only )?in (?!\d)\w+\b|\bno longer (?:want|use|eat|drink)\b|\bnot a fan of\b|^(?:please )?(?:don'?t|do not|stop|avoid|no more)\b(?! (?:worry|bother|forget|mind|deploy|delete|send|know))",
        "ko": r"좋아(?:해|하|함|합)|싫어(?:해|하|함|합)|선호|더 좋|(?:이|가|은|는) (?:제일|가장|더) (?:좋|편)|최애|취향|앞으로|이제부터|다음부터|불러 ?줘|(?:답변|대답|답장|메일)(?:은|는|을)? .*(?:해 ?줘|해 ?주세요)|못 먹|안 먹|안 마[셔시]|질색",
        "ja": r"好き|嫌い|好む|好み|苦手|お気に入り|方がいい|ほうがいい|ほうが好|今後は|これからは|と呼んで|返(?:事|信)は|回答は",
        "zh": r"喜欢|喜歡|最爱|最愛|讨厌|討厭|偏好|宁愿|不吃|不喝|更喜|以后|今后|叫我|回答(?:要|请|用)",
        "es": r"\b(?:prefiero|preferimos|me gusta\w*|me encanta\w*|odio|no soporto|favorit[oa]s?|de ahora en adelante|a partir de ahora|llámame)\b",
        "de": r"\b(?:bevorzuge|lieber|mag|liebe|hasse|lieblings\w*|gefällt mir|ab (?:jetzt|sofort)|in zukunft|nenn mich)\b|\blieblings",
        "fr": r"\b(?:je préfère|j['’]aime|j['’]adore|je déteste|préféré\w*|favori\w*|désormais|à partir de maintenant|appelle[- ]moi)\b",
    },
    "decision": {
        "en": r"\b(?:(?:i|we)(?:'ve| have)? (?:just |finally |all )?(?:decided|chose|chosen|picked|settled|agreed|approved|opted)|(?:let'?s|we(?:'ll| will)|i(?:'ll| will)|i(?:'m| am) going to) (?:go (?:with|for|ahead)|take|use|pick|choose|stick with|switch to|cancel|drop|skip|move)|(?:final )?decision:?|go(?:ing|ne)? with|went with|it'?s decided|approved|signed off)\b",
        "ko": r"하기로 (?:했|결정|정했|합의)|(?:으)?로 (?:결정|정했|확정|하자|할게|가자|갈게)|결정했|결정(?:됐|되었)|확정|정했(?:어|습니다|다)|로 하자|승인|취소하자",
        "ja": r"(?:ことに|に)(?:した|しました|しよう|決め|決まり|決定)|決めた|決めました|決定|採用する|承認|でいこう",
        "zh": r"决定|決定|选了|選了|选择|定了|敲定|就用|就选|改用|批准|同意了|算了吧",
        "es": r"\b(?:hemos decidido|decidimos|he decidido|decidí|elegimos|elegí|vamos con|nos quedamos con|acordamos|aprobado)\b",
        "de": r"\b(?:entschieden|beschlossen|wir nehmen|ich nehme|wir machen|einigten|geeinigt|genehmigt|festgelegt)\b",
        "fr": r"\b(?:décidé|choisi|on prend|nous prenons|on part sur|validé|approuvé|retenu)\b",
    },
    "correction": {
        "en": r"^(?:actually|correction|no wait|wait,? no|scratch that|sorry,? (?:i meant|it'?s|that'?s)|i meant|i was wrong|oops)\b|\b(?:not \S+(?: \S+)?,? but|instead of|rather than|is wrong|was wrong|changed (?:from|to)|moved (?:from|to)|rescheduled|postponed|no longer|used to)\b|^no, (?!thanks|thank)",
        "ko": r"^아니[,. ]|정정|말고|잘못 (?:말|알|썼)|(?:이|가) 아니라|아니고|바뀌었|변경|미뤄|연기|앞당겨|더 ?이상",
        "ja": r"^(?:いや|いえ|違います|訂正)|訂正|ではなく|じゃなくて|間違え|変更|延期|もう.*ない",
        "zh": r"^不对|^不是|更正|改成|改到|改为|不是.*而是|说错|推迟|提前到|不再",
        "es": r"\b(?:en realidad|corrección|perdón,? (?:es|quise)|me equivoqué|en vez de|aplazad\w+|ya no)\b",
        "de": r"\b(?:korrektur|eigentlich|ich meinte|sondern|verschoben|statt|nicht mehr)\b",
        "fr": r"\b(?:en fait|correction|je voulais dire|au lieu de|reporté\w*|déplacé\w*|ne .* plus)\b",
    },
    "commitment": {
        "en": r"\b(?:i|we)(?:'ll| will| have to| need to| must| promise\w*|'ve got to| gotta)\b|\b(?:remind me|todo|to-do|don'?t (?:let me )?forget|follow up|promised|has to|needs to)\b",
        "ko": r"해야 (?:해|돼|됩니다|합니다|한다|함|할)|(?:줘야|내야|가야|사야|보내야|써야|받아야)|할게|할께|하겠습니다|하겠다|약속했|잊지 ?(?:마|말)|(?:다시 알려|상기시켜) ?줘|할 일",
        "ja": r"しなければ|しなきゃ|する必要|忘れずに|約束|リマインド|やること|しないといけ",
        "zh": r"必须|得去|要去|需要|提醒我|别忘|答应|承诺|待办",
        "es": r"\b(?:tengo que|tenemos que|hay que|debo|recuérdame|no olvides|prometí|pendiente)\b",
        "de": r"\b(?:ich muss|wir müssen|erinner\w* mich|nicht vergessen|versprochen|werde ich|ich werde|muss noch)\b",
        "fr": r"\b(?:je dois|nous devons|il faut|rappelle[- ]moi|n['’]oublie pas|promis|à faire)\b",
    },
    "goal": {
        "en": r"\b(?:(?:my|our|the) (?:\w+ )?(?:goal|aim|target|objective|dream|plan)|(?:i'm|i am|we're|we are) (?:planning|training|saving)\b|i(?:'d like| would like| want| hope| aim| plan|'m trying| am trying|'m training| am training|'m saving| am saving)(?: to| for)|i want to|we (?:want|plan|aim) to|saving (?:up )?for|training for)\b",
        "ko": r"목표|계획(?:이|은|중|하)|(?:고|싶)\s?싶(?:어|다|습|은|네)|할 생각|하려고|준비 ?중|도전",
        "ja": r"目標|目指し|したい|たいです|つもり|計画",
        "zh": r"目标|目標|打算|计划|計劃|希望能|想要?(?:学|去|做|成为|在)",
        "es": r"\b(?:mi (?:objetivo|meta|sueño)|quiero|queremos|me gustaría|pienso|planeo)\b",
        "de": r"\b(?:mein ziel|unser ziel|ich will|ich möchte|wir wollen|ich plane|ich habe vor)\b",
        "fr": r"\b(?:mon (?:objectif|but)|je veux|je voudrais|j['’]aimerais|nous voulons|je compte)\b",
    },
    "deadline": {
        "en": r"\b(?:deadline|due|overdue|expires?|expiry|cut-?off|by (?:the )?(?:end|\d|mon|tues|wednes|thurs|fri|satur|sun|tomorrow|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*|no later than|(?:renew|submit|file|pay|finish|deliver|send)\b.*\b(?:before|until|by))\b",
        "ko": r"마감|기한|만료|데드라인|제출일|납기|까지.*(?:제출|내야|해야|완료|보내|끝내|신청|납부|작성|주세요|줘)",
        "ja": r"締め?切|期限|までに|納期|満了",
        "zh": r"截止|期限|之前|到期|最晚|前(?:交|提交|完成|要)",
        "es": r"\b(?:plazo|fecha límite|vence|antes del?|a más tardar|caduca)\b",
        "de": r"\b(?:frist|fällig|spätestens|abgabe\w*|läuft ab)",
        "fr": r"\b(?:échéance|date limite|délai|avant le|d['’]ici|au plus tard|expire)\b",
    },
    "habit": {
        "en": r"\b(?:every (?:other )?(?:day|morning|evening|night|week|month|mon|tues|wednes|thurs|fri|satur|sun|weekday|weekend)\w*|each (?:day|morning|evening|night|week|month|mon|tues|wednes|thurs|fri|satur|sun)\w*|on (?:mon|tues|wednes|thurs|fri|satur|sun)days|(?:i|we) (?:usually|always|never|often|normally|typically|tend to)|daily|weekly|twice a week|once a week|three times a week)\b",
        "ko": r"매일|매주|매달|매번|아침마다|저녁마다|밤마다|요일마다|주말마다|(?:일주일|한 ?주|주)에 ?[한두세네\d]+ ?번|보통 .*(?:해|가|먹|자|일어나)|늘 |항상 .*(?:해요|합니다|한다|해)[.]?$|습관",
        "ja": r"毎日|毎週|毎朝|毎晩|毎月|いつも|普段|たいてい|週に[一二三四\d]+回|習慣",
        "zh": r"每天|每周|每週|每月|每晚|每早|每逢|通常|平时|习惯|一般都|每次",
        "es": r"\b(?:cada (?:día|semana|mes|lunes|martes|miércoles|jueves|viernes|sábado|domingo|mañana|noche)|todos los|todas las|los (?:lunes|martes|miércoles|jueves|viernes|sábados|domingos)|normalmente|suelo|siempre (?:como|salgo|hago))\b",
        "de": r"\b(?:jede[nrs]? (?:tag|morgen|abend|woche|monat|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)|täglich|wöchentlich|(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s|normalerweise|meistens|gewöhnlich)\b",
        "fr": r"\b(?:chaque (?:jour|semaine|mois|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|matin|soir)|tous les|toutes les|d['’]habitude|habituellement)\b",
    },
    "personal": {
        "en": r"\b(?:my|our) (?:\w+[ -]){0,2}(?:name|wife|husband|partner|son|daughter|kids?|children|mother|mom|mum|father|dad|sister|brother|boss|manager|colleague|friend|dog|cat|birthday|anniversary|address|phone|number|plate|car|flat|apartment|house|office|team|company|job|flight|doctor|dentist|landlord|email|passport|knee|back|shoulder|leg|heart|eyes|teeth|blood type|size|bank|accountant|lawyer|vet|school)\b"
        r"|\bi(?:'m| am) (?:an? |the |from |based |called |named |\d|[A-Z])|\bi (?:live|work|was born|moved|study|teach|drive|own|speak|grew up|have (?:two|three|four|an?|one|no|\d) (?:older |younger |little )?(?:kids?|child\w*|sons?|daughters?|brothers?|sisters?|cats?|dogs?|cars?|bikes?|houses?) ?)\b|\b(?:is|are) my \w+|\bhe'?s my|\bshe'?s my|\bshe is my|\bhe is my",
        "ko": r"(?:내|제|우리) ?(?:이름|아내|남편|아들|딸|아이|애|엄마|어머니|아빠|아버지|누나|언니|형|오빠|동생|여동생|남동생|상사|팀장|동료|친구|강아지|고양이|생일|주소|전화|차|집|회사|팀|부서|학교|계좌)|(?:나는|저는|난|전) .*(?:이야|입니다|이에요|예요|살아|삽니다|살고|다녀|다닙|일해|일하)|에 (?:살아|살고|삽니다|산다|다녀|다니)|(?:이|가)? ?(?:생일|결혼기념일)",
        "ja": r"(?:私|僕|俺|うち)の|住んで|勤めて|働いて|誕生日|名前は|生まれ",
        "zh": r"我(?:的)?(?:名字|妻子|老婆|丈夫|老公|儿子|女儿|妈妈|母亲|爸爸|父亲|姐姐|妹妹|哥哥|弟弟|老板|同事|朋友|狗|猫|生日|地址|电话|公司|家)|我(?:叫|住|是|在.*(?:工作|上班|上学))|家住",
        "es": r"\b(?:mi (?:nombre|mujer|esposa|marido|hijo|hija|madre|padre|hermana|hermano|jefe|jefa|perro|gato|cumpleaños|dirección|teléfono|médico)|me llamo|vivo en|trabajo en|soy (?:de|un|una)|nací)\b",
        "de": r"\b(?:mein[e]? (?:name|frau|mann|sohn|tochter|mutter|vater|schwester|bruder|chef\w*|hund|katze|geburtstag|adresse|telefon\w*|arzt|ärztin)|ich (?:heiße|wohne|arbeite|bin (?:ein|aus|in))|geboren)\b",
        "fr": r"\b(?:m(?:on|a) (?:nom|femme|mari|fils|fille|mère|père|sœur|frère|chef\w*|patron\w*|chien|chat|anniversaire|adresse|téléphone|médecin)|je m['’]appelle|j['’]habite|je travaille|je suis (?:un|une|de|né))\b",
    },
    "health": {
        "en": r"\b(?:allerg\w+|intoleran\w+|diabet\w+|asthma|pregnan\w+|medication|blood pressure|coeliac|celiac|vegetarian|vegan|pescatarian|halal|kosher|epilep\w+|gluten)\b",
        "ko": r"알레르기|알러지|당뇨|천식|임신|혈압|복용|채식|비건|유당|글루텐|못 먹어",
        "ja": r"アレルギー|糖尿病|喘息|妊娠|血圧|服用|ベジタリアン|菜食|ビーガン",
        "zh": r"过敏|過敏|糖尿病|哮喘|怀孕|血压|服药|素食|吃素",
        "es": r"\b(?:alergi\w+|alérgic\w+|intoleran\w+|diabet\w+|asma|embaraz\w+|vegetarian\w+|vegan\w+|celíac\w+)\b",
        "de": r"\b(?:\w*allergi\w*|unverträglich\w*|diabet\w+|asthma|schwanger\w*|vegetari\w+|vegan\w*|zöliakie)\b",
        "fr": r"\b(?:allergi\w+|intoléran\w+|diabét\w+|asthme|enceinte|végétarien\w*|végan\w*|cœliaque)\b",
    },
    "event": {
        "en": r"\b(?:meeting|appointment|interview|flight|trip|wedding|party|conference|exam|surgery|visit|dinner|lunch|concert|call with|demo|launch|release|ships?|shipping|delivery|arriv\w+|departs?|booked|reserved|booking|reservation|scheduled|moved in|signed|sold|bought|hired|quit|resigned|graduated|paid|invoice|payment|refund|(?:is|am|are|be) (?:on (?:leave|vacation|holiday|a trip)|away|off sick|out of office|unavailable|available))\b",
        "ko": r"회의|미팅|약속|예약|면접|비행기|항공|출장|여행|결혼식|돌잔치|생일파티|시험|수술|검진|방문|저녁 ?식사|공연|발표|출시|배포|배송|도착|이사|계약|샀|구매|결제|입금|송금|청구|환불|퇴사|입사",
        "ja": r"会議|打ち合わせ|予約|面接|飛行機|フライト|出張|旅行|結婚式|試験|手術|検診|訪問|発表|リリース|公開|配送|到着|引っ越し|契約|買った|買いました|支払|請求|返金",
        "zh": r"会议|开会|约会|预约|预订|面试|航班|飞机|出差|旅行|婚礼|考试|手术|体检|拜访|发布|上线|送货|到达|搬家|合同|签约|买了|付款|发票|退款",
        "es": r"\b(?:reunión|cita|entrevista|vuelo|viaje|boda|fiesta|examen|cirugía|visita|cena|concierto|entrega|llega\w*|reservad\w+|compr\w+|pagu?\w+|factura|reembolso|lanzamiento|mudanza)\b",
        "de": r"\b(?:termin|besprechung|meeting|flug|reise|hochzeit|feier|prüfung|operation|besuch|konzert|lieferung|ankunft|gebucht|reserviert|gekauft|bezahlt|rechnung|erstattung|umzug|vertrag|veröffentlich\w+)\b",
        "fr": r"\b(?:réunion|rendez-vous|entretien|vol|voyage|mariage|fête|examen|opération|visite|dîner|concert|livraison|arrive\w*|réservé\w*|acheté\w*|payé\w*|facture|remboursement|lancement|déménagement|contrat)\b",
    },
    "particulars": {
        "en": r"\b(?:budget|client|customer|contact|supplier|quote[ds]?|price[ds]?|costs?|account|serial|password|salary|rent|fee|warranty|key|code|belongs to|is called|are called|responsible for|in charge)\b",
        "ko": r"예산|고객|담당|회사[는가]|연봉|이름[은이]|병원|학교|거래처|연락처|이메일|가격|비용|견적|금액|월세|월급|열쇠|비밀번호|계정",
        "ja": r"予算|顧客|担当|連絡先|メール|価格|費用|見積|金額|家賃|鍵|口座",
        "zh": r"预算|客户|负责|联系|邮箱|价格|费用|报价|金额|房租|钥匙|账号",
        "es": r"\b(?:presupuesto|cliente|contacto|precio|cuesta|coste|alquiler|cuenta|llave|código|responsable)\b",
        "de": r"\b(?:budget|kunde\w*|kontakt|preis|kostet|kosten|miete|konto|schlüssel|code|zuständig)\b",
        "fr": r"\b(?:budget|client\w*|contact|prix|coûte|coût|loyer|compte|clé|code|responsable)\b",
    },
    # A number that belongs to an outcome.
    "reference": {
        "en": r"\b(?:code|confirmation|reservation|reference|ref|booking|ticket|order|tracking|invoice|total|id|number|no\.|pr|seat)\b",
        "ko": r"번호|합계|총|좌석|코드",
        "ja": r"番号|合計|コード|座席",
        "zh": r"号|合计|共|编号|座位",
        "es": r"\b(?:código|reserva|número|total|referencia|asiento)\b",
        "de": r"\b(?:code|nummer|\w*nummer|gesamt|summe|referenz|sitz\w*)\b",
        "fr": r"\b(?:code|réservation|numéro|total|référence|place)\b",
    },
    # What the assistant (or a person) did, told at the start of a sentence.
    "outcome": {
        "en": r"^(?:(?:done|all done|ok(?:ay)?|great|perfect|sure|yes)[,.:;!—–-]* (?:and )?)?(?:(?:i(?:'ve| have)?|we(?:'ve| have)?) (?:just |now |also |successfully )?)?"
        r"(?:added|applied|archived|backed up|booked|built|cancell?ed|changed|checked|cleaned|closed|committed|compared|completed|configured|converted|copied|created|deleted|deployed|disabled|downloaded|drafted|emailed|enabled|exported|filed|fixed|found|generated|imported|installed|merged|migrated|moved|opened|ordered|paid|posted|published|pulled|pushed|ran|refunded|registered|removed|renamed|replaced|requested|rescheduled|reserved|reset|resolved|restarted|restored|reverted|rolled back|saved|scheduled|sent|set|set up|shared|signed up|started|stopped|submitted|switched|tested|translated|updated|upgraded|uploaded|verified|wrote)\b"
        r"|\b(?:is|are|was|were|has been|have been) (?:now )?(?:booked|done|live|deployed|sent|saved|fixed|scheduled|confirmed|cancell?ed|created|merged|updated|restored|running|passing|set)\b|\b(?:passed|succeeded|returned \d+|went through|tests? pass(?:es)?)\b|^(?:reminder|alarm|booking|reservation|order) (?:is )?(?:set|confirmed|placed)",
        "ko": r"(?:했|됐|되었|렸|냈|왔|겼|웠|꿨|췄|켰|껐|줬|었|았)(?:습니다|어요|네요|음)[.!~]*$|(?:완료|성공|예약 ?완료|처리 ?완료)(?:했|됐|입니다|되었|$)|^(?:완료|예약|배포|전송|저장|수정|삭제|등록|설정)(?:했|됐|되었|완료)",
        "ja": r"(?:しました|されました|できました|完了(?:です)?|終わりました|送りました|直しました|取りました)[。！]?$",
        "zh": r"^(?:已经?|我已经?|好的?，?已)|(?:完成|成功)(?:了)?[。！]?$|已(?:经)?(?:预订|预约|发送|保存|部署|修复|取消|创建|更新|设置|删除|添加)",
        "es": r"^(?:he|ya he|hecho|listo[,:.]|list[oa]|reservad\w+|enviad\w+|guardad\w+|desplegad\w+|cancelad\w+|cread\w+|actualizad\w+|reservé|envié|guardé)\b",
        "de": r"^(?:erledigt|ich habe|habe|fertig|gebucht|gesendet|gespeichert|reserviert|storniert)\b.*|\b(?:wurde|wurden) (?:.* )?(?:gebucht|gesendet|gespeichert|reserviert|storniert|bereitgestellt|erstellt|aktualisiert)\b",
        "fr": r"^(?:j['’]ai|c['’]est fait|fait|terminé|réservé\w*|envoyé\w*|enregistré\w*|déployé\w*|annulé\w*|créé\w*)\b",
    },
    "error": {
        "en": r"\b(?:error|errors|failed|fails|failing|failure|could(?:n'?t| not)|can(?:'?t|not) (?:find|open|read|reach|access|connect|be|log|delete|send|install)|does not exist|doesn'?t exist|do(?:es)?n'?t work|not found|no such file|denied|crash(?:ed|es)?|exception|traceback|timed? ?out|broken|bug|corrupt\w*|refused|rejected|declined|unauthori[sz]ed|outage|is down|went down|out of (?:memory|disk|space)|exited with (?:code )?[1-9]|http [45]\d\d|returned [45]\d\d|overdrawn|unable to)\b",
        "ko": r"오류|에러|실패|안 ?(?:돼|되|됨|열려|켜져)|못 ?(?:했|찾|읽|열)|고장|죽었|터졌|거부|만료됐|존재하지 않|찾을 수 없|할 수 없|깨졌|버그|장애|먹통",
        "ja": r"エラー|失敗|できません|できなかった|動かない|動きません|壊れ|落ちた|見つかりません|存在しません|拒否|不具合|障害",
        "zh": r"错误|錯誤|失败|失敗|无法|無法|报错|崩溃|找不到|不存在|拒绝|超时|坏了|故障|出错",
        "es": r"\b(?:error|falló|fallo|no (?:pude|pudo|existe|funciona|se pudo|encontr\w+)|roto|rechazad\w+|caíd[oa])\b",
        "de": r"\b(?:fehler\w*|fehlgeschlagen|konnte .*nicht|existiert nicht|funktioniert nicht|kaputt|abgelehnt|abgestürzt|nicht gefunden|ausfall)\b",
        "fr": r"\b(?:erreur|échoué|échec|n['’](?:a pas pu|existe pas)|impossible|ne (?:marche|fonctionne) p\w+|refusé\w*|introuvable|panne|planté)\b",
    },
    "context": {
        "en": r"\b(?:(?:i'm|i am|we're|we are) (?:\w+ly )?(?:working|waiting|looking|thinking|planning|preparing|moving|travell?ing|writing|building|learning|reading|stuck)|currently|at the moment|right now|these days|in the middle of|waiting (?:for|on)|so far|in progress)\b",
        "ko": r"하는 중|하고 있|중이(?:야|에요|다|고)|지금 |요즘|현재|진행 ?중|기다리|작업 ?중|공부",
        "ja": r"ています|ているところ|している|最近|現在|今は|進行中|待って|勉強",
        "zh": r"正在|目前|现在|最近|在等|在做|进行中|在学",
        "es": r"\b(?:estoy \w+ndo|estamos \w+ndo|actualmente|ahora mismo|por ahora|de momento)\b",
        "de": r"\b(?:gerade|zurzeit|derzeit|im moment|momentan|arbeite an|warte auf)\b",
        "fr": r"\b(?:en train de|actuellement|en ce moment|j['’]attends|je travaille sur)\b",
    },
    "request": {
        "en": r"^(?:so |ok(?:ay)?,? |and |then |now |also |next,? )*(?:please |kindly |just )*(?:(?:can|could|would|will) you (?:please |also )?\w+|i(?:'d| would) like you to|i need you to|i want you to|help me|let'?s (?:see|check|look)|"
        r"add|analy[sz]e|arrange|ask|attach|back ?up|book|bring|build|buy|calculate|call|cancel|change|check|clean|close|compare|convert|copy|count|create|debug|delete|deploy|describe|disable|double[- ]check|download|draft|edit|email|enable|explain|export|file|find|fix|generate|get|give|go|import|install|list|log|look|make|mark|merge|message|move|note|open|order|organi[sz]e|pay|pick|plan|play|post|prepare|print|publish|pull|push|put|read|rebuild|record|refactor|remind|remove|rename|reply|research|reschedule|reset|restart|restore|retry|review|rewrite|roll back|run|save|schedule|search|send|set|share|show|sort|spawn|start|stop|submit|summari[sz]e|take|tell|test|text|track|translate|try|turn|update|upgrade|upload|use|verify|watch|write)\b(?!'s| is\b| are\b| was\b|:)|^(?!(?:i|i['’]m|my|we|the)\b).*\bplease (?!note)\w+|\bcan you\b|\bcould you\b",
        "ko": r"(?:해|어|아|봐|려|여|내|겨|워|꿔|켜|써|줘|둬|놔) ?(?:줘|주세요|줄래|줄 수|주시|주라|달라|봐|보세요)[요]?[.!?~]*|부탁(?:해|드|할)|(?:하세요|해라|(?:하|가|리|꾸|쓰|두|보|내|먹|놓|이)자|할래\?|바랍니다)[.!]*$|알려 ?줘|보여 ?줘|찾아 ?줘|예약해|보내 ?줘",
        "ja": r"(?:して|って|いて|えて|んで|せて|べて|けて)(?:ください|下さい|くれ|もらえ|ほしい|頂け|いただけ)|お願い|頼む|教えて",
        "zh": r"^(?:请|請|麻烦|帮我|幫我|给我|替我)|帮我|幫我|能不能|可以帮|请(?:你|把|帮)",
        "es": r"\b(?:por favor|puedes|podrías|ayúdame|necesito que|quiero que)\b|^(?:reserva|envía|manda|busca|crea|borra|escribe|haz|pon|compra|llama|muestra|revisa|cambia|cancela|despliega)\b",
        "de": r"\b(?:bitte|kannst du|könntest du|kannst du bitte|hilf mir)\b|^(?:buche|sende|schick\w*|suche|erstelle|lösche|schreib\w*|mach\w*|zeig\w*|prüf\w*|änder\w*|storniere|kauf\w*|such\w*)\b",
        "fr": r"\b(?:s['’]il te plaît|s['’]il vous plaît|stp|svp|peux-tu|pouvez-vous|pourrais-tu|aide[- ]moi)\b|^(?:réserve|envoie|cherche|crée|supprime|écris|fais|mets|achète|appelle|montre|vérifie|change|annule|déploie)\b",
    },
    "question": {
        "en": r"\?[\s\"')]*$|^(?:what(?:'?s| is| are| was| does| do| time)|who(?:'?s| is| was)|where(?:'?s| is| are| do)|when(?:'s| is| does| do)|how (?:do|does|can|much|many|long|far)|why (?:is|are|do|does|did|not))\b|^(?:what|when|where|who|whom|whose|why|how|which|is|are|do|does|did|can|could|should|would|will|have|has|was|were)\b[^.!]*\?",
        "ko": r"\?[\s\"')]*$|(?:까요|나요|니까|을까|ㄹ까|는지|인가요|는가요|ㄴ가요|어때|뭐야|언제야|어디야|누구야|얼마야|뭐지)[?.~]*$",
        "ja": r"[?？]\s*$|(?:ですか|ますか|でしょうか|かな|ませんか|どう)[。？?]*$",
        "zh": r"[?？]\s*$|(?:吗|嗎|呢|什么时候|多少|怎么样)[。？?]*$",
        "es": r"\?\s*$|^¿",
        "de": r"\?\s*$",
        "fr": r"\?\s*$",
    },
    "hedge": {
        "en": r"\b(?:maybe|perhaps|possibly|might|probably|i think|i guess|i believe|i suppose|not sure|unsure|likely|seems?|apparently|roughly|if i remember|iirc)\b",
        "ko": r"아마|것 ?같|듯(?:해|하|$)|모르겠|일지도|일 수도|어쩌면|글쎄|확실(?:하지|치) 않|아닐까",
        "ja": r"たぶん|多分|かもしれ|と思う|と思います|おそらく|らしい|みたい|気がする",
        "zh": r"可能|也许|也許|大概|好像|应该是|不确定|我觉得|估计",
        "es": r"\b(?:quizás?|tal vez|creo que|a lo mejor|probablemente|parece)\b",
        "de": r"\b(?:vielleicht|wahrscheinlich|ich glaube|ich denke|vermutlich|eventuell|scheint)\b",
        "fr": r"\b(?:peut-être|je crois|je pense|probablement|il semble|sans doute)\b",
    },
    # "Remember that …": asked to be kept; the words are dropped, the weight is not.
    "remember": {
        "en": r"^(?:please )?(?:can you |could you )?(?:remember|note|keep in mind|make a note|save a note|take a note|write down|jot down|don'?t forget|for the record|save to memory|memori[sz]e)(?: for (?:me|later|next time))?(?: that|:|,)?\s+(?!to\b)",
        "ko": r",?\s?(?:(?:이?라고|다고)\s?)?(?:꼭 |잘 )?(?:기억해|메모해|적어|기록해|저장해) ?(?:줘|주세요|둬|두세요|놔|놓으세요)[요]?[.!~]*$|^(?:기억해|메모)(?: ?줘|해)?[:,]\s?",
        "ja": r"(?:と|を)?(?:覚えて|メモして|記録して)(?:おいて)?(?:ください|ね)?[。！]?$",
        "zh": r"^(?:请)?(?:记住|记下|记一下|帮我记(?:住|一下)?|備忘)[:：，,]?|[，,。]\s?请?(?:记住|记下来?|记一下)[。！]?$",
        "es": r"^(?:recuerda|anota|apunta|ten en cuenta)(?: que|:)?\s+",
        "de": r"^(?:merk(?:e)? dir|notiere?|denk daran|vermerke)(?:,? dass|:|,)?\s+",
        "fr": r"^(?:souviens-toi|retiens|note|n['’]oublie pas)(?: que|:)?\s+",
    },
    "advice": {
        "en": r"\b(?:you (?:can|could|may|might|should|would|need to|want to)|consider|try (?:to|using)|in general|generally|typically|usually|it'?s (?:a good|best|worth|important)|for example|e\.g\.|such as|if you|keep in mind|note that|tips?|one option|another option|alternatively|make sure|remember to|it depends|let me)\b|^(?:here(?:'s| is| are)|this is|there are (?:several|many|a few)|to \w+|when|because|since|while)\b",
        "ko": r"(?:할|될|볼|갈|쓸|들|먹을) 수(?:도)? 있(?:어|습)|추천(?:해|드|합)|좋(?:아요|습니다|을 것)|하시면|하려면|보통은|일반적으로|예를 들|경우에는|참고로|다음과 같|방법(?:은|이|을)|팁",
        "ja": r"ことができます|おすすめ|場合は|一般的に|例えば|方法|といいでしょう|してみて",
        "zh": r"可以(?:试|考虑|用|通过)|建议|推荐|一般来说|例如|比如|如果您?|方法|以下",
        "es": r"\b(?:puedes|podrías|te recomiendo|generalmente|por ejemplo|si (?:quieres|necesitas)|consejos?)\b",
        "de": r"\b(?:du kannst|man kann|ich empfehle|im allgemeinen|zum beispiel|falls du|wenn du|tipps?)\b",
        "fr": r"\b(?:tu peux|vous pouvez|je recommande|en général|par exemple|si (?:tu|vous)|conseils?)\b",
    },
    "small_talk": {
        "en": r"^(?:(?:hi|hello|hey|yo|good (?:morning|afternoon|evening|night)|greetings|welcome(?: back)?|thanks?(?: you)?(?: so much| a lot| very much)?|thx|ty|cheers|great|perfect|nice|cool|awesome|excellent|wonderful|lovely|amazing|super|brilliant|sounds good|looks good|got it|understood|sure(?: thing)?|of course|certainly|absolutely|no problem|no worries|you'?re welcome|my pleasure|happy to help|glad (?:to (?:help|hear)|it|that)[^.!?]*|ok(?:ay)?|k|alright|right|yep|yeah|yes|yup|no|nope|bye|goodbye|see you(?: later| soon| tomorrow)?|talk (?:to you )?(?:later|soon)|take care|have a (?:great|good|nice|lovely)[^.!?]*|good (?:luck|question|idea|point|call|job)|great (?:question|idea|point|choice)|lol|haha+|hm+|oh|ah|wow|well done|congrat\w+[^.!?]*|sorry(?: about that)?|let me (?:know|check|see|think|look)[^.!?]*|one (?:moment|sec|second)[^.!?]*|just a (?:moment|sec|second)[^.!?]*|(?:i'?m )?on it|working on it|will do|noted|done|please|so|hope (?:this|that)[^.!?]*|feel free[^.!?]*|don'?t hesitate[^.!?]*|how (?:are you|can i help|may i help|is it going)[^.!?]*|what (?:shall|should|can|would you like)[^.!?]*(?:do|today|help)[^.!?]*|(?:is there )?anything else[^.!?]*|any(?: other)? questions[^.!?]*|would you like (?:me to |to )?(?:know|hear|see|more|help|anything)[^.!?]*|i(?:'d| would)? be happy to[^.!?]*|i(?:'m| am) (?:happy|glad|here|sorry)[^.!?]*|i (?:can|could) also[^.!?]*|that(?:'s| is| sounds) (?:great|good|nice|fine|perfect|awesome|fun|helpful|wonderful|exciting|delicious)[^.!?]*|sounds (?:great|like|delicious|fun)[^.!?]*|look at this|and another|same here|test(?:ing)?|much appreciated|that helps|never ?mind|what do you think|up to you|your call)(?: (?:there|again|everyone|all|man|mate|then|so much))?(?:[\s,.!?…:;)~♥❤️👍🙏😀😊🎉-]+|$)){1,5}$"
        r"|^(?:if you(?:'d| would)? (?:like|need|want|have)|let me know|shall i (?:help|continue|go on)|want me to (?:help|explain|continue))\b",
        "ko": r"^(?:(?:안녕(?:하세요|하십니까|히 ?(?:가|계)세요)?|반가워요?|반갑습니다|하이|좋은 ?(?:아침|하루|저녁)(?:이에요|입니다|되세요|보내세요)?|감사(?:합니다|해요|드려요|드립니다)?|고마워요?|고맙습니다|ㄱㅅ|땡큐|수고(?:하세요|했어요?|하셨습니다)?|네+|넵+|넹|예|응+|어|ㅇㅇ|ㅇㅋ|오케이|오키|그래요?|알겠(?:어요?|습니다|음)|알았어요?|확인(?:했어요|했습니다)?|좋아요?|좋습니다|좋네요?|굿|최고(?:예요|야)?|완벽(?:해요|합니다|하네요)?|대박|와+|오+|아+하?|음+|흠+|헐|ㅋ+|ㅎ+|하하+|ㅠ+|ㅜ+|아니(?:요|에요)?|괜찮아요?|별말씀을요?|천만에요|잘 ?자|잘 ?가|잘 ?있어|또 ?봐요?|이따 ?봐|그렇군요?|그렇구나|맞아요?|맞습니다|진짜\??|정말요?\??|더 ?필요한 ?(?:것|거|게)[^.!?]*|더 ?도와드릴[^.!?]*|무엇을 ?도와드릴까요|언제든지? ?(?:말씀|물어|불러)[^.!?]*|도움이 ?(?:되|필요)[^.!?]*|궁금한 ?(?:점|게|거)[^.!?]*|필요하(?:시)?면[^.!?]*|잠시만요?|잠깐만요?|기다려 ?(?:줘|주세요)|죄송(?:합니다|해요)|미안(?:해|해요)?|축하(?:해요?|합니다|드려요)?|파이팅|화이팅|힘내세요?|다행(?:이네요|이에요|이다|입니다)|재밌겠(?:다|네요|어요)|맛있겠(?:다|네요|어요)|도움이 많이 됐어요?)(?:[\s,.!?~^…ㅎㅋㅠㅜ👍🙏😊🎉]+|$)){1,5}$",
        "ja": r"^(?:(?:こんにちは|こんばんは|おはよう(?:ございます)?|はじめまして|ありがとう(?:ございま(?:す|した))?|どうも|お疲れ(?:様|さま)(?:です|でした)?|はい|うん|ええ|いいえ|了解(?:です|しました)?|承知しました|わかりました|分かりました|わかった|なるほど|いいですね|すごい|素晴らしい(?:です)?|すみません|ごめん(?:なさい)?|じゃあね|またね|お願いします|よろしく(?:お願いします)?|何かお手伝い[^。！？]*|他に(?:何か|も)[^。！？]*|どういたしまして|お気軽に[^。！？]*|いつでも[^。！？]*|オーケー|笑|w+)(?:[\s、。！!？?~〜…]+|$)){1,5}$",
        "zh": r"^(?:(?:你好|您好|嗨|早上好|早安|晚上好|晚安|下午好|谢谢(?:你|您)?|謝謝|多谢|感谢|不客气|不用谢|好(?:的|吧|呀|啊)?|嗯+|哦+|是(?:的|啊)?|对(?:的|啊)?|行|可以|没问题|明白(?:了)?|知道了|了解|收到|太好了|太棒了|不错|厉害|哈哈+|再见|拜拜|回头见|对不起|抱歉|辛苦了|还有(?:什么|其他)[^。！？]*|需要(?:我|什么)?帮[^。！？]*|有什么可以[^。！？]*|随时[^。！？]*|如果您?(?:需要|还有)[^。！？]*|加油|恭喜)(?:[\s，。！!？?~…]+|$)){1,5}$",
        "es": r"^[¡¿\s]*(?:(?:hola|qué tal|buenos días|buenas (?:tardes|noches)|gracias|muchas gracias|de nada|vale|ok|perfecto|genial|bien|muy bien|claro|por supuesto|entendido|adiós|hasta (?:luego|mañana|pronto)|sí|no|¿algo más[^.!?]*|¿en qué puedo[^.!?]*|¿cómo estás|estupendo|excelente|un saludo|avísame[^.!?]*|si necesitas[^.!?]*)(?:[\s,.!?¡¿…]+|$)){1,5}$",
        "de": r"^(?:(?:hallo|hi|guten (?:morgen|tag|abend)|gute nacht|danke(?: schön| dir| sehr)?|vielen dank|bitte(?: schön| sehr)?|gern(?:e)?(?: geschehen)?|ok(?:ay)?|super|toll|prima|perfekt|alles klar|verstanden|klar|natürlich|ja|nein|tschüss|bis (?:dann|später|bald)|gut zu wissen|notiert|das freut mich|auf wiedersehen|kann ich (?:sonst|noch)[^.!?]*|sonst noch[^.!?]*|wie kann ich[^.!?]*|sag (?:mir )?bescheid[^.!?]*|kein problem|schönen (?:tag|abend)[^.!?]*)(?:[\s,.!?…]+|$)){1,5}$",
        "fr": r"^(?:(?:bonjour|bonsoir|salut|coucou|merci(?: beaucoup| bien)?|de rien|je vous en prie|d['’]accord|ok|parfait|super|génial|très bien|bien sûr|entendu|compris|(?:c['’]est )?noté|oui|non|au revoir|à (?:bientôt|demain|plus)|bonne (?:journée|soirée|nuit)|autre chose[^.!?]*|comment puis-je[^.!?]*|n['’]hésitez? pas[^.!?]*|ça va|excellent)(?:[\s,.!?…]+|$)){1,5}$",
    },
    # "Noted: …", "I will remember that …": what the assistant says before it repeats the person's words.
    "acknowledged": {
        "en": r"^(?:(?:got it|noted|understood|ok(?:ay)?|sure|great|perfect|thanks(?: for (?:the|your) [a-z ]{3,30})?|done|alright|saved(?: [\w./-]+)?|of course|absolutely|will do|duly noted)[,.:;!—–-]+\s*)*(?:i(?:'ll| will| have|'ve) (?:now )?(?:remember(?:ed)?|note[d]?|keep in mind|save[d]?|make a note|made a note|recorded?)(?: that)?|i'll (?:make sure|be sure)(?: to)?|so,?|that|noted|remembered|saved)?[:,]?\s*",
        "ko": r"^(?:네|넵|알겠습니다|알겠어요|확인했습니다|좋아요|메모했습니다|기억(?:할게요|하겠습니다|해 ?둘게요))[,.!:]*\s*|(?:라고|다고|이라고|는 ?것을?|는 ?걸)?\s?(?:기억(?:하겠습니다|할게요|해 ?둘게요|해 ?두겠습니다)|메모(?:했습니다|해 ?둘게요|했어요)|저장(?:했습니다|했어요)|기록(?:했습니다|했어요))[.!]*$",
        "ja": r"^(?:はい|承知しました|わかりました|了解(?:です|しました)|かしこまりました)[、。]*|[、。]?\s?(?:承知しました|わかりました|了解(?:です|しました))[。]*$|(?:と|を)?(?:覚えておきます|覚えました|メモしました|記録しました)[。]*$",
        "zh": r"^(?:好的?|明白了?|收到|知道了|记住了|已记(?:住|下|录))[，。！,!:：]*(?:我(?:会)?(?:记住|记下)了?[，,:：]?)?",
        "es": r"^(?:entendido|anotado|vale|de acuerdo|perfecto)[,.:!]*\s*(?:recordaré que|he anotado que)?\s*",
        "de": r"^(?:verstanden|notiert|alles klar|ok(?:ay)?|gut)[,.:!]*\s*(?:ich merke mir,? dass|ich habe notiert,? dass)?\s*",
        "fr": r"^(?:compris|noté|d['’]accord|entendu|parfait)[,.:!]*\s*(?:je retiens que|j['’]ai noté que)?\s*",
    },
    # The success of these is nothing to remember.
    "reading": {
        "en": r"^(?:please |can you |could you |would you |now |just |also |then )*(?:list|show|read|look|open|print|display|cat|see|check|view|tell me|explain|describe|count|calculate|search|find|what|which|spawn|summari[sz]e|translate|give me)\b",
        "ko": r"(?:보여|읽어|열어|찾아|알려|설명해|요약해|번역해|검색해|계산해) ?(?:줘|주세요|봐|줄래)",
        "ja": r"(?:見せて|読んで|開いて|探して|教えて|説明して|要約して|翻訳して)",
        "zh": r"(?:看看|看一下|显示|读一下|打开|找一下|告诉我|解释|总结|翻译|搜索)",
        "es": r"^(?:muestra|lee|lista|abre|busca|explica|resume|traduce|dime)\b",
        "de": r"^(?:zeig\w*|lies|liste|öffne|such\w*|erklär\w*|fass\w*|übersetz\w*|sag mir)\b",
        "fr": r"^(?:montre|lis|liste|ouvre|cherche|explique|résume|traduis|dis-moi)\b",
    },
    # A short answer to a question.
    "answer": {
        "en": r"^(?:yes|yeah|yep|yup|no|nope|nah|sure|ok(?:ay)?|correct|right|exactly|do (?:it|that|both)|go (?:ahead|for it)|please do|let'?s do (?:it|that)|sounds good|the (?:first|second|third|fourth|last|former|latter|other)(?: one)?|(?:option|number|no\.?|choice) ?(?:[1-9a-e]|one|two|three)|both|neither|none|all of them|[1-9a-e][.)]?|not now|later|fine|agreed|that one|this one|perfect|works for me|confirmed?)\b",
        "ko": r"^(?:네|넵|넹|예|응|어|ㅇㅇ|ㅇㅋ|그래|좋아|좋아요|맞아|맞아요|아니|아니요|아뇨|괜찮아|됐어|해 ?줘|해 ?주세요|그걸로|그렇게|진행|[첫두세네] ?번째|[1-9] ?번|[일이삼사] ?번|둘 ?다|나중에|오케이|오키)",
        "ja": r"^(?:はい|うん|ええ|いいえ|いや|お願いします|それで|そうして|[1-9]番|[一二三]番目|[一二三]つ目|両方|どちらも|やって|後で|大丈夫)",
        "zh": r"^(?:是|好|可以|行|对|不|不用|不要|嗯|第[一二三四]个?|选?[1-9一二三]号?|都|就这个|做吧|没问题|确认)",
        "es": r"^(?:sí|si|no|vale|claro|de acuerdo|hazlo|la (?:primera|segunda|tercera)|el (?:primero|segundo|tercero)|opción \w+|ambos|adelante)\b",
        "de": r"^(?:ja|nein|ok(?:ay)?|gern|klar|mach das|die (?:erste|zweite|dritte)|option \w+|beide|passt|los)\b",
        "fr": r"^(?:oui|non|d['’]accord|ok|vas-y|fais-le|l[ea] (?:première?|deuxième|second[e]?|troisième)|option \w+|les deux)\b",
    },
    # The host's and tools' own workings, which are not the person's world.
    "machinery": {
        "en": r"\b(?:sub-?agents?|tool (?:finished|call|result|output)|stdout|stderr|system prompt|context window|heartbeat|cron job|session key)\b|^current time:|^\[?note\]?$|^\s*[{<\[]",
    },
    "lead_in": {
        "en": r"^(?:(?:by the way|btw|oh|ah|ugh|then|lol|haha+|hm+|nice|cool|ok(?:ay)?|so|well|also|and|(?:hey|hi|hello)(?: all| everyone| team| there| guys)?|yes|yeah|right|great|good|thanks|thank you|perfect|no problem|sure|fyi|just so you know|just fyi|anyway|one more thing|another thing|for your information|good (?:morning|afternoon|evening)|please)(?:[,.!:…—–-]+\s*|\s+(?=(?:my|i|i'm|i've|i'll|the|we|we're|she|he|it|they|there|then|this|that|from now|never|always|please|by the way|btw|also|one more|so|can|could|\d)\b)))+",
        "ko": r"^(?:(?:그리고|그런데|근데|참고로|아 ?참|아 ?맞다|맞다|참|아|저기|음|네|넵|응|안녕하세요|안녕|고마워|감사합니다|좋아|그럼|일단)[,.!~… ]+)+",
        "ja": r"^(?:(?:ちなみに|ところで|あと|それと|そういえば|えっと|あの|はい|こんにちは|ありがとう(?:ございます)?)[、。！ ]+)+",
        "zh": r"^(?:(?:对了|顺便说一下|顺便|另外|还有|那个|嗯|好的?|你好|谢谢)[，。！, ]+)+",
        "es": r"^(?:(?:por cierto|además|bueno|hola|vale|oye|gracias|ah)[,.! ]+)+",
        "de": r"^(?:(?:übrigens|außerdem|also|hallo|ach ja|danke|gut|okay)[,.! ]+)+",
        "fr": r"^(?:(?:au fait|d['’]ailleurs|bonjour|alors|bon|merci|ah)[,.! ]+)+",
    },
    "tail": {
        "en": r"(?:[,;]?\s+(?:please|btw|by the way|lol|haha|thanks|thank you|thx|ok\?|okay\?|right\?|cheers|if you can|when you get a chance|if possible))+[.!?]*$",
        "ko": r"(?:[,.!~]?\s*(?:고마워요?|감사합니다|부탁해요?|부탁드려요|부탁드립니다|ㅎ+|ㅋ+|ㅠ+|ㅜ+|^^))+[.!~]*$",
        "ja": r"(?:[、。！]\s*(?:お願いします|ありがとう(?:ございます)?|よろしくお願いします|笑))+[。！]*$",
        "zh": r"(?:[，。！]\s*(?:谢谢(?:你|您)?|拜托了?|麻烦了))+[。！]*$",
        "es": r"(?:[,;]?\s+(?:por favor|gracias))+[.!]*$",
        "de": r"(?:[,;]?\s+(?:bitte|danke))+[.!]*$",
        "fr": r"(?:[,;]?\s+(?:s['’]il te plaît|s['’]il vous plaît|merci|stp|svp))+[.!]*$",
    },
    # A sentence that cannot stand without the one before it.
    "depends": {
        "en": r"^(?:it|it's|its|he|he's|his|she|she's|her|they|they're|their|them|that|that's|this|these|those|there|which|because|otherwise|then|but|and|so|also|same|only|except|instead|reference|ref|total|code|confirmation)\b",
        "ko": r"^(?:이름[은이]|나이[는가]|가격[은이]|색[은이]|그건|그게|그거|그걸|그래서|그리고|그런데|하지만|그|이건|이게|거기|걔|왜냐|대신|단,|물론)\s?",
        "ja": r"^(?:それ|これ|その|この|あれ|そこ|彼|彼女|でも|だから|ただし|なので)",
        "zh": r"^(?:它|他|她|那|这|這|所以|但|因为|而且|不过|只是)",
        "es": r"^(?:él|ella|eso|esto|ellos|pero|porque|así que|también)\b",
        "de": r"^(?:er|sie|es|das|dies\w*|aber|weil|deshalb|dort|also|sonst)\b",
        "fr": r"^(?:il|elle|ils|elles|c['’]est|ça|cela|mais|parce que|donc)\b",
    },
    "own_voice": {
        "en": r"\b(?:i|i'm|i've|i'll|i'd|my|me|mine|we|our|us)\b",
        "ko": r"(?:^|\s)(?:나(?:는|도|한테|에게|랑|를)|난\s|저(?:는|도|한테|에게|희)|전\s|내가|제가|내\s|제\s|우리)",
        "ja": r"私|僕|俺|うち",
        "zh": r"我",
        "es": r"\b(?:yo|me|mi|mis|nos|nuestr\w+|prefiero|quiero|tengo|vivo|trabajo|soy|estoy|necesito|debo|voy|odio|bebo|como|hago|suelo)\b",
        "de": r"\b(?:ich|mich|mir|mein\w*|wir|uns|unser\w*)\b",
        "fr": r"\b(?:je|j['’]|me|m['’]|mon|ma|mes|nous|notre|nos)",
    },
    "no_news": {
        "en": r"^(?:(?:done|ok(?:ay)?|sure|noted|got it|all set|completed?|finished|will do|saved|understood)[\s.!,]*)+$",
        "ko": r"^(?:(?:네|넵|알겠습니다|완료(?:했습니다|됐습니다|했어요)?|처리했습니다|다 했어요|했습니다)[\s.!,]*)+$",
        "ja": r"^(?:(?:完了(?:しました|です)?|終わりました|しました|はい|承知しました)[\s。！、]*)+$",
        "zh": r"^(?:(?:好的?|完成了?|已完成|搞定了?|做好了)[\s。！，]*)+$",
        "es": r"^(?:(?:hecho|listo|ok|vale)[\s.!,]*)+$",
        "de": r"^(?:(?:erledigt|fertig|ok(?:ay)?|gemacht)[\s.!,]*)+$",
        "fr": r"^(?:(?:fait|c['’]est fait|terminé|ok)[\s.!,]*)+$",
    },
}  # fmt: skip

_NOWHERE = re.compile(r"(?!)")


@cache
def pattern(cue: Cue, language: Language) -> re.Pattern[str]:
    """The words of `cue` in `language`; matches nothing where the table has none."""
    words = _CUES[cue].get(language)
    return re.compile(words, re.IGNORECASE) if words else _NOWHERE


@lru_cache(maxsize=32_768)
def has(cue: Cue, text: str, language: Language) -> bool:
    """Whether `text` shows `cue`, in its own language or in English."""
    return bool(pattern(cue, language).search(text) or (language != "en" and pattern(cue, "en").search(text)))


def strip(cue: Cue, text: str, language: Language) -> str:
    """`text` without the words of `cue` at its start or end."""
    for tongue in dict.fromkeys((language, "en")):
        text = pattern(cue, tongue).sub("", text, count=1) if pattern(cue, tongue).search(text) else text
    return text.strip()


def cues() -> tuple[Cue, ...]:
    """The names of all cues."""
    return tuple(_CUES)


def languages(cue: Cue) -> tuple[Language, ...]:
    """The languages that have words for `cue`."""
    return tuple(_CUES[cue])
