"""The tolerant reader: one test for each way in which a JSON Lines file is damaged."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgerkit.importers.reader import Damage, Line, read_json_lines
from ledgerkit.protocol.model import MAX_JSON_DEPTH

A = b'{"a": 1}'
B = b'{"b": 2}'
_TORN = b'{"c": "cut o'


def items_of(path: Path, content: bytes, **options: int) -> list[Line | Damage]:
    path.write_bytes(content)
    return list(read_json_lines(path, **options))


def values_of(items: list[Line | Damage]) -> list[Any]:
    return [item.value for item in items if isinstance(item, Line)]


def damage_of(items: list[Line | Damage]) -> list[Damage]:
    return [item for item in items if isinstance(item, Damage)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def test_each_line_is_a_value_with_its_number_offset_and_size(path: Path) -> None:
    first, second = items_of(path, A + b"\n" + B + b"\n")
    assert first == Line(1, 0, 8, {"a": 1})
    assert second == Line(2, 9, 8, {"b": 2})


def test_two_objects_glued_on_one_line_are_taken_apart(path: Path) -> None:
    items = items_of(path, A + B + b"\n" + A + b"\n")
    assert values_of(items) == [{"a": 1}, {"b": 2}, {"a": 1}]
    assert [item.number for item in items] == [1, 1, 2]
    assert [item.flags for item in items if isinstance(item, Line)] == [("glued",), ("glued",), ()]


def test_glued_objects_have_offsets_of_their_own(path: Path) -> None:
    content = '\ufeff {"é": 1} \0{"ü": "\u2028"}\t{}[3]\n'.encode()
    items = items_of(path, content)
    assert values_of(items) == [{"é": 1}, {"ü": "\u2028"}, {}, [3]]
    assert items[0].offset == 0
    for item, following in itertools.pairwise(items):
        assert item.offset + item.size == following.offset
    assert items[-1].offset + items[-1].size == len(content) - 1
    assert content[items[1].offset :].startswith('{"ü"'.encode())


def test_an_object_glued_to_a_cut_off_one_is_kept_and_only_the_rest_is_torn(path: Path) -> None:
    items = items_of(path, A + _TORN)
    assert values_of(items) == [{"a": 1}]
    assert damage_of(items) == [Damage(1, len(A), len(_TORN), "cut off", torn=True)]


def test_the_torn_rest_of_a_glued_line_can_be_read_on_from_its_offset(path: Path) -> None:
    torn = damage_of(items_of(path, B + b"\n" + A + _TORN))[0]
    grown = B + b"\n" + A + _TORN + b'ff"}\n' + B
    items = items_of(path, grown, offset=torn.offset, line=torn.number)
    assert values_of(items) == [{"c": "cut off"}, {"b": 2}]
    assert [(item.number, item.offset) for item in items] == [(2, grown.index(b'{"c"')), (3, grown.rindex(B))]


def test_an_object_glued_to_one_cut_off_in_the_middle_of_the_file_costs_only_the_rest_of_the_line(path: Path) -> None:
    items = items_of(path, A + _TORN + b"\n" + B + b"\n")
    assert values_of(items) == [{"a": 1}, {"b": 2}]
    (damage,) = damage_of(items)
    assert (damage.number, damage.offset, damage.size, damage.torn) == (1, len(A), len(_TORN), False)
    assert damage.reason.startswith("not JSON: ")


def test_a_torn_last_line_is_told_from_damage_in_the_middle(path: Path) -> None:
    items = items_of(path, A + b"\n" + _TORN + b"\n" + _TORN)
    middle, last = damage_of(items)
    assert (middle.number, middle.offset, middle.torn) == (2, 9, False)
    assert (last.number, last.offset, last.size, last.torn) == (3, 22, len(_TORN), True)


def test_a_complete_last_line_without_newline_is_a_value(path: Path) -> None:
    items = items_of(path, A + b"\n" + B)
    assert items == [Line(1, 0, 8, {"a": 1}), Line(2, 9, 8, {"b": 2})]


def test_nul_blocks_that_a_crash_left_are_passed_over(path: Path) -> None:
    items = items_of(path, b"\0" * 4096 + b"\n" + b"\0" * 512 + A + b"\0\0\n" + b"\0" * 100 + b"\n" + B + b"\n")
    assert values_of(items) == [{"a": 1}, {"b": 2}]
    assert not damage_of(items)
    assert [(i.number, i.offset) for i in items] == [(2, 4097), (4, 4097 + 512 + 8 + 2 + 1 + 101)]
    assert items[0] == Line(2, 4097, 512 + 8 + 2, {"a": 1}, ("nul_bytes",))


def test_a_byte_order_mark_at_the_beginning_is_no_damage(path: Path) -> None:
    assert items_of(path, b"\xef\xbb\xbf" + A + b"\n" + B) == [Line(1, 0, 11, {"a": 1}), Line(2, 12, 8, {"b": 2})]


def test_a_byte_order_mark_elsewhere_is_damage(path: Path) -> None:
    items = items_of(path, A + b"\n\xef\xbb\xbf" + B + b"\n")
    assert values_of(items) == [{"a": 1}]
    assert [damage.number for damage in damage_of(items)] == [2]


def test_line_separators_of_unicode_end_no_line(path: Path) -> None:
    text = "one\u2028two\u2029three\x85four"
    items = items_of(path, json.dumps({"a": text}, ensure_ascii=False).encode() + b"\n" + B)
    assert values_of(items) == [{"a": text}, {"b": 2}]
    assert [item.number for item in items] == [1, 2]


def test_line_ends_of_windows_are_white_space(path: Path) -> None:
    items = items_of(path, A + b"\r\n\r\n" + B + b"\r\n")
    assert values_of(items) == [{"a": 1}, {"b": 2}]
    assert [(item.number, item.offset) for item in items] == [(1, 0), (3, 12)]


def test_blank_lines_count_as_lines_and_hold_nothing(path: Path) -> None:
    items = items_of(path, b"\n \t\n" + A + b"\n\n\n" + B)
    assert [(item.number, item.offset) for item in items] == [(3, 4), (6, 15)]
    assert items_of(path, b"\n\n") == []
    assert items_of(path, b"") == []


@pytest.mark.parametrize(
    ("escaped", "meant"),
    [
        (r"\ud83d", "\ufffd"),
        (r"\ude00", "\ufffd"),
        (r"\ude00\ud83d", "\ufffd\ufffd"),
        (r"\ud83d\ud83d\ude00", "\ufffd😀"),
    ],
)
def test_lone_surrogates_are_replaced_and_flagged(path: Path, escaped: str, meant: str) -> None:
    (item,) = items_of(path, b'{"key %b": ["%b"]}\n' % (escaped.encode(), escaped.encode()))
    assert isinstance(item, Line)
    assert item.value == {f"key {meant}": [meant]}
    assert item.flags == ("lone_surrogates",)
    json.dumps(item.value, ensure_ascii=False).encode()


def test_a_pair_of_surrogates_is_the_character_that_it_means(path: Path) -> None:
    assert items_of(path, rb'{"a": "\ud83d\ude00"}') == [Line(1, 0, 21, {"a": "😀"})]


@pytest.mark.parametrize("raw", [b"\xff", b"caf\xe9", b"\xed\xa0\x80", b"\xf0\x9f\x98"])
def test_invalid_utf8_is_replaced_and_flagged(path: Path, raw: bytes) -> None:
    items = items_of(path, b'{"a": "<' + raw + b'>", "kept": "\xef\xbf\xbd \xc3\xa9"}\n' + B)
    assert isinstance(items[0], Line)
    assert "\ufffd" in items[0].value["a"]
    assert (items[0].value["a"][0], items[0].value["a"][-1]) == ("<", ">")
    assert items[0].value["kept"] == "\ufffd é"
    assert items[0].flags == ("invalid_utf8",)
    assert items[1] == Line(2, items[0].size + 1, 8, {"b": 2})


def test_offsets_are_bytes_also_behind_invalid_utf8(path: Path) -> None:
    first = b'{"a": "\xff\xfe\xe9"}'
    items = items_of(path, first + B + b"\n")
    assert [(item.offset, item.size) for item in items] == [(0, len(first)), (len(first), len(B))]


def test_a_replacement_character_that_the_source_wrote_is_not_flagged(path: Path) -> None:
    assert items_of(path, '{"a": "\ufffd"}'.encode()) == [Line(1, 0, 12, {"a": "\ufffd"})]


def test_numbers_that_are_not_json_are_kept_as_the_words_they_were_written_as(path: Path) -> None:
    items = items_of(path, b'{"a": [NaN, Infinity, -Infinity, 1e999, -1e999, 1.5]}\n')
    assert values_of(items) == [{"a": ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", 1.5]}]
    json.dumps(values_of(items), allow_nan=False)


def test_huge_integers_are_exact(path: Path) -> None:
    long, longest = 10**30 + 1, "9" * 100_000
    items = items_of(path, f'{{"a": {long}, "b": -{2**63}}}\n{{"a": {longest}}}\n'.encode())
    assert values_of(items) == [{"a": long, "b": -(2**63)}, {"a": longest}]


def test_control_characters_inside_a_string_do_not_cost_the_record(path: Path) -> None:
    assert values_of(items_of(path, b'{"a": "x\ty\x01z\0"}\n')) == [{"a": "x\ty\x01z\0"}]


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
@pytest.mark.parametrize("depth", [MAX_JSON_DEPTH + 1, 900, 100_000])
def test_deep_nesting_costs_its_line_and_no_more(path: Path, opening: bytes, closing: bytes, depth: int) -> None:
    items = items_of(path, opening * depth + b"1" + closing * depth + b"\n" + B + b"\n")
    assert values_of(items) == [{"b": 2}]
    (damage,) = damage_of(items)
    assert (damage.number, damage.torn) == (1, False)
    assert damage.reason == f"nested deeper than {MAX_JSON_DEPTH} levels"


def test_nesting_that_the_protocol_allows_is_read(path: Path) -> None:
    (item,) = items_of(path, b"[" * MAX_JSON_DEPTH + b"1" + b"]" * MAX_JSON_DEPTH)
    assert isinstance(item, Line)


def test_a_glued_object_that_is_nested_too_deeply_costs_only_itself(path: Path) -> None:
    deep = b"[" * 200 + b"]" * 200
    items = items_of(path, A + deep + B)
    assert values_of(items) == [{"a": 1}, {"b": 2}]
    assert [(damage.offset, damage.size) for damage in damage_of(items)] == [(8, 400)]


def test_a_line_over_the_limit_is_damage_and_its_neighbours_are_read(path: Path) -> None:
    long = b'{"a": "' + b"x" * 100 + b'"}'
    content = A + b"\n" + long + b"\n" + B + b"\n"
    items = items_of(path, content, max_line_bytes=len(long) - 1)
    assert values_of(items) == [{"a": 1}, {"b": 2}]
    assert damage_of(items) == [Damage(2, 9, len(long), "line longer than 108 bytes")]
    assert items[-1].offset == 9 + len(long) + 1
    assert len(values_of(items_of(path, content, max_line_bytes=len(long)))) == 3


def test_a_line_over_the_limit_that_is_longer_than_what_is_read_at_once(path: Path) -> None:
    long = b'"' + b"x" * 3_500_000 + b'"'
    items = items_of(path, A + b"\n" + long + b"\n" + B + b"\n" + long, max_line_bytes=1000)
    assert values_of(items) == [{"a": 1}, {"b": 2}]
    middle, last = damage_of(items)
    assert (middle.offset, middle.size, middle.torn) == (9, len(long), False)
    assert (last.number, last.size, last.torn) == (4, len(long), True)


def test_lines_longer_than_what_is_read_at_once_are_whole(path: Path) -> None:
    lines = [json.dumps({"n": n, "pad": "é" * (n * 400_000)}, ensure_ascii=False).encode() for n in range(4)]
    items = items_of(path, b"\n".join(lines))
    assert [value["n"] for value in values_of(items)] == [0, 1, 2, 3]
    assert [item.offset for item in items] == [sum(len(line) + 1 for line in lines[:n]) for n in range(4)]


def test_a_compressed_file_is_read_like_what_it_unpacks_to(path: Path) -> None:
    content = A + b"\n" + B + A + b"\n" + _TORN
    assert items_of(path, gzip.compress(content)) == items_of(path, content)


def test_a_compressed_file_that_is_cut_off_gives_what_can_be_unpacked(path: Path) -> None:
    lines = [json.dumps({"n": n, "pad": hashlib.sha256(b"%d" % n).hexdigest()}).encode() for n in range(20_000)]
    packed = gzip.compress(b"\n".join(lines) + b"\n")
    items = items_of(path, packed[: len(packed) // 2])
    read = values_of(items)
    assert read == [json.loads(line) for line in lines[: len(read)]]
    assert len(read) > 5000
    (damage,) = damage_of(items)
    assert (damage.number, damage.torn) == (len(read) + 1, True)
    assert damage.reason.startswith("compressed data is damaged")


def test_a_file_that_only_looks_compressed_is_damage(path: Path) -> None:
    (item,) = items_of(path, b"\x1f\x8b" + A + b"\n" + B)
    assert isinstance(item, Damage)


def test_a_damaged_compressed_file_is_damage(path: Path) -> None:
    packed = bytearray(gzip.compress((A + b"\n") * 1000 + bytes(range(256)) * 50))
    packed[40:60] = bytes(20)
    assert len(damage_of(items_of(path, bytes(packed)))) == 1


def test_a_file_is_read_up_to_where_it_ended_when_reading_began(path: Path) -> None:
    path.write_bytes(A + b"\n" + B + b"\n")
    items: list[Line | Damage] = []
    for item in read_json_lines(path):
        with path.open("ab") as file:
            file.write(A + b"\n")
        items.append(item)
    assert values_of(items) == [{"a": 1}, {"b": 2}]


# Any file at all


_VALUES = st.dictionaries(
    st.text(max_size=4),
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    max_size=3,
)
_RECORD = _VALUES.map(lambda value: ("record", json.dumps(value, ensure_ascii=False).encode()))
_BLANK = st.sampled_from([b"", b"  ", b"\r", b"\0\0", b"\t"]).map(lambda raw: ("blank", raw))
_GARBAGE = st.one_of(
    st.sampled_from([b"{", b'{"a": ', b"nul", b"}{", b'"open', b"\xff\xfe", b"{'a': 1}", b"[1, 2", b"\xef\xbb\xbfx"]),
    st.binary(min_size=1, max_size=12).map(lambda raw: b"!" + raw.replace(b"\n", b"?")),
).map(lambda raw: ("garbage", raw))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reader") / "log.jsonl"


@settings(deadline=None)
@given(lines=st.lists(st.one_of(_RECORD, _BLANK, _GARBAGE), max_size=12), terminated=st.booleans())
def test_every_record_comes_back_with_its_exact_place_whatever_stands_between(
    scratch: Path, lines: list[tuple[str, bytes]], terminated: bool
) -> None:
    content = b"".join(raw + b"\n" for _, raw in lines)
    content = content if terminated else content.removesuffix(b"\n")
    items = items_of(scratch, content)
    offset = 0
    expected: list[tuple[str, int, int, int, object]] = []
    for number, (kind, raw) in enumerate(lines, start=1):
        if kind != "blank":
            expected.append((kind, number, offset, len(raw), json.loads(raw) if kind == "record" else None))
        offset += len(raw) + 1
    assert [
        (
            "record" if isinstance(item, Line) else "garbage",
            item.number,
            item.offset,
            item.size,
            getattr(item, "value", None),
        )
        for item in items
    ] == expected


@settings(deadline=None)
@given(
    glued=st.lists(_VALUES.map(lambda value: json.dumps(value, ensure_ascii=False).encode()), min_size=1, max_size=5),
    blanks=st.lists(st.sampled_from([b"", b" ", b"\t ", b"\0"]), min_size=5, max_size=5),
    torn=st.booleans(),
)
def test_glued_values_share_the_bytes_of_their_line_without_rest(
    scratch: Path, glued: list[bytes], blanks: list[bytes], torn: bool
) -> None:
    line = b"".join(raw + blank for raw, blank in zip(glued, blanks, strict=False)) + (_TORN if torn else b"")
    items = items_of(scratch, line)
    assert values_of(items) == [json.loads(raw) for raw in glued]
    assert sum(item.size for item in items) == len(line)
    assert [damage.torn for damage in damage_of(items)] == [True] * torn
    # Reading on from any of them gives the rest.
    for place, item in enumerate(items):
        assert values_of(items_of(scratch, line, offset=item.offset)) == values_of(items[place:])


@settings(deadline=None)
@given(content=st.binary(max_size=200))
def test_no_bytes_at_all_make_reading_fail_and_damage_and_values_never_overlap(scratch: Path, content: bytes) -> None:
    items = items_of(scratch, content)
    end = 0
    for item in items:
        assert item.offset >= end
        end = item.offset + item.size
        assert item.number == content[: item.offset].count(b"\n") + 1
    assert end <= len(content)
