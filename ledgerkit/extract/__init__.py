"""What can be read out of a part. Frames in, frames out."""

from __future__ import annotations

from ledgerkit.extract.entities import ENTITY_SCHEMA, FORMS, KINDS, extract_entities

__all__ = ["ENTITY_SCHEMA", "FORMS", "KINDS", "extract_entities"]
