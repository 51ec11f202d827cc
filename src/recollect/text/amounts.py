"""Amounts: numbers and what they count or measure, in one notation."""

import re
from collections.abc import Sequence
from decimal import Decimal

from recollect.text.canonical_tokens import BREAK, Token
from recollect.text.lexicon import GRAMMAR, singular, words

FIGURE = r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?"
LEADING = re.compile(rf"[-+]?{FIGURE}")
THOUSANDFOLD = re.compile(r"[-+]?[1-9][0-9]{0,2}\.[0-9]{3}")
"""Three digits behind a point are thousands to half of the world, so such a number is only the same as itself."""


def counted(sentence: list[Token]) -> list[Token]:
    """The sentence with figures for number words; COUNTING are those."""
    found: list[Token] = []
    at = 0
    while at < len(sentence):
        value, end = _number_from(sentence, at)
        if value is not None:
            said = " ".join(token.said for token in sentence[at:end])
            found.append(Token(value, "number", said))
            at = end
        else:
            token = sentence[at]
            ordinal = _ORDINALS.get(token.key)
            found.append(token if ordinal is None else Token(ordinal, "number", token.said))
            at += 1
    return found


_MOST_FIGURES = 15


def _number_from(sentence: Sequence[Token], at: int) -> tuple[str | None, int]:
    """The number that begins there, and where it ends."""
    first = sentence[at]
    if first.sort == "number" and first.key not in _SMALL:
        scale = SCALES.get(sentence[at + 1].key) if at + 1 < len(sentence) else None
        if scale is None or len(first.key) > _MOST_FIGURES or not LEADING.fullmatch(first.key):
            return None, at
        if THOUSANDFOLD.fullmatch(first.key):
            return None, at
        scaled = Decimal(first.key) * scale
        whole = scaled == scaled.to_integral_value()
        return (str(int(scaled)), at + 2) if whole else (None, at)
    after_article = at > 0 and sentence[at - 1].key in ("a", "an")
    if first.key not in _SMALL and not (after_article and first.key in _HUNDREDS):
        return None, at
    total, part, last = 0, 1, 0
    if first.key in _SMALL:
        part = last = _SMALL[first.key]
        at += 1
    while at < len(sentence):
        key = sentence[at].key
        if key in _HUNDREDS and part:
            if key == "hundred":
                part *= 100
            else:
                total, part = total + part * _HUNDREDS[key], 0
            last = _HUNDREDS[key]
            at += 1
            if total > 10**_MOST_FIGURES or part > 10**_MOST_FIGURES:
                break
        elif key in _SMALL and 0 < _SMALL[key] < last and (last >= 100 or (last >= 20 and _SMALL[key] < 10)):
            part, last = part + _SMALL[key], _SMALL[key]
            at += 1
        elif key == "and" and last >= 100 and at + 1 < len(sentence) and sentence[at + 1].key in _SMALL:
            at += 1
        else:
            break
    return str(total + part), at


_SPELLED_OUT = 4
"""Shorter units are signs, of which the case counts."""


def measured(sentence: list[Token]) -> list[Token]:
    """The sentence with every number and its unit as one; it needs a number."""
    return _sized(_signed(sentence))


def _signed(sentence: list[Token]) -> list[Token]:
    """The sentence with one sign for every unit behind a number, and currencies behind their amounts."""
    found: list[Token] = []
    at = 0
    while at < len(sentence):
        token = sentence[at]
        before = found[-1] if found else BREAK
        if token.sort == "number" and _is_currency(before):
            found[-1:] = [token, Token(before.key.lower(), "unit", before.said)]
        elif before.sort == "number" and not ORDINAL.fullmatch(before.key):
            unit, length = _unit_from(sentence, at)
            found.append(unit)
            at += length - 1
        else:
            found.append(token)
        at += 1
    return found


def _unit_from(sentence: Sequence[Token], at: int) -> tuple[Token, int]:
    """What is counted there as one token, a unit by its sign, and of how many tokens it is made."""
    first = sentence[at]
    if first.key in _UNIT_STARTS or first.said in _UNIT_STARTS:
        for length in (3, 2, 1):
            parts = sentence[at : at + length]
            spelled = " ".join(part.key for part in parts)
            unit = UNITS.get(first.said) if length == 1 else None
            if unit is None and len(spelled) >= _SPELLED_OUT:
                unit = UNITS.get(spelled)
            if unit is not None and len(parts) == length:
                return Token(unit, "unit", " ".join(part.said for part in parts)), length
    after = sentence[at + 1].key if at + 1 < len(sentence) else ""
    if first.said in _OF_A_SIZE and after in _SIZED:
        return Token(_OF_A_SIZE[first.said], "unit", first.said), 1
    key = first.said if _is_a_sign(first) else singular(first)
    return Token(key, first.sort, first.said), 1


def _is_a_sign(token: Token) -> bool:
    """Whether it may be the sign of a unit, of which the case counts: 5 M, 5 Mg, 5 Cal; and not the name Olu."""
    said = token.said
    if len(said) >= _SPELLED_OUT or not said.isalpha() or token.key in GRAMMAR:
        return False
    return len(said) < _SPELLED_OUT - 1 or not said[1:].islower() or token.key in _TWOFOLD


_TWOFOLD = frozenset({"cal", "gal"})


_OF_A_SIZE = {"m": "metre", "'": "foot"}
"""Signs of several units that are of one before a word of _SIZED."""

_SIZED = frozenset(words("tall long wide high deep thick away"))


