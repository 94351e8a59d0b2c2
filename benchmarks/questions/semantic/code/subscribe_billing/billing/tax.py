"""VAT for customers inside and outside of the EU."""
import re
from decimal import Decimal

RATES = {
    "AT": Decimal("0.20"),
    "DE": Decimal("0.19"),
    "FR": Decimal("0.20"),
    "HU": Decimal("0.27"),
    "IE": Decimal("0.23"),
}
HOME = "AT"

_VAT_ID = {
    "AT": re.compile(r"^ATU\d{8}$"),
    "DE": re.compile(r"^DE\d{9}$"),
    "FR": re.compile(r"^FR[A-Z0-9]{2}\d{9}$"),
}


def looks_like_vat_id(country: str, value: str) -> bool:
    pattern = _VAT_ID.get(country)
    return bool(pattern and pattern.match(value.replace(" ", "").upper()))


def rate_for(country: str, vat_id: str | None) -> Decimal:
    if country not in RATES:
        return Decimal(0)
    # reverse charge
    if country != HOME and vat_id and looks_like_vat_id(country, vat_id):
        return Decimal(0)
    return RATES[country]
