"""Parsing and results of queries that contain the text of an issue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.domains.code.query.issue import parse_issue
from deltos.domains.code.query.parse import MAX_TERMS, parse_query
from deltos.text.words import shared_words
from tests.domains.code.code_queries import paths, search
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path

    from tests.calling import ToolClient

ISSUE = """\
Total is wrong after a coupon is applied

<!-- Thank you for the marmot report! Please search the walrus first. -->
### Describe the bug
`apply_coupon` subtracts the discount twice when the basket is empty.

- [x] I have searched the penguins

### Steps to reproduce
```python
from shop.basket import Basket
Basket().checkout_all(coupon="X")
```

### Environment
- OS: aardvark 22.04
- Python 3.11

**Version**
badger 1.2.3
"""


def terms_of(text: str) -> set[str]:
    return set(parse_query(text, shared_words()).terms)


def test_an_issue_is_parsed_without_its_template() -> None:
    query = parse_query(ISSUE, shared_words())
    assert query.is_issue
    assert query.text == "Total is wrong after a coupon is applied"
    assert {"total", "coupon", "subtract", "discount", "basket"} <= set(query.terms)
    assert {"apply_coupon", "checkout_all", "shop.basket"} <= set(query.names)
    left_out = ("marmot", "walrus", "penguin", "aardvark", "badger", "describ", "reproduc", "environ", "search")
    assert not set(query.terms).intersection(left_out)


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("[Bug]: Adding tags gets slower", "Adding tags gets slower"),
        ("🐛 Bug Report: Adding tags gets slower", "Adding tags gets slower"),
        ("# [Feature Request] Export as CSV", "Export as CSV"),
        ("Warn about data, see https://example.org/issues/3278 for more", "Warn about data, see for more"),
        ("pkgconfig.relocatable: fails in a subproject", "pkgconfig.relocatable: fails in a subproject"),
        ("Bug:", "Bug:"),
    ],
)
def test_labels_and_links_are_removed_from_the_title(line: str, title: str) -> None:
    assert parse_issue(f"{line}\n\nsome prose").title == title


LEDGER = "Rounding of the ledger is wrong\n\n" + "The ledger rounds sums down where it should round them up. " * 6


def test_imports_of_the_best_file_come_before_unrelated_files(client: ToolClient, project: Path) -> None:
    ledger = "from r.part import up\n\n\ndef round_ledger(sums):\n    return [up(each) for each in sums]\n"
    part = 'def up(sums):\n    """Rounds sums of the ledger."""\n    return sums\n'
    write_files(project, {"ledger.py": ledger, "p/part.py": part, "q/part.py": part, "r/part.py": part})
    assert paths(search(client, LEDGER))[:2] == ["ledger.py", "r/part.py"]


def test_an_unclosed_comment_removes_only_the_text_after_it() -> None:
    assert parse_issue("A title\n\nsome prose\n<!-- and so on\nfor ever").prose == ["some prose"]


def test_a_short_or_one_line_query_is_not_an_issue() -> None:
    assert not parse_query("where is the cache\ncleared", shared_words()).is_issue
    assert not parse_query("where is the cache cleared " * 30, shared_words()).is_issue


def test_a_long_quoted_text_is_a_literal() -> None:
    text = "\n".join(f"\tline {number} of it" for number in range(30))
    query = parse_query(f'"{text}"', shared_words())
    assert (query.kind, query.text) == ("literal", text)
    assert parse_query(f"/{text}/", shared_words()).kind == "pattern"


def test_the_number_of_terms_of_a_long_issue_is_limited() -> None:
    text = "Title of it\n" + "\n".join(f"word{n} other_{n}.name{n}() and `quoted_{n}`" for n in range(2_000))
    query = parse_query(text, shared_words())
    assert len(query.terms) <= MAX_TERMS
    assert len(query.names) <= MAX_TERMS


@pytest.mark.parametrize(
    ("frame", "path", "line"),
    [
        ('  File "/usr/app/shop/basket.py", line 41, in total', "/usr/app/shop/basket.py", 41),
        ("    at Basket.total (/app/src/basket.ts:41:13)", "/app/src/basket.ts", 41),
        ("    at file:///app/src/basket.mjs:41:13", "///app/src/basket.mjs", 41),
        ("\tat com.shop.Basket.total(Basket.java:41)", "Basket.java", 41),
        ("\t/go/src/shop/basket.go:41 +0x1d", "/go/src/shop/basket.go", 41),
        ("             at ./src/basket.rs:41:5", "./src/basket.rs", 41),
        ("thread 'main' panicked at src/basket.rs:41:5:", "src/basket.rs", 41),
        ("\tfrom app/models/basket.rb:41:in `total'", "app/models/basket.rb", 41),
        ("#0 /var/www/src/Basket.php(41): Shop\\Basket->total()", "/var/www/src/Basket.php", 41),
        ("   at Shop.Basket.Total() in C:\\app\\src\\Basket.cs:line 41", "\\app\\src\\Basket.cs", 41),
        ("The loop in shop/basket.py is slow.", "shop/basket.py", 0),
    ],
)
def test_stack_frames_of_many_languages_are_parsed(frame: str, path: str, line: int) -> None:
    [place] = parse_issue(f"It crashes\n\n```\n{frame}\n```\n").mentions
    assert (place.path.lstrip("/"), place.line) == (path.lstrip("/"), line)


def test_the_innermost_frame_has_the_highest_weight() -> None:
    python = 'Crash\n\n  File "a/outer.py", line 1, in f\n    g()\n  File "a/inner.py", line 2, in g\n    1/0\n'
    script = "Crash\n\n    at g (a/inner.js:2:1)\n    at f (a/outer.js:1:1)\n"
    for text in (python, script):
        nearest = max(parse_issue(text).mentions, key=lambda place: place.frame_weight)
        assert "inner" in nearest.path


BODY = "".join(f"    unrelated_{n} = {n}\n" for n in range(60))
TRACE = (
    "Crash when the moon is full\n\nNothing works any more since yesterday, please help, this is urgent for all of us"
    " here in the office and in the field, thank you very much for looking at it.\n\n```\nTraceback (most recent call"
    ' last):\n  File "/home/me/site-packages/warehouse/stock/levels.py", line 70, in f\n    return 1 / 0\n```\n'
)


def test_a_stack_frame_in_the_project_is_a_candidate_by_itself(client: ToolClient, project: Path) -> None:
    far = f"def one():\n{BODY}\n\ndef two():\n    x = 0\n    y = 1\n    z = 2\n    return q / 0\n{BODY}"
    write_files(project, {"warehouse/stock/levels.py": far, "other/levels.py": "moon = 'full'\n"})
    first = search(client, TRACE)["results"][0]
    assert first["file_path"] == "warehouse/stock/levels.py"
    assert first["start_line"] <= 70 <= first["end_line"]


def test_a_frame_of_a_library_is_not_a_candidate(client: ToolClient, project: Path) -> None:
    write_files(project, {"deep/inside/levels.py": "def one():\n    return 1\n"})
    found = [hit for hit in search(client, TRACE)["results"] if hit["file_path"] == "deep/inside/levels.py"]
    assert all(hit.get("near_in_meaning") for hit in found), "it may be a semantic match, but not because of the frame"


def test_templates_changelogs_and_tests_come_after_code(client: ToolClient, project: Path) -> None:
    prose = "Total is wrong after a coupon is applied. apply_coupon subtracts the discount twice. basket total\n"
    code = "def apply_coupon(basket, discount):\n    basket.total -= discount\n"
    write_files(
        project,
        {
            ".github/ISSUE_TEMPLATE/bug_report.md": prose * 3,
            "CHANGELOG.md": f"# Changes\n\n{prose * 3}",
            "tests/test_coupon.py": f"def test_apply_coupon_total_basket_discount():\n    '''{prose.strip()}'''\n",
            "shop/coupon.py": code,
        },
    )
    assert paths(search(client, ISSUE))[0] == "shop/coupon.py"
    assert paths(search(client, ISSUE.replace("Total is", "The test of the total is")))[0] != "CHANGELOG.md"


def frame_of(trace: str) -> tuple[str, str, int]:
    [place] = parse_query(trace, shared_words()).frames
    return place.container, place.function, place.line


@pytest.mark.parametrize(
    ("frame", "function"),
    [
        ('  File "/usr/app/shop/basket.py", line 41, in total', ("", "total")),
        ('  File "/usr/app/shop/basket.py", line 41, in <module>', ("", "")),
        ("    at Basket.total (/app/src/basket.ts:41:13)", ("Basket", "total")),
        ("    at async Basket.total [as sum] (/app/src/basket.ts:41:13)", ("Basket", "total")),
        ("    at new Basket (/app/src/basket.ts:41:13)", ("", "Basket")),
        ("    at Object.<anonymous> (/app/src/basket.ts:41:13)", ("", "Object")),
        ("    at file:///app/src/basket.mjs:41:13", ("", "")),
        ("\tat com.shop.Basket.total(Basket.java:41)", ("Basket", "total")),
        ("\tat app//com.shop.Basket.lambda$total$0(Basket.java:41)", ("lambda", "total")),
        ("github.com/me/shop.(*Basket).Total(...)\n\t/go/src/shop/basket.go:41 +0x1d", ("Basket", "Total")),
        ("main.main.func1(0xc0001, {0x1, 0x2})\n\t/go/src/shop/basket.go:41", ("main", "main")),
        ("created by shop.(*Basket).Run in goroutine 7\n\t/go/src/shop/basket.go:41 +0x1d", ("Basket", "Run")),
        ("  12: shop::basket::Basket<T>::total::{{closure}}\n   at ./src/basket.rs:41:5", ("Basket", "total")),
        ("   3: shop::total::h0123456789abcdef\n             at ./src/basket.rs:41:5", ("shop", "total")),
        ("\tfrom app/models/basket.rb:41:in `total'", ("", "total")),
        ("\tfrom app/models/basket.rb:41:in 'block in Basket#total'", ("Basket", "total")),
        ("#0 /var/www/src/Basket.php(41): Shop\\Basket->total()", ("Basket", "total")),
        ("#1  0x00005555 in basket_total (b=0x0) at src/basket.c:41", ("", "basket_total")),
        ("   at Shop.Basket.Total() in C:\\app\\src\\Basket.cs:line 41", ("Basket", "Total")),
    ],
)
def test_a_stack_frame_names_its_function_in_many_languages(frame: str, function: tuple[str, str]) -> None:
    assert frame_of(frame) == (*function, 41)


STOCK = """\
class Shelf:
    def open(self):
        check(self)
        return self.reader()

    def remove(self):
        self.gone = True


