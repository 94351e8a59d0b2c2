"""Row-level security for the role of the servers: a confined call cannot access data of other projects."""

from __future__ import annotations

from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import psycopg
import pytest

from deltos.app import App
from deltos.config import Config
from deltos.confinement import Confinement, confined, whole_store
from deltos.domains.docs.library import NewSource
from deltos.errors import BadArgument, StoreError
from deltos.store.apis import ApiRow, NewUnit, UnitRow, UnitWords
from deltos.store.migration import Migration
from deltos.store.postgres.apis import PostgresApis
from deltos.store.postgres.blobs import BLOB_RULE
from deltos.store.postgres.database import SCHEMA, PostgresDatabase
from deltos.store.postgres.migrations import SCHEMA_STEPS
from deltos.store.postgres.projects import PostgresProjects
from deltos.store.postgres.row_security import ALL_PROJECTS, BY_PROJECT, RULES, SERVER, SHARED, admit_role
from deltos.store.postgres.vectors import OBSERVATIONS, PostgresVectors
from deltos.workspace.identity import memory_scopes
from tests.calling import ToolClient
from tests.postgres_server import DATABASE, ROLE, empty_database, role_url
from tests.repositories import make_repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

API = "openapi: 3.0.0\ninfo: {title: %s, version: '1'}\npaths:\n  /%s:\n    get: {summary: list %s}\n"
TABLES = f"""SELECT relname FROM pg_class WHERE relnamespace = '{SCHEMA}'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')
             AND NOT relispartition ORDER BY relname"""


RULES_OF_LATER_TABLES = {
    "blob": BLOB_RULE,
    **dict.fromkeys(("chunk_text", "rule", "edge_row", "mentioned_name", "mention_list"), BY_PROJECT),
}  # tables added by later migrations, with their policies


def project_files(word: str) -> dict[str, str]:
    return {
        f"{word}.py": f"import os\n\ndef of_{word}(path):\n    return os.stat(path)\n",
        f"uses_{word}.py": f"from {word} import of_{word}\n\nof_{word}('a')\n",
        f"{word}.bin": "\0\0",
        f"docs/{word}.md": f"# Guide of {word}\n\nThe {word} launches in May.\n",
        "api.yaml": API % (word, f"{word}s", f"{word}s"),
    }


class Team:
    """Two projects in one database, filled sequentially with the role of the servers."""

    def __init__(self, folder: Path, workers: ProcessPool) -> None:
        self.owner, self.role = empty_database(), ""
        self.role = role_url()
        self.app = App(Config(folder / "home", database=self.role), workers=workers)
        self.roots = {word: folder / "served" / word for word in ("zeppelin", "walrus")}
        self.rows: list[dict[str, set[str]]] = []
        for word, root in self.roots.items():
            make_repository(root, project_files(word))
            self._fill(word, root)
            self._fill_empty_tables(root)
            self.rows.append(dict(self._dump()))

    def _fill(self, word: str, root: Path) -> None:
        domains = self.app.domains
        index = domains.projects.index_of(root)
        index.index()
        index.catch_up(wait_seconds=20.0)
        for url in ("docs", "api.yaml"):
            new = NewSource(str(root / url), f"{word}-{url[:3]}", root, (root,))
            for source in domains.docs.library.add(new).sources:
                domains.docs.library.crawls.run(source.id, lambda: None)
        ToolClient(self.app.tools(), root).call("remember", text=f"The {word} is steered from {word}.py")
        domains.projects.workspaces.add(f"all-{word}", [str(root)])  # type: ignore[union-attr]

    def _fill_empty_tables(self, root: Path) -> None:
        """Insert a row of this project into every table that is still empty."""
        with psycopg.connect(self.owner, options=f"-c search_path={SCHEMA}", autocommit=True) as connection:
            connection.execute(
                "SET session_replication_role TO replica"
            )  # disable foreign keys, because the rows refer to missing rows
            named = (str(root),)
            (key,) = connection.execute("SELECT id FROM project WHERE root = %s", named).fetchone() or (0,)
            memory = "SELECT key FROM memory_project WHERE root = %s"
            (memory_key,) = connection.execute(memory, named).fetchone() or (0,)
            known = self.rows[0] if self.rows else {}
            for table, rows in dict(self._dump()).items():
                if not rows - known.get(table, set()) and RULES.get(table) != SHARED and table != "application_role":
                    keys = memory_key if table.startswith(("memory", "observation")) else key
                    self._fill_table(connection, table, {"project": keys, "root": str(root), "source": str(root)})

    def _fill_table(
        self, connection: psycopg.Connection[tuple[object, ...]], table: str, given: dict[str, object]
    ) -> None:
        columns = connection.execute(
            """SELECT attname, format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0
               AND attgenerated = '' AND attidentity = '' AND (attnotnull AND NOT atthasdef OR attname = ANY(%s))""",
            (table, list(given)),
        ).fetchall()
        key = given["project"]
        by_type: dict[str, object] = {
            "text": f"x{key}",
            "bytea": f"x{key}".encode(),
            "boolean": False,
            "text[]": [],
            "jsonb": "{}",
            "timestamp with time zone": datetime.now(UTC),
        }
        values = [given.get(str(name), by_type.get(str(kind), key)) for name, kind in columns]
        names = ", ".join(f'"{name}"' for name, _ in columns)
        marks = ", ".join(["%s"] * len(values))
        row = f"({names}) VALUES ({marks})" if values else "DEFAULT VALUES"
        connection.execute(f'INSERT INTO "{table}" {row}'.encode(), values)

    def _dump(self) -> Iterator[tuple[str, set[str]]]:
        with psycopg.connect(self.owner, options=f"-c search_path={SCHEMA}") as connection:
            for (table,) in connection.execute(TABLES).fetchall():
                rows = connection.execute(f'SELECT t::text FROM "{table}" t'.encode()).fetchall()
                yield table, {row[0] for row in rows}

    def confinement(self, word: str) -> Confinement:
        root = self.roots[word]
        return Confinement((root,), memory_scopes((root,)))


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, workers: ProcessPool) -> Iterator[Team]:
    made = Team(tmp_path_factory.mktemp("rights"), workers)
    yield made
    made.app.close()


