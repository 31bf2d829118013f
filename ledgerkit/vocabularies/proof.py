"""A faster engine is used only if it is proved: it must count every probe text as tiktoken does."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

from ledgerkit import vocabularies

BatchCount = Callable[[Sequence[str], str, int], list[int]]
"""toktok's function: texts, encoding and number of threads in, counts out."""


class UnusableError(Exception):
    """The engine cannot be used; the argument says why."""


def proved_toktok(encoding: str) -> BatchCount:
    """The counting function of toktok.

    Raises:
        UnusableError: If toktok is not installed, cannot count this encoding, or counts a probe text otherwise.
    """
    probes = vocabularies.load_probes()
    try:
        batch_count: BatchCount = importlib.import_module("toktok").batch_count
        counts = batch_count([probe["text"] for probe in probes], encoding, 1)
    except ImportError as error:
        reason = "toktok is not installed"
        raise UnusableError(reason) from error
    except (AttributeError, LookupError, TypeError, ValueError, RuntimeError) as error:
        reason = f"toktok cannot count {encoding}: {error}"
        raise UnusableError(reason) from error
    for probe, found in zip(probes, counts, strict=True):
        if found != probe["counts"][encoding]:
            reason = f"toktok counts {found} tokens in {probe['text']!r}, tiktoken {probe['counts'][encoding]}"
            raise UnusableError(reason)
    return batch_count
