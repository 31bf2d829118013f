"""What a redactor does: known values in every form, placeholders, offsets, memory, and what it leaves alone."""

from __future__ import annotations

import base64
import html
import json
import pickle
import random
import re
import shlex
import string
import uuid
from collections.abc import Callable
from itertools import permutations
from typing import Final
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledgerkit.safety.redaction import (
    PLACEHOLDER,
    OffsetMap,
    RedactionKey,
    RedactionResult,
    SecretMemory,
    SecretRedactor,
    standard_redactor,
)
from tests.redaction.kinds import KINDS

LETTERS: Final = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
HEX: Final = "0123456789abcdef"
DASHES: Final = "-" * 5
PEM_KINDS: Final = [kind for kind in KINDS if kind.family == "pem"]
patient: Final = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def redactor() -> SecretRedactor:
    return standard_redactor(RedactionKey.public())


def drawn(seed: object, length: int = 28, alphabet: str = LETTERS) -> str:
    rng = random.Random(str(seed))
    return "".join(rng.choice(alphabet) for _ in range(length))


def a_symbol_password(seed: object) -> str:
    """Everything that some way of writing has an escape for."""
    return f"{drawn(seed, 9)}&9<x/Zp>\"2'w+L=4{drawn(f'{seed}/2', 9)}"


def with_umlauts(seed: object) -> str:
    return f"gé{drawn(seed, 20)}ß/+9"


def a_private_key(number: int) -> str:
    """A key of a kind, none of whose lines begins like one of a diff."""
    rng = random.Random(number + 20)
    while True:
        text = PEM_KINDS[number % len(PEM_KINDS)].make(rng).text
        if "\n+" not in text:
            return text


def body_lines(key: str) -> list[str]:
    return [line for line in key.splitlines() if re.fullmatch("[A-Za-z0-9+/=]{40,76}", line)]


def in_environment(value: str) -> str:
    return f"export DB_PASSWORD={value}"


def in_json(value: str) -> str:
    return json.dumps({"client_secret": value})


def fingerprints(result: RedactionResult) -> set[str]:
    return {one.fingerprint for one in result.replacements}


def runs_of(text: str, value: str, size: int = 7) -> list[str]:
    """Pieces of a value that stand in a text."""
    return [value[at : at + size] for at in range(len(value) - size + 1) if value[at : at + size] in text]


# --- Known values, however they are written --------------------------------------------------------------------------


def escaped(times: int, text: str) -> str:
    for _ in range(times):
        text = json.dumps(text)[1:-1]
    return text


def lower_codes(text: str) -> str:
    return re.sub("%..", lambda code: code[0].lower(), text)


def in_base64(lead: str, *, is_url_safe: bool = False) -> Callable[[str], str]:
    encode = base64.urlsafe_b64encode if is_url_safe else base64.b64encode
    return lambda value: encode(f"{lead}{value}?>~ and more".encode()).decode()


FORMS: Final[dict[str, Callable[[str], str]]] = {
    "raw": lambda value: value,
    "json": lambda value: escaped(1, value),
    "json twice": lambda value: escaped(2, value),
    "json three times": lambda value: escaped(3, value),
    "json with slashes": lambda value: escaped(1, value).replace("/", "\\/"),
    "json for html": lambda value: (
        escaped(1, value).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    ),
    "percent": lambda value: quote(value, safe=""),
    "percent in lower case": lambda value: lower_codes(quote(value, safe="")),
    "percent with slashes": quote,
    "form": quote_plus,
    "html": html.escape,
    "html text": lambda value: html.escape(value, quote=False),
    "shell": shlex.quote,
    "base64": in_base64(""),
    "base64, second alignment": in_base64("x"),
    "base64, third alignment": in_base64("xy"),
    "base64 for addresses": in_base64("??>~", is_url_safe=True),
    "base64 for addresses, second alignment": in_base64("??>~x", is_url_safe=True),
    "base64 for addresses, third alignment": in_base64("??>~xy", is_url_safe=True),
}


SURROUNDINGS: Final[dict[str, Callable[[str], str]]] = {
    "arguments": lambda value: json.dumps(["deploy", "--with", value, "--now"]),
    "arguments in Python": lambda value: repr(["deploy", "--with", value, "--now"]),
    "command": lambda value: shlex.join(["deploy", "--with", value, "--now"]),
    "header": lambda value: f"X-Thing: {value}\r\n",
    "diff": lambda value: f"@@ -1,2 +1,2 @@\n-{value}\n+{value}\n context\n",
    "numbered": lambda value: f"    12\t{value}\n    13\tnext",
    "name of a file": lambda value: f"/srv/{value}/data.json",
    "inside a word": lambda value: f"x{value}y",
    "beside letters of another script": lambda value: f"\u00fc{value}\u4e2d",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("source", "make"),
    [(in_environment, drawn), (in_json, a_symbol_password), (in_json, with_umlauts)],
    ids=["plain", "symbols", "umlauts"],
)
def test_a_known_value_is_removed_in_every_form(
    form: str, source: Callable[[str], str], make: Callable[[object], str], redactor: SecretRedactor
) -> None:
    for seed in range(3):
        value = make(f"{form}/{seed}")
        written = FORMS[form](value)
        texts = [f"It said {written} there.", source(value), written]
        result = redactor.redact(texts)
        for number in (0, 2):
            assert not runs_of(result.texts[number], value)
            assert not runs_of(result.texts[number], written)
        assert fingerprints(redactor.redact([source(value)])) <= fingerprints(result)


