"""One Chromium: started without a network, spoken to through its own two pipes, ended with all it started.

Its proxy is a closed port and it resolves no name, so whatever is not answered by us fails. Knows processes and
messages, never pages.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from deltos.errors import SourceError, TookTooLong, TookTooMuchMemory

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_MESSAGE_BYTES = 80_000_000
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_READ_BYTES = 1 << 16
_FOLDER_PREFIX = "deltos-browser-"
_WATCH_SECONDS = 1.0
# The browser's pipes are its descriptors 3 and 4; its standard ones lead nowhere.
_SHELL = ("/bin/sh", "-c", 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1')
_FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--proxy-server=127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-features=HttpsUpgrades,MediaRouter,OptimizationHints,Translate,AutofillServerCommunication,WebUSB,WebBluetooth",
    "--disable-gpu",
    "--disable-remote-fonts",
    "--disable-sync",
    "--blink-settings=imagesEnabled=false",
    "--js-flags=--max-old-space-size=512",
    "--metrics-recording-only",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--password-store=basic",
    "--renderer-process-limit=2",
    "--use-mock-keychain",
)


def find_browser(configured: str = "") -> str:
    """The path of the browser: the one that the user named, or a Chromium in an absolute folder of PATH."""
    if sys.platform == "win32":
        raise SourceError("Pages are not rendered in a browser on Windows")
    if configured:
        if Path(configured).is_absolute() and os.access(configured, os.X_OK):
            return configured
        raise SourceError("DELTOS_BROWSER names no program", hint="Give the full path of a Chromium.")
    for folder in map(Path, os.environ.get("PATH", os.defpath).split(os.pathsep)):
        for name in _NAMES if folder.is_absolute() else ():
            if os.access(folder / name, os.X_OK):
                return str(folder / name)
    raise SourceError("No Chromium is installed", hint="Install one (apt-get install chromium), or set DELTOS_BROWSER.")


def remove_remains() -> None:
    """Remove the folders of browsers whose program was killed; the browsers ended with it."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER_PREFIX}*"):
        number = folder.name.removeprefix(_FOLDER_PREFIX).partition("-")[0]
        with suppress(OSError, OverflowError):  # another user's, or gone already
            if number.isdecimal() and folder.lstat().st_uid == os.geteuid() and not _is_running(int(number)):
                shutil.rmtree(folder, ignore_errors=True)


class Chromium:
    """A running browser. Any thread may send and kill; one waits for what it says."""

    def __init__(self, program: str, *, max_resident_bytes: int) -> None:
        remove_remains()
        self._folder = tempfile.mkdtemp(prefix=f"{_FOLDER_PREFIX}{os.getpid()}-")
        self._max_resident_bytes = max_resident_bytes
        flags = [*_FLAGS, f"--user-data-dir={self._folder}/profile"]
        if os.geteuid() == 0:  # it refuses to start otherwise
            flags.append("--no-sandbox")
        self._process = subprocess.Popen(
            [*_SHELL, program, *flags, "about:blank"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            env=_environment(self._folder),
            start_new_session=True,
        )
        self._to, self._from = cast("BinaryIO", self._process.stdin), cast("BinaryIO", self._process.stdout)
        self._sending = threading.Lock()
        self._number = 0
        self._ended = threading.Event()
        self._killed_for = ""
        self.messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        for work in (self._read, self._watch):
            threading.Thread(target=work, name="deltos-browser", daemon=True).start()

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return not self._ended.is_set() and self._process.poll() is None

    def send(self, method: str, parameters: dict[str, Any] | None = None, session: str = "") -> int:
        """Ask for something; the number that its answer has."""
        with self._sending:
            self._number += 1
            message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters or {}}
            if session:
                message["sessionId"] = session
            with suppress(OSError):  # it has died: whoever waits is told
                self._to.write(json.dumps(message).encode() + b"\0")
                self._to.flush()
            return self._number

    def next_message(self, deadline: float) -> dict[str, Any] | None:
        """What it says next; None when it says nothing until the deadline. Raises when it has died."""
        try:
            message = self.messages.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            return None
        if message is None:
            raise TookTooMuchMemory(self._killed_for) if self._killed_for else SourceError("The browser has died")
        return message

    def answer_to(self, number: int, deadline: float) -> dict[str, Any]:
        """What came of a request while no page is open; other messages are passed over."""
        while message := self.next_message(deadline):
            if message.get("id") == number:
                return answered(message)
        raise TookTooLong("the browser did not start in time")

    def kill(self) -> None:
        """End it and everything that it has started; its folder goes too."""
        self._ended.set()
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for pipe in (self._to, self._from):
            with suppress(OSError):
                pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _read(self) -> None:
        """Messages end in a zero byte; one that never ends is the end."""
        buffer = bytearray()
        with suppress(OSError, ValueError):
            while piece := os.read(self._from.fileno(), _READ_BYTES):
                first, *others = piece.split(b"\0")
                buffer += first
                for part in others:  # each begins behind the end of a message
                    self.messages.put(json.loads(buffer))
                    buffer = bytearray(part)
                if len(buffer) > MAX_MESSAGE_BYTES:
                    self._killed_for = f"the rendered page is larger than {MAX_MESSAGE_BYTES // 1_000_000} MB"
                    break
        self.messages.put(None)

    def _watch(self) -> None:
        """Kill it when it takes too much memory."""
        while not self._ended.wait(_WATCH_SECONDS):
            if sum(_resident_bytes(self._process.pid)) > self._max_resident_bytes:
                most = self._max_resident_bytes // 1_000_000
                self._killed_for = f"rendering it took more than {most:,} MB of memory"
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                return


def _is_running(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def answered(message: dict[str, Any]) -> dict[str, Any]:
    """The result in an answer; raises when the browser refused."""
    if "error" in message:
        raise SourceError(f"The browser refused ({str(message['error'].get('message', ''))[:200]})")
    result: dict[str, Any] = message.get("result", {})
    return result


def _environment(folder: str) -> dict[str, str]:
    places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"), folder)
    return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **places}


def _resident_bytes(group: int) -> Iterator[int]:
    """The memory of each process of a group, where the kernel tells (Linux)."""
    page = os.sysconf("SC_PAGE_SIZE")
    for folder in Path("/proc").iterdir() if sys.platform == "linux" else ():
        if folder.name.isdigit():
            with suppress(OSError, ValueError):  # it has ended meanwhile
                if os.getpgid(int(folder.name)) == group:
                    _, resident, *_ = (folder / "statm").read_text("ascii").split()
                    yield int(resident) * page
