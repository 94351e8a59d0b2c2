"""`deltos memory …`: add, search, show, timeline, forget, restore, pin, unpin, supersede, purge, export, import, mine,
stats, check, off, on."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from deltos.cli.command import (
    add_group,
    add_limit,
    add_query,
    add_verb,
    batch_queries,
    number_in,
    opened_app,
    print_json,
)
from deltos.cli.progress_bar import ProgressBar
from deltos.cli.terminal import harmless_json
from deltos.cli.wording import name_commands_in_note, name_commands_in_notes
from deltos.data_folder import data_folder
from deltos.digest import sha256
from deltos.domains.memory.capture import project_root
from deltos.domains.memory.check import check
from deltos.domains.memory.imports import import_path
from deltos.domains.memory.memory import Choice, local_now
from deltos.domains.memory.mine import AGENTS, Miner, find_transcripts, known_places, mined_json
from deltos.domains.memory.model import (
    CAPTURED_KINDS,
    KINDS,
    Draft,
    ObservationOrigin,
    possible_ids,
    shown_id,
    title_of,
)
from deltos.domains.memory.render import (
    checked_text,
    forgotten_text,
    mined_text,
    observations_answer,
    purged_text,
    remembered_text,
    set_aside_text,
    timeline_answer,
)
from deltos.domains.memory.transfer import Imported, as_json, export, export_changes, import_lines
from deltos.errors import BadArgument, NotFound, SourceError
from deltos.federation.filters import parse_filters
from deltos.files import given_path
from deltos.hook_settings import OFF_FILE, HookSettings, off_projects, switched
from deltos.model import BEHIND_NOTE, NEAR_MARK, NO_FILTERS
from deltos.open_stores import open_foreign_tables
from deltos.store.private import make_private_folder, write_private
from deltos.text.counts import counted
from deltos.text.dates import spoken_moment
from deltos.text.times import day, iso, micros, parse_iso
from deltos.workspace.identity import identify

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from deltos.app import App
    from deltos.cli.command import Run, Subparsers
    from deltos.domains.memory.memory import Memory, ObservationLookup
    from deltos.domains.memory.search import MemoryHit, MemoryResults
    from deltos.model import Project
    from deltos.store.observations import Observation

_MOST_RESULTS = 20
_SHOWN_BEFORE_FORGETTING = 20
_SINCE_LAST = "last"
_MOST_DAYS = 100_000  # 274 years; SQLite's integers end at some point
_SHOWN_TOKENS = 25_000  # for people, who scroll: the hard limit of an answer


def add_commands(subparsers: Subparsers) -> None:
    """Put `memory` and its verbs under the `deltos` command."""
    verbs = add_group(subparsers, "memory", "what was learned, kept between sessions")
    _add_writing_verbs(verbs)
    _add_reading_verbs(verbs)
    _add_keeping_verbs(verbs)


def _add_writing_verbs(verbs: Subparsers) -> None:
    add = _verb(verbs, "add", _add, "remember something")
    add.add_argument("text", help="what to keep; - reads standard input")
    add.add_argument("--kind", default="", choices=(*KINDS, *CAPTURED_KINDS), help="judged by the text if left out")
    add.add_argument("--source", default="", help="where it comes from")
    add.add_argument("--file", action="append", default=[], dest="files", help="a file it is about; may be repeated")
    add.add_argument("--session-id", default=None)
    add.add_argument("--new-project", action="store_true", help="let --project name one that memory does not know yet")
    for name, run, what in (
        ("restore", _restore, "bring forgotten or superseded observations back"),
        ("pin", _pin, "show observations first when a session starts"),
        ("unpin", _unpin, "show observations like any other"),
    ):
        _verb(verbs, name, run, what).add_argument("ids", nargs="+", metavar="ID")
    forget = _verb(verbs, "forget", _forget, "hide observations: by id, or all that the options pick")
    forget.add_argument("ids", nargs="*", metavar="ID")
    forget.add_argument("--query", default="", help="what a search for this finds")
    forget.add_argument("--session-id", default="", help="what was kept in this session")
    forget.add_argument("--kind", default="", choices=("", *KINDS, *CAPTURED_KINDS))
    forget.add_argument("--since", default="", metavar="DATE", help="kept on or after this ISO date or time")
    forget.add_argument("--until", default="", metavar="DATE", help="kept before this ISO date or time")
    forget.add_argument("--yes", action="store_true", help="do not ask")
    supersede = _verb(verbs, "supersede", _supersede, "have a newer observation answer in an older one's place")
    supersede.add_argument("older", metavar="OLDER_ID")
    supersede.add_argument("newer", metavar="NEWER_ID")
    purge = _verb(verbs, "purge", _purge, "remove forgotten observations for good", default="all")
    purge.add_argument(
        "--older-than-days",
        type=number_in(0, _MOST_DAYS),
        default=0,
        help="only those forgotten at least that long ago",
    )


def _add_reading_verbs(verbs: Subparsers) -> None:
    search = _verb(verbs, "search", _search, "find observations that answer a question")
    add_query(search)
    add_limit(search, most=_MOST_RESULTS)
    search.add_argument("--kind", default="", metavar="LIST", help="only observations of these kinds; comma-separated")
    search.add_argument("--since", default="", metavar="TIME", help="2026-11-16, a moment, or '2 weeks ago'")
    search.add_argument("--until", default="", metavar="TIME", help="likewise")
    search.add_argument("--tag", default="", help="only observations with this #tag")
    search.add_argument(
        "--batch", metavar="FILE", help='read {"id", "query"} lines from FILE, or from standard input with -'
    )
    _verb(verbs, "show", _show, "show observations in full").add_argument("ids", nargs="+", metavar="ID")
    timeline = _verb(verbs, "timeline", _timeline, "show what came before and after")
    timeline.add_argument(
        "around", nargs="?", default="", help="an id, a day (today, yesterday, 2025-05-07) or an ISO time; default: now"
    )
    timeline.add_argument("--session-id", default="")
    timeline.add_argument("--before", type=number_in(0, 50), default=5)
    timeline.add_argument("--after", type=number_in(0, 50), default=5)


def _add_keeping_verbs(verbs: Subparsers) -> None:
    out = add_verb(verbs, "export", _export, "print everything, or what changed, as JSON Lines")
    out.add_argument("file", nargs="?", default="-", help="where to write; default: standard output")
    out.add_argument(
        "--since",
        default="",
        metavar="DATE|ID|last",
        help="only what was kept, changed or marked since a date, after an observation, or after the last export"
        " with `--since last` into the same folder",
    )
    _verb(verbs, "import", _import, "take in JSON Lines, or what another memory kept").add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="JSON Lines, claude-mem's database or export, server-memory's file, mem0's export, basic-memory's folder;"
        " - reads standard input",
    )
    mine = add_verb(verbs, "mine", _mine, "take in sessions of agents that are already on disk")
    mine.add_argument(
        "paths", nargs="*", metavar="PATH", help="session files or folders; default: where agents keep them"
    )
    mine.add_argument("--agent", action="append", choices=AGENTS, help="only sessions of this agent; may be repeated")
    mine.add_argument(
        "--since", default="", metavar="DATE", help="only what happened on or after this ISO date or time"
    )
    mine.add_argument("--dry-run", action="store_true", help="say what would be kept, keep nothing")
    add_verb(verbs, "stats", _stats, "say how much is kept")
    add_verb(verbs, "check", _check, "verify the file and repair what can be repaired")
    _verb(verbs, "off", _off, "keep and tell nothing by hooks in this project")
    _verb(verbs, "on", _on, "undo `off`")


def _verb(
    verbs: Subparsers, name: str, run: Run, what: str, *, default: str = "this folder's"
) -> argparse.ArgumentParser:
    """A verb that is about a project."""
    verb = add_verb(verbs, name, run, what)
    verb.add_argument(
        "--project",
        "--project-id",
        dest="project_id",
        default="",
        metavar="NAME",
        help=f"project to use, by name, folder or id; default: {default}; 'personal', 'all'",
    )
    return verb


def _add(args: argparse.Namespace) -> int:
    project = _project()
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if args.text == "-" else args.text
    with _memory() as memory:
        project_id = _named_project(args, memory, project) or project.project_id
        root = project.root if project_id == project.project_id else None
        origin = ObservationOrigin(project_id, root, args.session_id, "cli")
        done = memory.remember(Draft(text, args.kind, args.source, tuple(args.files)), origin)
    if args.json:
        print_json({"id": done.id, "merged": done.merged, "redacted": list(done.redacted)})
    else:
        print(remembered_text(done))
    return 0


def _search(args: argparse.Namespace) -> int:
    with _memory() as memory:
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
        print_json({"id": item.id, "results": [_result(hit, score) for hit, score in _scored(hits)]})
    return 0


def _print_found(query: str, found: MemoryResults, *, as_json_lines: bool) -> None:
    if as_json_lines:
        for hit, score in _scored(found.hits):
            print_json(_result(hit, score))
        return
    for hit, score in _scored(found.hits):
        print(
            f"{score:.2f}  {hit.observation.id}  {day(hit.observation.created_at)}  "
            f"{hit.observation.kind}: {hit.snippet}{f' {NEAR_MARK}' if hit.is_near else ''}"
        )
    if found.is_behind:
        print(BEHIND_NOTE.format("observations"))
    if not found.hits:
        print(
            f"No observations found matching '{query}'. "
            f"Searched {found.searched}; {found.elsewhere} more in other projects."
        )


def _show(args: argparse.Namespace) -> int:
    with _memory() as memory:
        project = memory.as_known(_project())
        lookup = memory.look_up(args.ids, _project_id(args, memory))
        if not lookup.found:
            raise NotFound(f"No observation with id {', '.join(args.ids)}", hint="`deltos memory search` finds ids.")
        changed = memory.changed_places(lookup.found, {project.project_id: project.root})
    if args.json:
        for row in lookup.found:
            print_json({**as_json(row), "code_changed": row.place in changed})
    else:
        print(name_commands_in_notes(observations_answer(lookup, changed, token_budget=_SHOWN_TOKENS).text))
    return 0


def _timeline(args: argparse.Namespace) -> int:
    with _memory() as memory:
        project = memory.as_known(_project())
        middle, rows = _timeline_rows(memory, args, _project_id(args, memory))
        changed = memory.changed_places(rows, {project.project_id: project.root})
    if args.json:
        for row in rows:
            print_json({**as_json(row), "code_changed": row.place in changed})
    elif rows:
        print(name_commands_in_notes(timeline_answer(rows, changed, middle=middle, token_budget=_SHOWN_TOKENS).text))
    else:
        print("No observations there.")
    return 0 if rows else 1


def _timeline_rows(
    memory: Memory, args: argparse.Namespace, project_id: str
) -> tuple[int | None, Sequence[Observation]]:
    before, after = args.before, args.after
    if args.session_id:
        return None, memory.store.in_session(args.session_id, limit=200)
    moment = spoken_moment(args.around, local_now()) if args.around else micros(local_now())
    if moment is not None:
        return None, memory.around_time(moment, project_id, before=before, after=after)
    lookup = memory.look_up([args.around], project_id)
    if not lookup.found:
        hint = "Give an id, a day such as today, or a time such as 2025-05-07T14:00."
        raise NotFound(f"No observation with id {args.around}", hint=hint)
    return lookup.found[0].place, memory.around(lookup.found[0], before=before, after=after)


def _forget(args: argparse.Namespace) -> int:
    if args.ids:
        return _hide(args, restore=False)
    choice = Choice(
        args.query, args.session_id, args.kind, _moment(args.since, "--since"), _moment(args.until, "--until")
    )
    with _memory() as memory:
        project_id = _project_id(args, memory)
        rows = memory.chosen(choice, project_id)
        if not rows:
            raise NotFound(
                "No observation is like that", hint="`deltos memory search` and `timeline` show what there is."
            )
        if not (args.yes or _agreed(rows)):
            print("Nothing was forgotten. `--yes` forgets without asking.", file=sys.stderr)
            return 1
        lookup = memory.forget([row.id for row in rows], project_id=project_id)
    _report(args, _facts(lookup), name_commands_in_note(forgotten_text(lookup, restored=False)))
    return 0


def _moment(text: str, option: str) -> int | None:
    if not text:
        return None
    if (moment := parse_iso(text)) is None:
        raise BadArgument(f"{option} is no ISO date: {text[:40]}", hint="Give 2025-05-07, or 2025-05-07T14:00.")
    return moment


def _agreed(rows: Sequence[Observation]) -> bool:
    """Whether the user, who is shown what is meant, says yes."""
    for row in rows[:_SHOWN_BEFORE_FORGETTING]:
        print(
            f"{shown_id(row.id)} {day(row.created_at)} {row.kind}: {title_of(row.text, characters=90)}", file=sys.stderr
        )
    if len(rows) > _SHOWN_BEFORE_FORGETTING:
        print(f"… and {len(rows) - _SHOWN_BEFORE_FORGETTING} more", file=sys.stderr)
    print(f"Forget {counted(len(rows), 'observation')}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _restore(args: argparse.Namespace) -> int:
    return _hide(args, restore=True)


def _hide(args: argparse.Namespace, *, restore: bool) -> int:
    with _memory() as memory:
        lookup = _known(args, memory.forget(args.ids, restore=restore, project_id=_project_id(args, memory)))
    _report(args, _facts(lookup), name_commands_in_note(forgotten_text(lookup, restored=restore)))
    return 0


def _pin(args: argparse.Namespace) -> int:
    return _mark(args, unpin=False)


def _unpin(args: argparse.Namespace) -> int:
    return _mark(args, unpin=True)


def _mark(args: argparse.Namespace, *, unpin: bool) -> int:
    with _memory() as memory:
        project_id = _project_id(args, memory)
        if unpin:
            lookup = _known(args, memory.pin(args.ids, unpin=True, project_id=project_id))
        else:
            lookup = _known(args, memory.pin_shown(args.ids, project_id=project_id))
    done = ", ".join(shown_id(row.id) for row in lookup.found)
    unknown = f". Unknown: {', '.join(lookup.unknown)}" if lookup.unknown else ""
    _report(args, _facts(lookup), f"{'Unpinned' if unpin else 'Pinned'} {done}{unknown}")
    return 0


def _known(args: argparse.Namespace, lookup: ObservationLookup) -> ObservationLookup:
    """What was found by the ids given, where that is anything."""
    if not lookup.found:
        raise NotFound(f"No observation with id {', '.join(args.ids)}", hint="`deltos memory search` finds ids.")
    return lookup


def _facts(lookup: ObservationLookup) -> dict[str, Any]:
    return {"ids": [row.id for row in lookup.found], "unknown": list(lookup.unknown)}


def _project_id(args: argparse.Namespace, memory: Memory) -> str:
    """The project that was named, or the one of this folder."""
    return memory.expect_project(args.project_id) if args.project_id else memory.as_known(_project()).project_id


def _named_project(args: argparse.Namespace, memory: Memory, here: Project) -> str:
    """The project to write to, where one was named; only `--new-project` names one that memory does not know."""
    if not args.project_id or args.project_id == here.project_id:
        return ""
    if args.new_project:
        return memory.find_project(args.project_id) or str(args.project_id)
    return memory.expect_project(args.project_id, create="--new-project")


def _supersede(args: argparse.Namespace) -> int:
    with _memory() as memory:
        project_id = _project_id(args, memory)
        older, newer = memory.supersede(args.older, args.newer, project_id=project_id)
    text = f"{shown_id(newer.id)} answers in the place of {shown_id(older.id)}, which stays in the timeline"
    _report(args, {"older": older.id, "newer": newer.id}, text)
    return 0


def _off(args: argparse.Namespace) -> int:
    return _switch(args, off=True)


def _on(args: argparse.Namespace) -> int:
    return _switch(args, off=False)


def _switch(args: argparse.Namespace, *, off: bool) -> int:
    home = data_folder(os.environ)
    meant = _switched_project(args.project_id)
    make_private_folder(home)
    write_private(home / OFF_FILE, switched(off_projects(home), [*meant.ids, *meant.folders], off=off))
    text = "Hooks keep and tell nothing there; what was kept stays." if off else "Hooks keep and tell again."
    said = f"Memory is {'off' if off else 'on'} for {meant.name}. {text}"
    _report(args, {"projects": list(meant.ids), "off": off}, said)
    return 0


class _SwitchedProject(NamedTuple):
    """A project that memory is switched off or on for: what people call it, and what hooks may know it by."""

    name: str
    ids: tuple[str, ...]
    folders: tuple[str, ...]


def _switched_project(word: str) -> _SwitchedProject:
    """The project in the folder that was named, or here; else the one that memory knows by that word."""
    folder = given_path(word) if word else Path.cwd()
    if word and not folder.is_dir():
        with _memory() as memory:
            project_id = memory.expect_project(word)
            folders = (row.root for row in memory.store.projects() if row.project_id == project_id and row.root)
            return _SwitchedProject(memory.project_names().get(project_id, word), (project_id,), tuple(folders))
    # Hooks, which start no git, may know the project by another identity.
    root = project_root(folder.resolve())
    found = [identify(each, may_start_git=git).project_id for each in (root, folder) for git in (True, False)]
    return _SwitchedProject(root.name, tuple(dict.fromkeys(found)), (str(root),))


def _purge(args: argparse.Namespace) -> int:
    with _opened() as app:
        memory = app.domains.memory
        project_id = memory.expect_project(args.project_id) if args.project_id else ""
        purged = memory.purge(older_than_days=args.older_than_days, project_id=project_id)
        if purged.removed and app.calls is not None and not app.calls.forget_arguments():
            purged = purged._replace(is_traceless=False)
    data = {"purged": purged.removed, "is_traceless": purged.is_traceless, "copies": list(purged.copies)}
    _report(args, data, purged_text(purged))
    return 0


def _export(args: argparse.Namespace) -> int:
    with _memory() as memory:
        upto = memory.store.last_change()
        lines = _exported_lines(memory, args)
        if args.file == "-":
            for line in lines:
                print(harmless_json(line))
            count = -1
        else:
            count = _write_lines(Path(args.file), lines, keeps_empty=not args.since)
        if args.since == _SINCE_LAST:
            with memory.store.writing() as writer:
                writer.note_exported(_export_target(args.file), upto)
    if count >= 0:
        said = (
            f"Wrote {counted(count, 'line')} to {args.file}." if count or not args.since else "Nothing changed since."
        )
        _report(args, {"lines": count, "file": args.file}, said)
    return 0


def _exported_lines(memory: Memory, args: argparse.Namespace) -> Iterator[str]:
    """What `--since` asks for: a date, an observation, `last`, or everything."""
    if not args.since:
        return export(memory)
    if args.since == _SINCE_LAST:
        return export_changes(memory, after=memory.store.exported(_export_target(args.file)))
    if (moment := parse_iso(args.since)) is not None:
        return export_changes(memory, since=moment)
    with memory.store.writing() as writer:  # also what was forgotten
        rows = [row for one in possible_ids(args.since) for row in writer.with_id(one)]
    if not rows:
        raise BadArgument(
            f"--since is neither a date nor an id: {args.since[:40]}", hint="Give 2025-05-07, an observation, or last."
        )
    return export_changes(memory, after=max(memory.store.change_of(row.place) for row in rows))


def _export_target(file: str) -> bytes:
    """What the last export is remembered by: the folder that it went to."""
    folder = "-" if file == "-" else str(Path(file).absolute().parent)
    return sha256(os.fsencode(folder)).digest()[:16]


def _write_lines(target: Path, lines: Iterator[str], *, keeps_empty: bool) -> int:
    """Write lines, of which nobody sees half; how many. Without any, a file only where one was asked for anyway."""
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
        raise SourceError(f"Cannot write {target} ({exc.strerror})", hint="Give a path in a folder of yours.") from exc
    return count


def _import(args: argparse.Namespace) -> int:
    done = Imported()
    with _memory() as memory:
        named = args.project_id and (memory.find_project(args.project_id) or args.project_id)
        project_id = named or _project().project_id
        for file in args.files:
            if file == "-":
                import_lines(memory, _lines(file), project_id=project_id, report=done)
                continue
            import_path(
                memory,
                given_path(file),
                lines=_lines(file),
                project_id=project_id,
                puts_all_there=bool(args.project_id),
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
    _report(args, {**counts, "problems": done.problems}, ", ".join(f"{count} {name}" for name, count in counts.items()))
    if not args.json:
        for problem in done.problems:
            print(problem, file=sys.stderr)
    if not (done.added or done.updated or done.unchanged or done.purged):
        what = "notes" if all(given_path(file).is_dir() for file in args.files) else "lines"
        raise SourceError(
            f"Nothing was taken in from {', '.join(args.files)}: {done.failed} {what} could not be read",
            hint='Give JSON Lines, one object with "text" a line, or what another memory keeps: see docs/memory.md.',
        )
    return 0


def _mine(args: argparse.Namespace) -> int:
    since = _moment(args.since, "--since") or 0
    agents = tuple(args.agent or AGENTS)
    bar = ProgressBar()
    with _memory() as memory:
        miner = Miner(
            memory,
            identify=lambda root: identify(root).project_id,
            settings=HookSettings.from_environment(os.environ),
            since=since,
            agents=agents,
            dry_run=args.dry_run,
            open_tables=open_foreign_tables,
        )
        places = [given_path(path) for path in args.paths] or _places_of_agents(agents)
        looked = {place: find_transcripts(place, miner.report) for place in places}
        found = {one.name: one for some in looked.values() for one in some}  # places may lie in each other
        try:
            miner.mine(list(found.values()), bar)
        finally:
            bar.clear()
    seen = {str(place): len(files) for place, files in looked.items()}
    _report(args, {"places": seen, **mined_json(miner.report)}, mined_text(miner.report, seen, dry_run=args.dry_run))
    if not args.json:
        for problem in miner.report.problems:
            print(problem, file=sys.stderr)
    if not (miner.report.sessions or miner.report.unchanged):
        raise SourceError(
            f"No session was found in {', '.join(seen)}", hint=f"Give a session file or folder of {', '.join(agents)}."
        )
    return 0


def _places_of_agents(agents: Sequence[str]) -> list[Path]:
    """The places where agents keep their sessions, as far as there are any."""
    places = known_places(os.environ, Path.home())
    looked = [place for agent in agents for place in places[agent]]
    if not (there := [place for place in looked if place.is_dir()]):
        raise NotFound(f"No agent's sessions in {', '.join(map(str, looked))}", hint="Give the folder that has them.")
    return there


def _stats(args: argparse.Namespace) -> int:
    with _memory() as memory:
        counts = memory.store.counts()
        size_bytes = memory.store.size_bytes
    facts = {
        "observations": counts.observations,
        "forgotten": counts.forgotten,
        "sessions": counts.sessions,
        "projects": counts.projects,
        "text_characters": counts.text_characters,
        "file_bytes": size_bytes,
    }
    _report(args, facts, "\n".join(f"{name.replace('_', ' ')}: {value:,}" for name, value in facts.items()))
    return 0


def _check(args: argparse.Namespace) -> int:
    with opened_app() as app:
        done = check(app.domains.memory)
    facts = {
        "observations": done.observations,
        "problems": list(done.problems),
        "repaired": done.repaired,
        "saved": done.saved,
        "set_aside": [copy.name for copy in done.set_aside],
        "unreadable": [copy.name for copy in done.unreadable],
    }
    _report(args, facts, checked_text(done))
    return 1 if done.unreadable else 0


def _scored(hits: Sequence[MemoryHit]) -> list[tuple[MemoryHit, float]]:
    """Hits with how sure each is to answer. Neighbours and kinds count for their order besides: what stands lower is
    never said to be surer."""
    return list(zip(hits, accumulate((hit.confidence for hit in hits), min), strict=True))


def _result(hit: MemoryHit, score: float) -> dict[str, Any]:
    row = hit.observation
    return {
        "id": row.id,
        "score": score,
        "snippet": hit.snippet,
        "source": row.source,
        "created_at": iso(row.created_at),
        **({"near_in_meaning": True} if hit.is_near else {}),
    }


def _report(args: argparse.Namespace, facts: dict[str, Any], text: str) -> None:
    if args.json:
        print_json(facts)
    else:
        print(text)


def _lines(file: str) -> Iterator[str]:
    """The lines of a file, or of standard input for `-`; bytes that are no UTF-8 are replaced."""
    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as stream:
            for line in stream:
                yield line.decode("utf-8", "replace")
    except OSError as exc:
        raise SourceError(f"Cannot read {file} ({exc.strerror})", hint="Give the path of a readable file.") from exc


def _project() -> Project:
    return identify(Path.cwd())


@contextmanager
def _opened() -> Iterator[App]:
    with opened_app() as app:
        if aside := app.domains.memory.store.set_aside:
            print(set_aside_text(aside), file=sys.stderr)
        yield app


@contextmanager
def _memory() -> Iterator[Memory]:
    with _opened() as app:
        yield app.domains.memory