@pytest.mark.parametrize("form", SURROUNDINGS)
def test_a_known_value_is_removed_from_every_surroundings(form: str, redactor: SecretRedactor) -> None:
    for seed in range(3):
        value = drawn(f"{form}/{seed}")
        text = SURROUNDINGS[form](value)
        result = redactor.redact([text, in_environment(value)])
        assert not runs_of(result.texts[0], value)
        (placeholder,) = {one.placeholder for one in result.replacements}
        assert result.texts[0] == text.replace(value, placeholder)


def test_base64_of_a_known_value_has_its_fingerprint(redactor: SecretRedactor) -> None:
    value = a_symbol_password("base64")
    result = redactor.redact([in_json(value), in_base64("")(value)])
    assert len(fingerprints(result)) == 1


RARER_FORMS: Final[dict[str, Callable[[str], str]]] = {
    "html with numbers": lambda value: html.escape(value).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
    "double quotes of a shell": lambda value: '"' + re.sub(r'([\\"$`])', r"\\\1", value) + '"',
    "single quotes of Python": lambda value: "'" + value.replace("'", "\\'") + "'",
}


@pytest.mark.parametrize("form", RARER_FORMS)
def test_a_known_value_is_removed_in_rarer_forms(form: str, redactor: SecretRedactor) -> None:
    value = a_symbol_password(form).replace("w+", "$+")
    written = RARER_FORMS[form](value)
    assert not runs_of(redactor.redact([in_json(value), f"It said {written} there."]).texts[1], written)


@pytest.mark.parametrize("letters", ["bn", "nn", "tf", "rb", "ft", "dn", "xd", "ww", '""', "//", "\\\\", 'n"'])
def test_a_value_with_backslashes_is_the_value(letters: str, redactor: SecretRedactor) -> None:
    value = f"a\\{letters[0]}{drawn('backslash')}\\{letters[1]}7"
    assert PLACEHOLDER.fullmatch(redactor.redact([in_json(value), quote(value, safe="")]).texts[1])


@pytest.mark.parametrize("place", range(1, 5))
def test_a_value_may_hold_an_escaped_quote(place: int, redactor: SecretRedactor) -> None:
    value = drawn("quote")
    assert redactor.redact([in_json(f'{value[:place]}"{value[place:]}')]).replacements


def test_a_value_may_hold_an_escaped_quote_later(redactor: SecretRedactor) -> None:
    value = drawn("quote")
    for place in range(6, 28):
        result = redactor.redact([in_json(f'{value[:place]}"{value[place:]}')])
        assert not runs_of(result.texts[0], value), place


@pytest.mark.parametrize("number", [0, 2, 3, 4, 5, 6, 7])
def test_lines_of_a_private_key_are_removed_elsewhere(number: int, redactor: SecretRedactor) -> None:
    key = a_private_key(number)
    lines = body_lines(key)
    assert lines
    others = [
        text for line in lines for text in (f"line 3: {line} end", json.dumps({"out": f"{line}\n"}), f"-{line}\n")
    ]
    result = redactor.redact([*others, "\n".join(lines), key])
    assert not [line for line in lines for text in result.texts if line in text]
    assert {one.type for one in result.replacements} == {"private-key"}
    assert len(fingerprints(result)) == 1


def test_lines_of_a_private_key_with_headers_are_removed_elsewhere(redactor: SecretRedactor) -> None:
    key = a_private_key(1)
    assert "\nDEK-Info: " in key
    result = redactor.redact([*body_lines(key), key])
    assert not [line for line in body_lines(key) for text in result.texts if line in text]


def a_key_with(line: str) -> str:
    """A key one of whose lines is given: one key in three has a line that begins with a plus."""
    lines = body_lines(a_private_key(0))
    lines[5] = line + lines[5][len(line) :]
    return "\n".join([f"{DASHES}BEGIN RSA PRIVATE KEY{DASHES}", *lines, f"{DASHES}END RSA PRIVATE KEY{DASHES}"])


def test_lines_of_a_private_key_behind_a_plus_are_removed_elsewhere(redactor: SecretRedactor) -> None:
    key = a_key_with("+")
    result = redactor.redact([*body_lines(key), key])
    assert not [line for line in body_lines(key) for text in result.texts if line in text]


def test_a_private_key_with_a_plus_has_one_fingerprint(redactor: SecretRedactor) -> None:
    keys = [PEM_KINDS[7].make(random.Random(seed)).text for seed in range(12)]
    for key in keys:
        diff = "".join(f"+{line}\n" for line in key.splitlines())
        assert fingerprints(redactor.redact([key])) == fingerprints(redactor.redact([diff]))


@pytest.mark.parametrize("word", ["todo", "NuLl", "fAKe"])
def test_a_word_by_chance_does_not_hide_a_private_key(word: str, redactor: SecretRedactor) -> None:
    key = a_key_with(f"7Qx{word}K9")
    result = redactor.redact([*body_lines(key), key])
    assert not [line for line in body_lines(key) for text in result.texts if line in text]


