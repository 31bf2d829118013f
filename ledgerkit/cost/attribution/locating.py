"""Which placement holds the n-th token of a context, for all steps at once, without rendering one.

A context's tokens are sums over the starts and ends up to its step; the search goes down the bits of the position
(a wavelet matrix, as ``ledgerkit.strategies.ranges`` has it): (elements + questions) × bits operations.
"""

from __future__ import annotations

import numpy as np

from ledgerkit.strategies.grid import Ints, sums_before
from ledgerkit.strategies.standing import Standing

_STRIDE = 1 << 40


def places_of(values: Ints, weights: Ints, left: Ints, right: Ints, target: Ints) -> tuple[Ints, Ints]:
    """The smallest value up to which the weights of a range sum to more than a target.

    Args:
        values: Whole numbers from 0, shape (n,).
        weights: Their weights, shape (n,). Over any range that is asked for, the weights of one value sum to 0 or more.
        left: First element of each question, shape (q,).
        right: Element after its last, shape (q,).
        target: From 0, and below the sum of the range's weights, shape (q,).

    Returns:
        The value, and what is left of the target when the weights of all smaller values are taken off.

    Example:
        >>> numbers = np.array([3, 1, 2])
        >>> found = places_of(numbers, numbers * 10, np.array([0, 0]), np.array([3, 2]), np.array([35, 10]))
        >>> [one.tolist() for one in found]
        [[3, 3], [5, 0]]
    """
    found, rest = np.zeros(left.size, np.int64), target.astype(np.int64)
    if not values.size or not left.size:
        return found, rest
    for bit in reversed(range(int(values.max()).bit_length())):
        is_zero = ((values >> bit) & 1) == 0
        zeros = sums_before(is_zero)
        order = np.concatenate((np.flatnonzero(is_zero), np.flatnonzero(~is_zero)))
        values, weights = values[order], weights[order]
        totals = sums_before(weights)
        low, high = zeros[left], zeros[right]
        below = totals[high] - totals[low]
        goes_up = rest >= below
        rest -= np.where(goes_up, below, 0)
        found |= goes_up.astype(np.int64) << bit
        left = np.where(goes_up, zeros[-1] + left - low, low)
        right = np.where(goes_up, zeros[-1] + right - high, high)
    return found, rest


def locate(standing: Standing, slots: Ints, tokens: Ints) -> tuple[Ints, Ints, Ints]:
    """The placement that holds a token of a context.

    Args:
        slots: Slots of the contexts, shape (q,).
        tokens: Numbers of tokens in them, from 0; each below the tokens of the context.

    Returns:
        Its position, how many of its tokens lie before that one, and its row; shape (q,) each.
    """
    # What ends with its run never ends at a step: half of the events need not be looked at.
    ends = np.flatnonzero(standing.end < standing.grid.first[standing.run + 1] - 1)
    when = np.concatenate((standing.start, standing.end[ends]))
    order = np.argsort(when, kind="stable")
    when = when[order]
    position = np.concatenate((standing.position, standing.position[ends]))[order]
    signed = np.concatenate((standing.tokens, -standing.tokens[ends]))[order]
    left = np.searchsorted(when, standing.grid.first[standing.grid.run[slots]], side="left")
    right = np.searchsorted(when, slots, side="right")
    place, offset = places_of(position, signed, left, right, tokens)
    return place, offset, _rows(standing, slots, place)


def _rows(standing: Standing, slots: Ints, position: Ints) -> Ints:
    """The row that stands at a position of a context: the last one there that has begun."""
    key = standing.run * _STRIDE + standing.position
    places, number = np.unique(key, return_inverse=True)
    width = standing.grid.size + 1
    order = np.argsort(number * width + standing.start, kind="stable")
    begun = (number * width + standing.start)[order]
    asked = np.searchsorted(places, standing.grid.run[slots] * _STRIDE + position) * width + slots
    return order[np.searchsorted(begun, asked, side="right") - 1]