@contextmanager
def open_database(url: str) -> Iterator[PostgresDatabase]:
    with closing(PostgresDatabase(url, migrations=SCHEMA_STEPS)) as database:
        yield database


def rows_of(database: PostgresDatabase, table: str) -> set[str]:
    return {row[0] for row in database.query(f'SELECT t::text FROM "{table}" t')}


def test_every_table_of_the_schema_has_a_policy(team: Team) -> None:
    with psycopg.connect(team.owner, options=f"-c search_path={SCHEMA}") as connection:
        tables = {row[0] for row in connection.execute(TABLES)}
        protected_tables = connection.execute(
            """SELECT relname FROM pg_class JOIN pg_policy ON polrelid = pg_class.oid
               WHERE relrowsecurity AND polcmd = '*' AND polpermissive AND relnamespace = %s::regnamespace""",
            (SCHEMA,),
        ).fetchall()
    assert tables == {row[0] for row in protected_tables}
    assert {*RULES} - {"edge", "mention"} <= tables  # a later migration replaces these two tables
    assert {table for table, rule in RULES.items() if rule == SHARED} == {"migration", "stopped_reading"}


def test_a_confined_call_reads_only_its_own_rows_of_every_table(team: Team) -> None:
    first, second = team.rows
    rows = {"zeppelin": first, "walrus": {table: rows - first[table] for table, rows in second.items()}}
    protected_tables = [table for table in first if RULES.get(table) != SHARED]
    assert all(
        rows["walrus"][table] for table in protected_tables if table != "application_role"
    )  # an empty table would make this test meaningless
    for word, other in (("zeppelin", "walrus"), ("walrus", "zeppelin")):
        with open_database(team.role) as database, confined(team.confinement(word)):
            seen = {table: rows_of(database, table) for table in protected_tables}
        for table in protected_tables:
            assert not seen[table] & (rows[other][table] - rows[word][table]), table
            rule = {**RULES, **RULES_OF_LATER_TABLES}.get(table, SERVER)
            is_keyed = " OR " in rule and rule != ALL_PROJECTS
            assert bool(seen[table]) == is_keyed, table


def test_a_connection_without_rights_reads_no_rows(team: Team) -> None:
    with psycopg.connect(team.role, options=f"-c search_path={SCHEMA}", autocommit=True) as connection:
        for table in team.rows[1]:
            if RULES.get(table) == SHARED:
                continue
            assert connection.execute(f'SELECT count(*) FROM "{table}"'.encode()).fetchone() == (0,), table
        parts = connection.execute(
            f"SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' AND relnamespace = '{SCHEMA}'::regnamespace"
        ).fetchall()
        assert len(parts) > 100
        for (part,) in parts:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f'SELECT 1 FROM "{part}"'.encode())


