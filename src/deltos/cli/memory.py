"""`deltos memory …`: add, search, show, edit, export, import and check observations."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from deltos.cli.command import (
    add_command_group,
    add_limit,
    add_query,
    add_verb,
    batch_queries,
    integer_range,
    open_app,
    print_json,
)
from deltos.cli.command_names import replace_tool_names_in_answer, replace_tool_names_in_note
from deltos.cli.terminal import escape_json
from deltos.data_folder import data_folder
from deltos.digest import sha256
from deltos.domains.memory.capture.hooks import project_root
from deltos.domains.memory.core.check import check
from deltos.domains.memory.core.memory import ObservationFilter, local_now
from deltos.domains.memory.core.model import (
    CAPTURED_KINDS,
    KINDS,
    Draft,
    ObservationOrigin,
    format_id,
    possible_ids,
    title_of,
)
from deltos.domains.memory.core.transfer import ImportReport, as_json, export, export_changes, import_lines
from deltos.domains.memory.importers.detect import import_path
from deltos.domains.memory.render import (
    checked_text,
    forget_summary,
    observations_answer,
    purged_text,
    remembered_text,
    set_aside_text,
    timeline_answer,
)
from deltos.domains.memory.tools import MAX_SESSION_ROWS
from deltos.errors import BadArgument, NotFound, SourceError
from deltos.federation.filters import parse_filters
from deltos.files import given_path
from deltos.hook_settings import ASK_FILE, OFF_FILE, off_file_content, off_projects
from deltos.model import NO_FILTERS
from deltos.open_stores import open_foreign_tables
from deltos.store.private_files import make_private_folder, write_private
from deltos.text.counts import counted
from deltos.text.dates import parse_moment
from deltos.text.times import day, iso, micros, parse_iso
from deltos.wording import SEMANTIC_MATCH_MARK
from deltos.workspace.identity import identify

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from deltos.app import App
    from deltos.cli.command import Run, Subparsers
    from deltos.domains.memory.core.memory import Memory, ObservationLookup, Timeline
    from deltos.domains.memory.search.search import MemoryHit, MemoryResults
    from deltos.model import Project
    from deltos.store.observations import Observation

MAX_RESULTS = 20
MAX_LISTED_OBSERVATIONS = 20
_SINCE_LAST_EXPORT = "last"
MAX_DAYS = 100_000  # about 274 years, so that times stay within SQLite's integer range
MAX_TOKENS = 25_000  # token budget of an answer; high, because terminal users can scroll


def add_commands(subparsers: Subparsers) -> None:
    """Add the `memory` command and all subcommands."""
    verbs = add_command_group(subparsers, "memory")
    _add_writing_verbs(verbs)
    _add_reading_verbs(verbs)
    _add_maintenance_verbs(verbs)


def _add_writing_verbs(verbs: Subparsers) -> None:
    add = _add_verb_with_project(verbs, "add", _add, "add an observation")
    add.add_argument("text", help="text of the observation; - reads standard input")
    add.add_argument(
        "--kind", default="", choices=(*KINDS, *CAPTURED_KINDS), help="kind; default: inferred from the text"
    )
    add.add_argument("--source", default="", help="origin of the observation")
    add.add_argument("--file", action="append", default=[], dest="files", help="related file; may be repeated")
    add.add_argument("--session-id", default=None, help="session of the observation; default: none")
    add.add_argument("--new-project", action="store_true", help="allow a project without memory in --project")
    for name, run, what in (
        ("restore", _restore, "restore forgotten or superseded observations"),
        ("pin", _pin, "show observations first when a session starts"),
        ("unpin", _unpin, "undo `pin`"),
    ):
        _add_verb_with_project(verbs, name, run, what).add_argument(
            "ids", nargs="+", metavar="ID", help="observation ids"
        )
    forget = _add_verb_with_project(verbs, "forget", _forget, "hide observations by id, or all that match the options")
    forget.add_argument("ids", nargs="*", metavar="ID", help="observation ids; default: selected by the options")
    forget.add_argument("--query", default="", help="only results of a search for this text")
    forget.add_argument("--session-id", default="", help="only observations from this session")
    forget.add_argument("--kind", default="", choices=("", *KINDS, *CAPTURED_KINDS), help="only this kind")
    forget.add_argument(
        "--since", default="", metavar="DATE", help="only observations created at or after this ISO date or time"
    )
    forget.add_argument(
        "--until", default="", metavar="DATE", help="only observations created before this ISO date or time"
    )
    forget.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    supersede = _add_verb_with_project(
        verbs, "supersede", _supersede, "replace an older observation with a newer one in answers"
    )
    supersede.add_argument("older", metavar="OLDER_ID", help="id of the observation to replace")
    supersede.add_argument("newer", metavar="NEWER_ID", help="id of the observation that replaces it")
    purge = _add_verb_with_project(verbs, "purge", _purge, "delete forgotten observations permanently", default="all")
    purge.add_argument(
        "--older-than-days",
        type=integer_range(0, MAX_DAYS),
        default=0,
        help="only observations forgotten at least this number of days ago",
    )


def _add_reading_verbs(verbs: Subparsers) -> None:
    search = _add_verb_with_project(verbs, "search", _search, "search observations")
    add_query(search)
    add_limit(search, maximum=MAX_RESULTS)
    search.add_argument("--kind", default="", metavar="LIST", help="only observations of these kinds; comma-separated")
    search.add_argument(
        "--since", default="", metavar="TIME", help="only since 2026-11-16, an ISO time or '2 weeks ago'"
    )
    search.add_argument("--until", default="", metavar="TIME", help="only until this time")
    search.add_argument("--tag", default="", help="only observations with this #tag")
    search.add_argument(
        "--batch", metavar="FILE", help='read {"id", "query"} JSON lines from FILE; - for standard input'
    )
    show = _add_verb_with_project(verbs, "show", _show, "show observations in full")
    show.add_argument("ids", nargs="+", metavar="ID", help="observation ids")
    timeline = _add_verb_with_project(
        verbs, "timeline", _timeline, "list observations before and after an observation or a time"
    )
    timeline.add_argument(
        "around", nargs="?", default="", help="id, day (today, yesterday, 2025-05-07) or ISO time; default: now"
    )
    timeline.add_argument("--session-id", default="", help="list all observations from this session")
    timeline.add_argument(
        "--before", type=integer_range(0, 50), default=5, help="number of earlier observations, 0 to 50; default: 5"
    )
    timeline.add_argument(
        "--after", type=integer_range(0, 50), default=5, help="number of later observations, 0 to 50; default: 5"
    )


def _add_maintenance_verbs(verbs: Subparsers) -> None:
    out = add_verb(verbs, "export", _export, "export all or changed observations as JSON Lines")
    out.add_argument("file", nargs="?", default="-", help="output file; default: standard output")
    out.add_argument(
        "--since",
        default="",
        metavar="DATE|ID|last",
        help="only observations created or changed since a date, since an observation, or since the last export with"
        " `--since last` to the same folder",
    )
    _add_verb_with_project(
        verbs, "import", _import, "import JSON Lines, or the data of other memory tools"
    ).add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="JSON Lines, database or export of claude-mem or mcp-memory-service, folder of basic-memory; - reads"
        " standard input",
    )
    add_verb(verbs, "stats", _stats, "show the number and size of observations")
    add_verb(verbs, "check", _check, "check the memory file and repair damage")
    _add_verb_with_project(verbs, "off", _off, "disable the memory hooks in a project")
    _add_verb_with_project(verbs, "on", _on, "enable the memory hooks in a project")
    ask = add_verb(verbs, "ask", _ask, "let hooks ask the agent, once per session, to remember what the next one needs")
    ask.add_argument("state", choices=("on", "off"), help="whether hooks ask; default: off")


def _add_verb_with_project(
    verbs: Subparsers, name: str, run: Run, summary: str, *, default: str = "this folder's"
) -> argparse.ArgumentParser:
    """Add a subcommand that has the option `--project`."""
    verb = add_verb(verbs, name, run, summary)
    verb.add_argument(
        "--project",
        "--project-id",
        dest="project_id",
        default="",
        metavar="NAME",
        help=f"name, folder or id of a project, 'personal' or 'all'; default: {default}",
    )
    return verb


def _add(args: argparse.Namespace) -> int:
    project = _current_project()
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if args.text == "-" else args.text
    with _open_memory() as memory:
        project_id = _named_project_id(args, memory, project) or project.project_id
        root = project.root if project_id == project.project_id else None
        origin = ObservationOrigin(project_id, root, args.session_id, "cli")
        done = memory.remember(Draft(text, args.kind, args.source, tuple(args.files)), origin)
    if args.json:
        print_json({"id": done.id, "merged": done.merged, "redacted": list(done.redacted)})
    else:
        print(remembered_text(done))
    return 0


def _search(args: argparse.Namespace) -> int:
    with _open_memory() as memory:
        project_id = _project_id(args, memory)
        given = {name: getattr(args, name) for name in ("kind", "since", "until", "tag")}
        filters = parse_filters(**given, now=memory.clock()) if any(given.values()) else NO_FILTERS
        ask = partial(memory.search, limit=args.limit, filters=filters)
        if args.batch:
            return _answer_batch(ask, args.batch, project_id)
        found = ask(args.query, project_id)
    _print_found(args.query, found, as_json_lines=args.json)
    return 0 if found.hits else 1


def _answer_batch(ask: Callable[[str, str], MemoryResults], source: str, project_id: str) -> int:
    for item in batch_queries(source):
        hits = ask(item.query, project_id).hits if item.query.strip() else ()
        print_json({"id": item.id, "results": [_result_json(hit, score) for hit, score in _with_scores(hits)]})
    return 0


def _print_found(query: str, found: MemoryResults, *, as_json_lines: bool) -> None:
    if as_json_lines:
        for hit, score in _with_scores(found.hits):
            print_json(_result_json(hit, score))
        return
    for hit, score in _with_scores(found.hits):
        print(
            f"{score:.2f}  {hit.observation.id}  {day(hit.observation.created_at)}  "
            f"{hit.observation.kind}: {hit.snippet}{f' {SEMANTIC_MATCH_MARK}' if hit.is_near else ''}"
        )
    if not found.hits:
        print(
            f"No observations found matching '{query}'. "
            f"Searched {found.searched}; {found.elsewhere} more in other projects."
        )


def _show(args: argparse.Namespace) -> int:
    with _open_memory() as memory:
        project = memory.with_stored_identity(_current_project())
        lookup = memory.look_up(args.ids, _project_id(args, memory))
        if not lookup.found:
            raise NotFound(f"No observation with id {', '.join(args.ids)}", hint="`deltos memory search` finds ids.")
        changed = memory.changed_places(lookup.found, {project.project_id: project.root})
    if args.json:
        for row in lookup.found:
            print_json({**as_json(row), "code_changed": row.place in changed})
    else:
        print(replace_tool_names_in_answer(observations_answer(lookup, changed, token_budget=MAX_TOKENS).text))
    return 0


def _timeline(args: argparse.Namespace) -> int:
    with _open_memory() as memory:
        project = memory.with_stored_identity(_current_project())
        middle, timeline = _timeline_rows(memory, args, _project_id(args, memory))
        rows = timeline.rows
        changed = memory.changed_places(rows, {project.project_id: project.root})
    if args.json:
        for row in rows:
            print_json({**as_json(row), "code_changed": row.place in changed})
    elif rows:
        print(
            replace_tool_names_in_answer(
                timeline_answer(timeline, changed, middle=middle, token_budget=MAX_TOKENS).text
            )
        )
    else:
        print("There are no observations in this part of the timeline.")
    return 0 if rows else 1


def _timeline_rows(memory: Memory, args: argparse.Namespace, project_id: str) -> tuple[int | None, Timeline]:
    """Return the row number of the requested observation, or None, and the timeline around the observation."""
    before, after = args.before, args.after
    if args.session_id:
        return None, memory.session_timeline(args.session_id, limit=MAX_SESSION_ROWS)
    moment = parse_moment(args.around, local_now()) if args.around else micros(local_now())
    if moment is not None:
        return None, memory.timeline_at_time(moment, project_id, before=before, after=after)
    lookup = memory.look_up([args.around], project_id)
    if not lookup.found:
        hint = "Give an id, a day such as today, or a time such as 2025-05-07T14:00."
        raise NotFound(f"No observation with id {args.around}", hint=hint)
    return lookup.found[0].place, memory.timeline_around(lookup.found[0], before=before, after=after)


def _forget(args: argparse.Namespace) -> int:
    if args.ids:
        return _forget_ids(args, restore=False)
    selection = ObservationFilter(
        args.query,
        args.session_id,
        args.kind,
        _parse_moment(args.since, "--since"),
        _parse_moment(args.until, "--until"),
    )
    with _open_memory() as memory:
        project_id = _project_id(args, memory)
        rows = memory.select(selection, project_id)
        if not rows:
            raise NotFound(
                "No observation matches", hint="`deltos memory search` and `deltos memory timeline` list observations."
            )
        if not (args.yes or _confirm_forgetting(rows)):
            print("Nothing was forgotten. Use --yes to forget without confirmation.", file=sys.stderr)
            return 1
        lookup = memory.forget([row.id for row in rows], project_id=project_id)
    _print_result(args, _ids_json(lookup), replace_tool_names_in_note(forget_summary(lookup, restored=False)))
    return 0


def _parse_moment(text: str, option: str) -> int | None:
    if not text:
        return None
    if (moment := parse_iso(text)) is None:
        raise BadArgument(f"{option} is not an ISO date: {text[:40]}", hint="Give 2025-05-07 or 2025-05-07T14:00.")
    return moment


def _confirm_forgetting(rows: Sequence[Observation]) -> bool:
    """List the observations to forget and return whether the user agrees."""
    for row in rows[:MAX_LISTED_OBSERVATIONS]:
        print(
            f"{format_id(row.id)} {day(row.created_at)} {row.kind}: {title_of(row.text, characters=90)}",
            file=sys.stderr,
        )
    if len(rows) > MAX_LISTED_OBSERVATIONS:
        print(f"… and {len(rows) - MAX_LISTED_OBSERVATIONS} more", file=sys.stderr)
    print(f"Forget {counted(len(rows), 'observation')}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _restore(args: argparse.Namespace) -> int:
    return _forget_ids(args, restore=True)


def _forget_ids(args: argparse.Namespace, *, restore: bool) -> int:
    with _open_memory() as memory:
        lookup = _require_found(args, memory.forget(args.ids, restore=restore, project_id=_project_id(args, memory)))
    _print_result(args, _ids_json(lookup), replace_tool_names_in_note(forget_summary(lookup, restored=restore)))
    return 0


def _pin(args: argparse.Namespace) -> int:
    return _pin_ids(args, unpin=False)


def _unpin(args: argparse.Namespace) -> int:
    return _pin_ids(args, unpin=True)


def _pin_ids(args: argparse.Namespace, *, unpin: bool) -> int:
    with _open_memory() as memory:
        project_id = _project_id(args, memory)
        if unpin:
            lookup = _require_found(args, memory.pin(args.ids, unpin=True, project_id=project_id))
        else:
            lookup = _require_found(args, memory.pin_visible(args.ids, project_id=project_id))
    done = ", ".join(format_id(row.id) for row in lookup.found)
    unknown = f". Unknown: {', '.join(lookup.unknown)}" if lookup.unknown else ""
    _print_result(args, _ids_json(lookup), f"{'Unpinned' if unpin else 'Pinned'} {done}{unknown}")
    return 0


def _require_found(args: argparse.Namespace, lookup: ObservationLookup) -> ObservationLookup:
    """Return the observations in `lookup`. Raise NotFound if none of the given ids exists."""
    if not lookup.found:
        raise NotFound(f"No observation with id {', '.join(args.ids)}", hint="`deltos memory search` finds ids.")
    return lookup


def _ids_json(lookup: ObservationLookup) -> dict[str, Any]:
    return {"ids": [row.id for row in lookup.found], "unknown": list(lookup.unknown)}


def _project_id(args: argparse.Namespace, memory: Memory) -> str:
    """Return the id of the named project, or of the project in the current folder."""
    return (
        memory.expect_project(args.project_id)
        if args.project_id
        else memory.with_stored_identity(_current_project()).project_id
    )


def _named_project_id(args: argparse.Namespace, memory: Memory, here: Project) -> str:
    """Return the id of the project given with `--project`, or an empty string for the current project.

    A project that has no memory yet is accepted only with `--new-project`.
    """
    if not args.project_id or args.project_id == here.project_id:
        return ""
    if args.new_project:
        return memory.find_project(args.project_id) or str(args.project_id)
    return memory.expect_project(args.project_id, create="--new-project")


def _supersede(args: argparse.Namespace) -> int:
    with _open_memory() as memory:
        project_id = _project_id(args, memory)
        older, newer = memory.supersede(args.older, args.newer, project_id=project_id)
    text = f"{format_id(newer.id)} supersedes {format_id(older.id)}, which stays in the timeline"
    _print_result(args, {"older": older.id, "newer": newer.id}, text)
    return 0


def _off(args: argparse.Namespace) -> int:
    return _switch_memory(args, off=True)


def _on(args: argparse.Namespace) -> int:
    return _switch_memory(args, off=False)


def _switch_memory(args: argparse.Namespace, *, off: bool) -> int:
    home = data_folder(os.environ)
    project = _project_to_switch(args.project_id)
    make_private_folder(home)
    write_private(home / OFF_FILE, off_file_content(off_projects(home), [*project.ids, *project.folders], off=off))
    text = (
        "Hooks no longer record or show anything in this project. Existing observations are kept."
        if off
        else "Hooks record and show observations again."
    )
    text = f"Memory is {'off' if off else 'on'} for {project.name}. {text}"
    _print_result(args, {"projects": list(project.ids), "off": off}, text)
    return 0


def _ask(args: argparse.Namespace) -> int:
    home = data_folder(os.environ)
    make_private_folder(home)
    if args.state == "on":
        write_private(home / ASK_FILE, "")
    else:
        (home / ASK_FILE).unlink(missing_ok=True)
    text = (
        "Hooks ask the agent once per session to remember what the next session needs."
        if args.state == "on"
        else "Hooks no longer ask the agent to remember."
    )
    _print_result(args, {"ask": args.state == "on"}, text)
    return 0


class _SwitchedProject(NamedTuple):
    """A project whose memory is switched off or on, with the ids and folders by which hooks may identify it."""

    name: str
    ids: tuple[str, ...]
    folders: tuple[str, ...]


def _project_to_switch(word: str) -> _SwitchedProject:
    """Return the project in the given folder or the current folder, or the project with the given name."""
    folder = given_path(word) if word else Path.cwd()
    if word and not folder.is_dir():
        with _open_memory() as memory:
            project_id = memory.expect_project(word)
            folders = (row.root for row in memory.store.projects() if row.project_id == project_id and row.root)
            return _SwitchedProject(memory.project_names().get(project_id, word), (project_id,), tuple(folders))
    # Hooks do not run git, so they may identify the project by a different id.
    root = project_root(folder.resolve())
    found = [identify(each, may_start_git=git).project_id for each in (root, folder) for git in (True, False)]
    return _SwitchedProject(root.name, tuple(dict.fromkeys(found)), (str(root),))


def _purge(args: argparse.Namespace) -> int:
    with _open_app_with_warnings() as app:
        memory = app.domains.memory
        project_id = memory.expect_project(args.project_id) if args.project_id else ""
        purged = memory.purge(older_than_days=args.older_than_days, project_id=project_id)
        if purged.removed and app.calls is not None and not app.calls.forget_arguments():
            purged = purged._replace(is_traceless=False)
    data = {"purged": purged.removed, "is_traceless": purged.is_traceless, "copies": list(purged.copies)}
    _print_result(args, data, purged_text(purged))
    return 0


def _export(args: argparse.Namespace) -> int:
    with _open_memory() as memory:
        upto = memory.store.last_change_number()
        lines = _lines_to_export(memory, args)
        if args.file == "-":
            for line in lines:
                print(escape_json(line))
            count = -1
        else:
            count = _write_lines(Path(args.file), lines, keeps_empty=not args.since)
        if args.since == _SINCE_LAST_EXPORT:
            with memory.store.writing() as writer:
                writer.record_exported(_export_target(args.file), upto)
    if count >= 0:
        text = (
            f"Wrote {counted(count, 'line')} to {args.file}."
            if count or not args.since
            else "Nothing has changed since then."
        )
        _print_result(args, {"lines": count, "file": args.file}, text)
    return 0


def _lines_to_export(memory: Memory, args: argparse.Namespace) -> Iterator[str]:
    """Return the lines to export: all, or only changes since the date, observation or export given by `--since`."""
    if not args.since:
        return export(memory)
    if args.since == _SINCE_LAST_EXPORT:
        return export_changes(memory, after=memory.store.last_exported_change(_export_target(args.file)))
    if (moment := parse_iso(args.since)) is not None:
        return export_changes(memory, since=moment)
    rows = memory.store.by_ids(possible_ids(args.since))
    if not rows:
        raise BadArgument(
            f"--since is neither a date nor an id: {args.since[:40]}", hint="Give 2025-05-07, an id, or last."
        )
    return export_changes(memory, after=max(memory.store.change_number(row.place) for row in rows))


def _export_target(file: str) -> bytes:
    """Return a digest of the export folder's path, which identifies the export."""
    folder = "-" if file == "-" else str(Path(file).absolute().parent)
    return sha256(os.fsencode(folder)).digest()[:16]


