"""One page at a time, as a browser shows it: the page is given, and every request that it makes is answered by whoever
asked for it to be rendered. Requests that change something, frames, pictures, downloads and workers are refused."""

from __future__ import annotations

import base64
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from deltos.browser.process import Chromium, answered, find_browser
from deltos.confinement import with_confinement
from deltos.errors import Cancelled, FetchFailed, SourceError, TookTooLong

if TYPE_CHECKING:
    from collections.abc import Callable

    Ask = Callable[[str], "Answered"]

_ANSWERED_KINDS = frozenset(("Script", "XHR", "Fetch"))
_QUIET_SECONDS = 0.5
_PAGES_PER_BROWSER = 50  # then a fresh one: what it holds of earlier pages goes
_PARALLEL_REQUESTS = 4
# Resolves once the page has nothing to do; a page that never rests is taken as it is then.
_REST = "new Promise(done => requestIdleCallback(() => done(1), {timeout: 2000}))"


class Answered(Protocol):
    """What came of a request."""

    @property
    def status(self) -> int:
        """Its HTTP status."""

    @property
    def media_type(self) -> str:
        """Its type, without parameters."""

    @property
    def charset(self) -> str:
        """Its character set, where it was told."""

    @property
    def body(self) -> bytes:
        """Its content."""


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """How much one page may cost."""

    max_seconds: float = 60.0
    max_waiting_seconds: float = 600.0  # for the site, which wants to be asked slowly; besides the other
    start_seconds: float = 60.0
    max_requests: int = 200
    max_bytes: int = 30_000_000
    max_resident_bytes: int = 3_000_000_000  # of the browser and all its processes, each by itself


DEFAULT_LIMITS = RenderLimits()


@dataclass(slots=True)
class Renderer:
    """Renders pages, one after the other, in a browser that is started by the first and ended by `close`."""

    program: str = ""
    limits: RenderLimits = DEFAULT_LIMITS
    _browser: Chromium | None = None
    _pages: int = 0
    _is_closed: bool = False
    _open: _Page | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def render(self, url: str, page: Answered, ask: Ask) -> bytes:
        """The HTML of the page at `url`, which came as `page`, after its scripts ran; `ask` answers their requests."""
        with self._turn:
            try:
                self._open = _Page(self._opened(), url, page, ask, self.limits)
                return self._open.render()
            except BaseException:
                self._end()
                raise
            finally:
                self._open = None

    def allow_more(self, seconds: float) -> None:
        """Whoever answers the page's requests has to wait so long: that does not count as the page's own time."""
        if page := self._open:
            page.allow_more(seconds)

    def close(self) -> None:
        """End the browser, also under a page that is being rendered; no other one is started after it."""
        self._is_closed = True
        self._end()

    def _opened(self) -> Chromium:
        self._refuse_if_closed()
        browser = self._browser
        if browser is None or not browser.is_alive or self._pages >= _PAGES_PER_BROWSER:
            self._end()
            browser = self._browser = self._started()
            self._pages = 0
            self._refuse_if_closed()  # closed while it started: whoever closed found none to end
        self._pages += 1
        return browser

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise Cancelled("The browser was closed")

    def _started(self) -> Chromium:
        return Chromium(find_browser(self.program), max_resident_bytes=self.limits.max_resident_bytes)

    def _end(self) -> None:
        browser, self._browser = self._browser, None
        if browser:
            browser.kill()


