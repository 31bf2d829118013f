"""Phrases that speak to an agent: concealment, claims of authority, orders to assistants."""

from __future__ import annotations

import re
from typing import Final

from ledgerkit.safety.injection.marks import GAP, detector, phrase

_WORD: Final = f"(?:{GAP}[a-z'’]+)"
AGENT: Final = (
    r"\b(?:ai|llm|language models?|assistants?|(?:ai|coding|automated|autonomous|software) agents?|chat ?bots?|"
    r"copilot|claude|chatgpt|gpt(?:-[0-9])?)\b"
)
"""Whom text means that speaks to agents (small letters)."""

# --- concealment -----------------------------------------------------------------------------------------------------

_NOT: Final = (
    r"\b(?:do not|don['’]?t|never|must not|mustn['’]t|should not|shouldn['’]t|cannot|avoid|refrain from|without)"
    r"(?: ever| directly| explicitly| in any way)?"
)
_WHOM: Final = r"(?:user|users|human|humans|operator|anyone|anybody|owner|reviewer|person|people|customer|client)s?\b"
_TELL: Final = phrase(
    rf"(?i){_NOT} (?:tell|telling|inform|informing|notify|notifying|alert|alerting|warn|warning) "
    rf"(?:the |any |your |this to )?(?:end[ -])?{_WHOM}"
)
_MENTION: Final = phrase(
    rf"(?i){_NOT} (?:mention|mentioning|reveal|revealing|disclose|disclosing|report|reporting|discuss|discussing|"
    rf"acknowledge|acknowledging|say){_WORD}{{1,9}}?{GAP}(?:(?:to|with) (?:the |any |your )?{_WHOM}|"
    rf"in (?:your|the|any) (?:final )?"
    rf"(?:answer|response|reply|summary|report|output|explanation|commit|pull request|conversation|chat)\b)"
)
_SECRET: Final = phrase(
    rf"(?i)\b(?:keep|hide|conceal) (?:this|it|these|that|the (?:above|change|step|action|instruction)s?)"
    rf"{_WORD}{{0,4}}?{GAP}"
    rf"(?:(?:secret|hidden|confidential|quiet|invisible)(?: from| and do)|from (?:the |your )?{_WHOM})"
    r"|\bthe user (?:must|should|may) (?:not|never) (?:know|be told|be informed|find out|notice|learn)\b"
)
_QUIET: Final = phrase(
    r"(?i)\b(?:do|handle|perform|run|execute|complete|carry out|finish) (?:this|it|that|these)"
    r"(?: steps?| tasks?| actions?| commands?)? (?:silently|quietly|secretly|discreetly|covertly|in secret)\b"
    r"|\bno need to (?:mention|tell|inform|report|notify|bring|disclose|discuss)"
    rf"(?: (?:it|this|that|them|up|to|with|about|any of|the|your|end)){{1,5}} {_WHOM}"
    rf"|\bwithout (?:the |any |your )?{_WHOM}(?:['’]s)? (?:knowing|noticing|knowledge|consent)\b"
    rf"|\bwithout letting (?:on to )?(?:the |any |your )?{_WHOM} (?:know|notice|see)\b"
)
_THINGS: Final = re.compile(
    r"(?i)\b(?:this|these|that|it|above|instructions?|steps?|notes?|messages?|comments?|changes?|edits?|actions?|"
    r"anything|commands?)\b"
)
_TALKS_ABOUT: Final = re.compile(r"(?i)\b(?:we|they|it|i|which|to|and|does|users?|that|who|but)[\s*`]+$")


def _is_order(found: re.Match[str]) -> bool:
    before = found.string[max(0, found.start() - 16) : found.start()]
    return _TALKS_ABOUT.search(before) is None


def _is_about_this(found: re.Match[str]) -> bool:
    return _is_order(found) and _THINGS.search(found[0]) is not None


CONCEALMENT: Final = (
    detector("concealment", _TELL, _is_order),
    detector("concealment", _MENTION, _is_about_this),
    detector("concealment", _SECRET, _is_order),
    detector("concealment", _QUIET),
)

# --- authority -------------------------------------------------------------------------------------------------------