def test_without_application_checks_the_database_still_hides_other_projects(
    team: Team, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workers: ProcessPool
) -> None:
    for name in ("admits", "admits_memory"):
        monkeypatch.setattr(Confinement, name, lambda *_: True)
    confinement = team.confinement("zeppelin")
    with closing(App(Config(tmp_path / "home", database=team.role), workers=workers)) as app, confined(confinement):
        stores = app.domains.projects.stores
        assert [known.root for known in stores.indexed_projects()] == [team.roots["zeppelin"]]
        with pytest.raises(StoreError, match="row-level security"):
            app.domains.projects.index_of(team.roots["walrus"])
        client = ToolClient(app.tools(), team.roots["zeppelin"])
        answer = client.call("search", query="walrus launches steered").text
        assert "walrus" not in answer.replace("walrus launches steered", "")
        assert "zeppelin" in client.call("search", query="zeppelin launches steered").text
        assert [source.name for source in app.domains.docs.library.sources()] == ["zeppelin-doc"]
        assert not app.domains.memory.store.by_ids(_ids(team, "walrus"))
        assert app.domains.memory.store.by_ids(_ids(team, "zeppelin"))


def _ids(team: Team, word: str) -> list[str]:
    with open_database(team.owner) as database:
        return [row[0] for row in database.query("SELECT id FROM observation WHERE text LIKE %s", (f"%{word}%",))]


def test_a_confined_call_writes_only_to_its_own_projects(team: Team) -> None:
    with open_database(team.owner) as database:
        keys = dict(database.query("SELECT root, id FROM project"))
    mine, theirs = (keys[str(team.roots[word])] for word in ("zeppelin", "walrus"))
    with open_database(team.role) as database, confined(team.confinement("zeppelin")):
        sql = "INSERT INTO meta (project, key, value) VALUES (%s, 'note', 'x')"
        with database.write() as connection:
            connection.execute(sql, (mine,))
        with pytest.raises(StoreError, match="row-level security"), database.write() as connection:
            connection.execute(sql, (theirs,))
        with database.write() as connection:
            assert connection.execute("DELETE FROM meta WHERE project = %s", (theirs,)).rowcount == 0
            assert connection.execute("UPDATE file SET lines = 0 WHERE project = %s", (theirs,)).rowcount == 0
            assert connection.execute("DELETE FROM meta WHERE key = 'note'").rowcount == 1


def test_an_api_replaced_or_removed_by_a_confined_call_leaves_no_rows(team: Team) -> None:
    unit_tables = ("api_unit", "api_unit_posting", "api_unit_term", "api_unit_total", "api_unit_vector")
    source = str(team.roots["zeppelin"] / "other.yaml")
    api = ApiRow("other", "other", source, source, b"", 1, 0, 0, b"", 1.0)
    words = UnitWords("anchor", "weigh", "harbour", "sail", "tide")
    unit = NewUnit(UnitRow("operation", "k", "#/k", "Weigh anchor", "", "GET", "/anchor", b"", False), b"{}", words)
    with open_database(team.owner) as owner, open_database(team.role) as role, confined(team.confinement("zeppelin")):
        before = {table: len(rows_of(owner, table)) for table in unit_tables}
        apis = PostgresApis(role)
        for _ in range(2):
            apis.replace(api, [unit])
            added = {table: len(rows_of(owner, table)) - before[table] for table in unit_tables}
            assert added == {**dict.fromkeys(unit_tables, 1), "api_unit_posting": 5, "api_unit_term": 5}
        assert apis.remove("other")
        assert {table: len(rows_of(owner, table)) for table in unit_tables} == before


def test_a_project_added_by_another_server_is_seen_by_the_next_query(team: Team, tmp_path: Path) -> None:
    root = tmp_path / "later"
    confinement = Confinement((root, *team.roots.values()), {})
    with open_database(team.role) as one, open_database(team.role) as two, confined(confinement):
        first, second = PostgresProjects(lambda: one), PostgresProjects(lambda: two)
        assert len(second.indexed_projects()) == 2
        with first.store_of(root).writing() as writer:
            writer.set_metadata({"root": str(root), "project_id": "p", "synced_at": "1.0"})
        assert len(second.indexed_projects()) == 3
        assert second.store_of(root).meta("project_id") == "p"
        first.remove(root)


