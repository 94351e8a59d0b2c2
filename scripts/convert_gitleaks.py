"""Convert the gitleaks rules that memory uses: `python scripts/convert_gitleaks.py PATH/TO/gitleaks.toml`.

A rule for tokens with a literal prefix is converted to the prefix and half of the remaining length, because issuers
change lengths and terminals truncate tokens. A rule for a service is converted to the service's names and the length of
a value. Other rules are written by hand in tokens.json and tokens.py.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "src/deltos/redaction/gitleaks.json"
_SOURCE = "config/gitleaks.toml of https://github.com/gitleaks/gitleaks, converted by scripts/convert_gitleaks.py"
_OPERATOR = r"""(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}"""
_TERMINATOR_PATTERNS = (r"""(?:[\x60'"\s;]|\\[nr]|$)""", r"""(?:[\x60'"\s;]|\\[nr]|$|\b)""", r"(?:[^\w-]|\z)", r"\b")
_REGEX_ITEM = re.compile(r"(?:\[[^\]]+\]|\\[wd.]|[\w~=+/-])(?:\{(\d+)[^}]*\}|([*+?]))?")
MIN_TAIL_LENGTH = 8  # minimum number of characters after the prefix of a token
# Rules that identify tokens by fewer than three letters, or by letters with which ordinary words start.
_SKIPPED_RULES = {
    "vault-service-token",
    "sourcegraph-access-token",
    "twilio-api-key",
    "generic-api-key",
    "gocardless-api-token",
}
# Service names that are also ordinary words. With them, values that are not secrets would be redacted.
_COMMON_NAMES = {"linear", "sumo", "looker", "beamer", "xray", "plaid", "travis", "password", "adobe"}


def main() -> None:
    """Read the rules and write the data file."""
    source = Path(sys.argv[1])
    rules = tomllib.loads(source.read_text("utf-8"))["rules"]
    licence = (source.parent.parent / "LICENSE").read_text("utf-8").strip().split("\n")
    tokens = sorted({row for rule in rules for row in _token_rules(rule)})
    services = sorted({row for rule in rules for row in _service_rules(rule)})
    fields = {"source": _SOURCE, "licence": licence, "tokens": tokens, "services": services}
    TARGET.write_text("{\n" + ",\n".join(_format_field(*field) for field in fields.items()) + "\n}\n", "utf-8")
    print(f"{len(tokens)} tokens, {len(services)} services")


def _format_field(name: str, value: object) -> str:
    """Return a field as JSON, with one row of a list per line."""
    if not isinstance(value, list):
        return f" {json.dumps(name)}: {json.dumps(value)}"
    rows = ",\n".join(f"  {json.dumps(row)}" for row in value)
    return f" {json.dumps(name)}: [\n{rows}\n ]"


def _token_rules(rule: dict[str, Any]) -> list[tuple[str, str, int]]:
    pattern: str = rule.get("regex", "")
    if rule["id"] in _SKIPPED_RULES or not pattern:
        return []
    heads = _leading_literals(_strip_context(pattern.split(_OPERATOR, 1)[-1]))
    found = [(rule["id"], literal, _min_length(rest)) for literal, rest in heads]
    return [
        (kind, literal, max(MIN_TAIL_LENGTH, size // 2)) for kind, literal, size in found if len(literal) > 3 and size
    ]


def _strip_context(pattern: str) -> str:
    """Return the pattern without the context of the token: boundaries, flags, groups and terminators."""
    for end in _TERMINATOR_PATTERNS:
        pattern = pattern.removesuffix(end)
    pattern = pattern.replace("(?i)", "").replace("[[:alnum:]]", "[a-z]").removeprefix(r"\b")
    while re.match(r"\((?!\?)", pattern) and pattern.endswith(")"):
        pattern = pattern[1:-1].removeprefix(r"\b")
    return pattern


def _leading_literals(pattern: str) -> list[tuple[str, str]]:
    """Return the literals with which a pattern can start, each with the rest of the pattern."""
    if group := re.match(r"\((?:\?:)?([\w.|-]+)\)(.*)$", pattern):
        return [head for choice in group[1].split("|") for head in _leading_literals(choice + group[2])]
    literal = re.match(r"(?:[\w~-](?![{*+?])|\\[.\-])+", pattern)
    if literal is None or literal[0].startswith("http"):
        return []
    return [(literal[0].replace("\\", ""), pattern[literal.end() :])]


def _min_length(pattern: str) -> int:
    """Return the minimum length of a match, or 0 if the pattern contains unsupported syntax."""
    flat = re.sub(r"[()]|\?i?:", "", pattern)
    total = at = 0
    while at < len(flat):
        item = _REGEX_ITEM.match(flat, at)
        if item is None:
            return 0
        at = item.end()
        total += int(item[1] or (item[2] not in ("*", "?")))
    return total


def _service_rules(rule: dict[str, Any]) -> list[tuple[str, str, int, int]]:
    pattern: str = rule.get("regex", "")
    if _OPERATOR not in pattern or rule["id"] in _SKIPPED_RULES:
        return []
    names = [name for name in rule["keywords"] if re.fullmatch(r"[a-z][a-z_-]{3,}[a-z]", name)]
    value = re.match(r"\(\[[^\]]+\]\{(\d+)(?:,(\d+))?\}\)", pattern.split(_OPERATOR, 1)[1])
    if value is None or "[0-9]{" in value[0]:
        return []  # A value that consists of digits is an id, not a secret.
    return [(rule["id"], name, int(value[1]), int(value[2] or value[1])) for name in names if name not in _COMMON_NAMES]


if __name__ == "__main__":
    main()
