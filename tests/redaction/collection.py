"""Strings made from another collection's regular expressions: a gitleaks-format TOML outside the project."""

from __future__ import annotations

import importlib
import math
import random
import re
import string
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

SECRET_RULES: Final = "LEDGERKIT_SECRET_RULES"

_MOST: Final = 64
_LEAST: Final = 8
_ATTEMPTS: Final = 40
_WIDE: Final = 70
_PRINTABLE: Final = string.ascii_letters + string.digits + string.punctuation
_FLAGS: Final = "(?i)"
_POSIX: Final = {
    "[:alnum:]": "A-Za-z0-9",
    "[:alpha:]": "A-Za-z",
    "[:digit:]": "0-9",
    "[:word:]": r"\w",
    "[:space:]": r"\s",
}
_HEX: Final = set(string.hexdigits)
_QUOTES: Final = "\"'"
_SPEAKING: Final = ("token", "key", "secret", "password", "cookie", "pat")
# They describe whole documents or commands; what a generator makes of them looks like nothing that exists.
_DOCUMENTS: Final = {"curl-auth-header", "curl-auth-user", "jwt-base64", "kubernetes-secret-yaml", "private-key"}


@dataclass(frozen=True)
class Case:
    """A secret that a rule describes, in a line like one of an environment."""

    rule: str
    text: str
    secret: str


@dataclass(frozen=True)
class _Rule:
    name: str
    regex: re.Pattern[str]
    keywords: tuple[str, ...]
    entropy: float
    group: int


# --- From RE2 to Python ----------------------------------------------------------------------------------------------


def _tokens(regex: str) -> Iterator[str]:
    """Escapes, classes and openings of groups each in one piece."""
    piece = re.compile(
        r"\\x\{[0-9A-Fa-f]+\}|\\.|\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\]|\(\?i\)|\(\?[\w-]*[:=!]|\(\?P?<\w+>|.", re.DOTALL
    )
    return (found.group() for found in piece.finditer(regex))


def in_python(regex: str) -> str:
    """A regular expression of RE2's syntax in Python's.

    >>> in_python(r"a(?i)b|(c(?i)d)e\\z")
    'a(?i:b)|(?i:(c(?i:d))e\\\\Z)'
    """
    for posix, chars in _POSIX.items():
        regex = regex.replace(posix, chars)
    written: list[str] = []
    scopes = [0]
    for token in _tokens(regex):
        if token == _FLAGS:
            written.append("(?i:")
            scopes[-1] += 1
        elif token == "|":
            written.append(")" * scopes[-1] + "|" + "(?i:" * scopes[-1])
        elif token == ")":
            written.append(")" * (scopes.pop() + 1))
        else:
            scopes += [0] if token.startswith("(") else []
            written.append(r"\Z" if token == r"\z" else token)
    return "".join(written) + ")" * scopes[-1]


# --- From a regular expression to strings ----------------------------------------------------------------------------


@dataclass
class _Writer:
    """Writes strings that an expression matches: choices are uniform, lengths random up to a cap."""

    rng: random.Random
    is_mixed: bool  # letters of both cases where case does not matter
    groups: dict[int, str] = field(default_factory=dict[int, str])

    def sequence(self, nodes: Any, *, ignores_case: bool) -> str:
        return "".join(self.node(str(name), value, ignores_case=ignores_case) for name, value in nodes)

    def node(self, name: str, value: Any, *, ignores_case: bool) -> str:
        if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            return self.repeat(int(value[0]), int(value[1]), value[2], ignores_case=ignores_case)
        if name in {"IN", "NOT_LITERAL"}:
            members = value if name == "IN" else [("NEGATE", None), ("LITERAL", value)]
            return self.one_in(members, ignores_case=ignores_case)
        if name == "SUBPATTERN":
            return self.group(value, ignores_case=ignores_case)
        if name == "BRANCH":
            return self.sequence(self.rng.choice(value[1]), ignores_case=ignores_case)
        # A lone dot is one that should have been escaped; the others are anchors.
        return chr(value) if name == "LITERAL" else "." if name == "ANY" else ""

    def repeat(self, low: int, high: int, inner: Any, *, ignores_case: bool) -> str:
        only = inner[0] if len(inner) == 1 else None
        if only and str(only[0]) == "ANY":
            inner = [("NOT_LITERAL", ord("\n"))]
        is_space = only and str(only[0]) == "IN" and [str(value) for _, value in only[1]] == ["CATEGORY_SPACE"]
        count = self.rng.randint(low, min(high, max(low, 1 if is_space else _MOST)))
        return "".join(self.sequence(inner, ignores_case=ignores_case) for _ in range(count))

    def group(self, value: Any, *, ignores_case: bool) -> str:
        number, add, remove, inner = value
        ignores_case = (ignores_case or bool(add & re.IGNORECASE)) and not remove & re.IGNORECASE
        text = self.sequence(inner, ignores_case=ignores_case)
        if number is not None:
            self.groups[int(number)] = text
        return text

    def one_in(self, members: Any, *, ignores_case: bool) -> str:
        chars = {c for c in _PRINTABLE + " \n" if _is_member(c, members)}
        letters = {c for c in chars if c.isalpha()}
        if letters <= _HEX:
            chars -= {c for c in letters if c.isupper() and c.lower() in chars}  # nobody mixes them
        elif ignores_case and self.is_mixed:
            chars |= {c.swapcase() for c in letters}
        return self.any_of(sorted(chars))

    def any_of(self, chars: Iterable[str]) -> str:
        options = [c for c in chars if c.isprintable()]
        narrow = [c for c in options if c.isalnum()] if len(options) > _WIDE else [c for c in options if c != " "]
        return self.rng.choice(narrow or options or ["\n"])


