"""What is known about tools, programs and places: the tables by which taint is judged, all of it data.

A tool or program that no table names is not harmless: it falls into the class that is judged strictly.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from ledgerkit.extract.words import words
from ledgerkit.protocol.contracts import RiskClass


class SinkClass(StrEnum):
    """What an action does with its arguments."""

    NETWORK = "network"
    EXEC = "exec"
    WRITE = "write"
    READ = "read"
    OTHER = "other"
    """A tool of unknown effect, or one that hands work to another agent."""
    NONE = "none"
    """No action: a plan, a question to the user. Its arguments are not traced."""


TOOL_SINKS: Final[tuple[tuple[str, SinkClass], ...]] = (
    (
        r"^(todo_?write|todo_?read|update_?plan|exit_?plan_?mode|enter_?plan_?mode|ask_?user.*|think|finish|"
        r"sequential_?thinking|task_?(output|update|list|get|stop)|bash_?output|kill_?(shell|bash)|attempt_completion|submit)$",
        SinkClass.NONE,
    ),
    (r"^(task|agent|delegate.*|new_task|spawn_agent|skill)$", SinkClass.OTHER),
    (r"(^|[^a-z])(bash|shell|exec|terminal|command|cmd|run|python|ipython|repl|powershell)", SinkClass.EXEC),
    (r"(exec|terminal|shell|bash|command)", SinkClass.EXEC),
    (
        r"(fetch|http|url|web|brows|navigate|send|mail|post|upload|download|publish|push|slack|request|api|invite|"
        r"transfer|pay|webhook|curl)",
        SinkClass.NETWORK,
    ),
    (
        r"(write|edit|create|update|delete|remove|move|rename|copy|patch|replace|insert|append|save|mkdir|commit|"
        r"notebook|undo)",
        SinkClass.WRITE,
    ),
    (r"(read|view|open|cat|list|^ls$|glob|grep|search|find|get|show|lookup|query|diagnos)", SinkClass.READ),
)
"""Class of a tool by its name in small letters: the first pattern that is found in it. ``other`` if none is."""

PROGRAM_SINKS: Final[dict[str, SinkClass]] = {
    **dict.fromkeys(
        words(
            "curl wget http https httpie aria2c nc ncat netcat socat telnet ssh scp sftp rsync ftp ping "
            "traceroute dig host nslookup whois openssl smbclient mail sendmail mutt aws gcloud az gsutil s3cmd "
            "gh glab hub git docker podman kubectl helm twine heroku flyctl vercel netlify rclone lynx w3m"
        ),
        SinkClass.NETWORK,
    ),
    **dict.fromkeys(
        words(
            "tee cp mv rm rmdir mkdir touch ln install dd truncate shred chmod chown chgrp tar unzip zip gunzip "
            "patch sponge"
        ),
        SinkClass.WRITE,
    ),
    **dict.fromkeys(
        words(
            "cat head tail less more bat grep rg ag find fd ls tree stat file wc sort uniq cut tr diff cmp comm "
            "jq yq od xxd hexdump strings md5sum sha256sum sha1sum du df nl tac column realpath readlink basename "
            "dirname pwd cd test"
        ),
        SinkClass.READ,
    ),
}
"""Class of a program of a command line; ``exec`` if it is not named."""

ORDINARY_COMMANDS: Final = frozenset(
    words(
        "sh bash zsh ls cat head tail less more grep egrep fgrep rg ag find fd tree stat file wc sort uniq cut tr diff "
        "cmp comm sed awk gawk jq yq od xxd strings md5sum sha256sum sha1sum du df nl tac column realpath "
        "readlink basename dirname xargs paste fold fmt rev seq expr bc date cal printf echo true false test "
        "yes sleep wait cd pwd pushd popd set unset export local read return shift exit type which whereis "
        "command hash alias time trap let declare typeset source . : [ [[ cp mv rm rmdir mkdir touch ln tee "
        "tar unzip zip gzip gunzip patch mktemp install truncate git python python3 pip pip3 pytest py.test "
        "tox nox coverage mypy pyright ruff black isort flake8 pylint uv poetry pdm hatch pre-commit node npm "
        "npx pnpm yarn bun deno tsc eslint prettier jest vitest mocha vite webpack rollup next go gofmt cargo "
        "rustc rustfmt clippy-driver make cmake ninja gcc g++ cc c++ clang clang++ ld ar nm ldd gdb javac "
        "java mvn mvnw gradle gradlew ant kotlinc scala sbt dotnet msbuild ruby gem bundle rake rspec rails "
        "php composer phpunit perl lua swift xcodebuild flutter dart mix elixir ghc stack cabal sphinx-build "
        "mkdocs jupyter django-admin manage.py alembic mise asdf direnv just task nvm fnm volta pyenv rbenv "
        "sdkman turbo nx lerna biome golangci-lint staticcheck gopls shellcheck shfmt hadolint actionlint "
        "yamllint markdownlint swiftlint ktlint protoc buf sqlite3"
    )
)
"""Programs of everyday development. That a file mentions one says nothing; any other program does."""

DISCLOSING_COMMANDS: Final = frozenset(words("env printenv history security secret-tool pass keyring gpg op vault"))
"""Programs that print what should not be passed on."""

ORDINARY_HOSTS: Final = r"^(localhost|.*\.localhost|0\.0\.0\.0|127\.[0-9.]+|::1|::|host\.docker\.internal)$"
ORDINARY_URLS: Final = (
    r"^[a-z0-9+.-]+://(?:[^/@]*@)?(?:localhost|[^/:]*\.localhost|0\.0\.0\.0|127\.[0-9.]+|\[::1?\])(?:[:/?]|$)"
)
"""This machine."""

ORDINARY_PATHS: Final = (
    r"^(/|~|\.|/dev/(null|zero|stdin|stdout|stderr|tty|fd/.*|urandom|random)|/tmp|/var/tmp|/home|/Users|/usr|"
    r"(/usr)?(/local)?/s?bin(/(env|sh|bash|zsh|python[0-9.]*|node|perl|ruby|make|git))?)$"
)
"""Places outside the workspace that mean nothing."""
ORDINARY_TO_READ: Final = (
    r"^(/usr/(local/)?(lib|lib64|include|share)|/opt/|/lib/)|/(site|dist)-packages/|/node_modules/|/\.cargo/|/go/pkg/"
    r"|^/(private/)?tmp/claude[^/]*/.*/tasks/"
)
"""Places outside the workspace that are ordinary to read: installed libraries, and the output of an agent's own
background commands."""

INSTRUCTION_FILES: Final = (
    r"(?i)(^|/)(AGENTS(\.override)?\.md|CLAUDE(\.local)?\.md|GEMINI\.md|QWEN\.md|CONVENTIONS\.md|SKILL\.md|\.cursorrules|"
    r"\.windsurfrules|\.clinerules|\.goosehints|copilot-instructions\.md|[^/]*\.(mdc|instructions\.md|prompt\.md))$"
    r"|(^|/)\.(cursor|claude|codex|gemini|clinerules|continue|kiro)/"
)
"""Files that tell agents what to do."""
STARTED_LATER: Final = (
    r"(?i)(^|/)(\.git/hooks|\.husky|\.githooks|\.github/(workflows|actions)|\.circleci|\.devcontainer)/"
    r"|(^|/)(\.gitlab-ci\.ya?ml|Jenkinsfile|azure-pipelines\.ya?ml|\.travis\.yml|\.mcp\.json|mcp\.json|\.envrc|\.npmrc|\.pypirc|"
    r"\.yarnrc(\.yml)?|pip\.conf|\.gitconfig|\.gitmodules|\.vscode/(tasks|settings|launch)\.json|\.pre-commit-config\.yaml|"
    r"sitecustomize\.py|usercustomize\.py|[^/]*\.pth)$"
    r"|\.(sh|bash|zsh|fish|ps1|bat|cmd|command|service|desktop|plist)$"
)
"""Files that run without being called by the code: hooks, pipelines, shell scripts, settings that start programs."""
SENSITIVE_PATHS: Final = (
    r"(?i)(^|/)\.(ssh|gnupg|aws|azure|kube|docker|config/gcloud)(/|$)|(^|/)(\.netrc|\.pgpass|\.pypirc|\.npmrc|\.git-credentials|"
    r"\.env(\.[^/]*)?|id_(rsa|dsa|ecdsa|ed25519)|credentials(\.json)?|authorized_keys|known_hosts|\.[a-z]*_history|"
    r"\.(bash|zsh)rc|\.(bash_|zsh_|)profile|crontab)$|^/etc/(passwd|shadow|sudoers|cron|ssh|hosts|profile|ld\.so)|^/proc/[^/]+/environ"
    r"|\.(pem|p12|pfx|keystore|jks)$"
)
"""Places of credentials, and of what runs at the next login."""

_RANK: Final = {"low": 0, "medium": 1, "high": 2, "critical": 3}
SEVERITIES: Final = tuple(_RANK)
"""From least to most; the names of ``RiskClass``."""
SEVERITY: Final[dict[tuple[SinkClass, str], RiskClass]] = {
    **{
        (sink, kind): RiskClass.MEDIUM
        for sink in SinkClass
        for kind in ("url", "host", "ip", "email", "path", "package", "command")
    },
    **{(SinkClass.NETWORK, kind): RiskClass.HIGH for kind in ("url", "host", "ip", "email", "path", "command")},
    **{(SinkClass.EXEC, kind): RiskClass.HIGH for kind in ("path", "package", "command")},
    **{(SinkClass.WRITE, kind): RiskClass.LOW for kind in ("url", "host", "ip", "email")},
    (SinkClass.WRITE, "path"): RiskClass.HIGH,
    **{(SinkClass.READ, kind): RiskClass.LOW for kind in ("url", "host", "ip", "email", "command")},
}
"""Severity by class of the sink and kind of the entity. A sensitive place or a disclosing program raises it by one; a
URL on a host that a trusted part named lowers it by one."""
