"""A provider's answer, read: the same fields whatever the interface.

What the provider got wrong is an error. What the model got wrong (arguments that are no JSON) stands in the answer, so
that its tokens are counted and the model can be told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, cast

from pydantic import JsonValue, ValidationError

from ledgerkit.errors import ProtocolError
from ledgerkit.protocol.capabilities import ProviderInterface
from ledgerkit.protocol.model import replace_lone_surrogates
from ledgerkit.protocol.usage import ModelCall, Usage
from ledgerkit.providers.aliases import NO_ALIASES, ToolAliases
from ledgerkit.providers.answers.answer import Answer
from ledgerkit.providers.answers.decoding import Fields, decode, fields, text_of
from ledgerkit.providers.answers.dialects import read_anthropic, read_chat, read_gemini, read_responses
from ledgerkit.providers.answers.draft import Draft
from ledgerkit.providers.answers.tokens import anthropic_usage, gemini_usage, openai_usage, usage_problem

_READERS: Final[Mapping[ProviderInterface, tuple[Callable[[Fields, Draft], None], Callable[[Fields], Usage]]]] = (
    MappingProxyType(
        {
            ProviderInterface.OPENAI_RESPONSES: (read_responses, openai_usage),
            ProviderInterface.OPENAI_CHAT: (read_chat, openai_usage),
            ProviderInterface.ANTHROPIC: (read_anthropic, anthropic_usage),
            ProviderInterface.GEMINI: (read_gemini, gemini_usage),
            ProviderInterface.LOCAL: (read_chat, openai_usage),
        }
    )
)
_SHOWN: Final = 200


def read_answer(
    interface: ProviderInterface | str,
    raw: Mapping[str, object] | str | bytes,
    *,
    aliases: ToolAliases = NO_ALIASES,
) -> Answer:
    """Reads what an interface answered.

    Args:
        interface: The interface.
        raw: The answer, as JSON or decoded.
        aliases: The table of the payload that was sent, so that calls have the tools' own names.

    Raises:
        ProtocolError: If it is no answer of the interface, or the provider's report of an error.

    Example:
        >>> body = '{"choices": [{"message": {"content": "Done."}, "finish_reason": "stop"}]}'
        >>> answer = read_answer("local", body)
        >>> answer.text, answer.stop.value, answer.usage.input_tokens
        ('Done.', 'finished', None)
    """
    try:
        known = ProviderInterface(interface)
    except ValueError as error:
        raise ProtocolError.unknown_value("interface", interface, [one.value for one in ProviderInterface]) from error
    body = _body(raw)
    if isinstance(body.get("error"), dict | str) and body["error"]:
        raise ProtocolError(f"The provider reports an error: {_error(body['error'])}. Nothing was answered.")
    read, usage_of = _READERS[known]
    draft = Draft(aliases)
    read(body, draft)
    usage, problem = Usage(), None
    try:
        usage = usage_of(draft.usage)
    except ValidationError as error:
        problem = usage_problem(error)
    return Answer(
        interface=known,
        blocks=tuple(draft.blocks),
        call=_model_call(draft, usage),
        stop=draft.stop,
        stop_word=draft.stop_word,
        refusal="\n\n".join(draft.refusals) or None,
        carried=draft.kept(),
        usage_problem=problem,
        aliases=aliases,
    )


def _body(raw: Mapping[str, object] | str | bytes) -> Fields:
    if isinstance(raw, bytes):
        raw = raw.decode("utf-8", "replace")
    if isinstance(raw, str):
        try:
            value = decode(raw)
        except ValueError as error:
            raise ProtocolError(f"The answer is no JSON: {error}. Check interface and address.") from error
    else:
        value = replace_lone_surrogates(cast(JsonValue, dict(raw)))
    if not isinstance(value, dict):
        raise ProtocolError("The answer is no JSON object. Check interface and address.")
    return value


def _error(error: JsonValue) -> str:
    said = error if isinstance(error, str) else text_of(fields(error).get("message")) or "no message"
    return ascii(said[:_SHOWN])


def _model_call(draft: Draft, usage: Usage) -> ModelCall | None:
    if draft.call_id is None and draft.model is None and draft.tier is None and usage == Usage():
        return None
    return ModelCall(call_id=draft.call_id, model=draft.model, service_tier=draft.tier, usage=usage)
