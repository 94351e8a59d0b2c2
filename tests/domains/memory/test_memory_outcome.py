"""Outcome of a command, decided by its output if the exit status is missing or hidden by a pipe."""

from __future__ import annotations

import pytest

from deltos.domains.memory.capture.commands import Effect, effect_of, hides_exit_status, programs_of
from deltos.domains.memory.capture.events import ToolOutcome
from deltos.domains.memory.capture.outcome import outcome_of
from deltos.domains.memory.capture.tool_use import status_in

# Last lines of the output of real failed commands.
FAILURES = {
    "bash dump.sh": "upload failed: dump/a.gz to s3://archive/a.gz An error occurred (AccessDenied) when calling PutObject",
    "./sync.sh": "Copying 3 files\nDeployment of web failed: quota exceeded",
    "./load.sh": "2026-11-17 10:02:11 ERROR could not reach the broker",
    "./nightly": "[FATAL] no space left",
    "pytest -q": "FAILED tests/test_a.py::test_b - assert 1 == 2\n1 failed, 3 passed in 0.12s",
    "pytest tests/gone": "ERROR: file or directory not found: tests/gone\n\nno tests ran in 0.00s",
    "uv run pytest": "=== 2 errors in 0.31s ===",
    "python -m unittest": "Ran 3 tests in 0.001s\n\nFAILED (failures=1)",
    "npx jest": "Tests:       1 failed, 4 passed, 5 total",
    "npx vitest run": " Test Files  1 failed | 2 passed (3)\n      Tests  2 failed | 9 passed (11)",
    "npx mocha": "  4 passing (12ms)\n  1 failing\n",
    "npm test": "npm error Lifecycle script `test` failed with error:\nnpm error code 1",
    "cargo build": "error[E0308]: mismatched types\n --> src/main.rs:4:5",
    "cargo test": "test result: FAILED. 3 passed; 1 failed; 0 ignored",
    "go build ./...": "# app\n./main.go:3:5: undefined: x",
    "go test ./...": "--- FAIL: TestA (0.00s)\nFAIL\tapp\t0.1s",
    "gcc main.c": "main.c:3:5: error: unknown type name 'strng'",
    "make": "main.o: in function `main': undefined reference to `f'\nmake: *** [Makefile:3: all] Error 1",
    "tsc --noEmit": "src/a.ts(3,5): error TS2322: Type 'string' is not assignable",
    "ruff check .": "Found 3 errors.\n[*] 1 fixable",
    "mypy": "Found 1 error in 1 file (checked 12 source files)",
    "npx eslint .": "✖ 3 problems (2 errors, 1 warning)",
    "mvn test": "[ERROR] Tests run: 3, Failures: 1\n[INFO] BUILD FAILURE",
    "./gradlew build": "FAILURE: Build failed with an exception.\nBUILD FAILED in 3s",
    "dotnet build": "Program.cs(3,5): error CS1002: ; expected\nBuild FAILED.",
    "bundle exec rspec": "3 examples, 1 failure",
    "vendor/bin/phpunit": "FAILURES!\nTests: 3, Assertions: 3, Failures: 1.",
    "python app.py": "Traceback (most recent call last):\n  File \"app.py\", line 1\nKeyError: 'a'",
    "node app.js": "/app/app.js:3\nTypeError: x is not a function\n    at main (/app/app.js:3:1)",
    "pip install nope": "ERROR: No matching distribution found for nope",
    "docker build .": 'ERROR: failed to solve: process "/bin/sh -c make" did not complete successfully: exit code: 2',
    "kubectl apply -f a.yaml": 'Error from server (NotFound): namespaces "x" not found',
    "terraform apply": "╷\n│ Error: Invalid reference",
    "psql -c 'select'": "ERROR:  syntax error at end of input",
    "git push": " ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs",
    "git merge topic": "CONFLICT (content): Merge conflict in a.py\nAutomatic merge failed; fix conflicts",
    "gh pr create": "pull request create failed: GraphQL: No commits between main and topic (createPullRequest)",
    "./deploy.sh": "bash: line 3: aws: command not found",
    "scripts/check": "1 failed, 3 passed in 0.12s",
    "curl -sS localhost": "curl: (7) Failed to connect to localhost port 80",
}
SUCCESSES = {
    "pytest -q": "4 passed, 2 warnings in 0.12s",
    "npx jest": "Tests:       0 failed, 5 passed, 5 total",
    "cargo test": "test result: ok. 3 passed; 0 failed; 0 ignored",
    "ruff check --fix .": "Found 3 errors (3 fixed, 0 remaining).",
    "mypy": "Success: no issues found in 12 source files",
    "npm install": "added 3 packages, and audited 4 packages in 1s\nfound 0 vulnerabilities",
    "git push": "To github.com:acme/app.git\n   1a2b3c4..5d6e7f8  main -> main",
    "git commit -m 'error: no'": "[main 1a2b3c4] error: no more failed tests\n 1 file changed",
    "make": "cc -o app main.c -Werror\necho 'error handling built'",
    "./deploy.sh": "0 errors, 0 failed",
    "./report.sh": "2026-11-17 INFO wrote 12 rows\nERRORS=0 FAILED=0 TOTAL=12",
    "./check.sh": "12 checked, 0 failed: none",
    "git pull; git status": "Already up to date.\nnothing to commit, working tree clean",
}


