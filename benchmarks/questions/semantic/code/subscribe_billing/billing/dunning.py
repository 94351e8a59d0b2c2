"""Chasing customers whose card failed."""
from datetime import date, timedelta

from .db import Customer, Invoice, session
from .mailer import send_template

# days after the first failure
STEPS = {0: "card_failed", 3: "reminder", 7: "last_warning", 14: None}


def next_step(invoice: Invoice, today: date) -> int | None:
    age = (today - invoice.first_failed_on).days
    due = [d for d in STEPS if d <= age and d > (invoice.last_step or -1)]
    return max(due, default=None)


def run_step(invoice: Invoice, today: date) -> None:
    step = next_step(invoice, today)
    if step is None:
        return
    template = STEPS[step]
    if template is None:
        suspend(invoice.customer, "unpaid")
    else:
        send_template(invoice.customer.email, template, number=invoice.number)
    invoice.last_step = step
    session.commit()


def suspend(customer: Customer, reason: str) -> None:
    customer.active = False
    customer.suspended_reason = reason
    customer.delete_after = date.today() + timedelta(days=90)


def reinstate(customer: Customer) -> None:
    customer.active = True
    customer.suspended_reason = None
    customer.delete_after = None
