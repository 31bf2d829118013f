"""Settings: a default for some options, from the environment or a ``ledgerkit.toml``; the command line goes before.

A file that was found in a folder may have been written by somebody else: a repository can bring one. So it may only
set what changes how much is shown, and the ledger in its own folder. What names other places, loosens the gate or
signs in somebody's name must be asked for: on the command line, in the environment, or in a file given by ``--config``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from ledgerkit.cli.failing import LedgerkitFailure
from ledgerkit.cli.nearest import nearest
from ledgerkit.errors import ConfigurationError
from ledgerkit.tomlfiles import read_toml

FILE_NAME: Final = "ledgerkit.toml"
_MAX_BYTES: Final = 100_000
_LIMITED: Final = ("runs", "search", "show", "cost", "audit", "claims", "judgements", "memory", "info")
_WITH_LEDGER: Final = (
    *("import", "runs", "show", "search", "replay", "context", "cost", "sql", "report", "export", "audit", "claims"),
    *("judge", "judgements", "annotate", "calibrate", "evaluate", "compare", "fleet", "memory", "verify"),
    *("checkpoint", "prove", "erase", "compact", "vacuum", "info"),
)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        key: Its name in a file; ``table.name`` stands in the table ``[table]``.
        kind: The type of its value.
        targets: Commands whose option it is the default of.
        parameter: The option, by the name of its parameter.
        in_found_file: Whether a file that was merely found may set it.
        why_not: If not: what such a file could do with it.
        least: The smallest number.
        among: The allowed values.
        is_path: Whether it is a path, which in a file counts from the file's folder.
    """

    key: str
    kind: type
    targets: tuple[str, ...] = ()
    parameter: str = ""
    in_found_file: bool = True
    why_not: str = ""
    least: int | None = None
    among: tuple[str, ...] = ()
    is_path: bool = False

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return "LEDGERKIT_" + self.key.replace(".", "_").replace("-", "_").upper()


def _refused(key: str, kind: type, why_not: str, **more: Any) -> Setting:  # noqa: ANN401 - fields of Setting
    return Setting(key, kind, in_found_file=False, why_not=why_not, **more)


