"""The patterns that find entities in running text, and the lists that they use: all of it data.

Patterns for Polars are of the linear-time kind: no look-around. Each has two groups, or three: what must stand before,
what counts, and what must stand behind.
"""

from __future__ import annotations

import re
from typing import Final

from ledgerkit.extract.words import words

EXTENSIONS: Final = frozenset(
    words(
        "py pyi pyx ipynb js jsx mjs cjs ts tsx vue svelte java kt kts scala groovy gradle go rs c h cc cpp "
        "cxx hpp hh cs fs vb swift m mm rb php pl pm lua r jl ex exs erl hs ml clj dart sh bash zsh fish ps1 "
        "bat cmd sql html htm css scss less xml xsd svg json jsonl json5 yaml yml toml ini cfg conf config "
        "env properties lock md mdx rst txt text adoc tex csv tsv parquet log diff patch proto graphql tf "
        "tfvars dockerfile mk cmake bazel nix pem key crt cer pub p12 pfx img iso png jpg jpeg gif webp ico "
        "pdf zip tar gz tgz bz2 xz 7z whl jar war egg deb rpm so dll dylib exe bin o a db sqlite bak tmp out "
        "err pid sock service rules local"
    )
)
"""Extensions by which a bare name is taken for a file."""
TOP_LEVEL_DOMAINS: Final = words(
    "com org net edu gov mil int io dev app ai cloud info biz xyz me co us uk de fr nl eu ch at se no fi "
    "dk es it pt pl cz ru cn jp kr in au ca br mx tv cc site online tech store shop club top live link "
    "page run zip invalid example test local localhost internal lan onion tk ml ga gg so to ly is sh"
)
"""Last labels by which a dotted name in prose is taken for a host. Beside a scheme or after a network program, any
is."""
_AMBIGUOUS: Final = frozenset({"sh", "so", "zip", "py", "rs", "pl", "cc", "ml", "local", "app", "is", "to", "in", "at"})

_HOST: Final = r"(?:[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]*[A-Za-z0-9]"
_BEFORE: Final = r"""(^|[\s"'`(\[{=:,;|>→⟩«“\u2018*])"""
_SEGMENT: Final = r"[\w.@+~%\-]"
_LAST: Final = r"[\w@+~%\-]"
_PROSE_DOMAINS: Final = "|".join(sorted(set(TOP_LEVEL_DOMAINS) - _AMBIGUOUS))

URL: Final = r"(^|[^A-Za-z0-9+.\-])((?i:https?|wss?|ftps?|sftp|ssh|git(?:\+https?|\+ssh)?|s3|gs|file|data)://[^\s<>\"'`\\^{}|\x00-\x1f\x7f]+)"
"""A URL with a scheme, up to a space, a quote or another character that no URL holds."""
EMAIL: Final = rf"(^|[^\w.+\-/@])([A-Za-z0-9][A-Za-z0-9._%+\-]*@{_HOST})"
"""An address; what follows the host decides whether it is a place of a copy (``git@host:path``)."""
IPV4: Final = r"(^|[^\w.\-])((?:[0-9]{1,3}\.){3}[0-9]{1,3}(?:[\w.-]*\w)?)"
"""Four numbers, with whatever makes them something else behind them."""
IPV6: Final = r"(^|[^\w:.])((?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4})"
BARE_HOST: Final = rf"(^|[^\w.@/\\\-])((?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+(?i:{_PROSE_DOMAINS})\b)"
"""A dotted name with a known last label."""
COPY_PLACE: Final = r"(^|[\s\"'`(\[<=])((?:[A-Za-z0-9._-]+@)[A-Za-z0-9.-]+)(:[A-Za-z~/])"
"""Who and where of a place that files are copied to: ``git@host:path``."""
ADDRESS: Final = rf"^(localhost|{_HOST})(?::[0-9]+)?(?:/.*)?$"
"""A whole text that is a host, with or without a port and a path."""
PATH: Final = (
    rf"{_BEFORE}("
    rf"(?:~[A-Za-z0-9_-]*|\$HOME|\$\{{HOME\}}|%USERPROFILE%)/(?:{_SEGMENT}+/)*{_SEGMENT}*{_LAST}/?"
    rf"|/(?:{_SEGMENT}+/)*{_SEGMENT}*{_LAST}/?"
    rf"|(?:\.{{1,2}}/)+(?:{_SEGMENT}+/)*{_SEGMENT}*{_LAST}/?"
    rf"|(?:{_SEGMENT}+/)+{_SEGMENT}*\.[A-Za-z][A-Za-z0-9]*"
    rf"|{_SEGMENT}*\.[A-Za-z][A-Za-z0-9]*"
    r"|[A-Za-z]:\\[\w.\\\-]*[\w\-]"
    r")"
)
"""A path: from home, absolute, explicitly relative, relative with an extension, a bare file name, of Windows."""
CODE_SPAN: Final = r"(^`|[^`]`)([^`\n]+)(`)"
COMMAND_LIKE: Final = r"^\s*(?:[\w./~-]+=\S*\s+)*(?:sudo\s+)?[\w./~@+-]*[a-z][\w./+-]*(?:\s+[^=\s(:]|\s*[|>;&])"
"""A quoted text of more than one word that may be a command line."""
PROMPT_LINE: Final = r"(?m)(^[ \t]*(?:[0-9]+[→:|\t ])?[ \t]*\$ )([^\n]+)"
FENCE: Final = r"(?s)(```(?:bash|sh|shell|zsh|console|terminal)[^\n]*\n)(.*?)(```)"
INSTALL: Final = (
    r"(^|[\s`\"'(;&|])("
    r"(?:pip3?|pipx|uv|python3? -m pip|npm|pnpm|yarn|bun|cargo|go|gem|brew|apt|apt-get|npx|uvx|poetry)"
    r" (?:pip )?(?:install|add|i|get|download|dlx)[ \t][^\n`;&|<>\"']+)"
)
"""Places of shell lines in prose: code spans, lines behind a prompt, fenced blocks, commands that install."""

PATCH_FILE: Final = r"(?m)(^\*\*\* (?:Add|Update|Delete) File: |^\+\+\+ (?:b/)?)([^\t\n]+)"
"""The files that a patch changes."""
PATH_WORD: Final = re.compile(r"[\w.@+~%,:/\\${}\-]{1,4096}")
"""A word of a command that may be a path."""
HOST_NAME: Final = re.compile(
    rf"(?:[\w.+%-]+@)?(?P<host>localhost|{_HOST}|(?:[0-9]{{1,3}}\.){{3}}[0-9]{{1,3}})(?=$|[:/])"
)
_NAME_WITH_EXTENSION: Final = re.compile(r"[^\s/]*[^\s/.][^\s/.]*\.([A-Za-z][A-Za-z0-9]{0,11})|\.[A-Za-z][\w.-]*")
_KNOWN_NAMES: Final = frozenset(words("Makefile Dockerfile Jenkinsfile Procfile Gemfile Rakefile Vagrantfile LICENSE"))


def is_file_name(value: str, *, only_known: bool = False) -> bool:
    """Whether a relative word looks like a file: a folder and an extension, or a bare name with a known extension."""
    folder, _, name = value.rpartition("/")
    if name in _KNOWN_NAMES:
        return True
    found = _NAME_WITH_EXTENSION.fullmatch(name)
    if found is None:
        return False
    extension = (found[1] or name[1:]).lower()
    return extension in EXTENSIONS or (bool(folder) and not only_known) or (not found[1] and not only_known)
