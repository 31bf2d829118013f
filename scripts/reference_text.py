"""Docstrings and signatures as Markdown. Text of docstrings is shown as it stands, but for the marks of Sphinx."""

from __future__ import annotations

import ast
import html
import re
import tomllib
from typing import Final

from docstring_parser import Docstring
from docstring_parser.google import GoogleParser

_WIDTH: Final = 100
_ROLE: Final = re.compile(r":[a-z]+:`~(?:[\w.]+\.)?(\w+)`|:[a-z]+:`([^`]+)`")
_CODE: Final = re.compile(r"(`[^`]*`)")


def parsed(doc: str | None) -> Docstring:
    """A docstring by its sections, as Google's style has them."""
    return GoogleParser().parse(doc or "")


def first_sentence(doc: str | None) -> str:
    """The first paragraph as one line; a docstring of this project begins with one sentence."""
    return prose((doc or "").strip().partition("\n\n")[0].replace("\n", " ")).removesuffix("::").strip()


def anchor(heading: str) -> str:
    """The fragment by which a page's heading is linked to, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def prose(text: str) -> str:
    """Running text: code in single backticks, no markup of HTML."""
    text = _ROLE.sub(lambda m: f"`{m[1] or m[2]}`", text).replace("``", "`")
    return "".join(
        piece if piece.startswith("`") and piece.endswith("`") else html.escape(piece, quote=False)
        for piece in _CODE.split(text)
    )


def paragraphs(text: str) -> list[str]:
    """Text in which blocks of code (indented below ``::``, or examples) are fenced."""
    lines: list[str] = []
    literal: list[str] | None = None  # blocks of code below a "::", blank lines between them
    for block in [*re.split(r"\n\s*\n", text.strip("\n")), ""]:
        if literal is not None and block.startswith("    "):
            literal.append(block)
            continue
        if literal:
            lines += _fence("\n\n".join(literal))
        literal = [] if block.rstrip().endswith("::") else None
        if block.lstrip().startswith(">>>"):
            lines += _fence(block)
        elif shown := re.sub(r"^::$|(?<=:):$", "", prose(block).rstrip()):
            lines += [shown, ""]
    return lines


def documented(doc: str | None, *, attributes: bool = True) -> list[str]:
    """A docstring as Markdown lines: what it says, arguments, what is returned and raised, examples."""
    read = parsed(doc)
    lines = paragraphs(read.description or "")
    params = [each for each in read.params if attributes or each.args[0] != "attribute"]
    lines += [f"- `{each.arg_name}`: {_item(each.description, indent='  ')}" for each in params]
    lines += [""] if params else []
    if read.returns and read.returns.description:
        word = "Yields" if read.returns.is_generator else "Returns"
        lines += [f"{word}: {_item(read.returns.description)}", ""]
    lines += [f"- raises `{each.type_name}`: {_item(each.description, indent='  ')}" for each in read.raises]
    lines += [""] if read.raises else []
    for example in read.examples:
        lines += _fence(example.description or "")
    return lines


def attributes_of(doc: str | None) -> dict[str, str]:
    """What the section ``Attributes`` says, by name."""
    return {
        each.arg_name: _item(each.description, indent="  ")
        for each in parsed(doc).params
        if each.args[0] == "attribute"
    }


def signature(name: str, node: ast.FunctionDef, *, is_method: bool) -> str:
    """How a function is called: names, types and defaults as they stand in the source."""
    arguments = node.args
    first = [*arguments.posonlyargs, *arguments.args]
    bound = is_method and not any(
        isinstance(each, ast.Name) and each.id == "staticmethod" for each in node.decorator_list
    )
    defaults: list[ast.expr | None] = [None] * (len(first) - len(arguments.defaults)) + list(arguments.defaults)
    pieces = [_argument(each, default) for each, default in list(zip(first, defaults, strict=True))[bound:]]
    if arguments.posonlyargs and len(arguments.posonlyargs) > bound:
        pieces.insert(len(arguments.posonlyargs) - bound, "/")
    if arguments.vararg:
        pieces.append(f"*{_argument(arguments.vararg, None)}")
    elif arguments.kwonlyargs:
        pieces.append("*")
    pieces += [_argument(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    if arguments.kwarg:
        pieces.append(f"**{_argument(arguments.kwarg, None)}")
    end = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    line = f"{name}({', '.join(pieces)}){end}"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"{name}(", *(f"    {piece}," for piece in pieces), f"){end}"])


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    text = argument.arg + (f": {ast.unparse(argument.annotation)}" if argument.annotation else "")
    if default is None:
        return text
    return f"{text} = {ast.unparse(default)}" if argument.annotation else f"{text}={ast.unparse(default)}"


def _item(text: str | None, indent: str = "") -> str:
    """Text on one line, but for a list in it, whose points keep lines of their own."""
    first, *points = re.split(r"\n\s*- ", text or "")
    told = [prose(" ".join(each.split())) for each in (first, *points)]
    if not points:
        return told[0]
    return "\n".join([told[0], *([] if indent else [""]), *(f"{indent}- {each}" for each in told[1:])])


def _fence(block: str) -> list[str]:
    lines = block.strip("\n").split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    body = [line[margin:].rstrip() for line in lines]
    return [f"```{_language(body)}", *body, "```", ""]


def _language(lines: list[str]) -> str:
    if lines[0].startswith(">>>"):
        return "python"
    for name, parse in (("toml", tomllib.loads), ("python", ast.parse)):
        try:
            parse("\n".join(lines))
        except (tomllib.TOMLDecodeError, SyntaxError):
            continue
        return name
    return "text"
