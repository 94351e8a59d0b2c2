import hmac
from hashlib import sha256

from flask import Blueprint, abort, current_app, request

from .charges import session
from .db import Customer, Invoice, SeenEvent
from .dunning import reinstate

bp = Blueprint("webhooks", __name__)


def verify_signature(payload: bytes, header: str, secret: str) -> bool:
    try:
        parts = dict(p.split("=", 1) for p in header.split(","))
        expected = hmac.new(secret.encode(), f"{parts['t']}.".encode() + payload, sha256).hexdigest()
    except (KeyError, ValueError):
        return False
    return hmac.compare_digest(expected, parts.get("v1", ""))


@bp.post("/hooks/stripe")
def stripe_hook():
    if not verify_signature(request.data, request.headers.get("Stripe-Signature", ""), current_app.config["HOOK_SECRET"]):
        abort(400)
    event = request.get_json()
    if session.get(SeenEvent, event["id"]):
        return "", 200
    session.add(SeenEvent(id=event["id"]))
    obj = event["data"]["object"]
    if event["type"] == "payment_intent.succeeded":
        inv = session.query(Invoice).filter_by(intent_id=obj["id"]).first()
        if inv:
            inv.status = "paid"
            reinstate(inv.customer)
    elif event["type"] == "charge.dispute.created":
        inv = session.query(Invoice).filter_by(intent_id=obj["payment_intent"]).first()
        if inv:
            inv.status = "disputed"
    session.commit()
    return "", 200