@pytest.mark.parametrize("number", range(len(PEM_KINDS)))
def test_a_private_key_has_one_fingerprint_however_it_is_written(number: int, redactor: SecretRedactor) -> None:
    key = a_private_key(number)
    lines = key.splitlines()
    writings = [
        key,
        json.dumps({"key": key}),
        json.dumps(json.dumps({"key": key})),
        "".join(f"+{line}\n" for line in lines),
        "".join(f"{place:6}\t{line}\n" for place, line in enumerate(lines, 1)),
        key.replace("\n", "\r\n"),
    ]
    found = [redactor.redact([text]) for text in writings]
    assert [len(result.replacements) for result in found] == [1] * len(found)
    assert len({one for result in found for one in fingerprints(result)}) == 1


COMMANDS: Final = (
    "mysql -u root -p{} shop",
    "redis-cli -h cache.example -a {} ping",
    "sshpass -p {} ssh db.example",
    "docker login -u ci -p {} registry.example",
    "openssl rsa -in key.pem -passin pass:{}",
    "http -a admin:{} GET https://h.example",
    "echo {} | docker login --username ci --password-stdin registry.example",
    "psql postgres://app:{}@db.example/orders",
)
WITH_A_NAME: Final = ("curl -u admin:{} https://h.example", "curl -u 'admin:{}' https://h.example")
BUNDLED: Final = ("curl -sSu admin:{} https://h.example", "curl -ksu 'admin:{}' https://h.example")


def is_gone_elsewhere(command: str, redactor: SecretRedactor) -> bool:
    value = drawn(command)
    return not runs_of("".join(redactor.redact([command.format(value), f"so it is {value}."]).texts), value)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_password_of_a_command_is_removed_elsewhere(command: str, redactor: SecretRedactor) -> None:
    assert is_gone_elsewhere(command, redactor)


@pytest.mark.parametrize("command", WITH_A_NAME)
def test_a_password_beside_its_name_is_removed_elsewhere(command: str, redactor: SecretRedactor) -> None:
    assert is_gone_elsewhere(command, redactor)


@pytest.mark.parametrize("command", BUNDLED)
def test_a_password_behind_bundled_options_is_removed(command: str, redactor: SecretRedactor) -> None:
    assert is_gone_elsewhere(command, redactor)


# --- Placeholders and fingerprints -----------------------------------------------------------------------------------


def test_a_placeholder_names_the_type_and_the_fingerprint(redactor: SecretRedactor) -> None:
    value = drawn("placeholder")
    result = redactor.redact([f"before {in_environment(value)} after"])
    (one,) = result.replacements
    assert PLACEHOLDER.fullmatch(one.placeholder)
    assert one.placeholder == f"[REDACTED_SECRET:{one.type}#{one.fingerprint}]"
    assert re.fullmatch("[0-9a-f]{12}", one.fingerprint)
    assert result.texts == (f"before export DB_PASSWORD={one.placeholder} after",)
    assert (one.type, one.found_by, one.form) == ("password", "rule", "raw")


NAMED: Final[dict[str, Callable[[str], str]]] = {
    "password": in_environment,
    "token": lambda value: f"API_TOKEN={value}",
    "secret": in_json,
    "url-password": lambda value: f"postgres://app:{value}@db.example/orders",
    "authorization": lambda value: f"Authorization: Bearer {value}",
}


def test_a_value_has_the_same_fingerprint_whatever_it_is_called(redactor: SecretRedactor) -> None:
    value = drawn("types")
    found = {kind: redactor.redact([write(value)]) for kind, write in NAMED.items()}
    assert [{one.type for one in result.replacements} for result in found.values()] == [{kind} for kind in found]
    assert len({one for result in found.values() for one in fingerprints(result)}) == 1


def test_a_value_has_one_type_in_a_run(redactor: SecretRedactor) -> None:
    value = drawn("one type")
    result = redactor.redact([write(value) for write in NAMED.values()])
    assert len({one.placeholder for one in result.replacements}) == 1
    assert len(result.replacements) == len(NAMED)


def test_other_values_have_other_fingerprints(redactor: SecretRedactor) -> None:
    values = [drawn(f"other {n}") for n in range(200)]
    assert len(fingerprints(redactor.redact([in_environment(value) for value in values]))) == len(values)


def test_another_key_makes_other_fingerprints(redactor: SecretRedactor) -> None:
    text = in_environment(drawn("keys"))
    other = standard_redactor(RedactionKey.of(bytes(range(32))))
    assert other.key_id != redactor.key_id == "public"
    assert fingerprints(other.redact([text])).isdisjoint(fingerprints(redactor.redact([text])))
    assert fingerprints(other.redact([text])) == fingerprints(other.redact([text]))


def test_no_repr_shows_a_value(redactor: SecretRedactor) -> None:
    value = drawn("repr")
    memory = SecretMemory()
    texts = [in_environment(value), f"'{value}'", base64.b64encode(f"it is {value}".encode()).decode()]
    result = redactor.redact(texts, memory)
    assert memory.values
    assert result.replacements
    secrets = redactor.scan(texts)
    assert secrets[0]
    shown = [result, result.replacements, memory, secrets, redactor, redactor.scan([in_json(a_symbol_password(1))])]
    for one in shown:
        assert not runs_of(repr(one), value), type(one)
        assert not runs_of(str(one), value), type(one)
    assert RedactionKey.public().secret.hex() not in repr(redactor)


