"""Detection of the language of a file."""

from __future__ import annotations

import subprocess
import sys

import pytest

from deltos.languages.table import LANGUAGES, detect, language


def detect_name(path: str, head: bytes = b"") -> str | None:
    found = detect(path, head)
    return found.name if found else None


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/app.py", "python"),
        ("src\\app.PY", "python"),
        ("types/index.d.ts", "typescript"),
        ("View.tsx", "tsx"),
        ("Makefile", "make"),
        ("docker/Dockerfile", "dockerfile"),
        ("CMakeLists.txt", "cmake"),
        ("notes.txt", "text"),
        ("Gemfile", "ruby"),
        ("rules/defs.bzl", "starlark"),
    ],
)
def test_the_language_is_detected_by_file_name(path: str, name: str) -> None:
    assert detect_name(path) == name


@pytest.mark.parametrize("path", ["data.xyz", "LICENSE2", ".py", "folder.py/file", ""])
def test_an_unknown_name_has_no_language(path: str) -> None:
    assert detect_name(path) is None


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"#!/bin/sh\n", "bash"),
        (b"#!/usr/bin/env python3\n", "python"),
        (b"#!/usr/bin/env -S deno run\n", "typescript"),
        (b"#!/usr/bin/env LANG=C ruby -w\n", "ruby"),
        (b"#! /usr/local/bin/node --harmony\n", "javascript"),
        (b"#!/usr/bin/pypy3.10\n", "python"),
        (b"#!/usr/bin/unheard-of\n", None),
        (b"import os\n", None),
    ],
)
def test_without_an_extension_the_shebang_determines_the_language(head: bytes, name: str | None) -> None:
    assert detect_name("bin/tool", head) == name


@pytest.mark.parametrize(
    ("path", "head", "name"),
    [
        ("a.h", b"#ifndef A_H\nint f(void);\n", "c"),
        ("a.h", b"#include <stdio.h>\nstruct a { int class_id; };\n", "c"),
        ("a.h", b"#include <vector>\n", "cpp"),
        ("a.h", b"namespace a {\n", "cpp"),
        ("a.h", b"#import <Foundation/Foundation.h>\n", "objc"),
        ("a.m", b"@implementation A\n", "objc"),
        ("a.m", b"function y = f(x)\n", "matlab"),
    ],
)
def test_a_shared_extension_is_resolved_by_the_first_bytes(path: str, head: bytes, name: str) -> None:
    assert detect_name(path, head) == name


def test_names_extensions_and_file_names_are_unique() -> None:
    for claims in (
        [row.name for row in LANGUAGES],
        [extension for row in LANGUAGES for extension in row.extensions],
        [filename for row in LANGUAGES for filename in row.filenames],
        [interpreter for row in LANGUAGES for interpreter in row.interpreters],
    ):
        assert len(claims) == len(set(claims))


def test_extensions_are_lower_case_with_a_dot() -> None:
    for row in LANGUAGES:
        assert all(e.startswith(".") and e == e.lower() for e in row.extensions)


def test_a_language_is_found_by_its_name() -> None:
    go = language("go")
    assert go is not None
    assert go.extensions == (".go",)
    assert language("klingon") is None


def test_the_table_does_not_load_a_parser() -> None:
    code = "import sys, deltos.languages.outline, deltos.languages.table; print('tree_sitter' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
