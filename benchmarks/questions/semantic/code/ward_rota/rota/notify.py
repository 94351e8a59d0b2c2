import smtplib
import time
from email.message import EmailMessage

from .export import to_ical
from .models import Assignment, Nurse


def compose_repository(nurse: Nurse, plan: list[Assignment], month: str) -> EmailMessage:
    msg = EmailMessage()
    msg["To"] = nurse.email
    msg["Subject"] = f"Your duties in {month}"
    msg.set_content(f"Hello {nurse.name},\n\nattached you find your duties.\n")
    msg.add_attachment(
        to_ical(plan, nurse.id).encode(), maintype="text", subtype="calendar", filename="duties.ics"
    )
    return msg


def deliver(messages: list[EmailMessage], host: str, sender: str, attempts: int = 3) -> list[str]:
    """Send everything; returns the addresses that bounced for good."""
    failed = []
    for msg in messages:
        msg["From"] = sender
        for n in range(attempts):
            try:
                with smtplib.SMTP(host, timeout=10) as smtp:
                    smtp.send_message(msg)
                break
            except (OSError, smtplib.SMTPException):
                time.sleep(2 ** n)
        else:
            failed.append(msg["To"])
    return failed
