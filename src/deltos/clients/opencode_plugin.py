"""The plugin by which OpenCode tells memory what happens: a file of its own, ours from its first line to its last.
Learned from @opencode-ai/plugin 1.18.33: dist/index.d.ts, Hooks; OpenCode loads `{plugin,plugins}/*.{ts,js}`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.clients.table import Launch

FIRST_LINE = "// Written by `deltos install opencode`; `deltos uninstall opencode` removes it."
# By node's own module: it is the same in every runtime that OpenCode has had. A hook that hangs is given up.
_TEXT = """
import { spawn } from "node:child_process"

const COMMAND = %s

const tell = (event, told) =>
  new Promise((done) => {
    let said = ""
    const child = spawn(COMMAND[0], [...COMMAND.slice(1), "hook", event], {
      stdio: ["pipe", "pipe", "ignore"],
      timeout: 10000,
      windowsHide: true,
    })
    child.on("error", () => done(""))
    child.on("close", () => done(said))
    child.stdout.on("data", (piece) => (said += piece))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(told))
  })

const contextOf = (answer) => {
  try {
    return JSON.parse(answer).additionalContext ?? ""
  } catch {
    return ""
  }
}

export const Deltos = async ({ directory }) => {
  const contexts = new Map()
  return {
    "chat.message": async ({ sessionID }, { parts }) => {
      if (!contexts.has(sessionID)) {
        contexts.set(sessionID, contextOf(await tell("session.created", { directory, sessionID })))
      }
      const own = parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
      await tell("chat.message", { directory, sessionID, prompt: own.map((part) => part.text).join("\\n") })
    },
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      if (contexts.get(sessionID)) system.push(contexts.get(sessionID))
    },
    "tool.execute.after": async (input, output) => {
      await tell("tool.execute.after", { directory, ...input, output })
    },
    "experimental.text.complete": async ({ sessionID }, { text }) => {
      await tell("experimental.text.complete", { directory, sessionID, text })
    },
  }
}
"""


def plugin_text(launch: Launch) -> str:
    """The whole file, for a command that starts Deltos."""
    command = json.dumps([launch.program, *launch.arguments], ensure_ascii=False)
    return FIRST_LINE + _TEXT % command


def is_own(text: str) -> bool:
    """Whether a file is this plugin, of whatever version."""
    return text.startswith(FIRST_LINE)


def is_unchanged(text: str) -> bool:
    """Whether a file says what we write, for whatever command."""
    return _without_command(text) == _without_command(FIRST_LINE + _TEXT)


def _without_command(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("const COMMAND = ")]
