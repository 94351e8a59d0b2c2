"""Whether a command worked, by what it printed: agents tell no exit status, or one that a pipe has hidden. Plain
substrings, no patterns: a hook has no time to compile them, and they take linear time."""

from __future__ import annotations

from typing import NamedTuple

from deltos.domains.memory.commands import hides_status, programs_of
from deltos.domains.memory.events import Outcome


class Signs(NamedTuple):
    """How the output of a program tells that it failed: lines that begin or that hold something, or a number other
    than nought before a word (`3 failed`). A line that holds one of `passes` says that all is well."""

    begins: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()


# Of any program.
_ANY = Signs(
    begins=(
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
    holds=(
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
_PYTHON_TESTS = Signs(
    begins=("FAILED ", "FAILED (", "FAIL: ", "ERROR ", "ERROR: ", "E   ", "INTERNALERROR>", "no tests ran"),
    holds=("!! Interrupted:", " no tests ran in "),
    counts=("failed", "error", "errors"),
)
_SCRIPT_TESTS = Signs(
    begins=("FAIL ", " FAIL ", "  ✕", " ❯ ", "  ●", "  1) "),
    counts=("failed", "failing", "failures"),
)
_C_BUILD = Signs(
    begins=("make: ***", "CMake Error", "ninja: build stopped"),
    holds=("]: *** ", "undefined reference to", "ld returned 1"),
)
_CHECKERS = Signs(counts=("error", "errors", "problems"), passes=("0 remaining", "Success: no issues"))
_NODE_PACKAGES = Signs(
    begins=("npm ERR!", "npm error", "error ", "ERR_PNPM", " ERR_PNPM", "ELIFECYCLE", " ELIFECYCLE", "ERR! ")
)
_PYTHON_PACKAGES = Signs(begins=("ERROR:", "error:", "  × ", "× "), holds=("No matching distribution found",))
_JVM = Signs(begins=("[ERROR]", "FAILURE:"), holds=("BUILD FAILURE", "BUILD FAILED", "There were failing tests"))
_RUBY_TESTS = Signs(counts=("failure", "failures", "errors"))
_CONTAINERS = Signs(begins=("Error response from daemon", "Error: "), holds=("failed to solve",))
_CLUSTER = Signs(begins=("Error from server", "The connection to the server"))
_DATABASE = Signs(
    begins=("ERROR ", "psql: error", "Parse error", "Runtime error", "FAILED:", "CommandError:"),
    holds=(": ERROR:  ", ": FATAL:  "),
)
_GIT = Signs(
    begins=("CONFLICT (", "Automatic merge failed", "Aborting", " ! [", "! [", "husky - ", "CONFLICT:"),
    holds=("\n- hook id: ", "[rejected]", "[remote rejected]"),
)
_FORGE = Signs(
    begins=("X ", "failed to ", "pull request create failed", "could not ", "GraphQL:", "HTTP 4", "no pull requests"),
    holds=("GraphQL: ",),
)
_BY_PROGRAM: dict[str, Signs] = {
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
    "cargo": Signs(begins=("test result: FAILED",), holds=(" panicked at ",)),
    "go": Signs(begins=("FAIL", "--- FAIL", "# ")),
    "tsc": Signs(holds=("error TS",)),
    "dotnet": Signs(begins=("Failed!",), holds=("Build FAILED", "error CS", "error MSB")),
    "phpunit": Signs(begins=("FAILURES!", "ERRORS!", "PHP Fatal error")),
    "terraform": Signs(begins=("│ Error:", "╷")),
    "curl": Signs(begins=("curl: (",)),
    "k6": Signs(begins=("ERRO[",), holds=(" level=error ",)),
    "aws": Signs(begins=("upload failed:", "download failed:", "An error occurred ("), holds=("An error occurred (",)),
}
# A script or a task may run any of the programs whose summaries nothing else looks like.
_UNKNOWN_PROGRAM = (
    Signs(
        begins=("FAILED ", "FAILED (", "E   ", "test result: FAILED", "--- FAIL", "FAIL\t", "npm ERR!", "make: ***"),
        holds=("BUILD FAILURE", "BUILD FAILED", "error TS", "]: *** ", "An error occurred ("),
        counts=("failed", "failing"),
    ),
)
_LEVELS = ("ERROR", "FATAL", "CRITICAL", "FAILED", "FAILURE")
_AROUND_LEVELS = "[](){}<>:*!|│┃-"
_LOG_HEAD_CHARACTERS = 60
_LOG_HEAD_WORDS = 4
_MOST_LOG_LINES = 2_000
_FAILED_WORDS = 4  # before `failed:` in a line that says so
_STATUS_WORDS = ("exit code: ", "exit code ", "exit status ", "exited with code ")
_END_CHARACTERS = 2_000
_COMMITTED_CHARACTERS = 120


def outcome_of(command: str, output: str, status: int | None) -> Outcome:
    """How a command ended. `status` is None where the agent told none; nought is believed only of a command whose
    parts cannot fail unnoticed."""
    if status:
        return Outcome.FAILED
    if status == 0 and not hides_status(command):
        return Outcome.WORKED
    programs = programs_of(command)
    text = _plain(output)
    if _tells_failure(programs, text):
        return Outcome.FAILED
    if "git commit" in programs:
        return Outcome.WORKED if _has_committed(text) else _uncommitted(text)
    return Outcome.WORKED


def status_in(output: str) -> int | None:
    """The exit status that an agent wrote at the end of an output; None when there is none."""
    end = output[-_END_CHARACTERS:].lower()
    found = max(((end.rfind(words), words) for words in _STATUS_WORDS), default=(-1, ""))
    return None if found[0] < 0 else _number_at(end, found[0] + len(found[1]))


def _plain(output: str) -> str:
    """An output without colours, with a line end on either side."""
    if "\x1b[" in output:
        pieces = output.split("\x1b[")
        output = pieces[0] + "".join(piece.partition("m")[2] if "m" in piece[:12] else piece for piece in pieces[1:])
    return f"\n{output}\n"


def _tells_failure(programs: tuple[str, ...], text: str) -> bool:
    known = [_BY_PROGRAM[name] for name in programs if name in _BY_PROGRAM]
    everything = all(name in _BY_PROGRAM or name == "git commit" for name in programs)
    signs = [*known, *(() if everything else _UNKNOWN_PROGRAM)]
    if any(sign in text for row in signs for sign in row.passes):
        return False
    if any(_fails(row, text) for row in (*signs, _ANY)) or _ends_with_exception(text):
        return True
    return not everything and (_says_failed(text) or _logs_failure(text))


def _logs_failure(text: str) -> bool:
    """Whether a line begins as programs of all sorts say that they failed: with the level of a log in capitals, or with
    such a word and a colon."""
    for line in text.splitlines()[:_MOST_LOG_LINES]:
        words = [word.strip(_AROUND_LEVELS) for word in line[:_LOG_HEAD_CHARACTERS].split()[:_LOG_HEAD_WORDS]]
        if any(word in _LEVELS for word in words):
            return True
    return False


def _says_failed(text: str) -> bool:
    """Whether a line begins by saying that something failed: `upload failed: …`, `Deployment of web failed: …`."""
    at = text.find(" failed: ")
    while at >= 0:
        words = text[text.rfind("\n", 0, at) + 1 : at].split()
        if 0 < len(words) <= _FAILED_WORDS and not words[-1].strip(",").isdecimal():
            return True
        at = text.find(" failed: ", at + 1)
    return False


def _fails(signs: Signs, text: str) -> bool:
    return (
        any(f"\n{sign}" in text for sign in signs.begins)
        or any(sign in text for sign in signs.holds)
        or any(_is_counted(text, word) for word in signs.counts)
    )


def _is_counted(text: str, word: str) -> bool:
    """Whether a number other than nought stands before a word."""
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
    """Whether one of the last lines is `SomeError: why`."""
    for line in text[-_END_CHARACTERS:].splitlines()[-20:]:
        name, colon, _ = line.partition(": ")
        if colon and name.endswith(("Error", "Exception")) and name.replace(".", "").isidentifier():
            return True
    return False


def _has_committed(text: str) -> bool:
    """Whether git named the commit that it made: `[main 1a2b3c4] …`."""
    at = text.find("\n[")
    while at >= 0:
        head = text[at + 2 : at + 2 + _COMMITTED_CHARACTERS].partition("]")[0].split()
        if len(head) >= 2 and len(head[-1]) >= 6 and all(letter in "0123456789abcdef" for letter in head[-1]):
            return True
        at = text.find("\n[", at + 1)
    return False


def _uncommitted(text: str) -> Outcome:
    nothing = (
        "nothing to commit",
        "nothing added to commit",
        "no changes added to commit",
        "Please tell me who you are",
    )
    return Outcome.FAILED if any(words in text for words in nothing) else Outcome.UNCLEAR


def _number_at(text: str, at: int) -> int | None:
    end = at
    while end < len(text) and (text[end].isdecimal() or (end == at and text[end] == "-")) and end - at < 12:
        end += 1
    digits = text[at:end]
    return int(digits) if digits.lstrip("-").isdecimal() else None
