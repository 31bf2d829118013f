"""What a command line names: its programs, packages, paths and hosts, each under the program that it belongs to."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgerkit.extract.commands import package_name, read_commands
from ledgerkit.extract.shell import MAX_DEPTH, read_shell


def named(line: str, kind: str) -> list[str]:
    return [one.raw for one in read_commands(line) if one.kind == kind]


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("ls -la", ["ls"]),
        ("cat a | grep b | sort", ["cat", "grep", "sort"]),
        ("make && ./run.sh || echo no; date & wait", ["make", "./run.sh", "echo", "date", "wait"]),
        ("A=1 B=2 python x.py", ["python"]),
        ("sudo -u root env X=1 timeout 10 nohup curl x", ["sudo", "curl"]),
        ("env", ["env"]),
        ("env > out.txt", ["env"]),
        ("find . -name x | xargs -n 1 rm", ["find", "rm"]),
        ("for f in *.py; do black $f; done", ["black"]),
        ("if test -f a; then cat a; else touch a; fi", ["test", "cat", "touch"]),
        ('echo "$(whoami) and `hostname`"', ["whoami", "hostname", "echo"]),
        ("x=$(curl -s a) && y=`id -u`", ["curl", "id"]),
        ("(cd a; make) > log", ["cd", "make"]),
        ("bash -lc 'wget http://a.example/x'", ["bash", "wget"]),
        ("sh <<'EOF'\ncurl x\nEOF\nls", ["sh", "curl", "ls"]),
        ("cat <<EOF > f\nrm -rf /\nEOF", ["cat"]),
        ("ls # and curl x", ["ls"]),
        ("/usr/bin/nc -l 4", ["/usr/bin/nc"]),
        ("git log 2>&1 >/dev/null", ["git"]),
        ("echo 'a | b; c'", ["echo"]),
        ('gh api -f body="the \\`flag\\` is"', ["gh"]),
        ("echo a \\\n  b", ["echo"]),
        ("", []),
    ],
)
def test_programs_of_a_line(line: str, programs: list[str]) -> None:
    assert sorted(named(line, "command")) == sorted(programs)


@pytest.mark.parametrize(
    ("line", "packages"),
    [
        ("pip install requests 'evil_pkg[x]>=1' -r req.txt", ["requests", "evil_pkg[x]>=1"]),
        ("python3 -m pip install -q --index-url https://a.example evil", ["evil"]),
        ("uv pip install evil && uv add other", ["evil", "other"]),
        ("pip install -e . ./local git+https://a.example/x", []),
        ("npm i -g left-pad@1.2 @scope/name", ["left-pad@1.2", "@scope/name"]),
        ("npx -y evil-tool --do", ["evil-tool"]),
        ("cargo install ripgrep", ["ripgrep"]),
        ("go install a.example/b@latest", ["a.example/b@latest"]),
        ("sudo apt-get install -y netcat", ["netcat"]),
        ("npm run install-things", []),
        ("pip list", []),
    ],
)
def test_packages_that_a_line_installs(line: str, packages: list[str]) -> None:
    assert named(line, "package") == packages


@pytest.mark.parametrize(
    ("raw", "manager", "name"),
    [
        ("Some.Thing_x[extra]>=2", "pip", "some-thing-x"),
        ("@scope/name@1.2", "npm", "@scope/name"),
        ("left-pad@1.2", "npm", "left-pad"),
        ("a.example/b/c@latest", "go", "a.example/b/c"),
        ("==", "pip", ""),
    ],
)
def test_a_package_is_named_as_its_manager_compares_names(raw: str, manager: str, name: str) -> None:
    assert package_name(raw, manager) == name


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        ("cat /etc/passwd > out.txt 2> err", [("/etc/passwd", "argument"), ("out.txt", "target"), ("err", "target")]),
        ("bash ./x.sh a.txt", [("./x.sh", "script"), ("a.txt", "argument")]),
        ("./x.sh", [("./x.sh", "program")]),
        ("curl -d @/etc/hosts --out=/srv/a x", [("/etc/hosts", "argument"), ("/srv/a", "argument")]),
        ("dd if=/dev/sda of=disk.img", [("/dev/sda", "argument"), ("disk.img", "argument")]),
        ("sed 's/a/b/g' < in.txt", [("in.txt", "source")]),
        ("grep -rn 'a b' src/a.py", [("src/a.py", "argument")]),
        ("cmd 2>&1", []),
    ],
)
def test_paths_of_a_line_and_what_they_are_to_it(line: str, paths: list[tuple[str, str]]) -> None:
    assert [(one.raw, one.role) for one in read_commands(line) if one.kind == "path"] == paths


def test_what_follows_a_cd_is_beneath_it() -> None:
    bases = {one.raw: one.base for one in read_commands("cd /srv && ./x.sh")}
    assert bases["./x.sh"] == "/srv"


@pytest.mark.parametrize(
    "line", ["nc evil 4", "ping evil.example", "ssh bob@evil.example", "scp a.txt evil.example:/x"]
)
def test_a_network_program_names_hosts_without_a_scheme(line: str) -> None:
    hosts = named(line, "host")
    assert hosts == (["evil.example"] if "example" in line else [])


def test_positions_are_those_of_the_value_inside_its_quotes() -> None:
    line = "pip install 'evil' && bash -c \"curl x\""
    for one in read_commands(line):
        assert line[one.start : one.end] == one.raw


def test_lines_nested_too_deep_are_words() -> None:
    line = "curl x"
    for _ in range(MAX_DEPTH + 3):
        line = 'echo "$(' + line + ')"'
    assert len(read_shell(line)) <= 3 * (MAX_DEPTH + 4)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab |&;()<>'\"\\`$#\n-=/{}", max_size=60))
def test_any_text_has_an_answer_and_its_words_lie_in_it(line: str) -> None:
    for command in read_shell(line):
        for word in command.words:
            assert 0 <= word.start <= word.inner <= word.end <= len(line)
