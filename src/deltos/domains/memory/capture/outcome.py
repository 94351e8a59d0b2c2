"""Decides by the output whether a command succeeded: some agents report no exit status, and pipes hide it.

Uses substring searches instead of regular expressions: a hook has no time to compile them, and they take linear time.
"""

from __future__ import annotations

from typing import NamedTuple

from deltos.domains.memory.capture.events import ToolOutcome
from deltos.domains.memory.capture.shell_commands import hides_exit_status, programs_of


class FailureSigns(NamedTuple):
    """Signs of failure in the output of a program.

    Lines that start with or contain a text, or a number other than zero before a word (`3 failed`). A text of `success`
    overrides all of them.
    """

    line_starts: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    counted_words: tuple[str, ...] = ()
    success: tuple[str, ...] = ()


# Apply to every program.
_ANY_PROGRAM = FailureSigns(
    line_starts=(
        "Traceback (most recent call last):",
        "fatal:",
        "FATAL:",
        "error:",
        "Error:",
        "ERROR:",
        "error[",
        "panic:",
        "Segmentation fault",
        "Uncaught ",
    ),
    contains=(
        ": command not found",
        ": not found\n",
        ": No such file or directory",
        ": Permission denied",
        ": error:",
        ": fatal error:",
        "Error: Cannot find module",
        "returned non-zero exit status",
    ),
)
_PYTHON_TESTS = FailureSigns(
    line_starts=("FAILED ", "FAILED (", "FAIL: ", "ERROR ", "ERROR: ", "E   ", "INTERNALERROR>", "no tests ran"),
    contains=("!! Interrupted:", " no tests ran in "),
    counted_words=("failed", "error", "errors"),
)
_SCRIPT_TESTS = FailureSigns(
    line_starts=("FAIL ", " FAIL ", "  ✕", " ❯ ", "  ●", "  1) "),
    counted_words=("failed", "failing", "failures"),
)
_C_BUILD = FailureSigns(
    line_starts=("make: ***", "CMake Error", "ninja: build stopped"),
    contains=("]: *** ", "undefined reference to", "ld returned 1"),
)
_CHECKERS = FailureSigns(counted_words=("error", "errors", "problems"), success=("0 remaining", "Success: no issues"))
_NODE_PACKAGES = FailureSigns(
    line_starts=("npm ERR!", "npm error", "error ", "ERR_PNPM", " ERR_PNPM", "ELIFECYCLE", " ELIFECYCLE", "ERR! ")
)
_PYTHON_PACKAGES = FailureSigns(
    line_starts=("ERROR:", "error:", "  × ", "× "), contains=("No matching distribution found",)
)
_JVM = FailureSigns(
    line_starts=("[ERROR]", "FAILURE:"), contains=("BUILD FAILURE", "BUILD FAILED", "There were failing tests")
)
_RUBY_TESTS = FailureSigns(counted_words=("failure", "failures", "errors"))
_CONTAINERS = FailureSigns(line_starts=("Error response from daemon", "Error: "), contains=("failed to solve",))
_CLUSTER = FailureSigns(line_starts=("Error from server", "The connection to the server"))
_DATABASE = FailureSigns(
    line_starts=("ERROR ", "psql: error", "Parse error", "Runtime error", "FAILED:", "CommandError:"),
    contains=(": ERROR:  ", ": FATAL:  "),
)
_GIT = FailureSigns(
    line_starts=("CONFLICT (", "Automatic merge failed", "Aborting", " ! [", "! [", "husky - ", "CONFLICT:"),
    contains=("\n- hook id: ", "[rejected]", "[remote rejected]"),
)
_FORGE = FailureSigns(
    line_starts=(
        "X ",
        "failed to ",
        "pull request create failed",
        "could not ",
        "GraphQL:",
        "HTTP 4",
        "no pull requests",
    ),
    contains=("GraphQL: ",),
)
_SIGNS_BY_PROGRAM: dict[str, FailureSigns] = {
    **dict.fromkeys(("pytest", "py.test", "tox", "nox", "unittest"), _PYTHON_TESTS),
    **dict.fromkeys(("jest", "vitest", "mocha", "ava", "playwright", "cypress"), _SCRIPT_TESTS),
    **dict.fromkeys(("make", "gmake", "cmake", "ninja", "gcc", "g++", "cc", "clang", "clang++"), _C_BUILD),
    **dict.fromkeys(("ruff", "mypy", "pyright", "eslint", "biome", "flake8", "stylelint"), _CHECKERS),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _NODE_PACKAGES),
    **dict.fromkeys(("pip", "pip3", "uv", "poetry", "pipx", "conda"), _PYTHON_PACKAGES),
    **dict.fromkeys(("mvn", "mvnw", "gradle", "gradlew", "ant", "sbt"), _JVM),
    **dict.fromkeys(("rspec", "rake", "rails", "minitest"), _RUBY_TESTS),
    **dict.fromkeys(("docker", "docker-compose", "podman"), _CONTAINERS),
    **dict.fromkeys(("kubectl", "helm"), _CLUSTER),
    **dict.fromkeys(("psql", "sqlite3", "mysql", "alembic", "manage.py"), _DATABASE),
    **dict.fromkeys(("gh", "glab"), _FORGE),
    "git": _GIT,
    "cargo": FailureSigns(line_starts=("test result: FAILED",), contains=(" panicked at ",)),
    "go": FailureSigns(line_starts=("FAIL", "--- FAIL", "# ")),
    "tsc": FailureSigns(contains=("error TS",)),
    "dotnet": FailureSigns(line_starts=("Failed!",), contains=("Build FAILED", "error CS", "error MSB")),
    "phpunit": FailureSigns(line_starts=("FAILURES!", "ERRORS!", "PHP Fatal error")),
    "terraform": FailureSigns(line_starts=("│ Error:", "╷")),
    "curl": FailureSigns(line_starts=("curl: (",)),
    "k6": FailureSigns(line_starts=("ERRO[",), contains=(" level=error ",)),
    "aws": FailureSigns(
        line_starts=("upload failed:", "download failed:", "An error occurred ("), contains=("An error occurred (",)
    ),
}
# A script or task may run any of the known programs, so their unambiguous signs apply to it.
_UNKNOWN_PROGRAM = (
    FailureSigns(
        line_starts=(
            "FAILED ",
            "FAILED (",
            "E   ",
            "test result: FAILED",
            "--- FAIL",
            "FAIL\t",
            "npm ERR!",
            "make: ***",
        ),
        contains=("BUILD FAILURE", "BUILD FAILED", "error TS", "]: *** ", "An error occurred ("),
        counted_words=("failed", "failing"),
    ),
)
_LOG_LEVELS = ("ERROR", "FATAL", "CRITICAL", "FAILED", "FAILURE")
_LOG_LEVEL_BRACKETS = "[](){}<>:*!|│┃-"
_LOG_HEAD_CHARACTERS = 60
_LOG_HEAD_WORDS = 4
_MAX_LOG_LINES = 2_000
_MAX_WORDS_BEFORE_FAILED = 4  # in a line such as `upload of x failed: reason`
_STATUS_WORDS = ("exit code: ", "exit code ", "exit status ", "exited with code ")
_END_CHARACTERS = 2_000
_COMMITTED_CHARACTERS = 120