_WHO: Final = (
    r"(?:system|developers?|administrators?|admins?|anthropic|openai|google|microsoft|security team|"
    r"platform|operators?|it department|ai provider|maintainers? of this (?:model|assistant))\b"
)
_FROM: Final = phrase(
    rf"(?i)\b(?:message|instructions?|order|directive|command|announcement|override) from (?:the |your |our )?{_WHO}"
    r"|\b(?:important|urgent|official|priority|critical) (?:message|instructions?) (?:from|for you|to you)\b"
    r"|\bmessage from me,[^\n]{0,60} to you\b"
)
_HEADING: Final = (
    r"\b(?:SYSTEM|ADMIN|ADMINISTRATOR|DEVELOPER|ROOT) (?:MESSAGE|NOTE|OVERRIDE|INSTRUCTIONS?|NOTICE|UPDATE|ALERT|"
    r"PROMPT|COMMAND)\b *[):*\]]|(?i:#{1,6} *[(\[]?(?:system|developer|admin)[ _](?:message|prompt|instructions?)[)\]])"
)
_LABELLED: Final = phrase(
    r"(?:\b(?:SYSTEM|system|System) ?:|\[[Ss](?:ystem|YSTEM)\] ?:?) ?"
    r"(?:(?:IMPORTANT|Important|important|[Uu]rgent)[:,! ]+)?"
    r"(?:[Yy]ou (?:may|must|should|shall|are|can|have|will)|[Mm]aintenance note|[Nn]ote (?:for|to)|[Ii]gnore|"
    r"[Dd]isregard|[Nn]ew |[Aa]ll (?:agents|assistants)|[Tt]he user has|[Aa]ssistant)"
)
_I_AM: Final = phrase(
    r"(?i)\b(?:i am|i['’]m|this is|speaking as|as) (?:the|your) (?:system |site |security )?(?:developer|administrator|"
    r"admin|creator|operator|supervisor)\b,?(?: (?:and|of|i|speaking|writing|here|you)\b| *[.:])"
    r"|\b(?:admin(?:istrator)?|developer|operator|root|supervisor) override "
    r"(?:code|key|enabled|accepted|granted|active)"
    r"|\b(?:the |your |an? )(?:operator|administrator|admin|developer|owner|security team|user) (?:has|have) "
    r"(?:already )?(?:cleared|authori[sz]ed|approved|granted|permitted|instructed|asked|told) "
    r"(?:you|the (?:assistant|agent|model)|this (?:action|command|request|step))\b"
    r"|\[ *system (?:prompt|message|update|notice|instructions?)[^\]\n]{0,40}\]"
    r"|\byou (?:have been|are hereby|are now) (?:authori[sz]ed|granted|permitted|cleared) (?:to|by|full|access)\b"
)

AUTHORITY: Final = (
    detector("authority-claim", _FROM),
    detector("authority-claim", _HEADING),
    detector("authority-claim", _LABELLED),
    detector("authority-claim", _I_AM),
)

# --- orders to agents ------------------------------------------------------------------------------------------------

_ORDER: Final = (
    r"(?:must|should|shall|please|obliged to|need to|needs to|are required|is required|have to|has to|will now)\b"
)
_MACHINES: Final = (
    r"(?:ai|llms?|language models?|(?:ai|llm|coding|automated|virtual)[ -](?:assistants?|agents?|models?|tools?|bots?)|"
    r"assistants?|chat ?bots?|copilot|claude|chatgpt)\b"
)
_TOLD: Final = phrase(
    rf"(?i)\b(?:ai|llm|coding|automated|virtual)[ -](?:assistants?|agents?|models?|bots?),? {_ORDER}"
    rf"|\b(?:note|notes|message|instructions?|attention|important|notice|reminder|hint)[ ,:]+(?:to|for|all)? ?"
    rf"(?:all |any |the |every )?{_MACHINES} *(?:[:,.!)-]|reading|working|processing|that|who|{_ORDER})"
    rf"|\bif you(?: are|['’]re) (?:an? )?(?:ai|llm|large language model|language model|ai assistant|ai agent|"
    rf"coding agent|automated (?:agent|assistant)|assistant|chatbot|bot)\b"
    rf"|\b(?:dear|hey|hello|hi|attention|ok),? (?:ai|llm|assistant|agent|bot|claude|copilot|chatgpt)\b[ ,:!.]"
    r"|\b(?:all|any|every|each) (?:language models?|llms?|ai (?:models?|agents?|assistants?|systems?|readers?)|"
    rf"assistants|chat ?bots|automated (?:agents?|readers?|systems?|assistants?))[^.\n]{{0,60}} {_ORDER}"
    r"|\bwhen (?:generating|writing|composing|preparing|producing) your (?:reply|response|answer|summary|output)\b"
    rf"|\bas an ai(?: language model| assistant| agent)?,? you (?:must|should|need|have|are)\b"
)
_BEFORE: Final = phrase(
    r"(?i)\bbefore (?:you |changing |doing |answering |continuing |proceeding )[^.\n]{0,80}"
    r"(?:please |you must |first )?"
    r"(?:do the following|the task that i gave you|perform the following|execute the following)"
    r"|\bwhen (?:you|an ai|the (?:assistant|model|agent)|an assistant)s? (?:read|process|summari[sz]e|see|open|parse|"
    r"review)s? this (?:file|page|e-?mail|document|issue|comment|message|text|code|repo|repository)[ ,]+"
    r"(?:you |please |always |also |it |do |make |add |include |run |send |say )"
    r"|\b(?:the )?assistant (?:must|should) (?:always |also |now |first |immediately )?(?:run|execute|send|call|fetch|"
    r"upload|download|open|visit|delete|write|include|append|add|output|print|reply|respond|say)\b"
)

ORDERS: Final = (
    detector("agent-directed", _TOLD),
    detector("agent-directed", _BEFORE),
)
"""The detectors."""
