"""Control of a Chromium process that has no network access; messages are exchanged through pipes.

The proxy is a closed port, and host names are not resolved, so requests fail unless Deltos answers them. This module
handles processes and messages, not pages.
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

from deltos.errors import MemoryLimitExceeded, SourceError, TimeLimitExceeded

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_MESSAGE_BYTES = 80_000_000
_PROGRAM_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_READ_BYTES = 1 << 16  # maximum number of bytes per read from the pipe
_FOLDER_PREFIX = "deltos-browser-"
_MEMORY_CHECK_SECONDS = 1.0  # seconds between checks of the memory limit
# The browser uses descriptors 3 and 4 as its debugging pipes. The standard descriptors are redirected to /dev/null.
_SHELL_COMMAND = ("/bin/sh", "-c", 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1')
_BROWSER_FLAGS = (
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
    """Return the path of the configured browser, or of a Chromium found in an absolute folder on the PATH."""
    if sys.platform == "win32":
        raise SourceError("Rendering pages in a browser is not supported on Windows")
    if configured:
        if Path(configured).is_absolute() and os.access(configured, os.X_OK):
            return configured
        raise SourceError("DELTOS_BROWSER is not an executable program", hint="Set it to the full path of Chromium.")
    for folder in map(Path, os.environ.get("PATH", os.defpath).split(os.pathsep)):
        for name in _PROGRAM_NAMES if folder.is_absolute() else ():
            if os.access(folder / name, os.X_OK):
                return str(folder / name)
    raise SourceError("Chromium is not installed", hint="Install it (apt-get install chromium), or set DELTOS_BROWSER.")


def remove_leftovers() -> None:
    """Remove the profile folders left by browsers whose parent process was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER_PREFIX}*"):
        pid = folder.name.removeprefix(_FOLDER_PREFIX).partition("-")[0]
        with suppress(OSError, OverflowError):  # the folder belongs to another user or has been removed
            if pid.isdecimal() and folder.lstat().st_uid == os.geteuid() and not _is_running(int(pid)):
                shutil.rmtree(folder, ignore_errors=True)


class Chromium:
    """A running browser.

    Any thread may send messages to the browser or kill it, but only one thread may read messages.
    """

    def __init__(self, program: str, *, max_resident_bytes: int) -> None:
        remove_leftovers()
        self._folder = tempfile.mkdtemp(prefix=f"{_FOLDER_PREFIX}{os.getpid()}-")
        self._max_resident_bytes = max_resident_bytes
        flags = [*_BROWSER_FLAGS, f"--user-data-dir={self._folder}/profile"]
        if os.geteuid() == 0:  # Chromium refuses to run its sandbox as root
            flags.append("--no-sandbox")
        self._process = subprocess.Popen(
            [*_SHELL_COMMAND, program, *flags, "about:blank"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            env=_environment(self._folder),
            start_new_session=True,
        )
        self._input, self._output = cast("BinaryIO", self._process.stdin), cast("BinaryIO", self._process.stdout)
        self._send_lock = threading.Lock()
        self._number = 0
        self._is_closing = threading.Event()
        self._kill_reason = ""
        self.messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        for target in (self._read_messages, self._watch_memory):
            threading.Thread(target=target, name="deltos-browser", daemon=True).start()

    @property
    def is_alive(self) -> bool:
        """Whether the browser is running."""
        return not self._is_closing.is_set() and self._process.poll() is None

    def send(self, method: str, parameters: dict[str, Any] | None = None, session: str = "") -> int:
        """Send a command and return the message number, which the reply repeats."""
        with self._send_lock:
            self._number += 1
            message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters or {}}
            if session:
                message["sessionId"] = session
            with suppress(OSError):  # errors mean that the browser has died; `next_message` reports it
                self._input.write(json.dumps(message).encode() + b"\0")
                self._input.flush()
            return self._number

    def next_message(self, deadline: float) -> dict[str, Any] | None:
        """Return the next message from the browser, or None after the deadline.

        Raises SourceError if the browser has died.
        """
        try:
            message = self.messages.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            return None
        if message is None:
            if self._kill_reason:
                raise MemoryLimitExceeded(self._kill_reason)
            raise SourceError("The browser exited unexpectedly")
        return message

    def wait_for_result(self, message_number: int, deadline: float) -> dict[str, Any]:
        """Return the result of a command.

        Other messages are dropped, so this method must not be used while a page is open.
        """
        while message := self.next_message(deadline):
            if message.get("id") == message_number:
                return result_of(message)
        raise TimeLimitExceeded("the browser did not start in time")

    def kill(self) -> None:
        """Kill the browser and its child processes, and remove the profile folder."""
        self._is_closing.set()
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for pipe in (self._input, self._output):
            with suppress(OSError):
                pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _read_messages(self) -> None:
        """Read messages, each ended by a NUL byte, until a message exceeds the size limit."""
        buffer = bytearray()
        with suppress(OSError, ValueError):
            while piece := os.read(self._output.fileno(), _READ_BYTES):
                first, *others = piece.split(b"\0")
                buffer += first
                for part in others:  # each part follows a NUL byte, which ends the previous message
                    self.messages.put(json.loads(buffer))
                    buffer = bytearray(part)
                if len(buffer) > MAX_MESSAGE_BYTES:
                    self._kill_reason = f"the rendered page is larger than {MAX_MESSAGE_BYTES // 1_000_000} MB"
                    break
        self.messages.put(None)

    def _watch_memory(self) -> None:
        """Kill the browser if its processes exceed the memory limit."""
        while not self._is_closing.wait(_MEMORY_CHECK_SECONDS):
            if sum(_resident_bytes(self._process.pid)) > self._max_resident_bytes:
                most = self._max_resident_bytes // 1_000_000
                self._kill_reason = f"rendering it took more than {most:,} MB of memory"
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                return


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def result_of(message: dict[str, Any]) -> dict[str, Any]:
    """Return the result in a reply message. Raise SourceError if the browser reported an error."""
    if "error" in message:
        raise SourceError(f"The browser reported an error ({str(message['error'].get('message', ''))[:200]})")
    result: dict[str, Any] = message.get("result", {})
    return result


def _environment(folder: str) -> dict[str, str]:
    folders = dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"), folder)
    return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **folders}


def _resident_bytes(group: int) -> Iterator[int]:
    """Yield the resident memory of each process in a process group. Supported only on Linux."""
    page = os.sysconf("SC_PAGE_SIZE")
    for folder in Path("/proc").iterdir() if sys.platform == "linux" else ():
        if folder.name.isdigit():
            with suppress(OSError, ValueError):  # errors mean that the process has ended
                if os.getpgid(int(folder.name)) == group:
                    _, resident, *_ = (folder / "statm").read_text("ascii").split()
                    yield int(resident) * page
