"""Included files replace their directives, limited to the selected part and to files of the folder."""

from __future__ import annotations

import pytest

from deltos.markup.includes import MAX_INCLUDE_DEPTH, MAX_INCLUDES, Includer

FILES = {
    "src/app.py": "import os\n\ndef first():\n    pass\n\n\ndef second():\n    pass\n",
    "src/marked.js": "a();\n// #region go\nb();\n// #endregion\nc();\n",
    "src/tagged.rb": "x\n# tag::go[]\ny\n# end::go[]\nz\n",
    "src/cut.txt": "one\n# --8<-- [start:go]\ntwo\n# --8<-- [end:go]\nthree\n",
    "docs/part.md": "Part of *it*.",
    "docs/more/deep.md": '--8<-- "docs/part.md"',
    "docs/part.rst": "Part of it.",
    "docs/front.md": "---\norphan: true\n---\n\n# Shared\n\nText.",
    "docs/loop.md": '--8<-- "docs/loop2.md"',
    "docs/loop2.md": '--8<-- "docs/loop.md"',
}


def expand_includes(text: str, form: str, path: str = "docs/more/page.md") -> str:
    return Includer(FILES.get).expand(text, form, path)


@pytest.mark.parametrize(
    ("line", "expanded_text"),
    [
        ("{* ../../src/app.py *}", "```python\nimport os\n\ndef first():\n    pass\n\n\ndef second():\n    pass\n```"),
        ("{* ../../src/app.py ln[3:4] hl[3] *}", "```python\ndef first():\n    pass\n```"),
        ("<<< @/src/marked.js{2}", "```javascript\na();\n// #region go\nb();\n// #endregion\nc();\n```"),
        ("<<< @/src/marked.js#go", "```javascript\nb();\n```"),
        ('--8<-- "src/cut.txt:go"', "two"),
        ('--8<-- "src/app.py:3:4"', "def first():\n    pass"),
        ('--8<-- "docs/more/deep.md"', "Part of *it*."),
        ("```python\n{!> ../../src/app.py!}\n```", f"```python\n{FILES['src/app.py'].strip()}\n```"),
        ("```{literalinclude} ../../src/app.py\n:lines: 3-4\n```", "```python\ndef first():\n    pass\n```"),
        ("```{include} ../front.md\n```", "# Shared\n\nText."),
        ("```{include} ../front.md\n:start-after: Shared\n```", "Text."),
        ("- item\n\n  {* ../../src/app.py ln[3:4] *}", "- item\n\n  ```python\n  def first():\n      pass\n  ```"),
    ],
)
def test_markdown_includes_are_expanded(line: str, expanded_text: str) -> None:
    assert expand_includes(f"# Page\n\n{line}\n\nAfter.", "markdown") == f"# Page\n\n{expanded_text}\n\nAfter."


@pytest.mark.parametrize(
    ("line", "expanded_text"),
    [
        (".. include:: ../part.rst", "Part of it."),
        (
            ".. literalinclude:: /src/app.py\n   :language: python\n   :lines: 3-4",
            ".. code-block:: python\n\n    def first():\n        pass\n",
        ),
        (
            ".. literalinclude:: ../../src/app.py\n   :start-after: import os\n   :end-before: def second",
            ".. code-block:: python\n\n    def first():\n        pass\n",
        ),
    ],
)
def test_restructuredtext_includes_are_expanded(line: str, expanded_text: str) -> None:
    assert (
        expand_includes(f"Page\n====\n\n{line}\n\nAfter.", "rst", "docs/more/page.rst")
        == f"Page\n====\n\n{expanded_text}\n\nAfter."
    )


@pytest.mark.parametrize(
    ("line", "expanded_text"),
    [
        ("include::../../src/tagged.rb[tag=go]", "y"),
        (":folder: ../../src\n\ninclude::{folder}/app.py[lines=3..4]", ":folder: ../../src\n\ndef first():\n    pass"),
    ],
)
def test_asciidoc_includes_are_expanded(line: str, expanded_text: str) -> None:
    assert (
        expand_includes(f"= Page\n\n{line}\n\nAfter.", "asciidoc", "docs/more/page.adoc")
        == f"= Page\n\n{expanded_text}\n\nAfter."
    )


@pytest.mark.parametrize(
    "line", ["{* ../../../../etc/passwd *}", '--8<-- "missing.md"', "<<< nothing.js", "include::x[", "{* *}", "<<< "]
)
def test_includes_of_missing_files_are_kept_as_written(line: str) -> None:
    assert expand_includes(f"{line}\n", "markdown") == f"{line}\n"


def test_circular_includes_terminate() -> None:
    includer = Includer(FILES.get)
    includer.expand('--8<-- "docs/loop.md"', "markdown", "docs/page.md")
    assert 0 < includer.attempts <= MAX_INCLUDE_DEPTH + 2


def test_the_size_of_included_text_is_limited() -> None:
    includer = Includer(lambda _path: "x")
    shown = includer.expand('--8<-- "a.md"\n' * (MAX_INCLUDES + 50), "markdown", "page.md")
    assert (shown.count("x\n"), shown.count("--8<--"), includer.is_full) == (MAX_INCLUDES, 50, True)
