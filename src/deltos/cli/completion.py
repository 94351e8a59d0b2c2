"""`deltos completion SHELL`: generate a shell script that completes commands, options and their values."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.cli.command import add_command, print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.cli.command import Subparsers

_PATH_METAVARS = ("PATH", "FILE", "DIR")  # placeholders in the help of arguments that are files or folders


@dataclass(frozen=True, slots=True)
class CompletionContext:
    """Possible completions after the command `words`: subcommands, options, option values and positional arguments.

    `values` contains the choices of each option with a value, which are empty for free text. `files` contains the
    options whose values are paths.
    """

    words: tuple[str, ...]
    commands: dict[str, str]
    options: dict[str, str]
    values: dict[str, tuple[str, ...]]
    files: frozenset[str]
    positional: tuple[str, ...]
    takes_files: bool


def add_commands(subparsers: Subparsers) -> None:
    """Add `completion`."""
    verb = add_command(subparsers, "completion", _print_completion)
    verb.add_argument("shell", choices=tuple(_SCRIPT_WRITERS_BY_SHELL), help="shell to generate the script for")
    verb.epilog = (
        "bash: deltos completion bash > ~/.local/share/bash-completion/completions/deltos; "
        "zsh: deltos completion zsh > a folder of $fpath, as _deltos; "
        "fish: deltos completion fish > ~/.config/fish/completions/deltos.fish; "
        "PowerShell: deltos completion powershell >> $PROFILE"
    )


def _print_completion(arguments: argparse.Namespace) -> int:
    from deltos.cli.main import complete_parser

    script = _SCRIPT_WRITERS_BY_SHELL[arguments.shell](list(completion_contexts(complete_parser())))
    if arguments.json:
        print_json({"shell": arguments.shell, "script": script})
    else:
        print(script, end="")
    return 0


def completion_contexts(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[CompletionContext]:
    """Yield the completion contexts of `parser` and all subcommands."""
    inner: dict[str, argparse.ArgumentParser] = {}
    summaries: dict[str, str] = {}
    options: dict[str, str] = {}
    values: dict[str, tuple[str, ...]] = {}
    files: set[str] = set()
    positional: list[str] = []
    takes_files = False
    for action in parser._actions:  # noqa: SLF001 (argparse has no public list of actions)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            inner = dict(action.choices)
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
        elif action.option_strings:
            name = max(action.option_strings, key=len)
            options[name] = (action.help or "").replace("%%", "%")
            if action.nargs != 0:
                values[name] = _choices(action)
                files |= {name} if action.metavar in _PATH_METAVARS else set()
        else:
            positional += _choices(action)
            takes_files = (
                takes_files or action.metavar in _PATH_METAVARS or action.dest in ("path", "location", "url", "file")
            )
    yield CompletionContext(words, summaries, options, values, frozenset(files), tuple(positional), takes_files)
    for name, below in inner.items():
        yield from completion_contexts(below, (*words, name))


def _choices(action: argparse.Action) -> tuple[str, ...]:
    offered = getattr(action, "offered", None)  # function that returns values known only when the script is generated
    return tuple(str(choice) for choice in (offered() if offered else action.choices or ()) if str(choice))


def _first_line(text: str) -> str:
    return text.partition("\n")[0].partition("; ")[0]


def _bash_script(contexts: list[CompletionContext]) -> str:
    cases = []
    for context in contexts:
        after = [
            f"      {option}) {_bash_value(context, option, choices)}; return ;;"
            for option, choices in context.values.items()
        ]
        words = " ".join([*context.commands, *context.positional, *context.options])
        files = ' _deltos_files "$cur"; ' if context.takes_files else " "
        inner = "\n".join(['      case "$prev" in', *after, "      esac"]) if after else "      :"
        complete_words = f'COMPREPLY+=( $(compgen -W "{words}" -- "$cur") )'
        cases.append(f'    "{" ".join(context.words)}")\n{inner}\n     {files}{complete_words} ;;')
    known = " ".join(f'["{" ".join(context.words)}"]=1' for context in contexts if context.words)
    return _BASH_TEMPLATE.replace("@KNOWN@", known).replace("@CASES@", "\n".join(cases))


def _bash_value(context: CompletionContext, option: str, choices: tuple[str, ...]) -> str:
    if choices:
        return f'COMPREPLY=( $(compgen -W "{" ".join(choices)}" -- "$cur") )'
    return '_deltos_files "$cur"' if option in context.files else ":"


_BASH_TEMPLATE = """\
# Completes `deltos` in bash. Generated by `deltos completion bash`.
_deltos_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=( $(compgen -f -- "$1") )
}
_deltos() {
  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" at="" word next
  local -A known=( @KNOWN@ )
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="${at:+$at }$word"
    [[ -n "${known[$next]}" ]] && at="$next"
  done
  COMPREPLY=()
  case "$at" in
@CASES@
  esac
}
complete -F _deltos deltos
"""


def _zsh_script(contexts: list[CompletionContext]) -> str:
    cases = []
    for context in contexts:
        specs = [_zsh_option(context, option, summary) for option, summary in context.options.items()]
        if context.commands:
            offered = " ".join(_quote(f"{name}:{_first_line(summary)}") for name, summary in context.commands.items())
            rest = [f"      verbs=({offered})", "      _describe -t commands command verbs"]
        else:
            specs.append(_quote(_zsh_positional(context)))
            rest = []
        if specs:
            rest.append(f"      _arguments -S {' '.join(specs)}")
        cases.append("\n".join([f'    "{" ".join(context.words)}")', *rest, "      ;;"]))
    known = " ".join(f'"{" ".join(context.words)}" 1' for context in contexts if context.words)
    return _ZSH_TEMPLATE.replace("@KNOWN@", known).replace("@CASES@", "\n".join(cases))


def _zsh_option(context: CompletionContext, option: str, summary: str) -> str:
    description = _first_line(summary).replace("[", "(").replace("]", ")").replace(":", " ")
    if option not in context.values:
        return _quote(f"{option}[{description}]")
    choices = context.values[option]
    kind = f"({' '.join(choices)})" if choices else "_files" if option in context.files else " "
    return _quote(f"{option}[{description}]:value:{kind}")


def _zsh_positional(context: CompletionContext) -> str:
    if context.positional:
        return f"*:value:({' '.join(context.positional)})"
    return "*:path:_files" if context.takes_files else "*:text:()"


_ZSH_TEMPLATE = """\
#compdef deltos
# Completes `deltos` in zsh. Generated by `deltos completion zsh`; save it as _deltos in a folder of $fpath.
_deltos() {
  local at="" next word
  local -a verbs
  local -A known
  known=( @KNOWN@ )
  local -i taken=1
  for word in "${(@)words[2,CURRENT-1]}"; do
    next="${at:+$at }$word"
    if [[ -n "${known[$next]}" ]]; then
      at="$next"
      (( taken += 1 ))
    fi
  done
  words=( "${words[1]}" "${(@)words[taken+1,-1]}" )
  (( CURRENT -= taken - 1 ))
  case "$at" in
@CASES@
  esac
}
if [[ "${funcstack[1]}" == "_deltos" ]]; then
  _deltos "$@"