SETTINGS: Final[Mapping[str, Setting]] = {
    one.key: one
    for one in (
        Setting("ledger", str, _WITH_LEDGER, "ledger_path", is_path=True),
        Setting("quiet", bool),
        Setting("limit", int, _LIMITED, "limit", least=0),
        Setting("cost.by", str, ("cost",), "by"),
        Setting("fleet.by", str, ("fleet",), "by", among=("day", "week", "month")),
        Setting("evaluate.by", str, ("evaluate",), "by"),
        _refused("annotator", str, "sign what you say with another name", targets=("annotate",), parameter="by"),
        _refused(
            "prices", str, "change what everything cost", targets=("cost", "judge"), parameter="prices", is_path=True
        ),
        _refused(
            "import.redact",
            str,
            "let secrets into the ledger",
            targets=("import",),
            parameter="redact",
            among=("on", "audit", "off"),
        ),
        _refused(
            "import.jobs", int, "start as many processes as it likes", targets=("import",), parameter="jobs", least=1
        ),
        _refused(
            "audit.severity",
            str,
            "hide findings",
            targets=("audit",),
            parameter="severity",
            among=("low", "medium", "high", "critical"),
        ),
    )
}
"""All settings by key. Keys, endpoints, code, --allow, --audit and --yes are none: they are given at each call."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is set, and by whom."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]

    @property
    def quiet(self) -> bool:
        """Whether only results and errors are to be printed."""
        return bool(self.values.get("quiet", False))

    def defaults(self) -> dict[str, Any]:
        """The defaults of options, by command and parameter, as click takes them."""
        made: dict[str, Any] = {}
        for key, value in self.values.items():
            for command in SETTINGS[key].targets:
                made.setdefault(command, {})[SETTINGS[key].parameter] = value
        return made


def read_settings(
    given: Path | None = None, *, folder: Path | None = None, environment: Mapping[str, str] = os.environ
) -> Settings:
    """The settings of the environment, and below them those of a file.

    Args:
        given: A file that was asked for by name. Without one, the next ``ledgerkit.toml`` in ``folder`` or above it.
        folder: Where to look; the working directory if not given.
        environment: The variables.

    Raises:
        LedgerkitFailure: If something is set that is no setting, has a wrong type or value, or is not for a found file.
    """
    if given is not None and not given.is_file():
        raise LedgerkitFailure(f"No file of settings at {given}. Check --config or LEDGERKIT_CONFIG.")
    file = given or find_file(folder or Path.cwd())
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    if file is not None:
        values |= _from_file(file, is_found=given is None)
        origins |= dict.fromkeys(values, str(file))
    for key, setting in SETTINGS.items():
        text = environment.get(setting.variable)
        if text:
            values[key] = _checked(setting, _parsed(setting, text), setting.variable)
            origins[key] = setting.variable
    return Settings(values, origins)


def find_file(folder: Path) -> Path | None:
    """The ``ledgerkit.toml`` in a folder or the next one above it; None where there is none."""
    here = folder.absolute()
    return next((one / FILE_NAME for one in (here, *here.parents) if (one / FILE_NAME).is_file()), None)


def _from_file(file: Path, *, is_found: bool) -> dict[str, Any]:
    try:
        document = read_toml(file, "settings", most_bytes=_MAX_BYTES).data
    except ConfigurationError as error:
        raise LedgerkitFailure(str(error)) from error
    values: dict[str, Any] = {}
    for key, value in _flat(document):
        setting = SETTINGS.get(key)
        if setting is None:
            raise LedgerkitFailure(f"{file}: no setting {key!r}.{nearest(key, SETTINGS)}")
        if is_found and not setting.in_found_file:
            raise LedgerkitFailure(
                f"{file}: {key!r} is not read from a file that was merely found, because whoever wrote it could "
                f"{setting.why_not}. If it is yours: --config {file}, or set {setting.variable}."
            )
        checked = _checked(setting, value, f"{file}: {key!r}")
        values[key] = _placed(file, key, checked, is_found=is_found) if setting.is_path else checked
    return values


def _flat(document: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Keys and values, those of a table as ``table.name``."""
    found: list[tuple[str, Any]] = []
    for key, value in document.items():
        table = cast(dict[str, Any], value) if isinstance(value, dict) and key not in SETTINGS else {}
        found += [(f"{key}.{name}", inner) for name, inner in table.items()] or [(key, cast(Any, value))]
    return found


def _placed(file: Path, key: str, given: str, *, is_found: bool) -> str:
    """A path counts from the file's folder; of a found file it stays in that folder, symbolic links followed."""
    folder = file.absolute().parent
    if is_found:
        inside = folder.resolve()
        if "://" in given or not (folder / given).resolve().is_relative_to(inside) or given.startswith("~"):
            raise LedgerkitFailure(
                f"{file}: {key!r} is {given!r}; a file that was merely found may only name a place in its own folder, "
                f"because whoever wrote it could have your logs written elsewhere. If it is yours: --config {file}."
            )
    return given if "://" in given else str(folder / Path(given).expanduser())


_WORDS: Final[Mapping[type, str]] = {str: "a text", int: "a whole number", bool: "true or false"}
_TRUE: Final = {"1", "true", "yes", "on"}
_FALSE: Final = {"0", "false", "no", "off"}


def _parsed(setting: Setting, text: str) -> object:
    """A variable's text as a value; as it is where it has none of the type, for the check to say so."""
    if setting.kind is bool:
        word = text.strip().lower()
        return True if word in _TRUE else False if word in _FALSE else text
    if setting.kind is int:
        return int(text) if text.strip().lstrip("-").isdecimal() else text
    return text


def _checked(setting: Setting, value: object, where: str) -> Any:  # noqa: ANN401 - a value of the setting's type
    if type(value) is not setting.kind:  # exactly: Python counts true as a number
        raise LedgerkitFailure(f"{where} is {value!r}, and must be {_WORDS[setting.kind]}.")
    if setting.among and value not in setting.among:
        raise LedgerkitFailure(f"{where}: {value!r} is not allowed.{nearest(str(value), setting.among)}")
    if setting.least is not None and cast(int, value) < setting.least:
        raise LedgerkitFailure(f"{where} is {value}, and must be {setting.least} or more.")
    return value
