"""Choose names for shell variables in example calls; names that shells or operating systems reserve are avoided."""

from __future__ import annotations

import re

# Variables that shells, terminals, desktops or Windows set, or that many programs read.
_RESERVED_NAMES = frozenset(
    """ALL_PROXY ALLUSERSPROFILE APPDATA ARGV BROWSER CDPATH CI COLORTERM COLUMNS COMMONPROGRAMFILES
    COMPUTERNAME COMSPEC COPROC CPUTYPE DESKTOP_SESSION DIRSTACK DISPLAY EDITOR EGID ENV EPOCHREALTIME
    EPOCHSECONDS ERRNO EUID FCEDIT FIGNORE FPATH FTP_PROXY FUNCNAME GID GLOBIGNORE GROUP GROUPS HOME HOMEDRIVE
    HOMEPATH HOST HOSTNAME HOSTTYPE HTTP_PROXY HTTPS_PROXY IFS IGNOREEOF INPUTRC KEYTIMEOUT LANG LANGUAGE LINENO
    LINES LOCALAPPDATA LOGNAME LOGONSERVER LS_COLORS MACHTYPE MAIL MAILCHECK MAILPATH MANPATH MAPFILE NAME
    NO_COLOR NO_PROXY NULLCMD NUMBER_OF_PROCESSORS OLDPWD OPTARG OPTERR OPTIND OS OSTYPE PAGER PATH PATHEXT
    PIPESTATUS POSIXLY_CORRECT PPID PROGRAMDATA PROGRAMFILES PROMPT PROMPT_COMMAND PS1 PS2 PS3 PS4 PUBLIC PWD
    PYTHONPATH RANDOM REMOTEHOST REPLY RPROMPT SAVEHIST SECONDS SESSION_MANAGER SESSIONNAME SHELL SHELLOPTS
    SHLVL SRANDOM STY SYSTEMDRIVE SYSTEMROOT TEMP TERM TERM_PROGRAM TIMEFORMAT TMOUT TMP TMPDIR TMPPREFIX TTY
    TTYIDLE TZ UID USER USERDOMAIN USERNAME USERPROFILE VENDOR VIRTUAL_ENV VISUAL WATCH WINDIR WINDOW WINDOWID
    WORDCHARS""".split()
)
_RESERVED_PREFIXES = tuple("BASH COMP_ DBUS_ DYLD_ GPG_ HIST LC_ LD_ PROCESSOR_ SSH_ SUDO_ XDG_ ZSH".split())


def shell_variable(name: str, *, following: str = "") -> str:
    """Return the shell variable for a parameter name, such as `$PET_ID`.

    Braces are added if `following`, the text after the variable, could be read as part of it.
    """
    variable = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").upper()
    if variable in _RESERVED_NAMES or variable.startswith(_RESERVED_PREFIXES):
        variable = f"{variable}_VALUE"
    elif not variable or variable[0].isdigit():
        variable = f"VALUE_{variable}".rstrip("_")
    return f"${{{variable}}}" if re.match(r"[A-Za-z0-9_:\[]", following) else f"${variable}"