def _sized(sentence: list[Token]) -> list[Token]:
    """The sentence with a number and its unit as one, in one size: 500 ms as 0.5 s, and 4.50 % as 4.5 %."""
    found: list[Token] = []
    for token in sentence:
        if token.sort != "unit" or not found or found[-1].sort != "number":
            found.append(token)
            continue
        number = found.pop()
        figure, sign = number.key, token.key
        if THOUSANDFOLD.fullmatch(figure):
            figure = f"{figure}?"  # not what 1.0010 comes to, which is certain
        elif _PLAIN_FIGURE.fullmatch(figure):
            sign, times = _SIZES.get(sign, (sign, Decimal(1)))
            figure = format((Decimal(figure) * times).normalize(), "f")
        said = f"{token.said}{number.said}" if token.said in CURRENCIES else f"{number.said} {token.said}"
        found.append(Token(f"{figure}·{sign}", "number", said))
    return found


_PLAIN_FIGURE = re.compile(r"-?(?:0|[1-9][0-9]{0,11})(?:\.[0-9]{1,6})?")
_SIZES = {
    unit: (sign, Decimal(times))
    for sign, units in {
        "s": {"ns": "1e-9", "µs": "1e-6", "ms": "0.001", "min": "60", "h": "3600"},
        "day": {"week": "7"},
        "month": {"year": "12"},
        "metre": {"mm": "0.001", "cm": "0.01", "km": "1000"},
        "g": {"µg": "1e-6", "mg": "0.001", "kg": "1000"},
        "l": {"ml": "0.001"},
        "W": {"mW": "0.001", "kW": "1000", "MW": "1e6", "GW": "1e9"},
        "Hz": {"kHz": "1000", "MHz": "1e6", "GHz": "1e9"},
    }.items()
    for unit, times in units.items()
}
"""How much of another unit a unit is, where that is always so; a day is not always 24 hours, nor a kB always 1000."""

ORDINAL = re.compile("[0-9]+th")
CURRENCIES = {"$": "dollar", "€": "eur", "£": "gbp", "₹": "inr", "¥": "¥"}
_CURRENCY_KEYS = frozenset(CURRENCIES.values())
_CURRENCY_CODES = frozenset({"USD", "EUR", "GBP", "CHF", "INR", "JPY", "CAD", "AUD"})


def _is_currency(token: Token) -> bool:
    return token.key in _CURRENCY_KEYS or token.said in _CURRENCY_CODES


_SMALL = {
    word: value
    for value, word in enumerate(
        words("""
        zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
        eighteen nineteen
        """)
    )
} | {word: 20 + 10 * at for at, word in enumerate(words("twenty thirty forty fifty sixty seventy eighty ninety"))}
_HUNDREDS = {
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "dozen": 12,
    "lakh": 10**5,
    "crore": 10**7,
}
SCALES = {word: Decimal(value) for word, value in _HUNDREDS.items()}
_ORDINALS = {
    word: f"{value}th"
    for value, word in enumerate(
        words("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"), start=1
    )
}

COUNTING = frozenset([*_SMALL, *_HUNDREDS, *_ORDINALS])
"""A sentence without one of these has no number words."""

UNITS = {
    word: line.split("=")[0].strip()
    for line in """
km = kilometre | kilometres | kilometer | kilometers | km
cm = centimetre | centimetres | centimeter | centimeters | cm
mm = millimetre | millimetres | millimeter | millimeters | mm
metre = metre | metres | meter | meters
mile = mile | miles | mi
foot = foot | feet | ft
inch = inch | inches | "
yard = yard | yards | yd
kg = kilogram | kilograms | kilogramme | kilogrammes | kilo | kilos | kg | kgs
g = gram | grams | gramme | grammes | g
mg = milligram | milligrams | mg
µg = microgram | micrograms | µg | mcg
lb = lb | lbs
oz = ounce | ounces | oz
l = litre | litres | liter | liters | l | L
ml = millilitre | millilitres | milliliter | milliliters | ml | mL
h = hour | hours | hr | hrs | h
min = minute | minutes | min | mins
s = second | seconds | sec | secs | s
ms = millisecond | milliseconds | ms
µs = microsecond | microseconds | µs
ns = nanosecond | nanoseconds | ns
day = day | days
week = week | weeks | wk | wks
month = month | months
year = year | years | yr | yrs
kB = kilobyte | kilobytes | kB | KB
MB = megabyte | megabytes | MB
GB = gigabyte | gigabytes | GB
TB = terabyte | terabytes | TB
Hz = hertz | Hz
kHz = kilohertz | kHz
MHz = megahertz | MHz
GHz = gigahertz | GHz
W = watt | watts | W
kW = kilowatt | kilowatts | kW
kWh = kilowatt hour | kilowatt hours | kWh
V = volt | volts | V
mW = milliwatt | milliwatts | mW
MW = megawatt | megawatts | MW
GW = gigawatt | gigawatts | GW
Mb = megabit | megabits | Mb
Gb = gigabit | gigabits | Gb
Mbps = Mbps
Gbps = Gbps
mA = mA
mAh = mAh
kcal = kilocalorie | kilocalories | kcal
°C = degree celsius | degrees celsius | celsius | degree centigrade | degrees centigrade | °C | ° C
°F = degree fahrenheit | degrees fahrenheit | fahrenheit | °F | ° F
mph = mile per hour | miles per hour | mph
km/h = kilometre per hour | kilometres per hour | kilometer per hour | kilometers per hour | km/h | kmh | kph
% = percent | per cent | %
dollar = dollar | dollars
eur = euro | euros | EUR
usd = us dollar | us dollars | US dollar | US dollars | USD
gbp = GBP | british pound | british pounds | pound sterling | pounds sterling
px = pixel | pixels | px
""".strip().splitlines()
    for word in (part.strip() for part in line.split("=", 1)[1].split("|"))
}
"""The sign of each unit by the ways to write it behind a number; pounds are of two sorts, and m is of three."""

_UNIT_STARTS = frozenset(written.split()[0] for written in UNITS)
