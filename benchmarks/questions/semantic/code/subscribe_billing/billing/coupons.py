import secrets
from datetime import date
from decimal import Decimal

from .db import Coupon, session

ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"


class CouponError(ValueError):
    pass


def generate(percent: int, valid_until: date, uses: int = 1) -> Coupon:
    # no 0/O or 1/I/L, people read these aloud on the phone
    code = "".join(secrets.choice(ALPHABET) for _ in range(10))
    c = Coupon(code=code, percent=percent, valid_until=valid_until, uses_left=uses)
    session.add(c)
    session.commit()
    return c


def redeem(code: str, net: Decimal, today: date) -> Decimal:
    c = session.query(Coupon).filter_by(code=code.strip().upper()).one_or_none()
    if c is None:
        raise CouponError("unknown")
    if c.valid_until < today:
        raise CouponError("expired")
    if c.uses_left <= 0:
        raise CouponError("exhausted")
    c.uses_left -= 1
    return net * (100 - c.percent) / 100
