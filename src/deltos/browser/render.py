"""Rendering of one page at a time in a browser.

The caller supplies the page and answers the page's requests. Requests other than GET, frames, images, downloads and
workers are refused.
"""

from __future__ import annotations

import base64
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from deltos.browser.process import Chromium, find_browser, result_of
from deltos.confinement import with_confinement
from deltos.errors import Cancelled, FetchFailed, SourceError, TimeLimitExceeded

if TYPE_CHECKING:
    from collections.abc import Callable

    AnswerRequest = Callable[[str], "PageResponse"]

_ALLOWED_RESOURCE_TYPES = frozenset(("Script", "XHR", "Fetch"))
_IDLE_SECONDS = 0.5  # time without requests after which a page counts as idle
_PAGES_PER_BROWSER = 50  # number of pages after which the browser is restarted to free memory
_MAX_PARALLEL_REQUESTS = 4  # maximum number of concurrent requests from one page
# JavaScript promise that resolves when the page is idle, or after a timeout.
_WAIT_FOR_IDLE_SCRIPT = "new Promise(done => requestIdleCallback(() => done(1), {timeout: 2000}))"


class PageResponse(Protocol):
    """The response to a request from a page."""

    @property
    def status(self) -> int:
        """HTTP status code."""

    @property
    def media_type(self) -> str:
        """Media type without parameters."""

    @property
    def charset(self) -> str:
        """Character set of the response, or an empty string if the server did not specify one."""

    @property
    def body(self) -> bytes:
        """Response body."""


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """Resource limits for rendering a page."""

    max_seconds: float = 60.0
    max_waiting_seconds: float = 600.0  # maximum time for which the rate limit of the site may extend the deadline
    start_seconds: float = 60.0
    max_requests: int = 200
    max_bytes: int = 30_000_000
    # Limit for all browser processes together; memory that they share counts once per process.
    max_resident_bytes: int = 3_000_000_000


DEFAULT_LIMITS = RenderLimits()


@dataclass(slots=True)
class Renderer:
    """Renders pages, one at a time. The first page starts the browser, and `close` kills the browser."""

    program: str = ""
    limits: RenderLimits = DEFAULT_LIMITS
    _browser: Chromium | None = None
    _pages: int = 0
    _is_closed: bool = False
    _open: _PageRendering | None = None
    _render_lock: threading.Lock = field(default_factory=threading.Lock)

    def render(self, url: str, page: PageResponse, ask: AnswerRequest) -> bytes:
        """Return the HTML of a page after running the scripts in it.

        `page` is the response of the server for `url`, and `ask` answers further requests from the page.
        """
        with self._render_lock:
            try:
                self._open = _PageRendering(self._provide_browser(), url, page, ask, self.limits)
                return self._open.render()
            except BaseException:
                self._kill_browser()
                raise
            finally:
                self._open = None

    def extend_deadline(self, seconds: float) -> None:
        """Extend the deadline of the current page by the time that the page waited for the rate limit."""
        if page := self._open:
            page.extend_deadline(seconds)

    def close(self) -> None:
        """Kill the browser, even while it is rendering a page. No further page can be rendered."""
        self._is_closed = True
        self._kill_browser()

    def _provide_browser(self) -> Chromium:
        """Return the running browser, or start a new browser if necessary."""
        self._check_not_closed()
        browser = self._browser
        if browser is None or not browser.is_alive or self._pages >= _PAGES_PER_BROWSER:
            self._kill_browser()
            browser = self._browser = self._start_browser()
            self._pages = 0
            self._check_not_closed()  # another thread may have called `close` while the browser was starting
        self._pages += 1
        return browser

    def _check_not_closed(self) -> None:
        if self._is_closed:
            raise Cancelled("The browser was closed")

    def _start_browser(self) -> Chromium:
        return Chromium(find_browser(self.program), max_resident_bytes=self.limits.max_resident_bytes)

    def _kill_browser(self) -> None:
        browser, self._browser = self._browser, None
        if browser:
            browser.kill()


