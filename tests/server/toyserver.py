"""A real server with a few small tools. Run as a script with a manifest and the arguments of `deltos mcp`."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.errors import Cancelled, NotFound, StoreUnwritable
from deltos.server import startup
from deltos.tool import Answer, Call, Parameter, Tool, Toolbox

if TYPE_CHECKING:
    from deltos.config import Config


def echo(call: Call) -> Answer:
    return Answer(call.text("text") * call.number("times"))


def count(call: Call) -> Answer:
    total = call.number("steps")
    for step in range(1, total + 1):
        call.progress.report(step, total, "steps")
    return Answer(f"counted to {total}")


def wait_until_cancelled(call: Call) -> Answer:
    call.progress.report(1, 2, "waiting")
    sys.stderr.write("waiting\n")
    pause = threading.Event()
    while not call.progress.cancelled():
        pause.wait(0.01)
    sys.stderr.write("noticed the cancellation\n")
    raise Cancelled("nobody waits")


def hold(call: Call) -> Answer:
    """Run until a file appears."""
    sys.stderr.write("holding\n")
    pause = threading.Event()
    while not Path(call.text("until")).exists():
        pause.wait(0.01)
    return Answer("let go")


def never_end(call: Call) -> Answer:
    sys.stderr.write("never ending\n")
    threading.Event().wait()
    return Answer("unreachable")


def hold_interpreter(call: Call) -> Answer:
    """Hold the GIL, as a library may do forever."""
    sys.stderr.write("holding the interpreter\n")
    re.match(r"(a*)*b", "a" * 60)
    return Answer("unreachable")


def fail(call: Call) -> Answer:
    match call.text("how"):
        case "known":
            raise NotFound("Symbol 'x' not found", hint="Did you mean y?")
        case "exit":
            sys.exit(3)
        case _:
            raise ZeroDivisionError("a secret detail")


def huge(call: Call) -> Answer:
    size = call.number("size")
    if call.flag("structured"):
        return Answer("see data", structured={"data": "x" * size})
    return Answer("line of text\n" * (size // 13))


def structured(call: Call) -> Answer:
    cut = call.flag("cut")
    data = {"results": [{"name": call.text("name") or "naïve"}], "truncated": cut}
    return Answer("1 result", structured=data, truncated=cut, original_characters=1234 if cut else 0)


def broken_text(call: Call) -> Answer:
    return Answer("half a pair: \ud800", structured={"name": "\udfff"})


def where(call: Call) -> Answer:
    if call.text("directory"):
        call.session.set_project_root(Path(call.text("directory")))
    return Answer(str(call.session.project_root()))


def shout(call: Call) -> Answer:
    """Do everything that could corrupt the protocol: Python prints, raw writes, child processes that inherit or read
    the pipes."""
    print("print", flush=True)
    os.write(1, b"raw write\n")
    print("original stdout", file=sys.__stdout__, flush=True)
    subprocess.run(["echo", "child"], check=True)
    read = subprocess.run(["cat"], stdout=subprocess.PIPE, check=True).stdout
    return Answer(f"shouted; a child read {len(read)} bytes")


def open_descriptors(call: Call) -> Answer:
    """List descriptors that a child process inherits in addition to stdin, stdout and stderr."""
    listed = subprocess.run(
        [sys.executable, "-c", LIST_DESCRIPTORS], stdout=subprocess.PIPE, close_fds=False, check=True
    )
    return Answer(listed.stdout.decode().strip())


def fork(call: Call) -> Answer:
    """List the pipes that a forked child without exec can still write to."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, str([n for n in range(3, 64) if _is_pipe(n) and n not in (read, write)]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        return Answer(pipe.read())


def _is_pipe(descriptor: int) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:
        return False


LIST_DESCRIPTORS = """
import os
def is_open(descriptor):
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
print([n for n in range(3, 256) if is_open(n)])
"""

TEXT = Parameter("text", "string", "What to say.")
TOOLS = (
    Tool(
        "echo",
        "code",
        "Echo",
        "Say it again.",
        (TEXT, Parameter("times", "integer", "How often.", 1, 0, 3)),
        echo,
    ),
    Tool(
        "count_steps",
        "code",
        "Count",
        "Count.",
        (Parameter("steps", "integer", "How far.", 5, 1, 10**6),),
        count,
    ),
    Tool("wait_until_cancelled", "code", "Wait", "Wait to be cancelled.", (), wait_until_cancelled),
    Tool("hold", "code", "Hold", "Wait for a file.", (Parameter("until", "string", "Its path."),), hold),
    Tool("never_end", "code", "Never end", "Block for ever.", (), never_end),
    Tool("hold_interpreter", "code", "Hold interpreter", "Stop everybody.", (), hold_interpreter),
    Tool("fail", "code", "Fail", "Fail.", (Parameter("how", "string", "In which way.", ""),), fail),
    Tool(
        "huge",
        "code",
        "Huge",
        "Say too much.",
        (
            Parameter("size", "integer", "Characters.", 150_000),
            Parameter("structured", "boolean", "As data.", False),
        ),
        huge,
    ),
    Tool(
        "structured",
        "code",
        "Structured",
        "Answer with data.",
        (Parameter("name", "string", "A name.", ""), Parameter("cut", "boolean", "Claim a cut.", False)),
        structured,
        output_schema={
            "type": "object",
            "properties": {"results": {"type": "array"}, "truncated": {"type": "boolean"}},
            "required": ["results"],
        },
    ),
    Tool("broken_text", "code", "Broken text", "Say what UTF-8 cannot.", (), broken_text),
    Tool(
        "where",
        "code",
        "Where",
        "Tell or set the folder.",
        (Parameter("directory", "string", "It.", ""),),
        where,
    ),
    Tool("shout", "code", "Shout", "Print all over the place.", (), shout, read_only=False, open_world=True),
    Tool("erase", "code", "Erase", "Destroy nothing.", (), lambda _: Answer("gone"), read_only=False, destructive=True),
    Tool("open_descriptors", "code", "Descriptors", "List a child's open files.", (), open_descriptors),
    Tool("fork", "code", "Fork", "List a forked child's pipes.", (), fork),
    Tool("elsewhere", "unserved", "Elsewhere", "Belongs to another toolset.", (), echo),
)


def block() -> None:
    threading.Event().wait()


def open_toolbox(config: Config) -> Toolbox:
    if (config.home / "read-only").exists():
        raise StoreUnwritable("The data folder is read-only", hint="Set DELTOS_HOME to another folder.")
    if (config.home / "never-opens").exists():
        sys.stderr.write("opening\n")
        block()
    if (config.home / "stuck").exists():
        return Toolbox((), close=block)
    served = tuple(tool for tool in TOOLS if tool.toolset in config.toolsets)
    return Toolbox(served, close=(config.home / "closed").touch)


if __name__ == "__main__":
    sys.exit(startup.main(sys.argv[2:], open_toolbox, Path(sys.argv[1])))
