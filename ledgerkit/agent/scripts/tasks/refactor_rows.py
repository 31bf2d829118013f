"""Refactor: two renderers build the same rows; one function shall do it for both."""

from __future__ import annotations

from typing import Final

from ledgerkit.agent.scripts.task import Change, Task, Variant, same_for_all

_RENDER: Final = "tillroll/render.py"
_ROW: Final = """\
        name = line.sku if not line.discount_percent else f"{line.sku} (-{line.discount_percent} %)"
        amount = format_amount(line.net_cents)
"""
_TEXT_LOOP: Final = f"""\
    for line in invoice.lines:
{_ROW}        out.append(f"{{line.quantity:>4}} x {{name:<20}} {{amount:>10}}")
"""
_MARKDOWN_LOOP: Final = f"""\
    for line in invoice.lines:
{_ROW}        out.append(f"| {{line.quantity}} | {{name}} | {{amount}} |")
"""
_TEXT_LOOP_NEW: Final = """\
    for quantity, name, amount in invoice_rows(invoice):
        out.append(f"{quantity:>4} x {name:<20} {amount:>10}")
"""
_TEXT_LOOP_SHIFTED: Final = """\
    for quantity, name, amount in invoice_rows(invoice):
        out.append(f"{quantity:>4} x {name:<18} {amount:>10}")
"""
_MARKDOWN_LOOP_NEW: Final = """\
    for quantity, name, amount in invoice_rows(invoice):
        out.append(f"| {quantity} | {name} | {amount} |")
"""
_HEAD: Final = "def render_text(invoice: Invoice) -> str:\n"
_ROWS: Final = '''\
def invoice_rows(invoice: Invoice) -> list[tuple[int, str, str]]:
    """Quantity, name with discount and net amount of each line."""
    rows = []
    for line in invoice.lines:
        name = line.sku if not line.discount_percent else f"{line.sku} (-{line.discount_percent} %)"
        rows.append((line.quantity, name, format_amount(line.net_cents)))
    return rows


'''
_ROWS_SHORT: Final = _ROWS.replace(" if not line.discount_percent else", " if line.discount_percent < 1 else")

TASK: Final = Task(
    task_id="refactor-rows",
    title="One function for invoice rows",
    branch="refactor/invoice-rows",
    prompt=(
        "render_text and render_markdown in tillroll/render.py build their rows with the same lines of code. Move that "
        "into one function invoice_rows(invoice) that both use. The output must stay exactly as it is."
    ),
    scope=(_RENDER,),
    look_at=(_RENDER, "tests/test_render.py"),
    aside=("tillroll/invoice.py", "docs/NOTES.md", "tillroll/quotes.py"),
    search=("discount_percent", "render_(text|markdown)"),
    reproduce=same_for_all("python -m pytest -q tests/test_render.py"),
    check="python -m pytest -q tests/test_render.py",
    right=Variant(
        (
            Change(_RENDER, _ROWS + _HEAD, _HEAD),
            Change(_RENDER, _TEXT_LOOP_NEW, _TEXT_LOOP),
            Change(_RENDER, _MARKDOWN_LOOP_NEW, _MARKDOWN_LOOP),
        ),
        "Both loops compute the name with its discount and the formatted amount. A function that returns quantity, "
        "name and amount serves both; only the final formatting differs.",
        "`invoice_rows` builds quantity, name and amount; `render_text` and `render_markdown` only format them.",
    ),
    partial=Variant(
        (Change(_RENDER, _ROWS + _HEAD, _HEAD), Change(_RENDER, _TEXT_LOOP_NEW, _TEXT_LOOP)),
        "A function that returns quantity, name and amount; render_text can use it right away.",
        "`invoice_rows` builds the rows and `render_text` uses it.",
    ),
    wrong=Variant(
        (
            Change(_RENDER, _ROWS_SHORT + _HEAD, _HEAD),
            Change(_RENDER, _TEXT_LOOP_SHIFTED, _TEXT_LOOP),
            Change(_RENDER, _MARKDOWN_LOOP_NEW, _MARKDOWN_LOOP),
        ),
        "One function for the rows, and the formatting can be tidied at the same time.",
        "`invoice_rows` builds the rows for both renderers.",
    ),
    explore="Find every caller of render_text and render_markdown, and what tests rely on in their output.",
)
