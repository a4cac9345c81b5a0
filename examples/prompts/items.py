"""The items: 14 families of 30 questions with one short right answer each, and 3 worked examples a family.

Everything is written down here or computed from an index, so the items come out the same everywhere.
"""

from dataclasses import dataclass

ITEMS_PER_FAMILY = 30
EXAMPLES_PER_FAMILY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One question with its only right answer; `name` is the family and a number from 01, unique among all items."""

    family: str
    name: str
    question: str
    expected: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One kind of question: worked (question, answer) pairs to show, and the items to ask."""

    name: str
    worked: tuple[tuple[str, str], ...]
    items: tuple[Item, ...]


# Each text is "subject=answer" pairs; the first three of a family are its worked examples.
_FACTS: tuple[tuple[str, str, str], ...] = (
    (
        "capital",
        "What is the capital of {}?",
        "Portugal=Lisbon; Kenya=Nairobi; Vietnam=Hanoi; France=Paris; Germany=Berlin; Italy=Rome; Spain=Madrid; "
        "the United Kingdom=London; Russia=Moscow; China=Beijing; Japan=Tokyo; Greece=Athens; Egypt=Cairo; "
        "Poland=Warsaw; Austria=Vienna; Hungary=Budapest; Sweden=Stockholm; Norway=Oslo; Finland=Helsinki; "
        "Denmark=Copenhagen; Ireland=Dublin; Belgium=Brussels; Canada=Ottawa; Australia=Canberra; Peru=Lima; "
        "Chile=Santiago; Cuba=Havana; Iran=Tehran; Iraq=Baghdad; Thailand=Bangkok; Turkey=Ankara; Bulgaria=Sofia; "
        "Romania=Bucharest",
    ),
    (
        "continent",
        "On which continent is {}?",
        "Ireland=Europe; Ghana=Africa; Nepal=Asia; France=Europe; Kenya=Africa; Japan=Asia; Germany=Europe; "
        "Nigeria=Africa; China=Asia; Italy=Europe; Ethiopia=Africa; India=Asia; Spain=Europe; Morocco=Africa; "
        "Vietnam=Asia; Poland=Europe; Algeria=Africa; Thailand=Asia; Norway=Europe; Tanzania=Africa; Mongolia=Asia; "
        "Austria=Europe; Uganda=Africa; Pakistan=Asia; Belgium=Europe; Senegal=Africa; Iraq=Asia; Greece=Europe; "
        "Zambia=Africa; Malaysia=Asia; Hungary=Europe; Angola=Africa; Cambodia=Asia",
    ),
    (
        "opposite",
        'What is the opposite of "{}"?',
        "inside=outside; rich=poor; ancestor=descendant; up=down; north=south; east=west; black=white; wet=dry; "
        "hot=cold; yes=no; true=false; first=last; day=night; alive=dead; push=pull; buy=sell; male=female; "
        "maximum=minimum; even=odd; positive=negative; above=below; import=export; increase=decrease; "
        "multiply=divide; victory=defeat; question=answer; arrival=departure; internal=external; majority=minority; "
        "vertical=horizontal; absent=present; before=after; full=empty",
    ),
    (
        "plural",
        'What is the plural of "{}"?',
        "tooth=teeth; dog=dogs; city=cities; child=children; mouse=mice; foot=feet; goose=geese; man=men; "
        "woman=women; ox=oxen; leaf=leaves; knife=knives; wolf=wolves; box=boxes; glass=glasses; baby=babies; "
        "cat=cats; tree=trees; book=books; house=houses; dish=dishes; church=churches; story=stories; lady=ladies; "
        "wife=wives; life=lives; half=halves; shelf=shelves; potato=potatoes; hero=heroes; tomato=tomatoes; key=keys; "
        "toy=toys",
    ),
    (
        "past-tense",
        'What is the simple past tense of "{}"?',
        "take=took; walk=walked; write=wrote; go=went; come=came; see=saw; eat=ate; give=gave; know=knew; run=ran; "
        "sit=sat; stand=stood; think=thought; bring=brought; buy=bought; catch=caught; teach=taught; find=found; "
        "fly=flew; grow=grew; hold=held; keep=kept; leave=left; lose=lost; make=made; say=said; sell=sold; send=sent; "
        "speak=spoke; swim=swam; tell=told; win=won; begin=began",
    ),
    (
        "chemical-symbol",
        "What is the chemical symbol for {}?",
        "barium=Ba; mercury=Hg; uranium=U; hydrogen=H; helium=He; lithium=Li; carbon=C; nitrogen=N; oxygen=O; "
        "fluorine=F; neon=Ne; sodium=Na; magnesium=Mg; silicon=Si; phosphorus=P; sulfur=S; chlorine=Cl; argon=Ar; "
        "potassium=K; calcium=Ca; titanium=Ti; chromium=Cr; manganese=Mn; iron=Fe; cobalt=Co; nickel=Ni; copper=Cu; "
        "zinc=Zn; silver=Ag; tin=Sn; iodine=I; gold=Au; lead=Pb",
    ),
)

