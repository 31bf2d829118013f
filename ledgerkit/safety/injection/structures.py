"""Text in the shape of a prompt: template tokens, boundary tags, turns, tool results."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ledgerkit.protocol.vocabulary import ContextSection
from ledgerkit.safety.injection.marks import Detector, Mark, detector

_NAMES_OF_TOKENS: Final = (
    # ChatML and kin, Llama 3 and 4, Phi, harmony, Command, Granite, Kimi, GLM, Qwen, StarCoder
    "im_start|im_end|im_sep|im_user|im_assistant|im_system|im_middle|endoftext|endofprompt|begin_of_text|end_of_text|"
    "start_header_id|end_header_id|header_start|header_end|eot_id|eom_id|eot|eom|python_tag|python_start|python_end|"
    "start|end|message|channel|constrain|return|call|user|assistant|system|developer|tool|tools|observation|human|bot|"
    "start_of_role|end_of_role|start_of_turn|end_of_turn|start_of_turn_token|end_of_turn_token|user_token|"
    "chatbot_token|system_token|tool_call|tool_response|tool_calls_section_begin|tool_calls_section_end|"
    "tool_call_begin|tool_call_end|tool_call_argument_begin|fim_prefix|fim_suffix|fim_middle|vision_start|vision_end|"
    "start user prompt|end user prompt|start system prompt|end system prompt|startofprompt|"
    "reserved_special_token_[0-9]+"
)
_TEMPLATE: Final = (
    rf"(?i:<[|\uff5c](?:{_NAMES_OF_TOKENS})[|\uff5c]>)"
    # DeepSeek, Hunyuan
    r"|<\uff5c[A-Za-z_\u2581]+\uff5c>"
    # Llama 2, Mistral
    r"|\[/?INST\]|<</?SYS>>"
    r"|\[/?(?:SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|MODEL_SETTINGS)\]"
    # Gemma, GLM
    r"|<(?:start|end)_of_turn>|\[gMASK\] ?<sop>"
)

SECTIONS: Final = tuple(section.value for section in ContextSection)
"""Sections of our own contexts, as their tags name them."""

_TAG_NAMES: Final = "|".join(
    (
        *(name.replace("_", "[ _-]?") for name in SECTIONS),
        "system[ _-]?prompt|system[ _-]?message|system[ _-]?instructions?|system",
        "developer[ _-]?(?:message|instructions?)|recent[ _-]?events",
        "function_calls|function_results|tool_results?|user_instructions|untrusted(?:[ _-][a-z]+){0,3}",
        "information|important|instructions",
    )
)
_OPENING: Final = r"(?:<|\uff1c|\ufe64|\u2039|\u3008|&lt;|&#0{0,4}60;|&#x0{0,4}3c;)"
_CLOSING: Final = r"(?:>|\uff1e|\ufe65|\u203a|\u3009|&gt;|&#0{0,4}62;|&#x0{0,4}3e;)"
_BOUNDARY: Final = (
    rf"(?i){_OPENING}[ \t]{{0,4}}[/\uff0f]?[ \t]{{0,4}}(?:antml:)?(?:{_TAG_NAMES})"
    rf"(?:[ \t]+[a-z_:-]+ {{0,4}}=[^<>\n]*)?[ \t]{{0,4}}/?{_CLOSING}"
)
_BRACKETS: Final = "<>\uff1c\uff1e\ufe64\ufe65\u2039\u203a\u3008\u3009/\uff0f \t"
_LOUD: Final = re.compile(r"(?i)[^a-z]*(?:information|important|instructions)\b")
_ADDRESSED: Final = re.compile(r"(?i)\b(?:you|your|do not|don't|ignore|please|must|always|never)\b")


def _is_boundary(found: re.Match[str]) -> bool:
    """Tags with everyday names count only where prose that orders stands behind them."""
    text, end = found.string, found.end()
    name = found[0].strip(_BRACKETS).removeprefix("&lt;").removesuffix("&gt;").strip(_BRACKETS).lower()
    if _LOUD.match(found[0]):
        return "/" not in found[0] and _ADDRESSED.search(text[end : end + 400]) is not None
    if not re.match(r"system\b(?![ _-]?(?:prompt|message|instruction))", name):
        return True
    if "/" in found[0]:
        inside = text[max(0, found.start() - 300) : found.start()].lower().rpartition("<system")[2]
    else:
        inside = text[end : end + 300].partition("</")[0]
    return _ADDRESSED.search(inside) is not None


_TURN: Final = (
    r"(?:^|\n)[ \t>#*0-9\u2192|:-]*(?:Human|Assistant|User|AI)[ \t*]*:[ \t*]*[^ \n]"
    r"|(?:^|\n)#{2,4} *(?:Instruction|Response):"
)
_ROLE: Final = r'\{ *"role" *: *"(?:system|developer)" *, *"content" *: *"'
_TURNS: Final = re.compile(_TURN)
_ASKS: Final = re.compile(r"Human|User|Instruction")


def _turns(text: str) -> Iterable[Mark]:
    """Marks where both sides of a conversation speak, the answer behind the question."""
    asked: re.Match[str] | None = None
    for found in _TURNS.finditer(text):
        if _ASKS.search(found[0]):
            asked = found
        elif asked is not None and found.start() - asked.end() < 4_000:
            yield Mark(asked.start() + (text[asked.start()] == "\n"), found.end())
            asked = None


_RESULT: Final = (
    r'"type" *: *"(?:function_call_output|tool_result)" *, *[^{}]{0,400}"(?:call_id|tool_use_id)" *:'
    r'|"(?:call_id|tool_use_id)" *: *"[^"{}]{0,100}" *, *[^{}]{0,400}"type" *: *"(?:function_call_output|tool_result)"'
)

STRUCTURES: Final = (
    detector("chat-template-token", _TEMPLATE),
    detector("boundary-lookalike", _BOUNDARY, _is_boundary),
    Detector("forged-turn", _TURN, _turns),
    detector("forged-turn", _ROLE),
    detector("forged-tool-result", _RESULT),
)
