"""The context projector: what a model is given at a step of a run, from the ledger, with an account of every part."""

from ledgerkit.projection.account import ACCOUNT, QUESTIONS, Left
from ledgerkit.projection.context import Context
from ledgerkit.projection.pieces import Form, Piece
from ledgerkit.projection.projector import ContextProjector, Material
from ledgerkit.projection.recorded import ContextSetup
from ledgerkit.projection.supplied import Supplied
from ledgerkit.projection.tools import ToolReason

__all__ = [
    "ACCOUNT",
    "QUESTIONS",
    "Context",
    "ContextProjector",
    "ContextSetup",
    "Form",
    "Left",
    "Material",
    "Piece",
    "Supplied",
    "ToolReason",
]
