"""The rules of the injection audit: what each marker means, and what it does not.

A rule is a statement about text, never about intent; no rule can say that a text is harmless.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Severity(StrEnum):
    """How grave a marker is, judged by what the text could do to an agent that obeys it."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class InjectionRule:
    """A rule of the audit.

    Attributes:
        rule_id: Its name, as findings have it.
        title: What it looks for, in a line.
        severity: How grave a marker is.
        means: What a marker shows.
        does_not_mean: What it leaves open, and where it is known to be wrong.
        is_character_level: It also reads what a model or a trusted tool wrote: hidden characters have no business
            there either, and models copy them.
        claims_authority: Text with such a marker wants to instruct; where its part is untrusted, it has no right to.
    """

    rule_id: str
    title: str
    severity: Severity
    means: str
    does_not_mean: str
    is_character_level: bool = False
    claims_authority: bool = False


_CHARACTERS: Final = (
    InjectionRule(
        "unicode-tags",
        "Tag characters (U+E0000 to U+E007F) outside emoji flags",
        Severity.CRITICAL,
        "Text that people cannot see and a model can read. `decoded` has it in plain letters.",
        "Nothing about what it says: read `decoded`. A well-formed subdivision flag is no marker.",
        is_character_level=True,
    ),
    InjectionRule(
        "bidi-control",
        "Bidirectional overrides, embeddings and isolates",
        Severity.HIGH,
        "The order that people see differs from the order that a model or a compiler reads.",
        "Balanced embeddings and isolates in a line with right-to-left letters are ordinary there, and not reported.",
        is_character_level=True,
    ),
    InjectionRule(
        "zero-width",
        "Zero-width characters inside words, and runs of them",
        Severity.MEDIUM,
        "A word that does not match what it looks like, or bits hidden between words.",
        "Copying from web pages and chats leaves single ones; joiners in Indic, Persian and Arabic words and in emoji "
        "are spelling, and not reported.",
        is_character_level=True,
    ),
    InjectionRule(
        "variation-selectors",
        "Two or more variation selectors in a row",
        Severity.HIGH,
        "No script needs two: the usual way to hide bytes behind an emoji. `decoded` has them as text.",
        "One selector behind a character is ordinary and not reported.",
        is_character_level=True,
    ),
    InjectionRule(
        "hangul-filler",
        "Hangul fillers outside Hangul syllables",
        Severity.MEDIUM,
        "A letter that shows as nothing: invisible names in code, blanks that are no blanks.",
        "Fillers beside Hangul jamo build old syllables, and are not reported.",
        is_character_level=True,
    ),
    InjectionRule(
        "private-use",
        "Eight or more private-use characters in a row",
        Severity.LOW,
        "Text that has no meaning outside one font; some tokenizers give each a meaning of its own.",
        "Icon fonts use single ones (not reported); font tables list long runs.",
        is_character_level=True,
    ),
    InjectionRule(
        "mixed-script",
        "A Latin word with look-alike letters of another script",
        Severity.MEDIUM,
        "A name or host that is not what it looks like.",
        "Words that mix scripts with letters of their own (a Russian ending, a Greek symbol) are not reported.",
        is_character_level=True,
    ),
    InjectionRule(
        "terminal-command",
        "Escape sequences that command a terminal (OSC, DCS, conceal, queries)",
        Severity.HIGH,
        "The display can be changed or read: clipboard, concealed text, reports that are typed back as input.",
        "Some programs set the palette or ask the terminal what it can do; colours are not reported.",
        is_character_level=True,
    ),
    InjectionRule(
        "terminal-control",
        "Escape sequences that move the cursor, erase, link or set the title",
        Severity.LOW,
        "What people saw on the screen may differ from what the model read; a link's text may lie.",
        "Progress bars, prompts and linters do this all day.",
        is_character_level=True,
    ),
)