def test_a_redactor_travels_to_another_process(redactor: SecretRedactor) -> None:
    there: SecretRedactor = pickle.loads(pickle.dumps(redactor))  # noqa: S301 - made here
    text = in_environment(drawn("pickle"))
    assert there.redact([text]) == redactor.redact([text])


# --- Many texts ------------------------------------------------------------------------------------------------------


def test_the_order_of_texts_does_not_matter(redactor: SecretRedactor) -> None:
    value, other = drawn("order"), drawn("order/2")
    texts = [
        f"It was {value}, not {other}.",
        in_environment(value),
        json.dumps({"token": value, "note": "nothing"}),
        "nothing at all",
        f"https://app:{other}@db.example/",
    ]
    expected = redactor.redact(texts).texts
    assert all(PLACEHOLDER.search(text) is not None for text in expected if text != "nothing at all")
    for order in permutations(range(len(texts))):
        assert redactor.redact([texts[n] for n in order]).texts == tuple(expected[n] for n in order)


def test_nothing_is_found_across_two_texts(redactor: SecretRedactor) -> None:
    value, token = drawn("across"), drawn("across/2", 36)
    for texts in (
        ["DB_PASSWORD=", value],
        ["password:\n", f"\n{value}"],
        ["Authorization: Bearer ", token],
        ["gh" + "p_", token],
        [f"{DASHES}BEGIN PRIVATE KEY{DASHES}", "a text about a KEY", f"{DASHES}END CERTIFICATE{DASHES}"],
    ):
        assert redactor.redact(texts).texts == tuple(texts)


def test_a_cut_key_does_not_swallow_the_next_text(redactor: SecretRedactor) -> None:
    lines = a_private_key(1).splitlines()
    texts = ["\n".join(lines[:5]), "What follows is harmless, and has a KEY-----.", "\n".join(lines[-5:])]
    result = redactor.redact(texts)
    assert result.texts[1] == texts[1]
    assert [PLACEHOLDER.fullmatch(text.strip()) is not None for text in result.texts] == [True, False, True]


def a_request(last: str) -> str:
    """A request whose cookies differ only in the last one."""
    head = "GET /index.html HTTP/1.1\r\nHost: shop.example\r\nAccept: */*\r\nUser-Agent: Mozilla/5.0\r\n"
    names = (
        "theme=dark; lang=en-GB; consent=necessary; layout=wide; font=mono; seen=intro,tour,news; zone=Europe/Berlin"
    )
    return f"{head}{head}Cookie: {names}; size=large; mode=list; {last}\r\n"


def test_what_looks_alike_from_near_is_judged_anew(redactor: SecretRedactor) -> None:
    value = drawn("alike", 40)
    texts = [a_request(f"sess={value}"), a_request("x=1")]
    assert not runs_of("".join(redactor.redact(texts[:1]).texts), value)
    assert not runs_of("".join(redactor.redact(texts[::-1]).texts), value)
    assert not runs_of("".join(redactor.redact(texts).texts), value)


@pytest.mark.parametrize("texts", [[], [""], ["", "", "x"], ["\0"], ["\u2028"], ["\n"] * 3, ["short"]])
def test_texts_with_nothing_in_them(texts: list[str], redactor: SecretRedactor) -> None:
    assert redactor.redact(texts) == RedactionResult(tuple(texts), ())


@pytest.mark.parametrize(
    "around", ["\u2028", "\u00e9\u00e9", "\U0001f600", "\u200b", "\ufeff", "\r\n", "\t", "\x1b[0m"]
)
def test_what_stands_around_a_value_stays(around: str, redactor: SecretRedactor) -> None:
    value = drawn(around)
    result = redactor.redact([f"{around} {in_environment(value)}\n{around}", f"{around}'{value}'{around}"])
    placeholder = result.replacements[0].placeholder
    assert result.texts == (
        f"{around} {in_environment(placeholder)}\n{around}",
        f"{around}'{placeholder}'{around}",
    )


def test_an_environment_of_a_process_is_separated_by_nul(redactor: SecretRedactor) -> None:
    value = drawn("nul")
    result = redactor.redact([f"LANG=C\0DB_PASSWORD={value}\0HOME=/root\0", f"It was {value}."])
    assert "\0HOME=/root\0" in result.texts[0]
    assert value not in result.texts[1]


@pytest.mark.parametrize("text", ["\ud800", "\ud83d and more than eight", "half an emoji \udcff\ud800"])
def test_half_a_character_is_no_harm(text: str, redactor: SecretRedactor) -> None:
    assert redactor.redact([text]).texts == (text,)


@pytest.mark.parametrize("half", ["\ud800", "\udcff", "\ud83d"], ids=ascii)  # noqa: PT014 - they are not the same
def test_half_a_character_beside_a_secret_is_no_harm(half: str, redactor: SecretRedactor) -> None:
    value = drawn(half.encode("utf-8", "surrogatepass"))
    result = redactor.redact([f"{half} {in_environment(value)} {half}", f"{half} '{value}'"])
    placeholder = result.replacements[0].placeholder
    assert result.texts == (f"{half} {in_environment(placeholder)} {half}", f"{half} '{placeholder}'")