class _Page:
    """One page in a context of its own, which shares nothing with those before and after it."""

    def __init__(self, browser: Chromium, url: str, page: Answered, ask: Ask, limits: RenderLimits) -> None:
        self._browser = browser
        self._url = url
        self._page = page
        self._ask = ask
        self._limits = limits
        self._session = ""
        self._frame = ""
        self._is_loaded = False
        self._active_at = time.monotonic()
        self._requests = 0
        self._bytes = 0
        self._pending = 0
        self._counting = threading.Lock()
        self._results: dict[int, dict[str, Any]] = {}
        self._deadline = time.monotonic() + limits.start_seconds
        self._may_wait_seconds = limits.max_waiting_seconds

    def allow_more(self, seconds: float) -> None:
        """Let it go on for so much longer, as far as it may."""
        with self._counting:
            more = min(seconds, self._may_wait_seconds)
            self._may_wait_seconds -= more
            self._deadline += more

    def render(self) -> bytes:
        """The page's HTML once it rests."""
        context = self._open()
        self._deadline = time.monotonic() + self._limits.max_seconds
        workers = ThreadPoolExecutor(_PARALLEL_REQUESTS, "deltos-page")
        try:
            opened = self._browser.send("Page.navigate", {"url": self._url}, self._session)
            self._wait_for_rest(workers)
            if problem := self._results.get(opened, {}).get("result", {}).get("errorText"):
                raise SourceError(f"The browser could not open the page ({str(problem)[:100]})")
            document = self._call(workers, "DOM.getDocument", {"depth": 0})
            html = self._call(workers, "DOM.getOuterHTML", {"nodeId": document["root"]["nodeId"]})["outerHTML"]
        finally:
            workers.shutdown(wait=False, cancel_futures=True)
        self._browser.send("Target.disposeBrowserContext", {"browserContextId": context})
        return str(html).encode("utf-8", "replace")

    def _open(self) -> str:
        """A fresh context with an empty page, every request of which waits for us; the context's id."""
        browser, deadline = self._browser, self._deadline
        context = str(browser.answer_to(browser.send("Target.createBrowserContext"), deadline)["browserContextId"])
        denied = {"behavior": "deny", "browserContextId": context}
        browser.answer_to(browser.send("Browser.setDownloadBehavior", denied), deadline)
        blank = {"url": "about:blank", "browserContextId": context}
        target = browser.answer_to(browser.send("Target.createTarget", blank), deadline)["targetId"]
        attached = {"targetId": target, "flatten": True}
        self._session = browser.answer_to(browser.send("Target.attachToTarget", attached), deadline)["sessionId"]
        self._frame = str(target)  # the main frame has the id of its target
        for method, parameters in (
            ("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}),
            ("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0}),
            ("Network.setBypassServiceWorker", {"bypass": True}),
            ("Page.enable", {}),
        ):
            browser.answer_to(browser.send(method, parameters, self._session), deadline)
        return context

    def _wait_for_rest(self, workers: ThreadPoolExecutor) -> None:
        """Until the page is loaded, asks for nothing more and has nothing to do."""
        while True:
            while not self._is_quiet():
                self._take_message(workers, min(self._deadline, time.monotonic() + _QUIET_SECONDS / 2))
            asked = self._requests
            self._call(workers, "Runtime.evaluate", {"expression": _REST, "awaitPromise": True})
            if self._requests == asked and not self._pending:
                return

    def _is_quiet(self) -> bool:
        if time.monotonic() >= self._deadline:
            raise TookTooLong(f"rendering it took more than {self._limits.max_seconds:.3g} s")
        return self._is_loaded and not self._pending and time.monotonic() - self._active_at >= _QUIET_SECONDS

    def _call(self, workers: ThreadPoolExecutor, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """What comes of a request to the page, which goes on meanwhile."""
        number = self._browser.send(method, parameters, self._session)
        while number not in self._results:
            if time.monotonic() >= self._deadline:
                raise TookTooLong(f"rendering it took more than {self._limits.max_seconds:.3g} s")
            self._take_message(workers, self._deadline)
        return answered(self._results.pop(number))

    def _take_message(self, workers: ThreadPoolExecutor, until: float) -> None:
        message = self._browser.next_message(until)
        if message is None or message.get("sessionId") != self._session:
            return
        if "id" in message:
            self._results[message["id"]] = message
            return
        parameters = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self._is_loaded, self._active_at = True, time.monotonic()
            case "Page.javascriptDialogOpening":
                self._browser.send("Page.handleJavaScriptDialog", {"accept": False}, self._session)
            case "Fetch.requestPaused":
                self._active_at = time.monotonic()
                self._take_request(workers, parameters)
            case "Inspector.targetCrashed":
                raise SourceError("The page crashed the browser")

    def _take_request(self, workers: ThreadPoolExecutor, paused: dict[str, Any]) -> None:
        self._requests += 1
        if self._requests > self._limits.max_requests:
            raise SourceError(f"The page asked for more than {self._limits.max_requests} others")
        number, request, kind = str(paused["requestId"]), paused["request"], paused.get("resourceType")
        url = str(request["url"]).partition("#")[0]
        is_page = kind == "Document" and paused.get("frameId") == self._frame and url == self._url.partition("#")[0]
        if is_page:
            self._fulfil(number, 200, _content_type(self._page), self._page.body)
        elif kind in _ANSWERED_KINDS and request.get("method") == "GET" and paused.get("frameId") == self._frame:
            with self._counting:
                self._pending += 1
            workers.submit(with_confinement(self._answer), number, url)
        else:
            self._refuse(number)

    def _answer(self, number: str, url: str) -> None:
        """Ask for what the page wants; runs in a thread of its own."""
        try:
            self._fulfil_from(number, url)
        except FetchFailed as exc:
            self._fulfil(number, exc.status, "text/plain", b"") if exc.status else self._refuse(number)
        except Exception:  # noqa: BLE001 - a thread is a surface: the page is told that it failed, as by any network
            self._refuse(number)
        finally:
            self._active_at = time.monotonic()
            with self._counting:
                self._pending -= 1

    def _fulfil_from(self, number: str, url: str) -> None:
        response = self._ask(url)
        with self._counting:
            self._bytes += len(response.body)
            is_too_much = self._bytes > self._limits.max_bytes
        if is_too_much:
            self._refuse(number)
            return
        self._fulfil(number, response.status, _content_type(response), response.body)

    def _fulfil(self, number: str, status: int, media_type: str, body: bytes) -> None:
        parts = urlsplit(self._url)
        headers = {
            "Content-Type": media_type,
            "Access-Control-Allow-Origin": f"{parts.scheme}://{parts.netloc}",  # to this page, which has no secrets
        }
        answer = {
            "requestId": number,
            "responseCode": status,
            "responseHeaders": [{"name": name, "value": value} for name, value in headers.items()],
            "body": base64.b64encode(body).decode("ascii"),
        }
        self._browser.send("Fetch.fulfillRequest", answer, self._session)

    def _refuse(self, number: str) -> None:
        refused = {"requestId": number, "errorReason": "BlockedByClient"}
        self._browser.send("Fetch.failRequest", refused, self._session)


def _content_type(answer: Answered) -> str:
    return f"{answer.media_type}; charset={answer.charset}" if answer.charset else answer.media_type
