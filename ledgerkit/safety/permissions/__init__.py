"""Permissions: may this call be made. Fails closed."""

from __future__ import annotations

from ledgerkit.safety.permissions.calls import (
    LabelledApproval,
    PermissionDecision,
    PermissionEffect,
    PermissionRule,
    ProposedCall,
)
from ledgerkit.safety.permissions.checking import check_permission

__all__ = [
    "LabelledApproval",
    "PermissionDecision",
    "PermissionEffect",
    "PermissionRule",
    "ProposedCall",
    "check_permission",
]