_LETTER_WORDS = (
    "garden hotel tiger apple bread chair dream engine flower green honey island juice kitchen lemon mountain night "
    "orange paper queen river silver table uncle village window yellow zebra bridge candle doctor forest music"
)
_LENGTH_WORDS = (
    "sun train pencil cat fish apple orange kitchen elephant dog bird chair bottle blanket mountain box lamp table "
    "winter morning computer cup door bread flower picture hospital key milk river doctor teacher birthday"
)
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_MONTHS = "January February March April May June July August September October November December"
_SMALL_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety"
_ROMAN = ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))


def build_families() -> tuple[Family, ...]:
    """All 14 families in their fixed order."""
    facts = [(name, _read_facts(template, text)) for name, template, text in _FACTS]
    computed = [
        ("calendar", _ask_calendar()),
        ("addition", [_ask_sum(2 + 7 * i % 18, 3 + 5 * i % 13) for i in range(33)]),
        ("subtraction", [_ask_difference(10 + 7 * i % 19, 1 + 5 * i % 9) for i in range(33)]),
        ("larger", [_ask_larger(10 + 37 * i % 89, 11 + 53 * i % 83) for i in range(1, 34)]),
        ("first-letter", [(f'What is the first letter of the word "{w}"?', w[0]) for w in _LETTER_WORDS.split()]),
        ("word-length", [(f'How many letters are in the word "{w}"?', str(len(w))) for w in _LENGTH_WORDS.split()]),
        ("number-word", [_ask_digits(12 + (13 + 29 * i) % 88) for i in range(33)]),
        ("roman-numeral", [_ask_roman(2 + (5 + 11 * i) % 38) for i in range(33)]),
    ]
    return tuple(_build_family(name, pairs) for name, pairs in facts + computed)


def build_items() -> tuple[Item, ...]:
    """All 420 items, family by family: the order in which they are asked and recorded."""
    return tuple(item for family in build_families() for item in family.items)


def _build_family(name: str, pairs: list[tuple[str, str]]) -> Family:
    asked = pairs[EXAMPLES_PER_FAMILY : EXAMPLES_PER_FAMILY + ITEMS_PER_FAMILY]
    items = tuple(
        Item(family=name, name=f"{name}-{number:02d}", question=question, expected=expected)
        for number, (question, expected) in enumerate(asked, start=1)
    )
    return Family(name=name, worked=tuple(pairs[:EXAMPLES_PER_FAMILY]), items=items)


def _read_facts(template: str, text: str) -> list[tuple[str, str]]:
    pairs = [pair.split("=") for pair in text.split("; ")]
    return [(template.format(subject), answer) for subject, answer in pairs]


def _ask_calendar() -> list[tuple[str, str]]:
    days, months = _DAYS.split(), _MONTHS.split()
    after = [_ask_neighbour("day", days, i, 1) for i in range(7)] + [
        _ask_neighbour("month", months, i, 1) for i in range(10)
    ]
    before = [_ask_neighbour("day", days, i, -1) for i in range(7)] + [
        _ask_neighbour("month", months, i, -1) for i in range(2, 11)
    ]
    worked = [after.pop(6), before.pop(2), before.pop(10)]
    return worked + after + before


def _ask_neighbour(kind: str, names: list[str], index: int, step: int) -> tuple[str, str]:
    side = "after" if step == 1 else "before"
    return f"Which {kind} comes right {side} {names[index]}?", names[(index + step) % len(names)]


def _ask_sum(left: int, right: int) -> tuple[str, str]:
    return f"What is {left} plus {right}?", str(left + right)


def _ask_difference(left: int, right: int) -> tuple[str, str]:
    return f"What is {left} minus {right}?", str(left - right)


def _ask_larger(left: int, right: int) -> tuple[str, str]:
    return f"Which number is larger, {left} or {right}?", str(max(left, right))


def _ask_digits(number: int) -> tuple[str, str]:
    return f"Write the number {_spell_number(number)} in digits.", str(number)


def _spell_number(number: int) -> str:
    small = _SMALL_NUMBERS.split()
    if number < len(small):
        return small[number]
    tens, ones = divmod(number, 10)
    return _TENS.split()[tens] + (f"-{small[ones]}" if ones else "")


def _ask_roman(number: int) -> tuple[str, str]:
    numeral, rest = "", number
    for value, letters in _ROMAN:
        numeral += letters * (rest // value)
        rest %= value
    return f"Write the Roman numeral {numeral} in ordinary digits.", str(number)