# --- Properties ------------------------------------------------------------------------------------------------------

WRITERS: Final[tuple[Callable[[str], str], ...]] = (
    *NAMED.values(),
    lambda value: "gh" + f"p_{value}",
    lambda value: json.dumps(json.dumps({"api_key": value})),
    lambda value: f"curl -u admin:{value} https://h.example",
    lambda value: base64.b64encode(f"password={value}".encode()).decode(),
    lambda value: f"?access_token={value}&page=2",
    lambda value: value,
)
fillers: Final = st.one_of(
    st.text(max_size=30),
    st.text(alphabet="\"'\\\n\0\u2028 =:#&%,;{}[]/-+<>ab0\U0001f600\u00e9", max_size=20),
    st.sampled_from(["\n", " ", "password=", "token: ", "\\n", '"', "%3D", DASHES, "Bearer ", "[REDACTED_SECRET:"]),
)
values: Final = st.integers(0, 40).map(lambda seed: drawn(f"value {seed}", 30))
written: Final[st.SearchStrategy[str]] = st.tuples(st.sampled_from(WRITERS), values).map(lambda one: one[0](one[1]))
some_texts: Final = st.lists(st.lists(st.one_of(fillers, written), max_size=6).map("".join), max_size=4)


@patient
@given(texts=some_texts)
def test_redacting_again_changes_nothing(texts: list[str], redactor: SecretRedactor) -> None:
    once = redactor.redact(texts)
    twice = redactor.redact(once.texts)
    assert twice.texts == once.texts
    assert twice.replacements == ()


@patient
@given(texts=some_texts)
def test_a_result_fits_to_its_texts(texts: list[str], redactor: SecretRedactor) -> None:
    result = redactor.redact(texts)
    assert result == redactor.redact(texts)
    assert [*result.replacements] == sorted(result.replacements, key=lambda one: (one.text_index, one.start))
    for number, text in enumerate(texts):
        built, last = "", 0
        for one in result.replacements:
            if one.text_index == number:
                assert last <= one.start < one.end <= len(text)
                assert PLACEHOLDER.fullmatch(one.placeholder)
                built += text[last : one.start] + one.placeholder
                last = one.end
        assert built + text[last:] == result.texts[number]


@patient
@given(texts=some_texts, data=st.data())
def test_offsets_follow_the_text(texts: list[str], data: st.DataObject, redactor: SecretRedactor) -> None:
    result = redactor.redact(texts)
    for number, text in enumerate(texts):
        offsets = result.offsets(number)
        places = [one for one in result.replacements if one.text_index == number]
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, len(text)))
        new_start, new_end = offsets.to_new(start, end)
        assert 0 <= new_start <= new_end <= len(result.texts[number])
        cut = [one for one in places if one.start < end and start < one.end]
        old_start, old_end = offsets.to_old(new_start, new_end)
        if cut:
            assert old_start <= start <= end <= old_end
            assert all(one.placeholder in result.texts[number][new_start:new_end] for one in cut)
        elif not any(one.start < start < one.end for one in places):
            assert text[start:end] == result.texts[number][new_start:new_end]
            assert (old_start, old_end) == (start, end)
        assert offsets.to_new(0, len(text)) == (0, len(result.texts[number]))


@st.composite
def maps(draw: st.DrawFn) -> tuple[OffsetMap, int, list[tuple[int, int]]]:
    """A map, the length of its text, and the places that were replaced."""
    place, rows = 0, list[tuple[int, int, int]]()
    for _ in range(draw(st.integers(0, 5))):
        start = place + draw(st.integers(0, 20))
        place = start + draw(st.integers(1, 20))
        rows.append((start, place, draw(st.integers(1, 60))))
    return OffsetMap.of(rows), place + draw(st.integers(0, 20)), [(start, end) for start, end, _ in rows]


@given(case=maps(), data=st.data())
def test_a_map_leads_there_and_back(case: tuple[OffsetMap, int, list[tuple[int, int]]], data: st.DataObject) -> None:
    offsets, length, places = case
    start = data.draw(st.integers(0, length))
    end = data.draw(st.integers(start, length))
    new = offsets.to_new(start, end)
    old = offsets.to_old(*new)
    assert new[0] <= new[1]
    inside = [(left, right) for left, right in places if left < start < right or left < end < right]
    if not inside:
        assert old == (start, end)
    assert old == (
        min([start, *(left for left, right in inside if left < start < right)]),
        max([end, *(right for left, right in inside if left < end < right)]),
    )
    assert offsets.to_new(*old) == new


# --- Memory ----------------------------------------------------------------------------------------------------------


def test_what_one_call_confirms_a_later_one_removes(redactor: SecretRedactor) -> None:
    value, memory = a_symbol_password("memory"), SecretMemory()
    assert redactor.redact([f"before: {value}"], memory).replacements == ()
    first = redactor.redact([in_json(value)], memory)
    later = redactor.redact([f"later: {value}", quote(value, safe=""), html.escape(value)], memory)
    assert fingerprints(later) == fingerprints(first)
    assert [one.found_by for one in later.replacements] == ["propagation"] * 3
    assert not runs_of("".join(later.texts), value)
    assert redactor.redact([f"another run: {value}"], SecretMemory()).replacements == ()


