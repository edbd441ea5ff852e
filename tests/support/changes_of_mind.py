"""Forty things that changed, with the question that asks for how it is now: (before, now, question)."""

from __future__ import annotations

ENGLISH = (
    ("User lives in Busan", "User moved to Seoul", "Where does the user live?"),
    ("User works at Hanbit as an accountant", "User started as a controller at Daram", "Where does the user work?"),
    ("Mina's phone number is 555-0142", "Mina has a new number: 555-0177", "What is Mina's phone number?"),
    (
        "The team meeting is on Mondays at 10",
        "The team meeting is now on Wednesdays at 14:00",
        "When is the team meeting?",
    ),
    ("User drives a red Corsa", "User sold the Corsa and drives a blue Leaf", "Which car does the user drive?"),
    (
        "User's favourite tea is oolong",
        "User has gone off oolong and prefers sencha",
        "What is the user's favourite tea?",
    ),
    (
        "The API key rotates every 90 days",
        "The API key rotates every 30 days since the audit",
        "How often does the API key rotate?",
    ),
    (
        "The database is Postgres 13",
        "The database was upgraded to Postgres 16",
        "Which Postgres version is the database?",
    ),
    ("User's doctor is Dr. Haas", "User changed to Dr. Lindqvist as family doctor", "Who is the user's doctor?"),
    (
        "Nora is allergic to penicillin",
        "Nora's penicillin allergy was ruled out by a test",
        "Is Nora allergic to penicillin?",
    ),
    (
        "The flight to Rome leaves at 07:15",
        "The flight to Rome was moved to 11:40",
        "When does the flight to Rome leave?",
    ),
    ("Rent is 900 EUR a month", "Rent went up to 980 EUR a month", "How much is the rent?"),
    ("User does not eat fish", "User eats fish again since the summer", "Does the user eat fish?"),
    (
        "The Wi-Fi password hint is the cat's name",
        "The Wi-Fi password hint is now the street",
        "What is the Wi-Fi password hint?",
    ),
    ("Release 2.4 is planned for 12 June", "Release 2.4 slipped to 3 July", "When is release 2.4?"),
    (
        "User is learning Spanish",
        "User stopped Spanish and is learning Portuguese",
        "What language is the user learning?",
    ),
    (
        "The plumber charges 60 EUR an hour",
        "The plumber charges 75 EUR an hour from this year",
        "What does the plumber charge?",
    ),
    ("Deploys go out on Fridays", "Deploys go out on Tuesdays, never on Fridays", "On which day do deploys go out?"),
    ("User's sister Ines is single", "Ines married Paolo in May", "Is Ines married?"),
    ("The gym closes at 21:00", "The gym is open until 23:00 now", "When does the gym close?"),
)
KOREAN = (
    ("사용자는 부산에 산다", "사용자는 서울로 이사했다", "사용자는 어디에 살아?"),
    ("민지는 한빛은행에 다닌다", "민지는 다람전자로 이직했다", "민지는 어디에 다녀?"),
    ("팀 회의는 월요일 10시다", "팀 회의는 수요일 오후 2시로 바뀌었다", "팀 회의가 언제야?"),
    ("월세는 60만 원이다", "월세가 65만 원으로 올랐다", "월세가 얼마야?"),
    ("좋아하는 차는 녹차다", "이제 녹차보다 보이차를 더 좋아한다", "무슨 차를 좋아해?"),
    ("할머니 전화번호는 555-0199이다", "할머니 전화번호가 555-0133으로 바뀌었다", "할머니 전화번호가 뭐야?"),
    ("치과 예약은 12월 3일이다", "치과 예약을 12월 10일로 옮겼다", "치과 예약이 언제야?"),
    ("데이터베이스는 MySQL을 쓴다", "데이터베이스를 Postgres로 바꿨다", "데이터베이스는 뭘 써?"),
    ("수진이는 땅콩 알레르기가 있다", "검사 결과 수진이 땅콩 알레르기는 없어졌다", "수진이는 땅콩 알레르기가 있어?"),
    ("고양이 이름은 나비다", "고양이 이름을 보리로 바꿔 부른다", "고양이 이름이 뭐야?"),
    ("배포는 금요일에 한다", "배포는 이제 화요일에 한다", "배포는 무슨 요일에 해?"),
    (
        "제주행 비행기는 오전 7시에 출발한다",
        "제주행 비행기가 오전 11시로 변경되었다",
        "제주행 비행기는 몇 시에 출발해?",
    ),
    ("헬스장은 밤 9시에 닫는다", "헬스장이 밤 11시까지 연다", "헬스장은 몇 시에 닫아?"),
    ("스페인어를 배우고 있다", "스페인어를 그만두고 포르투갈어를 배운다", "무슨 언어를 배우고 있어?"),
    ("지훈이의 직책은 대리다", "지훈이가 과장으로 승진했다", "지훈이 직책이 뭐야?"),
    ("아침에 커피를 두 잔 마신다", "커피를 끊고 아침에 우유를 마신다", "아침에 뭘 마셔?"),
    ("자동차는 빨간 아반떼다", "아반떼를 팔고 파란 아이오닉을 샀다", "자동차가 뭐야? 아반떼?"),
    ("출시일은 6월 12일이다", "출시일이 7월 3일로 밀렸다", "출시일이 언제야?"),
    ("생선을 안 먹는다", "여름부터 생선을 다시 먹는다", "생선을 먹어?"),
    ("과외 선생님은 김 선생님이다", "과외 선생님이 박 선생님으로 바뀌었다", "과외 선생님이 누구야?"),
)
PAIRS = (*ENGLISH, *KOREAN)

OLD_AND_EXACT = (
    ("The warranty number of the boiler is VX-40771", "What is the warranty number of the boiler?"),
    ("Grandfather's watch was repaired at Nomos in Glashütte", "Where was grandfather's watch repaired?"),
    ("The spare key lies under the third flowerpot", "Where is the spare key?"),
    ("User's blood type is AB negative", "What is the user's blood type?"),
    ("The first invoice of Kestrel Ltd was 1,482.50 EUR", "How much was the first invoice of Kestrel?"),
    ("보일러 보증 번호는 VX-40772이다", "보일러 보증 번호가 뭐야?"),
    ("할아버지 시계는 종로에서 고쳤다", "할아버지 시계를 어디서 고쳤어?"),
    ("여분 열쇠는 세 번째 화분 밑에 있다", "여분 열쇠가 어디 있어?"),
    ("사용자의 혈액형은 AB형이다", "사용자 혈액형이 뭐야?"),
    ("충주 사과가 맛있네", "충주 시에 충주 사과가 맛있었지?"),
)
"""Said three years ago, once: (what was said, the question)."""