else
  compdef _deltos deltos
fi
"""


def _fish_script(contexts: list[CompletionContext]) -> str:
    known = " ".join(_quote(" ".join(context.words)) for context in contexts if context.words)
    lines = [_FISH_TEMPLATE.replace("@KNOWN@", known)]
    for context in contexts:
        start = f"""complete -c deltos -n '__deltos_is_at "{" ".join(context.words)}"'"""
        lines += [f"{start} -a {name} -d {_quote(_first_line(summary))}" for name, summary in context.commands.items()]
        lines += [f"{start} -a {value}" for value in context.positional]
        if context.takes_files:
            lines.append(f"{start} -F")
        for option, summary in context.options.items():
            lines.append(
                f"{start} -l {option.lstrip('-')} -d {_quote(_first_line(summary))}{_fish_value(context, option)}"
            )
    return "\n".join(lines) + "\n"


def _fish_value(context: CompletionContext, option: str) -> str:
    if option not in context.values:
        return ""
    if choices := context.values[option]:
        return f" -x -a {_quote(' '.join(choices))}"
    return " -r -F" if option in context.files else " -x"


_FISH_TEMPLATE = """\
# Completes `deltos` in fish. Generated by `deltos completion fish`.
function __deltos_at
    set -l at
    for word in (commandline -opc)[2..-1]
        set -l next (string join -- ' ' $at $word)
        contains -- $next @KNOWN@; and set at $at $word
    end
    string join -- ' ' $at
end
function __deltos_is_at
    test (__deltos_at | string collect -a) = "$argv[1]"
end
complete -c deltos -f"""


def _powershell_script(contexts: list[CompletionContext]) -> str:
    table = {
        " ".join(context.words): {
            "words": {**context.commands, **dict.fromkeys(context.positional, ""), **context.options},
            "values": {option: list(choices) for option, choices in context.values.items()},
        }
        for context in contexts
    }
    return _POWERSHELL_TEMPLATE.replace("@TABLE@", json.dumps(table, indent=1).replace("'@", "' @"))


_POWERSHELL_TEMPLATE = """\
# Completes `deltos` in PowerShell. Generated by `deltos completion powershell`.
$deltosContexts = @'
@TABLE@
'@ | ConvertFrom-Json
Register-ArgumentCompleter -Native -CommandName deltos -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($wordToComplete -ne '' -and $words.Count -gt 0) { $words = @($words | Select-Object -SkipLast 1) }
  $at = ''
  foreach ($word in $words) {
    $next = ("$at $word").Trim()
    if ($deltosContexts.PSObject.Properties.Name -contains $next) { $at = $next }
  }
  $context = $deltosContexts.PSObject.Properties[$at].Value
  $last = if ($words.Count -gt 0) { $words[-1] } else { '' }
  $value = $context.values.PSObject.Properties[$last]
  if ($null -ne $value) {
    $value.Value | Where-Object { $_ -like "$wordToComplete*" } |
      ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
    return
  }
  $context.words.PSObject.Properties | Where-Object { $_.Name -like "$wordToComplete*" } | ForEach-Object {
    $tooltip = if ($_.Value) { $_.Value } else { $_.Name }
    [System.Management.Automation.CompletionResult]::new($_.Name, $_.Name, 'ParameterValue', $tooltip)
  }
}
"""


def _quote(text: str) -> str:
    """Quote a word for zsh and fish. Replace backslashes and apostrophes, which the shells escape differently."""
    return "'" + text.replace("\\", "/").replace("'", "’") + "'"


_SCRIPT_WRITERS_BY_SHELL: dict[str, Callable[[list[CompletionContext]], str]] = {
    "bash": _bash_script,
    "zsh": _zsh_script,
    "fish": _fish_script,
    "powershell": _powershell_script,
}