def test_a_fingerprint_is_recognised_in_a_word(redactor: SecretRedactor) -> None:
    value = drawn("fingerprint")
    (known,) = redactor.redact([in_environment(value)]).replacements
    texts = [f"It is {value}.", f'["{value}"]', f"x={value}!", f"({value})", f"<{value}>", "something else entirely"]
    result = redactor.redact(texts, SecretMemory(fingerprints={known.fingerprint: "old-type"}))
    assert [one.found_by for one in result.replacements] == ["fingerprint"] * 5
    assert {one.placeholder for one in result.replacements} == {f"[REDACTED_SECRET:old-type#{known.fingerprint}]"}
    assert result.texts[-1] == texts[-1]


def test_a_fingerprint_of_another_key_says_nothing(redactor: SecretRedactor) -> None:
    value = drawn("foreign")
    other = standard_redactor(RedactionKey.of(bytes(range(32))))
    memory = SecretMemory(fingerprints=dict.fromkeys(fingerprints(other.redact([in_environment(value)])), "password"))
    assert redactor.redact([f"It is {value}."], memory).replacements == ()


def test_short_values_are_not_looked_for_elsewhere(redactor: SecretRedactor) -> None:
    short = drawn("short", 7)
    result = redactor.redact([f"mysql -u root -p{short} shop", f"so {short} is it"])
    assert result.texts[1] == f"so {short} is it"
    assert PLACEHOLDER.search(result.texts[0])


def test_a_password_of_words_is_not_found_inside_words(redactor: SecretRedactor) -> None:
    word = "Copper-" + "Lantern"
    result = redactor.redact([f"export DB_PASSWORD='{word}-48'", f"the {word}-48-b and {word}-4812, but {word}-48."])
    placeholder = result.replacements[0].placeholder
    assert result.texts[1] == f"the {placeholder}-b and {word}-4812, but {placeholder}."


# --- What is no secret -----------------------------------------------------------------------------------------------


def in_code(seed: object, size: int) -> str:
    return base64.b64encode(random.Random(str(seed)).randbytes(size)).decode()


def in_hex(seed: object, size: int) -> str:
    return drawn(seed, size, HEX)


def a_uuid(seed: int) -> str:
    return str(uuid.UUID(int=random.Random(seed).getrandbits(128), version=4))


def armoured(label: str, size: int) -> str:
    code = in_code(label, size)
    body = "\n".join(code[at : at + 64] for at in range(0, len(code), 64))
    return f"{DASHES}BEGIN {label}{DASHES}\n{body}\n{DASHES}END {label}{DASHES}\n"


