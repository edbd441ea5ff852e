"""Two months of a person's life and work, as an observer would have noted them: about 40,000 tokens, always the same.

Every line comes with three ways in which its owner may ask for it later. They were written before the first search
hook was: they are what a person would type, not what the program is known to produce.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone

from total_recall.memory.line import format_observation
from total_recall.observations import certainty_of, priority_of
from total_recall.records import Observation, ObservationType

TODAY = date(2026, 12, 1)
DAYS = 60
Asks = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Told:
    """One line of the two months. `asks` are what a person would search for; `critical` lines must never leave."""

    observation: Observation
    asks: Asks
    critical: bool
    topic: str


Row = tuple[str, Asks]

THREADS: dict[str, tuple[ObservationType, float, tuple[Row, ...]]] = {
    "kitchen": ("event", 6.0, (
        ("Kitchen renovation: the electrician Mr. Oh found the old wiring broken behind the sink, {n} won more",
         ("wiring", "electrician", "cables in the kitchen")),
        ("Kitchen renovation: the cabinets from Hanssem arrived {d} days late and one door was scratched",
         ("cabinet", "scratched door", "cupboard")),
        ("Kitchen renovation: the tiler finished the wall in {h} hours, grout colour is light grey",
         ("tile", "grout", "wall finished")),
        ("Kitchen renovation: the oven breaker tripped again, Mr. Oh replaced it", ("breaker", "oven", "power cut")),
        ("Kitchen renovation: paid the second instalment of {n} won to Mr. Oh",
         ("instalment", "paid Mr. Oh", "renovation payment")),
    )),
    "migration": ("event", 5.5, (
        ("Moved the orders service to the Frankfurt cluster, it took {h} hours and nothing was down",
         ("orders service", "Frankfurt", "moved")),
        ("The orders service lost its connection pool after the move, fixed by raising the limit to {d}0",
         ("connection pool", "orders service", "limit")),
        ("Orders service: copied the old database to the Frankfurt cluster, {n} rows checked",
         ("database", "copied", "rows")),
        ("Orders service: latency in Frankfurt is {d}0 ms, Lena is content", ("latency", "slow", "Lena")),
        ("Orders service: deleted the old Dublin machines after the move to Frankfurt, saves {d}00 euros a month",
         ("Dublin", "savings", "old machines")),
    )),
    "running": ("event", 4.0, (
        ("Ran {d}.5 km along the Han river in {h}8 minutes, knee felt fine", ("run", "Han river", "jog")),
        ("Ran {d} km in the rain, left knee hurt after the hill", ("knee", "rain", "run")),
        ("Skipped the long run because of the cold, did {d} km on the treadmill", ("treadmill", "skipped", "run")),
    )),
    "mother": ("fact", 6.5, (
        ("Mother's blood pressure was {d}0 over 90 at Dr. Baek's, new pills for {h} weeks",
         ("blood pressure", "mother", "medicine")),
        ("Mother asked for help with her phone, the photos app was full", ("phone", "mother", "photos")),
        ("Mother is staying with aunt Soonja in Daegu for {d} days", ("Daegu", "aunt", "mother")),
    )),
    "taxes": ("event", 7.0, (
        ("Sent invoice 20{d}{h} over {n} euros to Brandt GmbH", ("invoice", "Brandt", "bill")),
        ("Brandt GmbH paid invoice 20{d}{h}, {n} euros arrived at the bank", ("Brandt", "paid", "payment")),
        ("The tax adviser Ms. Yoon asked for the receipts of the third quarter, {d} are missing",
         ("receipt", "tax", "Yoon")),
    )),
    "ci": ("event", 3.5, (
        ("The nightly build failed in the payment tests, {d} of them were flaky", ("nightly build", "flaky", "CI")),
        ("Fixed the flaky payment tests by pinning the clock, nightly build is green after {h} tries",
         ("flaky", "green build", "fixed")),
        ("The nightly build took {d}{h} minutes, cache was cold", ("nightly build", "slow build", "cache")),
    )),
    "garden": ("event", 2.5, (
        ("Watered the balcony tomatoes and counted {d} ripe ones", ("tomato", "balcony", "plants")),
        ("Put the basil inside, the night is at {h} degrees", ("basil", "cold night", "herbs")),
        ("Aphids on the balcony peppers again, sprayed soap water {d} times", ("aphids", "pepper", "pest")),
    )),
    "guitar": ("event", 3.0, (
        ("Guitar lesson with Teo: practised the bridge of Blackbird for {h}0 minutes",
         ("guitar", "Blackbird", "lesson")),
        ("Guitar lesson with Teo: broke the B string, new set costs {d} euros", ("string", "guitar", "broke")),
    )),
    "korean": ("event", 4.5, (
        ("치과에서 김 선생님이 충치를 치료했고 {n}원을 냈다", ("치과", "충치", "이빨")),
        ("아들 지호가 수학 시험에서 {d}0점을 받았다", ("수학", "지호", "시험")),
        ("이사 견적을 {d}곳에서 받았고 한빛이사가 가장 쌌다", ("이사", "견적", "한빛")),
        ("자동차 정비소에서 브레이크 패드를 바꾸고 {n}원을 냈다", ("브레이크", "정비", "자동차")),
    )),
    "reading": ("context", 3.5, (
        ("Reading 'The Dispossessed', chapter {d}, finds the middle slow", ("Dispossessed", "book", "reading")),
        ("Listening to the podcast about Roman roads, episode {h}", ("podcast", "Roman", "listening")),
    )),
    "work": ("context", 5.0, (
        ("Comparing queue libraries for the mailer, {d} of them keep messages on restart",
         ("queue", "mailer", "libraries")),
        ("The mailer sends bounces twice when the queue restarts, {h} customers wrote", ("bounce", "mailer", "twice")),
        ("Drafting the talk about retries for the Berlin meetup, {d}0 slides so far", ("talk", "meetup", "slides")),
        ("Waiting for Ines to review the mailer change number {n}", ("review", "Ines", "waiting")),
    )),
    "people": ("fact", 5.0, (
        ("Colleague Ines moved to team Atlas and sits on floor {d} now", ("Ines", "Atlas", "floor")),
        ("Neighbour Haruto has a cat named Mochi and is away until week {h}", ("Haruto", "cat", "neighbour")),
        ("The new intern Paula studies in Leipzig and stays for {d} months", ("intern", "Paula", "Leipzig")),
        ("Landlord Mr. Sim wants the meter reading, it is {n}", ("landlord", "meter", "Sim")),
    )),
    "household": ("event", 2.0, (
        ("Bought oat milk, rice and {d} lemons at the corner shop", ("groceries", "shopping", "oat milk")),
        ("The washing machine finished, hung up {h} shirts", ("laundry", "washing machine", "shirts")),
        ("Ordered pizza for {d} people, it came late", ("pizza", "dinner", "delivery")),
        ("Took the parcel number {n} to the post office", ("parcel", "post office", "package")),
    )),
    "likes": ("preference", 5.0, (
        ("User prefers trains to planes below {h} hours", ("train", "plane", "travel")),
        ("User wants summaries with at most {d} points", ("summary", "points", "short")),
        ("User likes the window seat in row {d}", ("window seat", "seat", "row")),
    )),
}  # fmt: skip

ONCE: tuple[tuple[str, ObservationType, float, Asks], ...] = (
    (
        "Lost the blue umbrella on tram 12, the lost property office has not called",
        "event",
        4.0,
        ("umbrella", "lost property", "left on the tram"),
    ),
    ("Mina's school play is Peter and the Wolf, she is the duck", "fact", 5.5, ("school play", "theatre", "duck")),
    (
        "Cancelled the gym contract at Fitline, it ends with the quarter",
        "event",
        5.0,
        ("gym", "Fitline", "fitness membership"),
    ),
    ("The boiler showed error E14, the technician bled the radiators", "event", 5.5, ("boiler", "heating", "E14")),
    ("Found a wasp nest under the roof, the beekeeper took it away", "event", 4.0, ("wasp", "insects", "nest")),
    (
        "Returned the grey jacket to Zalenda, refund of 79.90 euros is on its way",
        "event",
        3.5,
        ("jacket", "refund", "money back"),
    ),
    ("Uncle Pete turned 70, gave him a telescope", "event", 5.0, ("telescope", "uncle's birthday", "Pete")),
    ("Watched the eclipse from the roof with Mina", "event", 4.5, ("eclipse", "sun", "roof")),
    ("The bicycle chain snapped near the museum, walked home", "event", 3.5, ("chain", "bike", "snapped")),
    ("Signed up for the pottery course on Wednesdays in January", "event", 5.0, ("pottery", "ceramics", "course")),
    (
        "Renewed the passport at the district office, number ends in 4471",
        "event",
        6.5,
        ("passport", "travel document", "district office"),
    ),
    ("Mina's maths tutor quit, looking for another one", "context", 5.5, ("tutor", "maths", "quit")),
    ("The ferry to Jeju was cancelled because of wind, took the plane", "event", 5.0, ("ferry", "Jeju", "boat")),
    ("Baked sourdough, the crumb was dense again", "event", 2.5, ("sourdough", "bread", "baking")),
    ("The smoke detector in the hall needs a 9 volt battery", "fact", 5.0, ("smoke detector", "fire alarm", "battery")),
    ("Lent the drill to Haruto", "event", 3.0, ("drill", "tool", "lent")),
    ("The vet says that Mochi needs a diet", "fact", 4.0, ("vet", "diet", "overweight cat")),
    ("Sold the old monitor for 60 euros on the flea market app", "event", 3.0, ("monitor", "screen", "sold")),
    (
        "Grandfather's watch is at the watchmaker's, spring is worn out",
        "fact",
        5.5,
        ("watch", "watchmaker", "repair of the clock"),
    ),
    ("The choir sings Fauré's Requiem in the church on the hill", "fact", 4.5, ("choir", "Requiem", "concert")),
    (
        "Choosing between heat pump and gas, the adviser comes with figures",
        "context",
        6.0,
        ("heat pump", "gas", "heating choice"),
    ),
    ("Chess club: beat Ulrich with the Caro-Kann", "event", 3.0, ("chess", "Ulrich", "Caro-Kann")),
    (
        "The credit card was blocked after a strange charge from Lisbon",
        "event",
        7.2,
        ("credit card", "fraud", "Lisbon"),
    ),
    ("User's coffee grinder is set to 14 clicks for filter", "fact", 4.0, ("grinder", "coffee", "14 clicks")),
    ("Ordered new glasses, the left eye is at minus 2.25", "event", 5.5, ("glasses", "spectacles", "eye")),
    ("Locked out on Sunday, the locksmith took 140 euros", "event", 5.0, ("locksmith", "locked out", "key")),
    (
        "The hedgehog in the yard sleeps in the leaf pile, leave it",
        "fact",
        3.5,
        ("hedgehog", "leaf pile", "animal in the yard"),
    ),
    ("Elected to the parents' council with 31 votes", "event", 5.5, ("parents' council", "elected", "school board")),
    ("Swim badge: Mina dived 2 metres deep and got silver", "event", 5.0, ("swim", "silver", "diving")),
    ("Gave blood at the Red Cross, next time from February on", "event", 4.5, ("blood", "donation", "Red Cross")),
    ("옆집에 불이 나서 소방차가 왔지만 다친 사람은 없다", "event", 5.5, ("소방차", "화재", "옆집")),
    ("할머니 제사는 큰집에서 지냈고 전을 부쳤다", "event", 5.0, ("제사", "할머니", "큰집")),
    ("김장 배추 스무 포기를 절였다", "event", 4.0, ("김장", "배추", "김치")),
    ("헌혈 버스에서 혈압이 높다고 돌려보냈다", "event", 4.5, ("헌혈", "혈압", "피")),
    ("여권 사진을 다시 찍었다", "event", 3.5, ("여권", "사진", "증명사진")),
    ("Team decided to drop XML in favour of JSON for partner feeds", "preference", 6.0, ("XML", "JSON", "data format")),
    (
        "The certificate of shop.example expired at night, renewed by hand in 40 minutes",
        "event",
        7.0,
        ("certificate", "TLS", "expired"),
    ),
    ("Customer Okafor threatens to leave over the export bug", "event", 7.5, ("Okafor", "export", "unhappy customer")),
    (
        "Hired Salma as accessibility lead, starts with the new year",
        "event",
        6.5,
        ("Salma", "accessibility", "new hire"),
    ),
    (
        "The load balancer forgot sticky sessions after the patch, carts were empty",
        "event",
        6.8,
        ("sticky sessions", "load balancer", "empty carts"),
    ),
    (
        "Switched the search index from trigrams to stems, half the size",
        "event",
        5.0,
        ("search index", "stems", "trigrams"),
    ),
    ("Rotated the signing keys of the mobile app", "event", 6.0, ("signing keys", "mobile app", "rotation")),
    ("The fire drill took 6 minutes, floor 3 was slow", "event", 3.5, ("fire drill", "evacuation", "floor 3")),
    ("Printer on floor 2 only takes cyan from the third party", "fact", 3.0, ("printer", "cyan", "ink")),
)
"""What happened once: text, type, importance, and how it may be asked for."""

NIGHTLY = ("The backup of the house server finished in {d} minutes", ("backup", "house server", "finished"))

CRITICAL: tuple[tuple[str, ObservationType, float, float, int, int | None], ...] = (
    ("User is allergic to penicillin", "fact", 9.5, 0.98, 58, None),
    ("User's daughter Mina has epilepsy, emergency contact is Dr. Noh", "fact", 9.8, 0.98, 51, None),
    ("The safe deposit box is at Woori bank, branch Mapo", "fact", 9.0, 0.95, 44, None),
    ("User decided to leave Brandt GmbH at the end of March", "preference", 9.2, 0.95, 12, None),
    ("Never deploy on Fridays", "rule", 8.0, 0.97, 55, None),
    ("Always answer in Korean when mother is in the conversation", "rule", 7.5, 0.97, 47, None),
    ("항상 존댓말로 답한다", "rule", 6.0, 0.97, 33, None),
    ("Do not send mails without asking first", "rule", 8.5, 0.97, 29, None),
    ("User wants to run the Seoul half marathon in spring", "goal", 7.0, 0.9, 40, None),
    ("User wants to speak German at level B2", "goal", 6.0, 0.85, 57, None),
    ("User wants to pay the car off", "goal", 6.5, 0.9, 26, None),
    ("User runs on Tuesday and Saturday mornings", "habit", 5.0, 0.85, 49, None),
    ("User writes a journal before bed", "habit", 4.5, 0.8, 36, None),
    ("Flight OZ541 to Frankfurt leaves on 2026-12-19 at 12:30", "event", 7.0, 0.95, 31, 18),
    ("Mother's cataract operation is on 2026-12-09 at Severance", "event", 8.0, 0.95, 21, 8),
    ("The talk for the Berlin meetup is on 2027-01-14", "event", 6.0, 0.95, 19, 44),
    ("The lease ends on 2027-02-28 and Mr. Sim wants three months' notice", "fact", 8.0, 0.95, 50, 89),
    ("한빛이사가 2026-12-21에 온다", "event", 7.5, 0.95, 9, 20),
)
"""Text, type, importance, confidence, days ago, and in how many days the day is that it speaks of."""


def told(seed: int = 7) -> list[Told]:
    """The lines, oldest first."""
    rng = random.Random(seed)
    lines: list[Told] = []
    for ago in range(DAYS, -1, -1):
        day = TODAY - timedelta(days=ago)
        topics = rng.choices(sorted(THREADS), k=rng.randint(7, 11))
        for topic in topics:
            kind, importance, rows = THREADS[topic]
            text, asks = rng.choice(rows)
            value = min(8.9, max(1.0, importance + rng.uniform(-1.2, 1.6)))
            confidence = rng.choice((0.95, 0.9, 0.9, 0.8, 0.65, 0.5, 0.25))
            lines.append(_told(rng, text, asks, kind, value, confidence, day, topic))
        for text, kind, importance, asks in ONCE[DAYS - ago :: DAYS + 1]:
            lines.append(_told(rng, text, asks, kind, importance, 0.85, day, "once"))
        for _ in range(rng.randint(0, 2)):
            lines.append(_told(rng, *NIGHTLY, "event", 2.0, 0.9, day, "backup"))
        for text, kind, importance, confidence, days_ago, coming in CRITICAL:
            if days_ago == ago:
                refers = None if coming is None else TODAY + timedelta(days=coming)
                asks = (text[:6], text[-6:], text[3:9])
                lines.append(_told(rng, text, asks, kind, importance, confidence, day, "critical", refers))
    return lines


def _told(
    rng: random.Random,
    text: str,
    asks: Asks,
    kind: ObservationType,
    importance: float,
    confidence: float,
    day: date,
    topic: str,
    refers: date | None = None,
) -> Told:
    filled = text.format(d=rng.randint(2, 9), h=rng.randint(2, 9), n=f"{rng.randint(11, 990)},{rng.randint(100, 999)}")
    at = datetime.combine(day, time(rng.randint(7, 22), rng.randint(0, 59)), timezone.utc)
    name = f"m{rng.randrange(36**7):x}"
    observation = Observation(
        name,
        filled,
        at,
        priority_of(importance),
        kind,
        round(importance, 1),
        confidence,
        certainty_of(confidence),
        refers,
    )
    return Told(observation, asks, topic == "critical", topic)


def document(lines: list[Told]) -> bytes:
    """The memory that they make, with some words of the owner's own."""
    out = ["# Observations Log", "", "What I wrote here myself must stay: the Wi-Fi is called Nebel.", ""]
    for day in sorted({line.observation.at.date() for line in lines}):
        out += ["---", f"Date: {day.isoformat()}"]
        of_day = [line.observation for line in lines if line.observation.at.date() == day]
        out += [format_observation(observation) for observation in sorted(of_day, key=lambda o: o.at)]
        out += [""]
    return "\n".join(out).encode()
