"""Source text of an OpenCode plugin that sends events to `deltos hook`. Deltos owns the entire plugin file.

Written for @opencode-ai/plugin 1.18.33 (dist/index.d.ts, Hooks); OpenCode loads `{plugin,plugins}/*.{ts,js}`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.clients.table import Launch

FIRST_LINE = "// Written by `deltos install opencode`; `deltos uninstall opencode` removes it."
# The plugin uses only built-in modules of Node, which every OpenCode runtime has. Hooks time out after 10 seconds.
_PLUGIN_TEMPLATE = """
import { spawn } from "node:child_process"

const COMMAND = %s

const send = (event, payload) =>
  new Promise((done) => {
    let output = ""
    const child = spawn(COMMAND[0], [...COMMAND.slice(1), "hook", event], {
      stdio: ["pipe", "pipe", "ignore"],
      timeout: 10000,
      windowsHide: true,
    })
    child.on("error", () => done(""))
    child.on("close", () => done(output))
    child.stdout.on("data", (data) => (output += data))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(payload))
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
        contexts.set(sessionID, contextOf(await send("session.created", { directory, sessionID })))
      }
      const own = parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
      await send("chat.message", { directory, sessionID, prompt: own.map((part) => part.text).join("\\n") })
    },
    "experimental.chat.system.transform": async ({ sessionID }, { system }) => {
      if (contexts.get(sessionID)) system.push(contexts.get(sessionID))
    },
    "tool.execute.after": async (input, output) => {
      await send("tool.execute.after", { directory, ...input, output })
    },
    "experimental.text.complete": async ({ sessionID }, { text }) => {
      await send("experimental.text.complete", { directory, sessionID, text })
    },
  }
}
"""


def plugin_text(launch: Launch) -> str:
    """Return the text of the plugin file, which runs the given command."""
    command = json.dumps([launch.program, *launch.arguments], ensure_ascii=False)
    return FIRST_LINE + _PLUGIN_TEMPLATE % command


def is_own(text: str) -> bool:
    """Whether the text is a version of this plugin, with or without modifications."""
    return text.startswith(FIRST_LINE)


def is_unchanged(text: str) -> bool:
    """Whether the text is the unmodified plugin. The command that it runs may differ."""
    return _without_command(text) == _without_command(FIRST_LINE + _PLUGIN_TEMPLATE)


def _without_command(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("const COMMAND = ")]
