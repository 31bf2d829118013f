"""Commands and requests in text that would run unseen code or carry secrets away."""

from __future__ import annotations

import re
from typing import Final

from ledgerkit.safety.injection.marks import GAP, detector, phrase

_SHELL: Final = (
    r"(?:sudo +(?:-[a-zA-Z]+ +){0,4})?(?:env +)?(?:/(?:usr/)?bin/)?"
    r"(?:(?:ba|z|da|k|a|fi)?sh|python3?|perl|ruby|node)\b"
)
_DOWNLOAD: Final = r"\b(?:curl|wget|iwr|irm|Invoke-WebRequest|Invoke-RestMethod)\b"
_PIPE: Final = (
    rf"{_DOWNLOAD} [^|\n`]{{0,300}}\| *(?:{_SHELL}|iex\b|Invoke-Expression\b)"
    rf"|\b(?:ba|z)?sh (?:-c +)?[\"']?(?:<\(|\$\() *(?:curl|wget)\b[^\n]{{0,300}}"
    rf"|\biex *\(+ *(?:iwr|irm|New-Object)\b[^\n]{{0,300}}"
)
_DECODE: Final = (
    rf"\bbase64 +(?:-d|-D|--decode|-di)\b[^|\n]{{0,300}}\| *{_SHELL}|\bxxd +-r\b[^|\n]{{0,300}}\| *{_SHELL}"
    r"|\b(?:eval|exec)\b[ (\"'$`]{1,8}(?:echo [^|\n]{0,300}\| *base64|"
    r"(?:__import__\([\"']base64[\"']\)|base64)\.b64decode|atob\(|Buffer\.from\([^\n]{0,300}base64)"
    r"|(?i:\bpowershell(?:\.exe)?\b[^\n]{0,300} -e(?:nc|ncodedcommand)? +[a-z0-9+/=]{40})"
)
_PRIVATE_FILES: Final = (
    r"(?:~|\$HOME|\$\{HOME\}|/home/[a-z0-9_.-]{1,40}|/root|/users/[a-z0-9_.-]{1,40}|%userprofile%)[/\\]\."
    r"(?:ssh[/\\]id_[a-z0-9]+|ssh[/\\]config|aws[/\\]credentials|netrc|npmrc|pypirc|git-credentials|kube[/\\]config|"
    r"docker[/\\]config\.json|config[/\\]gcloud|gnupg|bash_history|zsh_history|env)\b|"
    r"/etc/shadow\b|/proc/(?:self|[0-9]+)/environ\b"
)
_SEND: Final = (
    r"\b(?:send|upload|post|exfiltrate|curl|wget|scp|nc|netcat|e-?mail|paste|include|append|forward|transmit|submit|"
    r"encode|base64|leak|commit|attach|echo|print|reveal|share)\b"
)
_SENDS_FILE: Final = rf"(?i)(?:{_SEND}[^\n]{{0,120}}?(?:{_PRIVATE_FILES})|(?:{_PRIVATE_FILES})[^\n]{{0,120}}?{_SEND})"
_ENVIRONMENT: Final = (
    r"(?:(?:^|[`\"'\n;&|(] {0,8}|\brun +)env|\bprintenv)(?: +\| {0,8}(?:base64|gzip|xxd)[^|\n]{0,40})? {0,8}"
    r"(?:>{1,2} *[A-Za-z0-9_./~-]+|\| *(?:curl|nc|wget)\b)"
)
_WANTED: Final = (
    r"(?:environment variables|env(?:ironment)? vars?|api[ -]?keys?|access tokens?|auth(?:entication)? tokens?|"
    r"credentials|private keys?|ssh keys?|passwords?|secrets|(?:contents? of )?(?:the )?\.env(?: file)?)\b"
)
# Words and gaps share no character: two ways to read one stretch would cost time that grows with a power of its length.
_WORDS: Final = f"(?:{GAP}[a-z'’`_.,]+)"
_PLACE: Final = (
    r"(?:https?://|[a-z0-9_.+-]{1,60}@[a-z0-9-]+\.|"
    r"(?:this|the following|our|my) (?:url|address|endpoint|server|webhook|e-?mail|host))"
)
_SENDS_SECRET: Final = phrase(
    rf"(?i)\b(?:send|upload|post|exfiltrate|forward|e-?mail|transmit|submit|leak|copy|append|paste){_WORDS}{{0,8}}?{GAP}"
    rf"{_WANTED}{_WORDS}{{0,10}}?{GAP}{_PLACE}"
)


def _names_a_host(found: re.Match[str]) -> bool:
    """A variable or a name without a scheme says nothing of where the script comes from."""
    return "://" in found[0]


def _is_private(found: re.Match[str]) -> bool:
    """A public key may be printed."""
    return not re.search(r"id_[a-z0-9]+\.pub\b", found.string[found.start() : found.end() + 5], re.IGNORECASE)


COMMANDS: Final = (
    detector("pipe-to-shell", _PIPE, _names_a_host),
    detector("decode-to-shell", _DECODE),
    detector("credential-read", _SENDS_FILE, _is_private),
    detector("credential-read", _ENVIRONMENT),
    detector("credential-read", _SENDS_SECRET),
)
"""The detectors."""
