import threading
import time


class TokenBucket:
    """Caps the upload speed so that video calls survive."""

    def __init__(self, per_second: float, burst: float | None = None):
        self.rate = per_second
        self.capacity = burst or per_second
        self.tokens = self.capacity
        self.last = time.monotonic()
        self.lock = threading.Lock()

    def take(self, n: float) -> None:
        with self.lock:
            now = time.monotonic()
            self.tokens = min(self.capacity, self.tokens + (now - self.last) * self.rate)
            self.last = now
            self.tokens -= n
            wait = -self.tokens / self.rate if self.tokens < 0 else 0
        if wait:
            time.sleep(wait)