class _PageRendering:
    """Rendering of a page in a separate browser context."""

    def __init__(
        self, browser: Chromium, url: str, page: PageResponse, ask: AnswerRequest, limits: RenderLimits
    ) -> None:
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
        self._count_lock = threading.Lock()
        self._results: dict[int, dict[str, Any]] = {}
        self._deadline = time.monotonic() + limits.start_seconds
        self._remaining_wait_seconds = limits.max_waiting_seconds

    def extend_deadline(self, seconds: float) -> None:
        """Extend the deadline by the time spent waiting, up to a limit."""
        with self._count_lock:
            more = min(seconds, self._remaining_wait_seconds)
            self._remaining_wait_seconds -= more
            self._deadline += more

    def render(self) -> bytes:
        """Return the HTML of the page as soon as the page is idle."""
        context = self._open()
        self._deadline = time.monotonic() + self._limits.max_seconds
        workers = ThreadPoolExecutor(_MAX_PARALLEL_REQUESTS, "deltos-page")
        try:
            opened = self._browser.send("Page.navigate", {"url": self._url}, self._session)
            self._wait_until_idle(workers)
            if problem := self._results.get(opened, {}).get("result", {}).get("errorText"):
                raise SourceError(f"The browser could not open the page ({str(problem)[:100]})")
            document = self._call(workers, "DOM.getDocument", {"depth": 0})
            html = self._call(workers, "DOM.getOuterHTML", {"nodeId": document["root"]["nodeId"]})["outerHTML"]
        finally:
            workers.shutdown(wait=False, cancel_futures=True)
        self._browser.send("Target.disposeBrowserContext", {"browserContextId": context})
        return str(html).encode("utf-8", "replace")

    def _open(self) -> str:
        """Open an empty page and intercept its requests. Return the id of the page's browser context."""
        browser, deadline = self._browser, self._deadline
        created = browser.wait_for_result(browser.send("Target.createBrowserContext"), deadline)
        context = str(created["browserContextId"])
        denied = {"behavior": "deny", "browserContextId": context}
        browser.wait_for_result(browser.send("Browser.setDownloadBehavior", denied), deadline)
        blank = {"url": "about:blank", "browserContextId": context}
        target = browser.wait_for_result(browser.send("Target.createTarget", blank), deadline)["targetId"]
        attached = {"targetId": target, "flatten": True}
        self._session = browser.wait_for_result(browser.send("Target.attachToTarget", attached), deadline)["sessionId"]
        self._frame = str(target)  # the id of the main frame is the id of the target
        for method, parameters in (
            ("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}),
            ("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0}),
            ("Network.setBypassServiceWorker", {"bypass": True}),
            ("Page.enable", {}),
        ):
            browser.wait_for_result(browser.send(method, parameters, self._session), deadline)
        return context

    def _wait_until_idle(self, workers: ThreadPoolExecutor) -> None:
        """Wait until the page is loaded and idle, with no pending requests."""
        while True:
            while not self._is_idle():
                self._handle_message(workers, min(self._deadline, time.monotonic() + _IDLE_SECONDS / 2))
            asked = self._requests
            self._call(workers, "Runtime.evaluate", {"expression": _WAIT_FOR_IDLE_SCRIPT, "awaitPromise": True})
            if self._requests == asked and not self._pending:
                return

    def _is_idle(self) -> bool:
        if time.monotonic() >= self._deadline:
            raise TimeLimitExceeded(f"rendering it took more than {self._limits.max_seconds:.3g} s")
        return self._is_loaded and not self._pending and time.monotonic() - self._active_at >= _IDLE_SECONDS

    def _call(self, workers: ThreadPoolExecutor, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Send a command to the page and return the result. Other messages are handled meanwhile."""
        request_id = self._browser.send(method, parameters, self._session)
        while request_id not in self._results:
            if time.monotonic() >= self._deadline:
                raise TimeLimitExceeded(f"rendering it took more than {self._limits.max_seconds:.3g} s")
            self._handle_message(workers, self._deadline)
        return result_of(self._results.pop(request_id))

    def _handle_message(self, workers: ThreadPoolExecutor, until: float) -> None:
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
                self._handle_request(workers, parameters)
            case "Inspector.targetCrashed":
                raise SourceError("The page crashed the browser")

    def _handle_request(self, workers: ThreadPoolExecutor, paused: dict[str, Any]) -> None:
        self._requests += 1
        if self._requests > self._limits.max_requests:
            raise SourceError(f"The page sent more than {self._limits.max_requests} requests")
        request_id, request, resource_type = str(paused["requestId"]), paused["request"], paused.get("resourceType")
        url = str(request["url"]).partition("#")[0]
        is_in_main_frame = paused.get("frameId") == self._frame
        if resource_type == "Document" and is_in_main_frame and url == self._url.partition("#")[0]:
            self._fulfil_request(request_id, 200, _content_type(self._page), self._page.body)
        elif resource_type in _ALLOWED_RESOURCE_TYPES and request.get("method") == "GET" and is_in_main_frame:
            with self._count_lock:
                self._pending += 1
            workers.submit(with_confinement(self._answer_request), request_id, url)
        else:
            self._refuse_request(request_id)

    def _answer_request(self, request_id: str, url: str) -> None:
        """Answer a request from the page, in a worker thread."""
        try:
            self._fulfil_with_response(request_id, url)
        except FetchFailed as exc:
            self._fulfil_request(request_id, exc.status, "text/plain", b"") if exc.status else self._refuse_request(
                request_id
            )
        except Exception:  # noqa: BLE001 - in a worker thread, the request must fail as on any network error
            self._refuse_request(request_id)
        finally:
            self._active_at = time.monotonic()
            with self._count_lock:
                self._pending -= 1

    def _fulfil_with_response(self, request_id: str, url: str) -> None:
        response = self._ask(url)
        with self._count_lock:
            self._bytes += len(response.body)
            is_too_much = self._bytes > self._limits.max_bytes
        if is_too_much:
            self._refuse_request(request_id)
            return
        self._fulfil_request(request_id, response.status, _content_type(response), response.body)

    def _fulfil_request(self, request_id: str, status: int, media_type: str, body: bytes) -> None:
        parts = urlsplit(self._url)
        headers = {
            "Content-Type": media_type,
            # Safe, because the page has no access to secrets.
            "Access-Control-Allow-Origin": f"{parts.scheme}://{parts.netloc}",
        }
        answer = {
            "requestId": request_id,
            "responseCode": status,
            "responseHeaders": [{"name": name, "value": value} for name, value in headers.items()],
            "body": base64.b64encode(body).decode("ascii"),
        }
        self._browser.send("Fetch.fulfillRequest", answer, self._session)

    def _refuse_request(self, request_id: str) -> None:
        refused = {"requestId": request_id, "errorReason": "BlockedByClient"}
        self._browser.send("Fetch.failRequest", refused, self._session)


def _content_type(answer: PageResponse) -> str:
    return f"{answer.media_type}; charset={answer.charset}" if answer.charset else answer.media_type
