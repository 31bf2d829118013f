# ruff: noqa: RUF001 - letters of other scripts are what this is about
"""Orders to ignore instructions, in other languages than English."""

from __future__ import annotations

from typing import Final

_GERMAN: Final = (
    r"(?:[Ii]gnorier(?:e|en|t)|[Mm]issachte[nt]?|[Vv]ergiss|[Vv]ergessen)(?: [A-Za-zäöüß]+){0,6} "
    r"(?:Anweisung(?:en)?|Instruktion(?:en)?|Anleitung(?:en)?|Vorgaben|Regeln|Befehle)\b"
)
_FRENCH: Final = (
    r"(?:[Ii]gnore[rz]?|[Oo]ublie[rz]?|[Nn]e (?:tiens|tenez) pas compte)(?: d?['’]?[A-Za-zéèêàç]+){0,5} "
    r"(?:instructions|consignes|directives|règles)"
    r"(?: (?:précédente|antérieure|ci-dessus|système)| [a-z]+ (?:précédente))"
)
_SPANISH: Final = (
    r"(?:[Ii]gnor[aeá]|[Oo]lvid[ae]|[Oo]mit[ae]|[Dd]esobedece)(?: [A-Za-záéíóúñ]+){0,5} "
    r"(?:instrucciones|indicaciones|órdenes|reglas|directrices)\b"
)
_ITALIAN: Final = r"(?:[Ii]gnor[aei]|[Dd]imentica)(?: [A-Za-zàèìòù]+){0,4} (?:istruzioni|direttive)\b"
_PORTUGUESE: Final = r"(?:[Ii]gnor[ae]|[Ee]squeça)(?: [A-Za-zãõçáéíóú]+){0,4} (?:instruções|orientações)\b"
_CHINESE: Final = r"(?:忽略|无视|無視|忘记|忘記|忽視|不要理会)[^。\n]{0,16}(?:指令|指示|说明|提示词|规则|命令)"
_JAPANESE: Final = r"(?:指示|命令|ルール|プロンプト)[^。\n]{0,8}(?:無視|忘れ)"
_KOREAN: Final = r"(?:지시|명령|프롬프트)[^.\n]{0,8}(?:무시|잊)"
_RUSSIAN: Final = (
    r"(?:[Ии]гнорируй|[Пп]роигнорируй|[Зз]абудь|[Нн]е обращай(?:те)? внимания на)(?:те)?(?: [А-Яа-яё]+){0,5} "
    r"(?:инструкци|указани|команд|правил|промпт)"
)

PATTERN: Final = "|".join((_GERMAN, _FRENCH, _SPANISH, _ITALIAN, _PORTUGUESE, _CHINESE, _JAPANESE, _KOREAN, _RUSSIAN))
"""An order to ignore instructions."""