@pytest.mark.parametrize("command", FAILURES)
def test_a_failure_is_detected_without_an_exit_status(command: str) -> None:
    assert outcome_of(command, FAILURES[command], None) is ToolOutcome.FAILED


@pytest.mark.parametrize("command", FAILURES)
def test_a_failure_is_detected_behind_a_pipe_with_exit_status_zero(command: str) -> None:
    assert outcome_of(f"{command} 2>&1 | tail -20", FAILURES[command], 0) is ToolOutcome.FAILED


@pytest.mark.parametrize("command", SUCCESSES)
def test_successful_output_that_mentions_errors_is_a_success(command: str) -> None:
    assert outcome_of(command, SUCCESSES[command], None) is ToolOutcome.SUCCEEDED


def test_a_visible_exit_status_is_trusted() -> None:
    assert outcome_of("make", "error: in a log line", 0) is ToolOutcome.SUCCEEDED
    assert outcome_of("make", "all well", 2) is ToolOutcome.FAILED


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("git commit -m x", "On branch main\nnothing to commit, working tree clean"),
        ("git commit -am x", "no changes added to commit"),
        ("git commit -m x", "Author identity unknown\n\n*** Please tell me who you are.\n"),
        ("git commit -m x", "ruff.....Failed\n- hook id: ruff\n- exit code: 1"),
        ("git commit -m x", "husky - pre-commit script failed (code 1)"),
        ("git add -A && git commit -m x | tail -3", "fatal: not a git repository"),
    ],
)
def test_a_failed_commit_is_a_failure(command: str, output: str) -> None:
    assert outcome_of(command, output, None) is ToolOutcome.FAILED


def test_an_unconfirmed_commit_has_an_unclear_outcome() -> None:
    assert outcome_of("git commit -qm x", "", None) is ToolOutcome.UNCLEAR
    assert outcome_of("git commit -m x || true", "hint: something", 0) is ToolOutcome.UNCLEAR
    assert outcome_of("git commit -qm x", "", 0) is ToolOutcome.SUCCEEDED
    assert outcome_of("git commit -m x | cat", "[topic/a (root-commit) 1a2b3c4] x", None) is ToolOutcome.SUCCEEDED


@pytest.mark.parametrize(
    ("command", "hides"),
    [
        ("make", False),
        ("make && make install", False),
        ("cd a; make", False),
        ("ls | head", False),
        ("set -o pipefail; make | tail", False),
        ("set -e; make; echo done", False),
        ("make | tail", True),
        ("make; echo done", True),
        ("make || true", True),
        ("make\necho done", True),
        ("make 'a | b; c'", False),
    ],
)
def test_commands_that_hide_exit_statuses_are_recognised(command: str, hides: bool) -> None:
    assert hides_exit_status(command) is hides


def test_programs_are_found_behind_wrappers() -> None:
    assert programs_of("cd x && CI=1 timeout 60 uv run --frozen pytest -q | tail") == ("pytest",)
    assert programs_of("npx --yes jest; git commit -m x") == ("jest", "git", "git commit")


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("gh pr create --fill", Effect.CHANGES),
        ("gh pr merge 12 --squash", Effect.CHANGES),
        ("glab mr create", Effect.CHANGES),
        ("gh pr view 12", Effect.READ_ONLY),
        ("gh issue list", Effect.READ_ONLY),
        ("deltos memory add 'x'", Effect.READ_ONLY),
        ("terraform plan -out x", Effect.READ_ONLY),
        ("terraform apply", Effect.CHANGES),
        ("docker compose ps", Effect.READ_ONLY),
        ("docker compose up -d", Effect.CHANGES),
        ("aws account enable-region --region-name eu-central-2", Effect.CHANGES),
        ("gcloud run services update web --memory 1Gi", Effect.CHANGES),
        ("aws ec2 describe-instances", Effect.UNKNOWN),
        ("gcloud run services list", Effect.UNKNOWN),
        ("gcloud run deploy web", Effect.CHANGES),
        ("gcloud storage buckets create logs-bucket", Effect.CHANGES),
        ("aws deploy list-deployments", Effect.UNKNOWN),
        ("aws s3 ls s3://x", Effect.UNKNOWN),
        ("aws s3 cp a s3://x", Effect.CHANGES),
        ("consul kv get set", Effect.UNKNOWN),
        ("fly logs", Effect.UNKNOWN),
        ("fly deploy", Effect.CHANGES),
    ],
)
def test_effects_of_code_hosting_and_cloud_commands_are_classified(command: str, effect: Effect) -> None:
    assert effect_of(command) is effect


def test_the_last_exit_status_in_an_output_is_used() -> None:
    assert status_in("Exit code: 0\nmore\n<exited with exit code 3>") == 3
    assert status_in("nothing of the kind") is None
    assert status_in("exit code -9") == -9


def test_long_hostile_output_takes_linear_time() -> None:
    for piece in ("1 failed_", "\n[", "0 errors ", "\x1b[", "exit code ", "aError: "):
        outcome_of("pytest | tail", piece * 20_000, None)