def _write_lines(target: Path, lines: Iterator[str], *, keeps_empty: bool) -> int:
    """Write lines atomically and return their number. An empty file is written only if `keeps_empty` is true."""
    whole = (
        target.with_name(f".{target.name}.part-{os.getpid()}") if target.is_file() or not target.exists() else target
    )
    try:
        whole.touch(mode=0o600)
        with whole.open("w", encoding="utf-8") as out:
            count = sum(out.write(line + "\n") > 0 for line in lines)
        if whole != target:
            if count or keeps_empty:
                whole.replace(target)
            else:
                whole.unlink()
    except OSError as exc:
        if whole != target:
            whole.unlink(missing_ok=True)
        raise SourceError(f"Cannot write {target} ({exc.strerror})", hint="Give a path in a writable folder.") from exc
    return count


def _import(args: argparse.Namespace) -> int:
    done = ImportReport()
    with _open_memory() as memory:
        named = args.project_id and (memory.find_project(args.project_id) or args.project_id)
        project_id = named or _current_project().project_id
        for file in args.files:
            if file == "-":
                import_lines(memory, _read_lines(file), project_id=project_id, report=done)
                continue
            import_path(
                memory,
                given_path(file),
                lines=_read_lines(file),
                project_id=project_id,
                overrides_project=bool(args.project_id),
                open_tables=open_foreign_tables,
                report=done,
            )
    counts = {
        "added": done.added,
        "updated": done.updated,
        "unchanged": done.unchanged,
        **({"purged": done.purged} if done.purged else {}),
        "failed": done.failed,
    }
    _print_result(
        args, {**counts, "problems": done.problems}, ", ".join(f"{count} {name}" for name, count in counts.items())
    )
    if not args.json:
        for problem in done.problems:
            print(problem, file=sys.stderr)
    if not (done.added or done.updated or done.unchanged or done.purged):
        what = "notes" if all(given_path(file).is_dir() for file in args.files) else "lines"
        raise SourceError(
            f"Nothing was imported from {', '.join(args.files)}: {done.failed} {what} could not be read",
            hint='Give JSON Lines with a "text" in each object, or a supported format: see docs/memory.md.',
        )
    return 0