def outcome_of(command: str, output: str, status: int | None) -> ToolOutcome:
    """Return the outcome of a command.

    `status` is None if the agent did not report it. A status of zero is trusted only if no part of the command can fail
    unnoticed.
    """
    if status:
        return ToolOutcome.FAILED
    if status == 0 and not hides_exit_status(command):
        return ToolOutcome.SUCCEEDED
    programs = programs_of(command)
    text = _without_colours(output)
    if _indicates_failure(programs, text):
        return ToolOutcome.FAILED
    if "git commit" in programs:
        return ToolOutcome.SUCCEEDED if _has_committed(text) else _uncommitted_outcome(text)
    return ToolOutcome.SUCCEEDED


def status_in(output: str) -> int | None:
    """Return the exit status that an agent appended to an output; None if there is none."""
    end = output[-_END_CHARACTERS:].lower()
    found = max(((end.rfind(words), words) for words in _STATUS_WORDS), default=(-1, ""))
    return None if found[0] < 0 else _number_at(end, found[0] + len(found[1]))


def _without_colours(output: str) -> str:
    r"""Remove colour codes, and add a line break at both ends so that line starts can be searched as `\n` + text."""
    if "\x1b[" in output:
        pieces = output.split("\x1b[")
        output = pieces[0] + "".join(piece.partition("m")[2] if "m" in piece[:12] else piece for piece in pieces[1:])
    return f"\n{output}\n"