class Pantry:
    def open(self):
        return [shelf.open() for shelf in self.shelves]


def after():
    return 1
"""


@pytest.mark.parametrize(
    ("frames", "line", "symbol"),
    [
        ([("levels.py", 6, "open", "return self.reader()")], 4, "Shelf.open"),  # the source line matches
        ([("levels.py", 6, "open", "return gone")], 2, "Shelf.open"),  # the nearest definition with the name is chosen
        ([("levels.py", 15, "open", "return gone")], 11, "Pantry.open"),
        ([("levels.py", 3, "open", "return gone")], 3, "Shelf.open"),  # name and line number both match
        ([("levels.py", 7, "<module>", "return 1")], 16, "after"),  # only the source line matches
        ([("levels.py", 3, "open", "return self.reader(mode, level)")], 4, "Shelf.open"),  # the source line has changed
        ([("levels.py", 2, "open", "return [each.open() for each in self.shelves]")], 12, "Pantry.open"),
        ([("levels.py", 7, "vanished", "return gone")], 7, "Shelf.remove"),  # only the line number matches
    ],
)
def test_a_frame_of_another_version_is_found_by_its_function_and_its_source(
    client: ToolClient, project: Path, frames: list[tuple[str, int, str, str]], line: int, symbol: str
) -> None:
    write_files(project, {"stock/levels.py": STOCK})
    trace = "Traceback (most recent call last):\n" + "".join(
        f'  File "/site-packages/stock/{path}", line {number}, in {function}\n    {source}\n'
        for path, number, function, source in frames
    )
    first = search(client, trace, concise=True)["results"][0]
    assert (first["file_path"], first["start_line"], first["symbol"]) == ("stock/levels.py", line, symbol)


def test_a_go_frame_is_located_at_the_method_of_its_type(client: ToolClient, project: Path) -> None:
    source = "package shop\n\nfunc (b *Bag) Next() {\n\tgo()\n}\n\nfunc (c *Cart) Next() {\n\tgo()\n}\n"
    write_files(project, {"cart.go": source})
    trace = (
        "panic: oops\n\ngoroutine 1 [running]:\nexample.com/shop.(*Cart).Next(...)\n\t/go/shop@v1.0.0/cart.go:4 +0x1d\n"
    )
    first = search(client, trace, concise=True)["results"][0]
    assert (first["file_path"], first["start_line"], first["symbol"]) == ("cart.go", 7, "Cart.Next")