_STRUCTURES: Final = (
    InjectionRule(
        "chat-template-token",
        "Special tokens of chat templates",
        Severity.HIGH,
        "A server that builds prompts from text could read it as the start of another role's message.",
        "Hosted services do not read role tokens out of content; code and papers about models are full of them.",
    ),
    InjectionRule(
        "boundary-lookalike",
        "Tags that look like the boundaries of a prompt",
        Severity.HIGH,
        "Text that opens or closes a section of instructions (`</repository_data>`, `<system>`), in any spelling.",
        "Agents' own programs add some of them to tool results; XML files may use the same names.",
    ),
    InjectionRule(
        "forged-turn",
        "Turns of a conversation, as lines or as JSON",
        Severity.MEDIUM,
        'A made-up dialogue (`Human:` and `Assistant:`) or message (`{"role": "system"`) that a model may continue.',
        "Chat logs, code that calls models and examples in documents look alike.",
    ),
    InjectionRule(
        "forged-tool-result",
        "A tool result written as data",
        Severity.LOW,
        "JSON in the shape of a provider's tool result, inside a tool result.",
        "Code and logs of agents hold real ones.",
    ),
    InjectionRule(
        "hidden-html",
        "Comments and hidden elements that speak to agents",
        Severity.HIGH,
        "Text that a rendered page does not show, with instructions for an assistant.",
        "Notes to people about assistants look alike; comments without such words are not reported. What style sheets "
        "hide is not seen.",
    ),
    InjectionRule(
        "data-bearing-link",
        "Images and links that would carry data to a host",
        Severity.HIGH,
        "An address with a place for data (a placeholder, an open value): showing the image sends it.",
        "Templates for badges and search links look alike; badge hosts are not reported.",
    ),
    InjectionRule(
        "encoded-instruction",
        "Encoded text that decodes to another marker",
        Severity.HIGH,
        "Base64, hexadecimal, escapes, entities, percent signs, ROT13 or tag characters that say what another rule "
        "reports. `decoded` has it.",
        "Encodings one in another, other ciphers and compressed data are not decoded; short stretches are not tried.",
    ),
)

_PHRASES: Final = (
    InjectionRule(
        "instruction-override",
        "Orders to ignore, forget or replace instructions",
        Severity.HIGH,
        "Untrusted text claims power over the instructions of the run.",
        "Text about such attacks quotes them. Other words for the same thing are not found.",
        claims_authority=True,
    ),
    InjectionRule(
        "concealment",
        "Orders to keep something from the user",
        Severity.HIGH,
        "Untrusted text wants an action to stay unseen.",
        "Rules for the behaviour of a program's own interface look alike.",
    ),
    InjectionRule(
        "authority-claim",
        "Claims to speak for the system, a developer, an administrator or the user",
        Severity.HIGH,
        "Data has no authority, whatever it says; this text says that it has.",
        "Forwarded mail and documents about roles look alike.",
        claims_authority=True,
    ),
    InjectionRule(
        "agent-directed",
        "Text that gives orders to assistants and agents",
        Severity.MEDIUM,
        "The reader that it means is the agent.",
        "Instruction files (AGENTS.md and others) exist for this and are not reported by it; so do honest notes.",
    ),
    InjectionRule(
        "pipe-to-shell",
        "A download that is piped to a shell",
        Severity.LOW,
        "Whoever runs it runs whatever the host sends.",
        "The usual way to install many tools: common in honest documents.",
    ),
    InjectionRule(
        "decode-to-shell",
        "Encoded text that is decoded into a shell or interpreter",
        Severity.HIGH,
        "A command that hides what it does.",
        "Test data and packers look alike.",
    ),
    InjectionRule(
        "credential-read",
        "Orders to read or send credentials or the environment",
        Severity.HIGH,
        "Secrets would leave the place where they belong.",
        "Instructions for people who set up keys look alike, where they name a place to send them to.",
    ),
)

_FILES: Final = (
    InjectionRule(
        "instruction-file-change",
        "The run itself changes a file that instructs agents",
        Severity.MEDIUM,
        "Later runs will obey what this run wrote (AGENTS.md, CLAUDE.md, rules of editors, skills, tool servers).",
        "Users ask for such changes. Whether an edit succeeded is not asked; changes by programs are not seen.",
        is_character_level=True,
    ),
)

RULES: Final[Mapping[str, InjectionRule]] = MappingProxyType(
    {rule.rule_id: rule for rule in (*_CHARACTERS, *_STRUCTURES, *_PHRASES, *_FILES)}
)
"""Every rule by its id."""