def _is_member(char: str, members: Any) -> bool:
    is_negated = bool(members) and str(members[0][0]) == "NEGATE"
    return any(_matches(char, str(name), value) for name, value in members) is not is_negated


def _matches(char: str, name: str, value: Any) -> bool:
    match name:
        case "LITERAL":
            return ord(char) == value
        case "RANGE":
            return value[0] <= ord(char) <= value[1]
        case "CATEGORY":
            return _is_of(char, str(value))
        case _:
            return False


def _is_of(char: str, category: str) -> bool:
    kind = category.removeprefix("CATEGORY_").removeprefix("NOT_")
    is_kind = {"DIGIT": char.isdigit(), "SPACE": char.isspace(), "WORD": char.isalnum() or char == "_"}[kind]
    return is_kind is not ("_NOT_" in category)


@cache
def _parsed(regex: re.Pattern[str]) -> Any:
    return importlib.import_module("re._parser").parse(regex.pattern, regex.flags & re.IGNORECASE)


# --- Cases -----------------------------------------------------------------------------------------------------------


def rules(path: Path) -> list[_Rule]:
    """The rules of a collection that look at contents."""
    found: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["rules"]
    return [
        _Rule(
            str(rule["id"]),
            re.compile(in_python(str(rule["regex"]))),
            tuple(map(str, rule.get("keywords", ()))),
            float(rule.get("entropy", 0)),
            int(rule.get("secretGroup", 0)),
        )
        for rule in found
        if "regex" in rule and rule["id"] not in _DOCUMENTS
    ]


def entropy(text: str) -> float:
    """Shannon's, in bits a character."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values()) if text else 0.0


def _secret(rule: _Rule, found: re.Match[str]) -> str:
    """What the rule calls the secret: a group; all of it where that is only a detail of the pattern."""
    group = found.group(rule.group) if rule.group else next((group for group in found.groups() if group), None)
    return group if group and len(group) >= _LEAST else found.group()


def _names(rule: _Rule, secret: str) -> Iterator[str]:
    """What may stand to the left of the secret: a keyword, unless that is a part of the secret itself."""
    for keyword in (*rule.keywords, rule.name):
        name = re.sub(r"\W+", "_", keyword).strip("_").lower()
        if len(name) > 2 and keyword.lower() not in secret.lower():
            if not name.endswith(_SPEAKING):
                yield from (f"{name.upper()}_TOKEN", f"{name}_key", f"{name.title()}_Secret")
            yield from (name.upper(), name)
    yield re.sub(r"\W+", "_", rule.name).upper()


def _lines(rule: _Rule, secret: str, rng: random.Random) -> Iterator[str]:
    for name in _names(rule, secret):
        forms = [f"{name}={secret}"] if secret[:1] in _QUOTES else [f"{name}={secret}", f'{name}="{secret}"']
        yield from rng.sample(forms, len(forms))


def _attempt(rule: _Rule, rng: random.Random) -> tuple[str, str] | None:
    """A secret made alone and put into a line, where the rule finds it there; else all that the rule describes."""
    tree = _parsed(rule.regex)
    writer = _Writer(rng, is_mixed=rng.random() < 0.5)
    whole = writer.sequence(tree, ignores_case=bool(rule.regex.flags & re.IGNORECASE))
    number = rule.group or min((number for number, text in writer.groups.items() if text), default=0)
    group = writer.groups.get(number, "")
    secret = (group if len(group) >= _LEAST else whole).strip("\n")
    for line in _lines(rule, secret, rng):
        found = rule.regex.search(line)
        if found and _secret(rule, found) == secret:
            return line, secret.strip(_QUOTES)
    found = rule.regex.search(whole)
    return (whole, _secret(rule, found).strip(_QUOTES)) if found and _secret(rule, found) else None


def _case(rule: _Rule, rng: random.Random) -> Case | None:
    """The first attempt that is as random as the rule demands; none where the rule describes one string only."""
    for _ in range(_ATTEMPTS):
        made = _attempt(rule, rng)
        if made and len(set(made[1])) >= min(6, len(made[1])) and entropy(made[1]) > rule.entropy:
            text = f"LANG=en_GB.UTF-8\n{made[0]}\nPORT={rng.randint(3000, 9000)}\n"
            return Case(rule.name, text, made[1])
    return None


def generated(path: Path, seeds: Iterable[int]) -> list[Case]:
    """A case for each rule and seed, save for rules that allow of nothing random."""
    cases: list[Case] = []
    known = rules(path)
    for seed in seeds:
        made = (_case(rule, random.Random(f"{rule.name}/{seed}")) for rule in known)
        cases += [case for case in made if case is not None]
    counts = Counter((case.rule, case.secret) for case in cases)
    return [case for case in cases if counts[case.rule, case.secret] == 1]
