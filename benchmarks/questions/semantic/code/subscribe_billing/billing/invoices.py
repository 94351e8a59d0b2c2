from datetime import date
from decimal import Decimal

from sqlalchemy import func

from .db import Customer, Invoice, Line, session
from .proration import round_half_cent
from .tax import rate_for


def next_number(year: int) -> str:
    """Gapless sequence, restarted every January; the row lock prevents duplicates."""
    last = (
        session.query(func.max(Invoice.seq))
        .filter(Invoice.year == year)
        .with_for_update()
        .scalar()
    )
    return f"{year}-{(last or 0) + 1:05d}"


def draft(customer: Customer, lines: list[tuple[str, Decimal]], day: date) -> Invoice:
    net = sum((amount for _, amount in lines), Decimal(0))
    rate = rate_for(customer.country, customer.vat_id)
    inv = Invoice(
        number=next_number(day.year),
        year=day.year,
        customer=customer,
        currency=customer.currency,
        net=net,
        vat=round_half_cent(net * rate),
        issued_on=day,
        status="open",
    )
    inv.total = inv.net + inv.vat
    inv.lines = [Line(text=t, amount=a) for t, a in lines]
    session.add(inv)
    return inv


def void(invoice: Invoice, reason: str) -> None:
    invoice.status = "void"
    invoice.note = reason
    session.commit()
