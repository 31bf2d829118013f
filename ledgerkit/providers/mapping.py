"""From a request in nobody's dialect to the payload of one interface, checked before anyone sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from ledgerkit.errors import PayloadRefusedError, ProtocolError
from ledgerkit.protocol.capabilities import PROVIDERS, ProviderCapabilities, ProviderInterface
from ledgerkit.protocol.requests import LlmRequest
from ledgerkit.providers.aliases import NO_ALIASES, ToolAliases, alias_tools
from ledgerkit.providers.dialects.anthropic import render_anthropic
from ledgerkit.providers.dialects.chat import render_chat
from ledgerkit.providers.dialects.gemini import render_gemini
from ledgerkit.providers.dialects.local import render_local
from ledgerkit.providers.dialects.parcel import Parcel
from ledgerkit.providers.dialects.responses import render_responses
from ledgerkit.providers.gate import check_payload
from ledgerkit.providers.normalise import converse
from ledgerkit.providers.notes import Note
from ledgerkit.providers.payloads import ProviderPayload
from ledgerkit.providers.told import settle
from ledgerkit.providers.tools import tool_names, toolbox

DEFAULT_OUTPUT_TOKENS: Final = 8192
"""Limit of an answer where an interface wants one and the request has none."""

_DIALECTS: Final[Mapping[ProviderInterface, Callable[[Parcel], dict[str, object]]]] = MappingProxyType(
    {
        ProviderInterface.OPENAI_RESPONSES: render_responses,
        ProviderInterface.OPENAI_CHAT: render_chat,
        ProviderInterface.ANTHROPIC: render_anthropic,
        ProviderInterface.GEMINI: render_gemini,
        ProviderInterface.LOCAL: render_local,
    }
)


def map_request(
    request: LlmRequest,
    interface: ProviderInterface | str,
    *,
    capabilities: ProviderCapabilities | None = None,
    cache_breakpoints: bool = True,
    aliases: ToolAliases = NO_ALIASES,
    default_output_tokens: int = DEFAULT_OUTPUT_TOKENS,
) -> ProviderPayload:
    """A request in an interface's own form.

    Texts of blocks are taken as they are: whoever projects a context renders and neutralises them.

    Args:
        request: The request.
        interface: One of the five interfaces.
        capabilities: What the interface can do, where it differs from the table of the protocol.
        cache_breakpoints: Whether to say where a cached prefix ends, as the interface takes it.
        aliases: The table that the run already has, so that no tool changes its name on the way.
        default_output_tokens: Limit of the answer where the interface requires one and the request has none.

    Returns:
        The payload; its notes say what was changed.

    Raises:
        ProtocolError: If the interface is not known, or the gate refuses the payload (`PayloadRefusedError`).

    Example:
        >>> from ledgerkit.protocol.names import LlmMessage, LlmRole, LlmTextBlock, TrustLevel
        >>> block = LlmTextBlock(text="Fix #12.", trust_level=TrustLevel.USER_TRUSTED)
        >>> said = LlmMessage(role=LlmRole.USER, content=(block,))
        >>> payload = map_request(LlmRequest(request_id="q", model="m", messages=(said,)), "openai_chat")
        >>> payload.to_json()
        b'{"model":"m","messages":[{"role":"user","content":"Fix #12."}]}'
    """
    known = _interface(interface)
    given = capabilities or PROVIDERS[known]
    notes: list[Note] = []
    table = alias_tools(tool_names(request), aliases)
    parcel = Parcel(
        request=request,
        capabilities=given,
        conversation=converse(request, given, table, notes),
        toolbox=toolbox(request, given, table, notes),
        aliases=table,
        notes=notes,
        cache_breakpoints=cache_breakpoints,
        max_output_tokens=default_output_tokens,
    )
    body, origins = settle(_DIALECTS[known](parcel))
    payload = ProviderPayload(known, request.model, body, given, table, tuple(notes), origins)
    if violations := check_payload(payload):
        raise PayloadRefusedError(known, [(one.path, one.sentence) for one in violations])
    return payload


def _interface(name: ProviderInterface | str) -> ProviderInterface:
    try:
        return ProviderInterface(name)
    except ValueError as error:
        raise ProtocolError.unknown_value("interface", name, [one.value for one in ProviderInterface]) from error
