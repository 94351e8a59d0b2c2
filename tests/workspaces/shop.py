"""Three small repositories: a library and two programs that depend on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.repositories import make_repository

if TYPE_CHECKING:
    from pathlib import Path

LIB: dict[str, str | bytes] = {
    "pyproject.toml": '[project]\nname = "shoplib"\nversion = "1.0"\n',
    "src/shoplib/__init__.py": '"""What all programs of the shop share."""\n\nfrom shoplib.cart import Cart as Cart\n',
    "src/shoplib/cart.py": (
        '"""Carts and what they cost."""\n\nfrom decimal import Decimal\n\n\nclass Cart:\n'
        '    """What somebody wants to buy."""\n\n    def __init__(self):\n        self.lines = []\n\n'
        '    def add(self, item, price):\n        """Put an item into the cart."""\n'
        "        self.lines.append((item, price))\n\n"
        '    def total(self):\n        """The sum of all prices, rounded half to even."""\n'
        "        prices = (price for _, price in self.lines)\n"
        '        return sum(prices, Decimal(0)).quantize(Decimal("0.01"))\n\n\n'
        'def apply_voucher(cart, code):\n    """Reduce what a cart costs by a voucher."""\n'
        "    return cart.total() - len(code)\n"
    ),
    "tests/test_cart.py": "from shoplib import Cart\n\n\ndef test_total():\n    assert Cart().total() == 0\n",
}
API: dict[str, str | bytes] = {
    "pyproject.toml": '[project]\nname = "shop-api"\ndependencies = ["shoplib>=1"]\n',
    "app/__init__.py": "",
    "app/views.py": (
        '"""What the shop answers over HTTP."""\n\nfrom shoplib.cart import Cart, apply_voucher\n\n\n'
        'def checkout(request):\n    """Pay for the cart of a request."""\n    cart = Cart()\n'
        "    for item in request.items:\n        cart.add(item.name, item.price)\n"
        "    return str(apply_voucher(cart, request.code))\n\n\n"
        "def handle(request):\n    return checkout(request)\n"
    ),
    "app/mailer.py": (
        '"""Letters to customers."""\n\n\ndef send_reminder(customer):\n'
        '    """Remind a customer of the cart that was left behind."""\n    return customer.address\n'
    ),
}
WEB: dict[str, str | bytes] = {
    "package.json": '{"name": "shop-web"}\n',
    "src/cart.ts": (
        "/** Shows a cart, the prices of a cart and the total of a cart. */\n"
        "export function renderCart(items: string[]): string {\n  return items.join(', ');\n}\n"
    ),
    "src/page.ts": "import { renderCart } from './cart';\n\nexport const page = renderCart(['cart']);\n",
}


def build_shop(folder: Path) -> dict[str, Path]:
    """Create the three repositories below a folder and return them by name."""
    return {
        name: make_repository(folder / name, files).resolve()
        for name, files in {"lib": LIB, "api": API, "web": WEB}.items()
    }
