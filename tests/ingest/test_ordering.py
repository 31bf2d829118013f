"""One order out of the orders of many files, whatever order the files come in."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ledgerkit.ingest.ordering import merge

Times = dict[int, int | None]


def test_overlapping_pieces_of_a_session_become_the_session() -> None:
    times: Times = dict(enumerate(range(10)))
    assert merge([[4, 5, 6, 7], [0, 1, 2, 3, 4, 5], [7, 8, 9]], times) == list(range(10))


def test_disjoint_pieces_are_ordered_by_time() -> None:
    assert merge([[5, 6], [1, 2], [3, 4]], {n: n for n in range(1, 7)}) == [1, 2, 3, 4, 5, 6]


def test_the_order_of_a_file_holds_against_time() -> None:
    assert merge([[1, 2, 3]], {1: 30, 2: 20, 3: 10}) == [1, 2, 3]
    assert merge([[1, 2, 3], [2, 3, 4]], {1: 30, 2: 20, 3: 10, 4: 0}) == [1, 2, 3, 4]


def test_a_record_without_time_goes_where_the_record_before_it_goes() -> None:
    times: Times = {1: 10, 2: None, 3: 30, 4: 20, 5: None}
    assert merge([[1, 2, 3], [4, 5]], times) == [1, 2, 4, 5, 3]


def test_records_without_any_time_keep_the_order_of_their_files() -> None:
    assert merge([[3, 1], [1, 2]], dict.fromkeys((1, 2, 3))) == [3, 1, 2]


def test_keys_that_are_no_records_are_left_out_without_tearing_their_neighbours_apart() -> None:
    assert merge([[1, 99, 2], [98, 2, 3]], {1: 5, 2: 4, 3: 3}) == [1, 2, 3]


def test_nothing_gives_nothing() -> None:
    assert merge([], {}) == []
    assert merge([[]], {}) == []
    assert merge([[7, 7, 7]], {7: None}) == [7]


def test_files_that_contradict_each_other_give_every_record_once() -> None:
    assert sorted(merge([[1, 2, 3], [3, 2, 1]], {1: 1, 2: 2, 3: 3})) == [1, 2, 3]
    assert merge([[1, 2], [2, 1]], {1: 5, 2: 4}) == merge([[2, 1], [1, 2]], {1: 5, 2: 4})


_TIMES = st.dictionaries(st.integers(0, 15), st.none() | st.integers(0, 20), min_size=1)


@st.composite
def pieces_of_one_order(draw: st.DrawFn) -> tuple[list[int], list[list[int]], Times]:
    """An order of some keys, pieces of it, and times that say nothing about it."""
    times = draw(_TIMES)
    truth = draw(st.permutations(sorted(times)))
    chosen = draw(st.lists(st.sets(st.sampled_from(truth)), min_size=1, max_size=6))
    return truth, [[key for key in truth if key in piece] for piece in chosen], times


@given(pieces_of_one_order(), st.data())
def test_the_result_does_not_depend_on_the_order_of_the_files(
    case: tuple[list[int], list[list[int]], Times], data: st.DataObject
) -> None:
    _, pieces, times = case
    shuffled = data.draw(st.permutations(pieces))
    assert merge(shuffled, times) == merge(pieces, times) == merge([*pieces, *shuffled], times)


@given(pieces_of_one_order())
def test_every_record_stands_once_and_no_file_is_contradicted(case: tuple[list[int], list[list[int]], Times]) -> None:
    _, pieces, times = case
    merged = merge(pieces, times)
    assert sorted(merged) == sorted({key for piece in pieces for key in piece})
    place = {key: number for number, key in enumerate(merged)}
    for piece in pieces:
        assert all(place[before] < place[after] for before, after in pairwise(piece))


@given(pieces_of_one_order())
def test_where_clocks_run_forward_the_pieces_give_the_whole(case: tuple[list[int], list[list[int]], Times]) -> None:
    truth, pieces, _ = case
    there = {key for piece in pieces for key in piece}
    times: Times = {key: number for number, key in enumerate(truth)}
    assert merge(pieces, times) == [key for key in truth if key in there]


@given(st.lists(st.lists(st.integers(0, 8), max_size=8), max_size=6), _TIMES)
def test_any_files_at_all_give_every_record_once_in_an_order_of_their_own(
    sequences: list[list[int]], times: Times
) -> None:
    merged = merge(sequences, times)
    assert sorted(merged) == sorted({key for sequence in sequences for key in sequence if key in times})
    assert merge(list(reversed(sequences)), times) == merged
