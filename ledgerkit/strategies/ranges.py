"""Sums over ranges of an array, restricted to small values: the one search that steps cannot do by prefix sums alone.

The array is read bit by bit of its values, from the highest (a wavelet matrix, Claude, Navarro and Ordóñez 2015), for
all queries at once: (elements + queries) × bits operations, and memory for one level.
"""

from __future__ import annotations

import numpy as np

from ledgerkit.strategies.grid import Ints, sums_before


def sums_below(values: Ints, weights: Ints, left: Ints, right: Ints, threshold: Ints) -> Ints:
    """Sums of the weights of elements in ``[left, right)`` whose value is below a threshold.

    Args:
        values: Whole numbers from 0, shape (n,).
        weights: Their weights, shape (n,).
        left: First element of each query, shape (q,).
        right: Element after its last, shape (q,).
        threshold: Whole numbers from 0, shape (q,).

    Returns:
        One sum per query, shape (q,), exact.

    Example:
        >>> numbers = np.array([3, 1, 2])
        >>> sums_below(numbers, numbers * 10, np.array([0, 0]), np.array([3, 1]), np.array([3, 3])).tolist()
        [30, 0]
    """
    sums = np.zeros(left.size, np.int64)
    if not values.size or not left.size:
        return sums
    bits = int(max(values.max(), threshold.max())).bit_length()
    for bit in reversed(range(bits)):
        is_zero = ((values >> bit) & 1) == 0
        zeros = sums_before(is_zero)
        order = np.concatenate((np.flatnonzero(is_zero), np.flatnonzero(~is_zero)))
        values, weights = values[order], weights[order]
        totals = sums_before(weights)
        low, high = zeros[left], zeros[right]
        goes_up = ((threshold >> bit) & 1) == 1
        sums += np.where(goes_up, totals[high] - totals[low], 0)
        left = np.where(goes_up, zeros[-1] + left - low, low)
        right = np.where(goes_up, zeros[-1] + right - high, high)
    return sums