def test_a_reused_connection_has_the_rights_of_the_present_call(team: Team) -> None:
    with closing(PostgresDatabase(team.role, migrations=SCHEMA_STEPS, pool_size=1)) as database:
        for _ in range(3):
            for word in team.roots:
                with confined(team.confinement(word)):
                    assert [row[0] for row in database.query("SELECT root FROM project")] == [str(team.roots[word])]
                    with database.snapshot():
                        assert len(database.query("SELECT DISTINCT project FROM file")) == 1
            assert len(database.query("SELECT root FROM project")) == 2
            with confined(Confinement((), {})):
                assert database.query("SELECT root FROM project") == []
                assert database.query("SELECT project FROM file") == []


def test_shared_vectors_are_read_completely_inside_a_confined_snapshot(team: Team) -> None:
    with open_database(team.role) as database:
        vectors = PostgresVectors(database, OBSERVATIONS)
        every = database.query("SELECT model, count(*) FROM observation_vector GROUP BY model")
        with confined(team.confinement("zeppelin")), database.snapshot():
            assert len(database.query("SELECT project FROM memory_session")) == 1
            assert [(name, vectors.count(name)) for name, _ in every] == every
            assert len(database.query("SELECT project FROM memory_session")) == 1
            with whole_store(), database.snapshot():
                assert len(database.query("SELECT project FROM memory_session")) > 1


def test_indexes_on_names_and_paths_are_used_under_row_level_security(team: Team) -> None:
    with open_database(team.role) as database, confined(team.confinement("zeppelin")):
        ((key,),) = database.query("SELECT id FROM project")
        with database.write() as connection:
            connection.execute("SET LOCAL enable_seqscan TO off")
            for table, condition in (
                ("symbol", "name_folded = 'of_zeppelin'"),
                ("definition", "name_folded = 'of_zeppelin'"),
                ("file", "md5(path) = md5('zeppelin.py')"),
                ("word", "term = 'zeppelin'"),
            ):
                sql = f"EXPLAIN (FORMAT JSON) SELECT * FROM {table} WHERE project = {key} AND {condition}"
                row = connection.execute(sql.encode()).fetchone()
                plan = str(row and row[0])
                assert "Index Cond" in plan, plan
                assert condition.partition(" = ")[0] in plan.partition("Index Cond")[2].partition("Filter")[0]
                assert "Append" not in plan


def test_a_role_exempt_from_row_level_security_is_refused(team: Team) -> None:
    with psycopg.connect(team.owner, options=f"-c search_path={SCHEMA}") as connection:
        assert not admit_role(connection, ROLE)
        with pytest.raises(BadArgument, match="exempt from row-level security"):
            admit_role(connection, "deltos")


def test_a_role_without_owner_rights_gets_a_hint_about_the_owner(team: Team) -> None:
    later = (*SCHEMA_STEPS, Migration("later", "CREATE TABLE later (x integer)"))
    with pytest.raises(StoreError, match="lacks the schema step 'later'") as raised:
        PostgresDatabase(team.role, migrations=later)
    assert "db migrate" in raised.value.hint
    with open_database(team.role) as database, pytest.raises(StoreError, match="Only the owner"):
        database.rewrite(["observation"])


def test_refused_statements_have_a_hint_about_the_needed_rights(team: Team) -> None:
    with open_database(team.role) as database, pytest.raises(StoreError) as raised, database.write() as connection:
        connection.cursor().copy("COPY project FROM STDIN").__enter__()
    assert (
        raised.value.hint
        == "For this command, set DELTOS_DATABASE to a connection string with the owner of the tables as user."
    )
    with open_database(team.role) as database, pytest.raises(StoreError) as raised, database.write() as connection:
        connection.execute("CREATE ROLE another")
    assert "may not create roles" in raised.value.hint


def test_an_admitted_role_is_granted_connect() -> None:
    role_url()
    with psycopg.connect(empty_database(), autocommit=True) as owner:
        owner.execute(f"REVOKE CONNECT ON DATABASE {DATABASE} FROM PUBLIC".encode())
        try:
            owner.execute(f"CREATE ROLE deltos_guest LOGIN; SET ROLE {ROLE}".encode())
            with pytest.raises(
                StoreError, match='database to run: GRANT CONNECT ON DATABASE "deltos" TO "deltos_guest"'
            ):
                admit_role(owner, "deltos_guest")
            owner.execute("RESET ROLE")
            with psycopg.connect(role_url("deltos_guest")) as guest:
                assert guest.execute("SELECT current_user").fetchone() == ("deltos_guest",)
        finally:
            owner.execute(f"GRANT CONNECT ON DATABASE {DATABASE} TO PUBLIC".encode())
            owner.execute("DELETE FROM deltos.application_role WHERE name = 'deltos_guest'")
            owner.execute("DROP OWNED BY deltos_guest; DROP ROLE deltos_guest")
