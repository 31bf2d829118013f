"""Whether a value can be a secret at all: the stop lists, and a measure of how random a string looks.

Everything here judges the value alone, never a comment beside it: what a log says about itself must not switch
redaction off.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise
from typing import Final

from ledgerkit.safety.redaction.ruleset import pair_scores
from ledgerkit.safety.redaction.secrets import PLACEHOLDER

_FEWEST_PAIRS: Final = 4
_LETTERS_ONLY: Final = ((16, 0.15, 0.5), (12, 0.25, 1.5), (12, 0.1, -1.0))
"""Letters look random from so many on, with at least so much jumble, if they are not wordier than this."""
_WITH_DIGITS: Final = ((0.35, 2.0), (0.3, 1.0), (0.0, 0.0))
"""With digits: from so much jumble on, if they are not wordier than this."""
_RAREST: Final = -5
"""The score of pairs of letters that are not in the table."""

_STOP_WORDS: Final = re.compile(
    r"example|sample|dummy|placeholder|change[-_ ]?me|change[-_ ]?it|your[-_. ]|yourpass|yourtoken|yoursecret|yourkey|"
    r"insert[-_ ]|replace[-_ ]?|redacted|removed|^hidden$|masked|censored|fixme|not[-_ ]?set|undefined|default|"
    r"secret[-_ ]?key|secret[-_ ]?here|api[-_ ]?key|my[-_ ]?(?:pass|secret|token|key)|some[-_ ]?(?:pass|secret|token)|"
    r"test[-_ ]?(?:pass|secret|token|key|user)|pass(?:word|wd)?[-_ ]?(?:here|123)|fake|mock|bogus|invalid|expired|"
    r"qwerty|letmein|hunter2|hello|foobar|deadbeef|abcdef[g-z]*|abc123|a1b2c3|123456[7890]*|234567[890]*|xxxx|0000000|lorem|ipsum|"
    r"correct[-_ ]?horse|hogehoge|topsecret|s3cr3t|p@ssw|passw0rd|supersecret|super[-_]secret|pa55|"
    r"null|none|true|false|nil\b|todo|\bn/a\b|function|return|string|object|boolean|import\b|prompt|getenv|environ",
    re.IGNORECASE,
)
_CODE_WORD: Final = re.compile(
    r"(?i)object|boolean|string|function|return|import|prompt|default|none|null|true|false|hello"
)
"""Words that make a value code, but stand in pass phrases like others."""
_LONG_WORD: Final = 7
_LONG_VALUE: Final = 40
_JUMBLED: Final = 0.3
_LETTERS: Final = 0.4
"""The least share of a wordy value that its words make up."""
_MASK: Final = re.compile(
    r"^<.*>$|^\[.*\]$|^\{.*\}$|^\$\w+$|^%[A-Za-z_]\w+%$|^@\w+@$|\.\.\.|…|\*{3}|•{2}|^[xX*#.?_-]+$|^%[sdrv]$|\[REDACTED"
)
_TEMPLATE: Final = re.compile(
    r"\$\{[^}]*\}?|\$\([^)]*\)?|\{\{.*?(?:\}\}|$)|\{%.*?(?:%\}|$)|%\(\w+\)[sd]?|#\{[^}]*\}?|<%.*?(?:%>|$)|\$[A-Za-z_]\w{2,}|"
    r"\[[0Aa]-[9ZzFf][^\]]*\]?|\(\?[:=!<P]"
)
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_IDENTIFIER: Final = re.compile(
    r"^(?:toolu|call|msg|req|run|resp|item|fc|rs|ctc|ws|chatcmpl|cmpl|gen|thread|asst|file|batch|evt|sess|session|"
    r"user|org|proj|srvtoolu|step|trace|span|ses|prt|ig|mcp|tooluse|functions|cus|sub|pi|price|prod|in|acct)"
    r"[_:.-][A-Za-z0-9_.:-]+$"
)
_HASH_LABEL: Final = re.compile(
    r"^(?:sha(?:1|224|256|384|512)|md5|h1|blake2b?|blake3|crc32c?|etag|W/)[-:=_]", re.IGNORECASE
)
_CODE: Final = re.compile(
    r"^(?:self|this|os|process|config|settings|env|req|request|response|cls|args|kwargs|data|params|props|options|opts|"
    r"ctx|context|event|state|user|client|session|app|std|std::\w+|document|window|module|System|Environment|context)"
    r"(?:\.|\[|->|::)|^[A-Za-z_.:]+\(|\(\)(?:$|[.;,\[])|^\w+(?:->|::)|"
    r"^[A-Za-z_&]+\[|^[\d.,:/ -]+$"
)
_NAME: Final = re.compile(r"[A-Za-z_]+$|[A-Za-z]\w*(?:\.[A-Za-z_]\w*)+$")
_PATH: Final = re.compile(r"^(?:[A-Za-z]:[\\/]|\.{0,2}/|~/|file:|https?:|git@|s3://|gs://|\\\\)")
_FILE: Final = re.compile(
    r"\.(?:py|js|ts|tsx|jsx|json|ya?ml|toml|md|txt|html?|"
    r"css|go|rs|java|rb|sh|pem|key|crt|env|xml|cfg|conf|ini|lock|log|png|jpe?g|svg|sql|csv|c|h|cpp)\b"
)
_WORDS: Final = re.compile(r"[a-z]*[g-z][a-z]*")
"""Runs of letters that are no hexadecimal digits."""
_PHRASE: Final = re.compile(r"(?=.*[A-Z])(?:[A-Za-z][a-z]{2,}[-_.!+]?){1,5}\d{2,6}[!@#$%.?*]?$")
"""Words and a number: how people, and generators for people, make passwords."""
_SYMBOLS: Final = re.compile(r"[^\sA-Za-z0-9_.-]")
_HEX: Final = re.compile(r"^[0-9a-fA-F]+$")


def entropy(value: str) -> float:
    """Shannon's entropy in bits per character.

    Example:
        >>> round(entropy("abab"), 2)
        1.0
    """
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values()) if total else 0.0


def is_wordy(value: str, threshold: float = 0.0) -> bool:
    """Whether the letters of a value stand as they do in words, as in names that people give to things.

    The mean log-odds of its pairs of letters, of words against chance. At 0, 97 % of the names of programs are wordy,
    and of random values of 16 letters and digits 1 %.

    Args:
        value: The value.
        threshold: The mean log-odds above which it is wordy; with a higher one, fewer are.

    Example:
        >>> is_wordy("refresh_token_expiry"), is_wordy("xk9Qz2Lr7Tb4Wp")
        (True, False)
    """
    scores = pair_scores()
    runs: list[str] = _WORDS.findall(value.lower())
    found = [scores.get(one + two, _RAREST) for run in runs for one, two in pairwise(run)]
    if len(found) < _FEWEST_PAIRS or sum(map(len, runs)) < _LETTERS * len(value):
        return False
    return sum(found) > threshold * len(found)


def is_stopped(value: str) -> bool:
    """Whether a value is a mask, a template, a placeholder, a reference to the environment, or made of few characters.

    Example:
        >>> is_stopped("${DB_PASSWORD}"), is_stopped("<your token>"), is_stopped("********")
        (True, True, True)
    """
    return (
        len(set(value)) < 4
        or _MASK.search(value) is not None
        or PLACEHOLDER.search(value) is not None
        or _has_stop_word(value)
        or _is_template(value)
    )


def _has_stop_word(value: str) -> bool:
    """Whether a word says that this is no secret. Short ones come up in long random values, and in pass phrases."""
    for found in _STOP_WORDS.finditer(value):
        inside = value[: found.start()][-1:].isalnum() or value[found.end() :][:1].isalnum()
        if (len(found[0]) >= _LONG_WORD or not (inside and len(value) > _LONG_VALUE)) and not (
            is_phrase(value) and _CODE_WORD.fullmatch(found[0])
        ):
            return True
    return False


def _filled_in(found: re.Match[str]) -> str:
    """Nothing, for a place that is filled in; ``$`` before random characters is no such place."""
    is_name = found[0][1:2] not in {"{", "("} and found[0].startswith("$")
    return found[0] if is_name and _jumble(found[0]) >= _JUMBLED else ""


def _is_template(value: str) -> bool:
    """Whether something is filled in here, and what stands around it is no secret by itself."""
    rest = _TEMPLATE.sub(_filled_in, value)
    return rest != value and not looks_random(rest)


def is_reference(value: str) -> bool:
    """Whether a value names something else: the id of a message, a labelled hash, a path, an address, code."""
    return (
        _IDENTIFIER.match(value) is not None
        or _HASH_LABEL.match(value) is not None
        or _CODE.search(value) is not None
        or (_NAME.match(value) is not None and not looks_random(value, least=12))
        or _is_path(value)
    )


def _is_path(value: str) -> bool:
    if _FILE.search(value):
        return True
    if not _PATH.match(value):
        return is_wordy(value, 0.0 if value.count("/") > 1 else 0.5) and "/" in value
    return not value.startswith("/") or is_wordy(value) or len(value) < 20


def is_hex(value: str) -> bool:
    """Whether a value consists of hexadecimal digits, in groups or not.

    Example:
        >>> is_hex("9ac73818a528f9f1"), is_hex("add-8f6e7094"), is_hex("k3J9xQ2mVb7L")
        (True, True, False)
    """
    return _HEX.match(value.replace("-", "")) is not None


def has_uuid(value: str) -> bool:
    """Whether a UUID stands in a value."""
    return _UUID.search(value) is not None


def looks_random(value: str, *, least: int = 10) -> bool:
    """Whether a value looks as if a machine had drawn it.

    Args:
        value: The value, without a prefix that everybody knows.
        least: The fewest characters that are enough.

    Example:
        >>> looks_random("k3J9xQ2mVb7Lp0Zr"), looks_random("access_token_2024"), looks_random("someMethodName")
        (True, False, False)
    """
    if len(value) < least:
        return False
    digits = sum(map(str.isdigit, value))
    letters = sum(map(str.isalpha, value))
    if _HEX.match(value):
        return digits >= 3 and letters >= 2 and entropy(value) > 2.6
    if entropy(value) < min(3.0, math.log2(len(value)) - 0.6):
        return False
    jumble = _jumble(value)
    if digits == 0:
        return any(
            len(value) >= size and jumble >= least_jumble and not is_wordy(value, threshold)
            for size, least_jumble, threshold in _LETTERS_ONLY
        )
    return letters >= 2 and not is_wordy(
        value, next(limit for least_jumble, limit in _WITH_DIGITS if jumble >= least_jumble)
    )


def _jumble(value: str) -> float:
    """How often the kind of character changes, capitals that begin a word left out: 0.1 in names, 0.5 at random."""
    changes = sum((a.isdigit() != b.isdigit()) or (a.islower() and b.isupper()) for a, b in pairwise(value))
    return changes / len(value)


def is_phrase(value: str) -> bool:
    """Whether a value is words and a number, as in many passwords.

    Example:
        >>> is_phrase("Copper-Lantern-482"), is_phrase("user_name_2")
        (True, False)
    """
    return _PHRASE.match(value) is not None


def looks_like_password(value: str, *, least: int = 8) -> bool:
    """Whether a value can be a password: of mixed characters, and neither a plain word nor a name.

    Example:
        >>> looks_like_password("Tr0ub4dor&3"), looks_like_password("username"), looks_like_password("user_name_2")
        (True, False, False)
    """
    if len(value) < least or " " in value.strip():
        return False
    digits = any(map(str.isdigit, value))
    symbols = _SYMBOLS.search(value) is not None
    cases = any(map(str.islower, value)) + any(map(str.isupper, value))
    if not cases or (digits + symbols + cases) < 2:
        return False
    if not digits and not symbols:
        return looks_random(value, least=least + 4)
    if is_phrase(value):
        return True
    return (symbols and digits) or looks_random(value, least=least) or not is_wordy(value)
