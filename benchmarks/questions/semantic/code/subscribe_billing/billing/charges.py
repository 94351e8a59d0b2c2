import hashlib
import logging
from decimal import Decimal

import stripe

from .db import Invoice, session

log = logging.getLogger(__name__)


class CardDeclined(Exception):
    pass


def idempotency_key(invoice_id: int, attempt_day: str) -> str:
    """Same invoice and same day give the same key, so a second call is harmless."""
    return hashlib.sha256(f"{invoice_id}:{attempt_day}".encode()).hexdigest()[:32]


def charge(invoice: Invoice, day: str) -> str:
    try:
        intent = stripe.PaymentIntent.create(
            amount=int(invoice.total * 100),
            currency=invoice.currency.lower(),
            customer=invoice.customer.stripe_id,
            off_session=True,
            confirm=True,
            idempotency_key=idempotency_key(invoice.id, day),
        )
    except stripe.error.CardError as e:
        log.info("invoice %s declined: %s", invoice.number, e.code)
        raise CardDeclined(e.code) from e
    invoice.status = "paid"
    invoice.intent_id = intent.id
    session.commit()
    return intent.id


def refund(invoice: Invoice, amount: Decimal | None = None) -> str:
    if invoice.status != "paid":
        raise ValueError("only paid invoices can be refunded")
    r = stripe.Refund.create(
        payment_intent=invoice.intent_id,
        amount=int((amount or invoice.total) * 100),
    )
    invoice.status = "refunded" if amount in (None, invoice.total) else "partially_refunded"
    session.commit()
    return r.id