def _indicates_failure(programs: tuple[str, ...], text: str) -> bool:
    """Whether the output has a sign of failure of one of the programs."""
    known = [_SIGNS_BY_PROGRAM[name] for name in programs if name in _SIGNS_BY_PROGRAM]
    all_known = all(name in _SIGNS_BY_PROGRAM or name == "git commit" for name in programs)
    signs = [*known, *(() if all_known else _UNKNOWN_PROGRAM)]
    if any(sign in text for row in signs for sign in row.success):
        return False
    if any(_matches_signs(row, text) for row in (*signs, _ANY_PROGRAM)) or _ends_with_exception(text):
        return True
    return not all_known and (_says_failed(text) or _logs_failure(text))


def _logs_failure(text: str) -> bool:
    """Whether a line starts with a log level of failure in capitals, such as `ERROR` or `[FATAL]`."""
    for line in text.splitlines()[:_MAX_LOG_LINES]:
        words = [word.strip(_LOG_LEVEL_BRACKETS) for word in line[:_LOG_HEAD_CHARACTERS].split()[:_LOG_HEAD_WORDS]]
        if any(word in _LOG_LEVELS for word in words):
            return True
    return False


def _says_failed(text: str) -> bool:
    """Whether a line starts by saying that something failed: `upload failed: …`, `Deployment of web failed: …`."""
    at = text.find(" failed: ")
    while at >= 0:
        words = text[text.rfind("\n", 0, at) + 1 : at].split()
        if 0 < len(words) <= _MAX_WORDS_BEFORE_FAILED and not words[-1].strip(",").isdecimal():
            return True
        at = text.find(" failed: ", at + 1)
    return False


def _matches_signs(signs: FailureSigns, text: str) -> bool:
    return (
        any(f"\n{sign}" in text for sign in signs.line_starts)
        or any(sign in text for sign in signs.contains)
        or any(_has_nonzero_count(text, word) for word in signs.counted_words)
    )


def _has_nonzero_count(text: str, word: str) -> bool:
    """Whether a number other than zero precedes the word."""
    at = text.find(f" {word}")
    while at >= 0:
        first = at
        while first > 0 and text[first - 1].isdecimal() and at - first < 12:
            first -= 1
        after = text[at + 1 + len(word) : at + 2 + len(word)]
        if text[first:at].strip("0") and not after.isalnum():
            return True
        at = text.find(f" {word}", at + 1)
    return False


def _ends_with_exception(text: str) -> bool:
    """Whether one of the last lines has the form `SomeError: reason`."""
    for line in text[-_END_CHARACTERS:].splitlines()[-20:]:
        name, colon, _ = line.partition(": ")
        if colon and name.endswith(("Error", "Exception")) and name.replace(".", "").isidentifier():
            return True
    return False


def _has_committed(text: str) -> bool:
    """Whether git printed the id of the new commit: `[main 1a2b3c4] …`."""
    at = text.find("\n[")
    while at >= 0:
        head = text[at + 2 : at + 2 + _COMMITTED_CHARACTERS].partition("]")[0].split()
        if len(head) >= 2 and len(head[-1]) >= 6 and all(letter in "0123456789abcdef" for letter in head[-1]):
            return True
        at = text.find("\n[", at + 1)
    return False


def _uncommitted_outcome(text: str) -> ToolOutcome:
    """Return the outcome of a `git commit` that printed no commit id."""
    nothing = (
        "nothing to commit",
        "nothing added to commit",
        "no changes added to commit",
        "Please tell me who you are",
    )
    return ToolOutcome.FAILED if any(words in text for words in nothing) else ToolOutcome.UNCLEAR


def _number_at(text: str, at: int) -> int | None:
    """Return the integer at an offset; None if there is none."""
    end = at
    while end < len(text) and (text[end].isdecimal() or (end == at and text[end] == "-")) and end - at < 12:
        end += 1
    digits = text[at:end]
    return int(digits) if digits.lstrip("-").isdecimal() else None