def _stats(args: argparse.Namespace) -> int:
    with _open_memory() as memory:
        counts = memory.store.counts()
        size_bytes = memory.store.size_bytes
    facts = {
        "observations": counts.observations,
        "forgotten": counts.deleted,
        "sessions": counts.sessions,
        "projects": counts.projects,
        "text_characters": counts.text_characters,
        "file_bytes": size_bytes,
    }
    _print_result(args, facts, "\n".join(f"{name.replace('_', ' ')}: {value:,}" for name, value in facts.items()))
    return 0


def _check(args: argparse.Namespace) -> int:
    with open_app() as app:
        done = check(app.domains.memory)
    facts = {
        "observations": done.observations,
        "problems": list(done.problems),
        "repaired": done.is_repaired,
        "saved": done.recovered_count,
        "set_aside": [copy.name for copy in done.set_aside],
        "unreadable": [copy.name for copy in done.unreadable_files],
    }
    _print_result(args, facts, checked_text(done))
    return 1 if done.unreadable_files else 0


def _with_scores(hits: Sequence[MemoryHit]) -> list[tuple[MemoryHit, float]]:
    """Return each hit with its confidence, lowered if necessary to at most the score of the previous hit.

    The ranking also considers neighbours and kinds, so a later hit can have a higher confidence.
    """
    return list(zip(hits, accumulate((hit.confidence for hit in hits), min), strict=True))


def _result_json(hit: MemoryHit, score: float) -> dict[str, Any]:
    row = hit.observation
    return {
        "id": row.id,
        "score": score,
        "snippet": hit.snippet,
        "source": row.source,
        "created_at": iso(row.created_at),
        **({"near_in_meaning": True} if hit.is_near else {}),
    }


def _print_result(args: argparse.Namespace, facts: dict[str, Any], text: str) -> None:
    if args.json:
        print_json(facts)
    else:
        print(text)


def _read_lines(file: str) -> Iterator[str]:
    """Yield the lines of a file, or of standard input for `-`, replacing invalid UTF-8."""
    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as stream:
            for line in stream:
                yield line.decode("utf-8", "replace")
    except OSError as exc:
        raise SourceError(f"Cannot read {file} ({exc.strerror})", hint="Give the path of a readable file.") from exc


def _current_project() -> Project:
    return identify(Path.cwd())


@contextmanager
def _open_app_with_warnings() -> Iterator[App]:
    with open_app() as app:
        if aside := app.domains.memory.store.damaged_file:
            print(set_aside_text(aside), file=sys.stderr)
        yield app


@contextmanager
def _open_memory() -> Iterator[Memory]:
    with _open_app_with_warnings() as app:
        yield app.domains.memory
