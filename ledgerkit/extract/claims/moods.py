"""Whether a phrase is said as a fact: not a plan, a condition, a question, a denial, or a report of what others did."""

from __future__ import annotations

import re
from typing import Final

from ledgerkit.extract.claims.units import Unit

_CLAUSE_END: Final = re.compile(
    r";|\s[—–-]+\s|,\s*(?:but|although|though|while|whereas|so|and then)\b|\b(?:but|although|whereas)\b|:\s|\.\s|"
    r"\(|\)|\s→\s"
)
_UNREAL: Final = re.compile(
    r"\b(?:will|won't|shall|going to|gonna|let me|let us|let's|lets|let’s|needs?|needed to|wants?|wanted to|"
    r"should|must|"
    r"could|would|can|cannot|may|might|plans? to|planned|planning to|ensur\w+|make sure|making sure|made sure|"
    r"verify(?:ing)?|"
    r"confirm(?:ing)?|verification|check(?:ing)? (?:that|if|whether|the)|check(?:ing)? [\ue000]|see(?:ing)? "
    r"(?:if|whether|that)|please|"
    r"try(?:ing)?|tried|to (?:get|have|make|keep|be|see|test|run|let)|"
    r"once|until|unless|when|whenever|if|whether|assuming|in case|as soon as|so that|provided|before|while|"
    r"expect(?:s|ed|ing)?|suppos\w+|hope\w*|hoping|probably|likely|presumably|perhaps|maybe|apparently|"
    r"i think|i believe|i assume|i guess|seems?|seemed|appears?|looks? like|suggests?|"
    r"wait(?:ing)? (?:for|until)|remember to|don't forget|instead of|rather than|without|in order to|almost|"
    r"nearly|partially|"
    r"partly|most(?:ly)?|some|half|how|why|where|which (?:files?|ones?)|what|(?:first|next|then),? (?:i|we)|next|"
    r"option|alternatively|"
    r"suppose|imagine|"
    r"e\.g|for example|such as|ideally|optional(?:ly)?|required|wish|goal)\b|['’]ll\b|['’]d\b",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    r"\b(?:not|never|neither|nor|cannot|none|nobody|hardly|barely|no longer|fail(?:s|ed|ing)? to|unable to|yet to|"
    r"incorrectly|wrongly|falsely|"
    r"refus\w+ to|prevent\w*|stop\w* \w+ from)\b|n['’]t\b",
    re.IGNORECASE,
)
_OTHERS: Final = re.compile(
    r"\b(?:users?(?:'s)?|reviewers?|you|your|they|their|he|she|maintainers?|upstream|colleagues?|authors?|ci|"
    r"other (?:agent|branch|session|team)|subagents?|agents?|issue|ticket|readme|docs?|documentation|"
    r"spec(?:ification)?|"
    r"report(?:s|ed|edly)?|says?|said|claims?|claimed|states|stated|according to|mentions?|mentioned|tells?|told|"
    r"writes|commit message|previous(?:ly)?|earlier|originally|formerly|used to|someone|everyone|assum\w+|"
    r"claude|gemini|copilot|assistant|the plan|description|comments?|log(?:s)? (?:say|show)s?|last (?:week|month|"
    r"year|time)|"
    r"yesterday|thanks|github|dependabot|hooks?|scripts?|functions?|methods?|tools?|commands?)\b",
    re.IGNORECASE,
)
_OTHER_ACTORS: Final = frozenset(
    ("hook", "hooks", "script", "scripts", "function", "method", "tool", "command", "commands")
)
_CONDITION_BEHIND: Final = re.compile(
    r"^[^.;]{0,80}?\b(?:if|unless|provided|once|only when|when(?:ever)?|in the (?:loop|condition)|upstream|"
    r"in (?:version|release|v?\d)|by (?:the|a|an|another|someone|default)|eventually|soon|as expected by|"
    r"(?:is|are|will be) (?:needed|required|pending)|remains?|first)\b",
    re.IGNORECASE,
)
_ORDERS: Final = re.compile(
    r"^\W*(?:(?:step|phase)\s*\d+\W+.*$|(?:add|make|ensure|verify|check|run|create|update|delete|remove|fix|test|confirm|use|set|see|implement|write|try|"
    r"configure|consider|keep|follow|note|wait|rerun|re-run|call|return|read|open|review|commit|push|mark|move|rename|"
    r"replace|modify|change|validate|assert|expect|do|let|go|get|stop|start|continue|help|show|tell|give|build|deploy|"
    r"install|handle|support|allow|avoid|prevent|display|return|returns|given|imagine|suppose|remember)\b)(?!\s*(?:is|are|was|has|passes|"
    r"passed|succeed|succeeds|succeeded|successful|pass|:|\s+✅))",
    re.IGNORECASE,
)


def is_said(unit: Unit, start: int, end: int, *, is_denial_open: bool = False, allow: str = "") -> bool:
    """Whether what stands between two places of a unit is said as a fact of the speaker's own.

    Args:
        unit: The sentence.
        start: Where the claim begins in it.
        end: Where it ends.
        is_denial_open: Whether a denial is part of the claim itself (``no other callers``).
        allow: A word that would otherwise name somebody else, in small letters.

    Example:
        >>> from ledgerkit.extract.claims.units import units
        >>> found = units("The tests pass. If the tests pass, go.")
        >>> [is_said(one, one.text.index("tests"), len(one.text)) for one in found]
        [True, False]
    """
    if unit.is_planned or unit.masked.rstrip(" *_").endswith("?"):
        return False
    before, after = _clause(unit.masked, start, end)
    inside = unit.masked[start:end]
    if _UNREAL.search(before) or _UNREAL.search(_without_marks(inside)):
        return False
    if not is_denial_open and (_DENIED.search(before) or _DENIED.search(inside)):
        return False
    if any(_names_others(found[0].lower(), allow) for found in _OTHERS.finditer(before)):
        return False
    if _ORDERS.match(unit.masked) and not unit.is_ticked and start > 0:
        return False
    return not _CONDITION_BEHIND.match(after)


def _names_others(word: str, allow: str) -> bool:
    return word != allow and word not in _OTHER_ACTORS


def _without_marks(text: str) -> str:
    return re.sub(r"\bcan\b|\bwithout\b|\bfirst\b", "", text)


def _clause(masked: str, start: int, end: int) -> tuple[str, str]:
    """What stands in the same clause before and behind a place."""
    begin = 0
    for found in _CLAUSE_END.finditer(masked, 0, start):
        begin = found.end()
    return masked[begin:start], masked[end:]