HARMLESS: Final[dict[str, str]] = {
    "env-reference": 'export DB_PASSWORD="${DB_PASSWORD}"',
    "env-default": "API_TOKEN: ${API_TOKEN:-unset}",
    "env-dollar": 'curl -H "Authorization: Bearer $GITHUB_TOKEN" https://api.github.com/user',
    "actions": "token: ${{ secrets.GITHUB_TOKEN }}",
    "jinja": "password: {{ vault_db_password }}",
    "command-substitution": 'PASSWORD="$(pass show db/prod)"',
    "windows-variable": "set PGPASSWORD=%PGPASSWORD%",
    "your-token": "api_key = <your token>",
    "your-token-dashes": 'OPENAI_API_KEY="your-api-key-here"',
    "changeme": "MYSQL_ROOT_PASSWORD=changeme",
    "example-word": 'password: "example-password-1"',
    "aws-example": "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7" + "EXAMPLE",
    "aws-example-secret": "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "stars": "password=********",
    "xs": "token: xxxxxxxxxxxxxxxxxxxx",
    "prefix-xs": "GITHUB_TOKEN=ghp_" + "x" * 36,
    "dots": "Authorization: Bearer sk-ant-api03-...",
    "mask-tail": "key: sk-...a1b2",
    "bullets": "Password: ••••••••••",
    "placeholder": "DB_PASSWORD=[REDACTED_SECRET:password#0123456789ab]",
    "url-placeholder": "postgres://user:password@localhost:5432/app",
    "url-env": "postgres://app:${PGPASS}@db:5432/app",
    "uuid": f"session {a_uuid(36)} resumed, request_id={a_uuid(37)}",
    "git-sha": f"commit {in_hex(1, 40)}\nMerge: {in_hex(2, 7)} {in_hex(3, 7)}",
    "sha256": f"sha256:{in_hex(4, 64)}  ledgerkit.whl",
    "sha256sum": f"{in_hex(5, 64)}  dist/app.tar.gz",
    "digest-image": f"image: nginx@sha256:{in_hex(6, 64)}",
    "integrity": f'"integrity": "sha512-{in_code(26, 64)}"',
    "uv-lock": (
        f'{{ url = "https://files.index.example/packages/{in_hex(7, 2)}/{in_hex(8, 2)}/{in_hex(9, 60)}/six.tar.gz", '
        f'hash = "sha256:{in_hex(10, 64)}" }}'
    ),
    "go-sum": f"golang.org/x/text v0.14.0 h1:{in_code(27, 32)}",
    "cargo": f'checksum = "{in_hex(11, 64)}"',
    "etag": f'ETag: W/"{in_hex(12, 32)}"',
    "toolu": json.dumps({"type": "tool_use", "id": "toolu_01" + drawn(20, 22), "name": "Bash"}),
    "call": json.dumps({"call_id": "call_" + drawn(21, 24), "id": "fc_" + in_hex(13, 50)}),
    "msg": json.dumps({"id": "msg_01" + drawn(22, 22), "request_id": "req_011" + drawn(23, 21)}),
    "usage": json.dumps(
        {
            "usage": {
                "input_tokens": 12345,
                "cache_read_input_tokens": 987654,
                "output_tokens": 4711,
                "total_tokens": 1004710,
            }
        }
    ),
    "max-tokens": "max_tokens=128000, token_budget: 1000000",
    "token-words": '{"token_type": "bearer", "token_count": 20311, "next_page_token": null}',
    "base64-image": "data:image/png;base64," + in_code(28, 3000),
    "base64-lines": "\n".join(in_code(29, 57) for _ in range(40)),
    "public-key": armoured("PUBLIC KEY", 294),
    "ssh-public": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + drawn(24, 43) + " dev@laptop",
    "ssh-rsa-public": "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ" + in_code(30, 380).rstrip("=") + " dev@laptop",
    "certificate": armoured("CERTIFICATE", 800),
    "fingerprint": "SHA256:" + in_code(31, 32).rstrip("=") + " dev@laptop (ED25519)",
    "pgp-public": armoured("PGP PUBLIC KEY BLOCK", 600),
    "code-call": "password = get_password(user, prompt=True)",
    "code-attribute": "self.token = settings.api_token",
    "code-env": 'token = os.environ["GITHUB_TOKEN"]',
    "code-getenv": "const apiKey = process.env.OPENAI_API_KEY;",
    "code-type": "def login(password: str, token: Optional[str] = None) -> SecretStr:",
    "code-compare": 'if token == "access_token" or key != "refresh_token":',
    "code-args": "parser.add_argument('--password', default=None, help='Password of the database')",
    "code-key": 'cache_key = f"{user.id}:{page}"; sort_key = "created_at_desc"',
    "code-react": '<li key="item-12-selected" className="row">',
    "schema": '{"password": {"type": "string", "minLength": 12}}',
    "package-path": "import com.example.security.authentication.TokenAuthenticationFilterConfigurer",
    "package-file": "/usr/lib/python3.11/site-packages/google/auth/_credentials_async.py:113: in token_refresh",
    "key-path": "SSH_KEY_PATH=/home/dev/.ssh/id_ed25519_deploy",
    "key-file": "ssl_certificate_key /etc/nginx/ssl/example.com.key;",
    "primary-key": "PRIMARY KEY (tenant_id, order_id), FOREIGN KEY (user_id) REFERENCES users",
    "partition": '"partition_key": "2026-03-01/eu-west-1/orders"',
    "prose": "The password is required, and the token is refreshed every hour. See the secret section.",
    "prose-question": "Which API key do I need? The key is stored in 1Password.",
    "password-policy": "Password: at least 12 characters, one digit, one symbol.",
    "prompt": "[sudo] password for dev: \nPermission denied, please try again.",
    "keybinding": '{"key": "ctrl+shift+alt+f12", "command": "workbench.action.togglePanel"}',
    "css": ".token.keyword { color: #c678dd } .secret-icon::before { content: '\\f21b' }",
    "minified": "function t(e,n){return e.token?e.token:n.key||n.secret}var r=Object.freeze({password:1,token:2});",
    "semver": "react-token-provider@18.3.1-canary-a1b2c3d4e5-20260101",
    "docker-layer": f"a3ed95caeb02: Pull complete\nDigest: sha256:{in_hex(14, 64)}",
    "trace-id": f"traceparent: 00-{in_hex(15, 32)}-{in_hex(16, 16)}-01",
    "mac-address": "link/ether 02:42:ac:11:00:02 brd ff:ff:ff:ff:ff:ff inet6 fe80::42:acff:fe11:2/64",
    "csrf": '<input type="hidden" name="csrf_token" value="{{ csrf_token() }}">',
    "csrf-hex": f'"csrfToken": "{in_hex(17, 32)}"',
    "s3-arn": "arn:aws:iam::123456789012:role/service-role/deploy-token-rotation-2026",
    "k8s-ref": "valueFrom:\n  secretKeyRef:\n    name: db-credentials\n    key: postgres-password",
    "vault-path": "vault kv get -field=password secret/data/production/db",
    "test-name": "--- PASS: TestTokenRefreshAfterExpiry42/with_secret_2 (0.01s)",
    "pagination": f'"next_token": "{in_code(32, 40)}", "cursor": "{in_code(33, 30)}"',
    "idempotency": f"Idempotency-Key: {a_uuid(38)}",
    "signature": f'"signature": "{in_code(34, 300)}"',
    "encrypted-content": f'"encrypted_content": "gAAAAAB{drawn(25, 300)}"',
    "wandb": "run sweet-token-42 synced: https://wandb.ai/team/project/runs/" + drawn(19, 8, string.ascii_lowercase),
    "blob": f"blob {in_hex(18, 40)} 1234\tsrc/secrets.py",
    "lockfile-npm": (
        f'"resolved": "https://registry.example/js-tokens/-/js-tokens-4.0.0.tgz", "integrity": "sha1-{in_code(35, 20)}"'
    ),
    "hex-dump": "00000010: 7061 7373 776f 7264 3d00 0000 0a0b 0c0d  password=.......",
    "ip": "Accepted password for dev from 203.0.113.7 port 52214 ssh2",
    "html": '<label for="password">Password</label><input id="password" type="password" autocomplete="off">',
    "thinking": "I need to check whether the token=... parameter is passed; the secret key stays in the vault.",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_no_secret_stays(name: str, redactor: SecretRedactor) -> None:
    text = HARMLESS[name]
    found = [text[one.start : one.end] for one in redactor.redact([text, f"  {text}\n", json.dumps(text)]).replacements]
    assert found == []


def test_there_are_enough_of_them() -> None:
    assert len(HARMLESS) >= 40


# --- What a log says about itself ------------------------------------------------------------------------------------

COMMENTS: Final = (
    *("kingfisher:ignore", "kingfisher:allow", "gitleaks:allow", "betterleaks:allow", "trufflehog:ignore"),
    *(
        "nosec",
        "nosec B105",
        "noqa: S105",
        "pragma: allowlist secret",
        "ggignore",
        "NOSONAR",
        "checkov:skip=CKV_SECRET_6",
    ),
    *("this is a public test value", "not a secret", "nosemgrep"),
)


@pytest.mark.parametrize("comment", COMMENTS)
def test_no_comment_switches_redaction_off(comment: str, redactor: SecretRedactor) -> None:
    value, token = drawn(comment), "gh" + "p_" + drawn(f"{comment}/2", 36)
    for sign in ("#", "//", "--", "/*", "<!--"):
        texts = [
            f'DB_PASSWORD="{value}" {sign} {comment}',
            f"{sign} {comment}\nDB_PASSWORD={value}\n{sign} {comment}",
            f"it printed {token} {sign} {comment}",
            f"{sign} {comment}\n{a_private_key(2)}\n{sign} {comment}",
        ]
        for text in texts:
            result = redactor.redact([text])
            assert len(result.replacements) == 1, text
            assert value not in result.texts[0]
            assert token not in result.texts[0]
            assert comment in result.texts[0]


# --- Texts that are made to be slow ----------------------------------------------------------------------------------

LONG: Final = 200_000
REPEATED: Final[dict[str, str]] = {
    "assignment": "password=",
    "assignment in quotes": 'password="',
    "address": "https://a:",
    "at signs": "a:b@",
    "backslashes": "\\",
    "escaped quotes": '\\"',
    "percent": "%41",
    "entities": "&amp;",
    "json heads": "ey" + "J",
    "letters": "A",
    "spaces": " ",
    "lines": "\n",
    "nul": "\0",
    "dashes": "-",
    "secret": "kind: Secret\ndata:\n",
    "cookies": "Cookie: a=",
    "begin": f"{DASHES}BEGIN ",
    "end": f"{DASHES}END RSA PRIVATE KEY{DASHES}\n",
    "token": "gh" + "p_" + drawn("worst", 36) + " ",
    "value": in_environment(drawn("worst/2")) + "\n",
    "placeholder": "[REDACTED_SECRET:password#0123456789ab]",
    "placeholder cut": "[REDACTED_SECRET:",
    "words": "abandon ability able about ",
    "emoji": "\U0001f600",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REPEATED)
def test_one_thing_repeated_comes_to_an_end(name: str, redactor: SecretRedactor) -> None:
    token = REPEATED[name]
    text = token * (LONG // len(token))
    result = redactor.redact([text])
    assert len(result.replacements) <= text.count(token)
    assert redactor.redact(result.texts).texts == result.texts
    if name in {"token", "value"}:
        assert len(result.replacements) == text.count(token)
        assert len(fingerprints(result)) == 1
    elif name != "begin":
        assert result.texts == (text,)


MANY: Final = 11_000
"""Names and numbers that are looked at one by one; two rules look at each."""


@pytest.fixture(scope="module")
def overfull(redactor: SecretRedactor) -> tuple[str, RedactionResult]:
    """A token at the beginning of a text with more candidates than are judged, which count from the end."""
    value = drawn("overfull", 60)
    many = "\n".join(f"key={number:06d}-{number * 7919 % 100_003:05d}" for number in range(MANY))
    return value, redactor.redact([f"API_TOKEN={value}\n{many}"])


def test_too_many_candidates_come_to_an_end(overfull: tuple[str, RedactionResult]) -> None:
    _, result = overfull
    assert "unjudged" in {one.type for one in result.replacements}
    assert len(result.replacements) < MANY


def test_nothing_of_an_unjudged_value_stays(overfull: tuple[str, RedactionResult]) -> None:
    value, result = overfull
    assert not runs_of(result.texts[0], value)


def test_many_placeholders_stay(redactor: SecretRedactor) -> None:
    text = "\n".join(f"password=[REDACTED_SECRET:password#{number:012x}]" for number in range(21_000))
    assert redactor.redact([text]).texts == (text,)
