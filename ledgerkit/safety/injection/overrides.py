"""Orders to ignore, forget or replace the instructions of a run."""

from __future__ import annotations

import re
from typing import Final

from ledgerkit.safety.injection import languages
from ledgerkit.safety.injection.marks import GAP, detector, phrase

_IGNORE: Final = (
    "(?:ignor(?:e|ing)|disregard(?:ing)?|forget|neglect|overlook|discard|dismiss|set aside|stop (?:following|obeying)|"
    "(?:do not|don['’]?t|never) (?:follow|obey|comply with|listen to)|pay no attention to"
)
_QUALIFIERS: Final = (
    "all|any|the|your|my|our|of|these|those|this|every|each|other|and|or|both|such|previous|previously|prior|above|"
    "earlier|preceding|existing|original|former|initial|system|safety|current|given|developer|past|old|default|"
    "stated|security|everything|user(?:['’]s)?|whatever|first|ethical|content|operating|standing|internal|hidden|to"
)
_QUALIFIED: Final = f"(?:{GAP}(?:{_QUALIFIERS}),?){{0,6}}{GAP}"
_INSTRUCTIONS: Final = (
    r"(?:i[nu]{1,2}structions?|directions|directives?|prompts?|orders|guardrails|programming|system messages?)\b"
)
_RULES: Final = (
    r"(?:rules|guidelines|constraints|restrictions|commands|polic(?:y|ies)|contexts?|messages|training|"
    r"safeguards|protocols|requests|safety|filters)\b"
)
_STRONG: Final = re.compile(
    r"(?i)\b(?:all|any|your|my|previous(?:ly)?|prior|above|earlier|preceding|existing|original|former|initial|system|"
    r"safety|developer|past|everything)\b"
)
_STRONGER: Final = re.compile(
    r"(?i)\b(?:your|my|previous(?:ly)?|prior|above|earlier|preceding|original|former|initial|system|safety|developer)\b"
)
_OVERRIDE: Final = phrase(rf"(?i)\b(?:{_IGNORE}|override|bypass|supersede|replace)){_QUALIFIED}{_INSTRUCTIONS}")
_OVERRIDE_RULES: Final = phrase(rf"(?i)\b(?:{_IGNORE}|bypass)){_QUALIFIED}{_RULES}")
_FORGET: Final = phrase(
    r"(?i)\b(?:forget|disregard|ignore|scrap|abandon|discard|drop) (?:everything|all|anything|what(?:ever)?) (?:that )?"
    r"(?:you(?: have|['’]ve)? (?:were|had|know|learned|been|are)|"
    r"(?:i|we|they)(?: have|['’]ve)? (?:told|said|instructed|asked))\b"
)
_NEW_ROLE: Final = phrase(
    r"(?i)\bfrom now on,? you (?:are|act|respond|answer|must|shall|obey|only)\b"
    r"|\byou are now (?:an? )?(?:dan\b|unrestricted|jailbroken|uncensored|in (?:developer|god|debug|admin|maintenance|"
    r"root|sudo) mode|free from|no longer bound)"
    r"|\byour next (?:tasks?|instructions?|job|assignment) *(?:is|are|:)"
    r"|\byour (?:new|real|true|actual|updated|only|current) (?:instructions?|tasks?|goals?|objective|mission|job|"
    r"purpose|role) (?:is|are|now)\b"
    r"|(?:^|[\n.!?#*>|\]\"]) *(?:your |updated )?new (?:system )?(?:instructions?|prompt|directives?|tasks?|orders?)"
    r"(?: for (?:you|the (?:assistant|agent|model)))? *:"
    r"|\b(?:developer|god|jailbreak|dan|sudo|unrestricted) mode (?:is )?(?:now )?(?:enabled|activated|on)\b"
    r"|\bdo anything now\b|\bact as if you (?:have|had) no (?:rules|restrictions|guidelines|limits)"
    r"|\bstop (?:what you(?:['’]re| are) doing|your current (?:task|work|action))\b"
)
_INSTRUCTION: Final = r"(?:instruction|direction|directive|guideline|rule|order|task|assignment|request|prompt)s?"
_VOID: Final = phrase(
    rf"(?i)\b(?:your (?:earlier|previous|prior|original|initial|first|current|old|other) {_INSTRUCTION}|"
    rf"(?:the |all |any )?{_INSTRUCTION} (?:above|before this|so far|you were given)) (?:is|are|has been|have been) "
    r"(?:now |hereby |all )?(?:void|obsolete|cancell?ed|revoked|superseded|outdated|null|suspended|withdrawn|invalid|"
    r"no longer)\b"
    rf"|\b(?:these|this|the following|my) {_INSTRUCTION} (?:take|takes|have|has) (?:precedence|priority) over\b"
    r"|\bpretend (?:that )?(?:the |your |all |this )?(?:previous |earlier |prior )?"
    rf"(?:conversation|{_INSTRUCTION})(?: so far)? (?:never|did not|didn['’]t|do not|don['’]t|does not)\b"
)
_INSTEAD: Final = phrase(
    r"(?i)\binstead of (?:the |all |your |any |what(?:ever)? )?(?:(?:the|of|is|was|stands|comes|came|you were) )?"
    r"(?:above|previous|preceding|prior|earlier|original|told|asked)"
    r"(?: (?:text|instructions?|prompts?|tasks?|requests?|directions?|orders?))?"
    r"[ ,:;.]+(?:please )?(?:you (?:must|should|will|shall|are)|do|run|execute|send|write|output|reply|respond|answer|"
    r"say|print|call|open|visit|forward|delete|follow)\b"
)


def _is_strong(found: re.Match[str]) -> bool:
    return _STRONG.search(found[0]) is not None or _points_back(found)


def _is_stronger(found: re.Match[str]) -> bool:
    return _STRONGER.search(found[0]) is not None or _points_back(found)


def _points_back(found: re.Match[str]) -> bool:
    behind = found.string[found.end() : found.end() + 24]
    return re.match(r"\s*(?:above|before|you (?:were|have been)|so far|that forbid)\b", behind) is not None


OVERRIDES: Final = (
    detector("instruction-override", _OVERRIDE, _is_strong),
    detector("instruction-override", _OVERRIDE_RULES, _is_stronger),
    detector("instruction-override", _FORGET),
    detector("instruction-override", _NEW_ROLE),
    detector("instruction-override", _INSTEAD),
    detector("instruction-override", _VOID),
    detector("instruction-override", languages.PATTERN),
)
"""The detectors."""
