"""A parameter of a test with the name of a fixture refers to the fixture and has its type."""

from __future__ import annotations

from tests.domains.graph.marked import check_files


def test_parameters_of_tests_and_fixtures_are_uses_of_the_nearest_fixture() -> None:
    check_files(
        {
            "shop/app.py": "class App:\n    def run(self):\n        pass\n\n\nclass Client:\n    def get(self):\n        pass\n",
            "tests/conftest.py": """import pytest
from shop.app import App, Client  # -> App, Client, shop/app.py:


@pytest.fixture
def app():
    return App()  # -> App


@pytest.fixture(scope="module")
def client(
    app,  # -> tests/conftest.py:app
):
    app.run()  # -> App.run
    yield Client()  # -> Client


@pytest.fixture(autouse=True)
def clean():
    pass


def helper(client):
    pass
""",
            "tests/unit/conftest.py": """import pytest


@pytest.fixture
def app(app):  # -> tests/conftest.py:app
    return app
""",
            "tests/unit/test_shop.py": """import pytest

pytestmark = pytest.mark.usefixtures("clean")  # -> clean, pytestmark


@pytest.fixture
def basket(client):  # -> client
    return client


def test_get(app, client, tmp_path):  # -> tests/unit/conftest.py:app, client
    client.get()  # -> Client.get


@pytest.mark.usefixtures("basket", "unknown")  # -> basket
class TestShop:
    @pytest.fixture
    def own(self):
        return 1

    async def test_own(self, own, basket):  # -> TestShop.own, basket
        basket.get()  # -> Client.get

    def test_dynamic(self, request):
        request.getfixturevalue("client")  # -> client

    def helper(self, client, own=None):
        pass


def test_with_a_default(client=None):
    pass
""",
            "elsewhere/test_other.py": "def test_far(client):\n    pass\n",
        }
    )
