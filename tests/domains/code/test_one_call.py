"""A single call answers queries about a name and its uses, a location or a stack trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.domains.code.query.issue import parse_frames
from tests.domains.code.code_queries import paths, search
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path

    from tests.calling import ToolClient

SHOP = {
    "shop/basket.py": "from shop.coupon import redeem\n\n\ndef total(basket):\n    return redeem(basket.sum, basket.coupon)\n",
    "shop/coupon.py": "import math\n\n\ndef redeem(amount, coupon):\n    return math.floor(amount - coupon.value)\n",
    "shop/till.py": "from shop.coupon import redeem\n\n\ndef pay(amount):\n    return redeem(amount, None)\n",
}
PYTHON_TRACE = """\
Traceback (most recent call last):
  File "/srv/app/shop/till.py", line 5, in pay
    return redeem(amount, None)
  File "/srv/app/shop/coupon.py", line 5, in redeem
    return math.floor(amount - coupon.value)
  File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode
    raise JSONDecodeError
AttributeError: 'NoneType' object has no attribute 'value'
"""


@pytest.fixture
def shop(project: Path) -> Path:
    return write_files(project, SHOP)


@pytest.mark.usefixtures("shop")
def test_a_name_is_answered_with_its_definition_and_its_number_of_references(client: ToolClient) -> None:
    text = client.call("search_code", query="redeem").text.split("\n")
    assert text[0].startswith("redeem: used in 4 places of 2 files (find_references lists them)")
    assert text[1:4] == [
        "shop/coupon.py:4-5 redeem",
        "def redeem(amount, coupon):",
        "    return math.floor(amount - coupon.value)",
    ]


def test_a_re_exported_name_leads_to_its_definition_and_counts_as_reference(client: ToolClient, project: Path) -> None:
    write_files(
        project,
        {
            "shop/__init__.py": "from .basket import Basket as Cart\n",
            "shop/basket.py": "class Basket:\n    pass\n",
            "main.py": "from shop import Cart\n\nmine = Cart()\n",
        },
    )
    first = client.call("search_code", query="Cart").text.split("\n")[0]
    assert first == "Cart is Basket shop/basket.py:1, re-exported as Cart in shop/__init__.py:1."
    first = client.call("search_code", query="Basket").text.split("\n")[0]
    assert first.startswith("Basket: used in 3 places of 2 files")


def test_the_code_that_defines_a_name_comes_before_a_heading_of_that_name(client: ToolClient, project: Path) -> None:
    about = "A worker that runs jobs in its own process. `SimpleWorker` is for tests.\n\n" * 3
    heading = f"# Workers\n\n## SimpleWorker\n\n{about}\n```python\nSimpleWorker().work()\n```\n"
    base = "class BaseWorker:\n    def work(self):\n        return 1\n\n\n" * 8
    write_files(
        project, {"docs/workers.md": heading, "rq/classes.py": f"{base}class SimpleWorker(BaseWorker):\n    pass\n"}
    )
    assert paths(search(client, "SimpleWorker"))[:2] == ["rq/classes.py", "docs/workers.md"]


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    "location", ["shop/coupon.py:5", "coupon.py:5", "./shop/coupon.py:5-9", "/srv/app/shop/coupon.py:5"]
)
def test_a_file_and_line_is_answered_with_only_its_definition(client: ToolClient, location: str) -> None:
    answer = search(client, location)
    [only] = answer["results"]
    assert (only["file_path"], only["symbol"], only["start_line"]) == ("shop/coupon.py", "redeem", 4)
    assert answer["total_count"] == 1


@pytest.mark.usefixtures("shop")
def test_a_stack_trace_is_answered_with_its_frames_in_the_project_innermost_first(client: ToolClient) -> None:
    text = client.call("search_code", query=PYTHON_TRACE).text
    block, rest = text.split("\n\n", 1)
    assert "shop/coupon.py:4-5 redeem\ndef redeem(amount, coupon):\n    return math.floor(" in block
    assert rest.split("\n")[0] == "shop/till.py:5 pay(amount) — return redeem(amount, None)"
    assert "decoder.py" not in text


def test_frames_are_sorted_innermost_first_and_prose_has_none() -> None:
    javascript = "Error: no such port\n    at listen (/srv/web/server.ts:12:5)\n    at main (web/index.ts:3:1)"
    assert [(frame.path, frame.line) for frame in parse_frames(javascript)] == [
        ("/srv/web/server.ts", 12),
        ("web/index.ts", 3),
    ]
    prose = "The total is wrong.\nWe saw it on Monday.\nAnd on Tuesday.\nSee shop/till.py:5 for details."
    assert parse_frames(prose) == []
    assert parse_frames("what happens in till.py when the drawer is open") == []
