"""`deltos completion SHELL`: a script that completes commands, options and their values, written from the parser."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.cli.command import add_verb, print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.cli.command import Subparsers

_PATHS = ("PATH", "FILE", "DIR")  # metavars of what is a file or folder


@dataclass(frozen=True, slots=True)
class Place:
    """What may follow some words: commands, options, values of options, and what stands without an option.

    `values` has the choices of each option that takes a value, none where any text will do; `files` are those that
    take paths.
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
    verb = add_verb(subparsers, "completion", _completion, "print a script that completes commands in your shell")
    verb.add_argument("shell", choices=tuple(_WRITERS), help="your shell")
    verb.epilog = (
        "bash: deltos completion bash > ~/.local/share/bash-completion/completions/deltos; "
        "zsh: deltos completion zsh > a folder of $fpath, as _deltos; "
        "fish: deltos completion fish > ~/.config/fish/completions/deltos.fish; "
        "PowerShell: deltos completion powershell >> $PROFILE"
    )


def _completion(arguments: argparse.Namespace) -> int:
    from deltos.cli.main import parser

    script = _WRITERS[arguments.shell](list(places_of(parser())))
    if arguments.json:
        print_json({"shell": arguments.shell, "script": script})
    else:
        print(script, end="")
    return 0


def places_of(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[Place]:
    """This parser and all below it."""
    inner: dict[str, argparse.ArgumentParser] = {}
    summaries: dict[str, str] = {}
    options: dict[str, str] = {}
    values: dict[str, tuple[str, ...]] = {}
    files: set[str] = set()
    positional: list[str] = []
    takes_files = False
    for action in parser._actions:  # noqa: SLF001 (a parser has no public list of what it knows)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            inner = dict(action.choices)
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001
        elif action.option_strings:
            name = max(action.option_strings, key=len)
            options[name] = (action.help or "").replace("%%", "%")
            if action.nargs != 0:
                values[name] = _choices(action)
                files |= {name} if action.metavar in _PATHS else set()
        else:
            positional += _choices(action)
            takes_files = takes_files or action.metavar in _PATHS or action.dest in ("path", "location", "url", "file")
    yield Place(words, summaries, options, values, frozenset(files), tuple(positional), takes_files)
    for name, below in inner.items():
        yield from places_of(below, (*words, name))


def _choices(action: argparse.Action) -> tuple[str, ...]:
    offered = getattr(action, "offered", None)  # names that are known only when the script is written
    return tuple(str(choice) for choice in (offered() if offered else action.choices or ()) if str(choice))


def _first_line(text: str) -> str:
    return text.partition("\n")[0].partition("; ")[0]


def _bash(places: list[Place]) -> str:
    cases = []
    for place in places:
        after = [
            f"      {option}) {_bash_value(place, option, choices)}; return ;;"
            for option, choices in place.values.items()
        ]
        words = " ".join([*place.commands, *place.positional, *place.options])
        files = ' _deltos_files "$cur"; ' if place.takes_files else " "
        inner = "\n".join(['      case "$prev" in', *after, "      esac"]) if after else "      :"
        cases.append(
            f'    "{" ".join(place.words)}")\n{inner}\n     {files}COMPREPLY+=( $(compgen -W "{words}" -- "$cur") ) ;;'
        )
    known = " ".join(f'["{" ".join(place.words)}"]=1' for place in places if place.words)
    return _BASH.replace("@KNOWN@", known).replace("@CASES@", "\n".join(cases))


def _bash_value(place: Place, option: str, choices: tuple[str, ...]) -> str:
    if choices:
        return f'COMPREPLY=( $(compgen -W "{" ".join(choices)}" -- "$cur") )'
    return '_deltos_files "$cur"' if option in place.files else ":"


_BASH = """\
# Completes `deltos` in bash. Written by `deltos completion bash`.
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


def _zsh(places: list[Place]) -> str:
    cases = []
    for place in places:
        specs = [_zsh_option(place, option, told) for option, told in place.options.items()]
        if place.commands:
            offered = " ".join(_quoted(f"{name}:{_first_line(told)}") for name, told in place.commands.items())
            rest = [f"      verbs=({offered})", "      _describe -t commands command verbs"]
        else:
            specs.append(_quoted(_zsh_positional(place)))
            rest = []
        if specs:
            rest.append(f"      _arguments -S {' '.join(specs)}")
        cases.append("\n".join([f'    "{" ".join(place.words)}")', *rest, "      ;;"]))
    known = " ".join(f'"{" ".join(place.words)}" 1' for place in places if place.words)
    return _ZSH.replace("@KNOWN@", known).replace("@CASES@", "\n".join(cases))


def _zsh_option(place: Place, option: str, told: str) -> str:
    said = _first_line(told).replace("[", "(").replace("]", ")").replace(":", " ")
    if option not in place.values:
        return _quoted(f"{option}[{said}]")
    choices = place.values[option]
    kind = f"({' '.join(choices)})" if choices else "_files" if option in place.files else " "
    return _quoted(f"{option}[{said}]:value:{kind}")


def _zsh_positional(place: Place) -> str:
    if place.positional:
        return f"*:value:({' '.join(place.positional)})"
    return "*:path:_files" if place.takes_files else "*:text:()"


_ZSH = """\
#compdef deltos
# Completes `deltos` in zsh. Written by `deltos completion zsh`; put it into a folder of $fpath as _deltos.
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


def _fish(places: list[Place]) -> str:
    known = " ".join(_quoted(" ".join(place.words)) for place in places if place.words)
    lines = [_FISH.replace("@KNOWN@", known)]
    for place in places:
        start = f"""complete -c deltos -n '__deltos_is_at "{" ".join(place.words)}"'"""
        lines += [f"{start} -a {name} -d {_quoted(_first_line(told))}" for name, told in place.commands.items()]
        lines += [f"{start} -a {value}" for value in place.positional]
        if place.takes_files:
            lines.append(f"{start} -F")
        for option, told in place.options.items():
            lines.append(f"{start} -l {option.lstrip('-')} -d {_quoted(_first_line(told))}{_fish_value(place, option)}")
    return "\n".join(lines) + "\n"


def _fish_value(place: Place, option: str) -> str:
    if option not in place.values:
        return ""
    if choices := place.values[option]:
        return f" -x -a {_quoted(' '.join(choices))}"
    return " -r -F" if option in place.files else " -x"


_FISH = """\
# Completes `deltos` in fish. Written by `deltos completion fish`.
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


def _powershell(places: list[Place]) -> str:
    table = {
        " ".join(place.words): {
            "words": {**place.commands, **dict.fromkeys(place.positional, ""), **place.options},
            "values": {option: list(choices) for option, choices in place.values.items()},
        }
        for place in places
    }
    return _POWERSHELL.replace("@TABLE@", json.dumps(table, indent=1).replace("'@", "' @"))


_POWERSHELL = """\
# Completes `deltos` in PowerShell. Written by `deltos completion powershell`.
$deltosPlaces = @'
@TABLE@
'@ | ConvertFrom-Json
Register-ArgumentCompleter -Native -CommandName deltos -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($wordToComplete -ne '' -and $words.Count -gt 0) { $words = @($words | Select-Object -SkipLast 1) }
  $at = ''
  foreach ($word in $words) {
    $next = ("$at $word").Trim()
    if ($deltosPlaces.PSObject.Properties.Name -contains $next) { $at = $next }
  }
  $place = $deltosPlaces.PSObject.Properties[$at].Value
  $last = if ($words.Count -gt 0) { $words[-1] } else { '' }
  $value = $place.values.PSObject.Properties[$last]
  if ($null -ne $value) {
    $value.Value | Where-Object { $_ -like "$wordToComplete*" } |
      ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
    return
  }
  $place.words.PSObject.Properties | Where-Object { $_.Name -like "$wordToComplete*" } | ForEach-Object {
    $told = if ($_.Value) { $_.Value } else { $_.Name }
    [System.Management.Automation.CompletionResult]::new($_.Name, $_.Name, 'ParameterValue', $told)
  }
}
"""


def _quoted(text: str) -> str:
    """A word of a shell: single quotes mean the same in zsh and fish, but for what follows a backslash."""
    return "'" + text.replace("\\", "/").replace("'", "’") + "'"


_WRITERS: dict[str, Callable[[list[Place]], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
    "powershell": _powershell,
}
