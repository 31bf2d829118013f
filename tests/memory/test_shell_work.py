"""What a shell line does to the working tree: the words decide, never the program that is run."""

from __future__ import annotations

import pytest

from ledgerkit.memory.evidence.shellwork import Search, shell_work

MOVED = (("a.py", "delete"), ("b.py", "create"))


@pytest.mark.parametrize(
    ("line", "writes"),
    [
        ("rm -rf a.py b/", (("a.py", "delete"), ("b/", "delete"))),
        ("mv a.py b.py", MOVED),
        ("mv a.py", ()),
        ("cp a.py b.py", (("b.py", "create"),)),
        ("git rm -q a.py", (("a.py", "delete"),)),
        ("git -C sub mv -f a.py b.py", MOVED),
        ("git --no-pager -c a.b=c mv a.py b.py", MOVED),
        ("git commit -m a.py", ()),
        ("git", ()),
        ("git -C", ()),
        ("touch a.py b.py", (("a.py", "create"), ("b.py", "create"))),
        ("create a.py", (("a.py", "create"),)),
        ("create a.py b.py", ()),
        ("ls | tee -a out.log", (("out.log", "create"),)),
        ("echo x > a.py", (("a.py", "create"),)),
        ("echo x >> a.py", (("a.py", "modify"),)),
        ("make > /dev/null 2>&1", ()),
        ("cat < a.py", ()),
        ("sed -i s/a/b/ a.py b.py", (("a.py", "modify"), ("b.py", "modify"))),
        ("sed -i '' s/a/b/ a.py", (("a.py", "modify"),)),
        ("sed -i.bak -e s/a/b/ -e s/c/d/ a.py", (("a.py", "modify"),)),
        ("sed -i -es/a/b/ a.py", (("a.py", "modify"),)),
        ("sed --in-place --expression=s/a/b/ a.py", (("a.py", "modify"),)),
        ("sed -i -f rules.sed a.py", (("a.py", "modify"),)),
        ("sed -n 1,5p a.py", ()),
        ("cd sub && rm a.py", (("sub/a.py", "delete"),)),
        ("cd sub/ && cd deep && rm a.py /b.py ~/c.py $D/e.py",
         (("sub/deep/a.py", "delete"), ("/b.py", "delete"), ("~/c.py", "delete"), ("$D/e.py", "delete"))),
        ("cd && rm a.py", (("a.py", "delete"),)),
        ("X=1 sudo /bin/rm a.py", (("a.py", "delete"),)),
        ("rm a.py; rm a.py", (("a.py", "delete"),)),
        ("X=1", ()),
        ("", ()),
    ],
)  # fmt: skip
def test_what_a_line_writes(line: str, writes: tuple[tuple[str, str], ...]) -> None:
    assert shell_work(line).writes == writes


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("git checkout main", True),
        ("git checkout -b topic", False),
        ("git switch -c topic", False),
        ("git switch main", True),
        ("git stash", True),
        ("git stash pop", True),
        ("git stash list", False),
        ("git stash show -p", False),
        ("git reset HEAD~1", False),
        ("git reset --hard HEAD~1", True),
        ("git -C sub pull --rebase", True),
        ("git status && git log", False),
        ("git", False),
    ],
)
def test_which_git_commands_put_other_content_into_the_tree(line: str, *, changes: bool) -> None:
    assert shell_work(line).changes_tree is changes


@pytest.mark.parametrize(
    ("line", "search"),
    [
        ("grep -rn old_name .", Search("old_name", is_narrow=False)),
        ("grep -rn old_name src", Search("old_name", is_narrow=True)),
        ("grep --recursive old_name", Search("old_name", is_narrow=False)),
        ("grep -rn -e old_name -e other .", Search("old_name", is_narrow=False)),
        ("grep -rn --include '*.py' old_name .", Search("old_name", is_narrow=True)),
        ("grep -rn --include=*.py old_name .", Search("old_name", is_narrow=True)),
        ("grep -m 1 -r old_name .", Search("old_name", is_narrow=True)),
        ("grep old_name a.py", Search("old_name", is_narrow=True)),
        ("cat a.py | grep old_name", Search("old_name", is_narrow=True)),
        ("cat a.py | rg old_name", Search("old_name", is_narrow=True)),
        ("cat a.py |& ag old_name", Search("old_name", is_narrow=True)),
        ("cat a.py && rg old_name", Search("old_name", is_narrow=False)),
        ("/usr/bin/grep -R old_name", Search("old_name", is_narrow=False)),
        ("rg old_name", Search("old_name", is_narrow=False)),
        ("rg -g '*.py' old_name", Search("old_name", is_narrow=True)),
        ("rg -A 3 old_name ./", Search("old_name", is_narrow=False)),
        ("rg old_name | head -5", Search("old_name", is_narrow=True)),
        ("git grep -n old_name", Search("old_name", is_narrow=False)),
        ("git grep old_name src/", Search("old_name", is_narrow=True)),
    ],
)
def test_what_a_line_searches_for_and_whether_it_looked_everywhere(line: str, search: Search) -> None:
    assert shell_work(line).searches == (search,)


@pytest.mark.parametrize("line", ["rg", "grep -r", "ls", "git grep"])
def test_a_search_for_nothing_is_none(line: str) -> None:
    assert shell_work(line).searches == ()


@pytest.mark.parametrize(
    ("line", "opaque"),
    [
        ("python make_files.py", True),
        ("./configure", True),
        ("pytest -q", False),
        ("ls -la && cat a.py", False),
        ("cd sub && FOO=1 ls", False),
    ],
)
def test_a_program_may_write_what_its_words_do_not_name(line: str, *, opaque: bool) -> None:
    assert shell_work(line).is_opaque is opaque


@pytest.mark.parametrize(
    ("line", "single"), [("pytest -q", True), ("cd a && pytest", True), ("ls; pytest", False), ("export A=1; ls", True)]
)
def test_whether_the_outcome_of_a_line_is_that_of_one_command(line: str, *, single: bool) -> None:
    assert shell_work(line).is_single is single
