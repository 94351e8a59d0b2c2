"""Row-level security: the database enforces the permissions of each call for the role that servers connect as.

This is a second check after `confinement`: if the application omits a check, the database returns no rows. It applies
to every role except the owner of the tables and superusers. The permissions of a call are settings of the connection. A
connection without permissions sees no rows. Anyone who can run SQL as that role can change the permissions, so the
password of the role must be kept secret.

Every table has a policy. The migration that creates the table sets the policy with `row_security_sql`. The role has no
access to a table without a policy, and a test that reads the catalogue fails.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg.sql import SQL, Identifier

from deltos.confinement import current
from deltos.errors import BadArgument, StoreError
from deltos.store.migration import Migration
from deltos.store.postgres.rows import digest_expression, lower_prefix_column, lower_prefix_definition

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from deltos.confinement import Confinement
    from deltos.store.postgres.database import Connection

_MAX_CACHED_PERMISSIONS = 1_000


# ---------------------------------------------------------------------- permissions of a call


@dataclass(frozen=True, slots=True)
class Permissions:
    """Permissions of a call as connection settings: all permissions, or the folders and project memories it may use."""

    everything: str = ""
    roots: str = "[]"
    memories: str = "{}"


ALL_PERMISSIONS = Permissions(everything="on")
_cached_permissions: dict[int, tuple[Confinement, Permissions]] = {}


def current_permissions() -> Permissions:
    """Return the permissions of the current call."""
    confinement = current()
    if confinement is None:
        return ALL_PERMISSIONS
    known = _cached_permissions.get(id(confinement))  # the cached object stays alive, so its id is not reused
    if known is None:
        if len(_cached_permissions) >= _MAX_CACHED_PERMISSIONS:
            _cached_permissions.clear()
        known = _cached_permissions[id(confinement)] = (confinement, _permissions_of(confinement))
    return known[1]


def _permissions_of(confinement: Confinement) -> Permissions:
    roots = json.dumps([root_text(root) for root in confinement.roots], ensure_ascii=False)
    if confinement.memories is None:
        return Permissions(roots=roots, memories="*")
    memories = {project: sorted(folders) for project, folders in confinement.memories.items()}
    return Permissions(roots=roots, memories=_valid_unicode(json.dumps(memories, ensure_ascii=False)))


def root_text(root: Path) -> str:
    """Return the path of a folder as valid PostgreSQL text, even if it is not valid Unicode."""
    return _valid_unicode(str(root))


def _valid_unicode(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def apply_permissions(connection: Connection, permissions: Permissions, keys: str | None) -> str:
    """Apply permissions to a connection, and return the keys of visible projects. Pass these as `keys` if they are
    known."""
    connection.execute(
        """SELECT set_config('deltos.everything', %s, false), set_config('deltos.roots', %s, false),
                  set_config('deltos.memories', %s, false), set_config('deltos.projects', %s, false)""",
        (permissions.everything, permissions.roots, permissions.memories, keys or "{}"),
    )
    if keys is not None or permissions == ALL_PERMISSIONS:
        return keys or "{}"
    sql = "SELECT set_config('deltos.projects', coalesce(array_agg(id), '{}')::text, false) FROM project"
    row = connection.execute(sql).fetchone()
    return str(row[0]) if row else "{}"


# ---------------------------------------------------------------------- policies of tables

_HAS_ALL_PERMISSIONS = "coalesce(current_setting('deltos.everything', true), '') = 'on'"
_HAS_ALL_MEMORIES = f"{_HAS_ALL_PERMISSIONS} OR coalesce(current_setting('deltos.memories', true), '') = '*'"
_PROJECT_KEYS = "(SELECT coalesce(nullif(current_setting('deltos.projects', true), ''), '{}')::bigint[])::bigint[]"
_MEMORY_PROJECTS = "(SELECT remembered_projects())::bigint[]"
_SOURCES = "(SELECT shown_sources())::integer[]"
_APIS = "(SELECT shown_apis())::integer[]"

# Policies use subqueries, because a subquery is evaluated once per statement instead of once per row.
BY_PROJECT = f"(SELECT {_HAS_ALL_PERMISSIONS}) OR project = ANY({_PROJECT_KEYS})"
"""Policy for rows of code, graph and history, where `project` is the key of a project."""

BY_ROOT = f"{_HAS_ALL_PERMISSIONS} OR is_below(root)"
"""Policy for rows whose column `root` is a folder."""

BY_MEMORY = f"{_HAS_ALL_MEMORIES} OR project = ANY({_MEMORY_PROJECTS})"
"""Policy for memory rows, where `project` is the key of a project folder in memory."""

BY_SOURCE = f"{_HAS_ALL_MEMORIES} OR source = ANY({_SOURCES})"
"""Policy for documentation rows, where `source` is the number of a source."""

SERVER = _HAS_ALL_PERMISSIONS
"""Policy for tables that only the server itself accesses, such as tokens and sessions."""

ALL_PROJECTS = _HAS_ALL_MEMORIES
"""Policy for rows that belong to no project. Only callers that are not confined to projects have access."""

SHARED = "true"
"""Policy for tables without project data, which every caller may access."""

RULES: Mapping[str, str] = {
    "migration": SHARED,
    "project": BY_ROOT,
    **dict.fromkeys(
        """word word_total meta file skipped folder failure chunk definition file_words chunk_vectors place node symbol
           edge mention import fact stale past_commit past_file past_touch past_name past_vectors""".split(),
        BY_PROJECT,
    ),
    "workspace_member": BY_ROOT,
    "stopped_reading": SHARED,  # digests of contents that could not be parsed, with the reasons
    "docs_source": f"{_HAS_ALL_MEMORIES} OR is_shown_source(url, auth, kind, project_root)",
    **dict.fromkeys(
        ("docs_crawl", "docs_address"),
        f"{_HAS_ALL_MEMORIES} OR source_id IN (SELECT id FROM docs_source)",
    ),
    "docs_page": BY_SOURCE,
    "docs_chunk": BY_SOURCE,
    **dict.fromkeys(
        [f"docs_{item}_{kind}" for item in ("chunk", "page") for kind in ("posting", "term", "total")],
        f"{_HAS_ALL_MEMORIES} OR owner = ANY({_SOURCES})",
    ),
    "docs_chunk_vector": f"{_HAS_ALL_MEMORIES} OR (key >> 32)::integer = ANY({_SOURCES})",
    "api": f"{_HAS_ALL_MEMORIES} OR is_shown_api(source)",
    "api_unread": f"{_HAS_ALL_MEMORIES} OR is_shown_api(source)",
    "api_unit": f"{_HAS_ALL_MEMORIES} OR api = ANY({_APIS})",
    **dict.fromkeys(
        [f"api_unit_{kind}" for kind in ("posting", "term", "total")], f"{_HAS_ALL_MEMORIES} OR owner = ANY({_APIS})"
    ),
    "api_unit_vector": f"{_HAS_ALL_MEMORIES} OR (key >> 32)::integer = ANY({_APIS})",
    "memory_project": f"{_HAS_ALL_MEMORIES} OR remembers(project_id, folder)",
    "memory_session": BY_MEMORY,
    "observation": BY_MEMORY,
    "observation_posting": BY_MEMORY,
    "observation_place": BY_MEMORY,
    "observation_anchor": f"{_HAS_ALL_MEMORIES} OR place IN (SELECT place FROM observation_place)",
    "observation_vector": f"{_HAS_ALL_MEMORIES} OR key IN (SELECT place FROM observation_place)",
    **dict.fromkeys(
        """memory_exported memory_purged memory_mined_event memory_mined_file memory_snapshot
           memory_snapshot_part tool_call""".split(),
        ALL_PROJECTS,
    ),
    "access_token": SERVER,
    "application_role": SERVER,
}

_FUNCTIONS = """
CREATE FUNCTION is_below(path text) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
    BEGIN
        RETURN EXISTS (
            SELECT 1 FROM jsonb_array_elements_text(
                coalesce(nullif(current_setting('deltos.roots', true), ''), '[]')::jsonb) AS top (folder)
            WHERE path = folder OR starts_with(path, rtrim(folder, '/') || '/')
        );
    END $$;
CREATE FUNCTION remembers(given_id text, given_folder text) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
    BEGIN
        RETURN coalesce(current_setting('deltos.memories', true), '') = '*' OR EXISTS (
            SELECT 1 FROM jsonb_array_elements_text(
                coalesce(coalesce(nullif(current_setting('deltos.memories', true), ''), '{}')::jsonb -> given_id, '[]')
            ) AS top (folder)
            WHERE folder = '' OR given_folder = folder OR starts_with(given_folder, folder || '/')
        );
    END $$;
CREATE FUNCTION is_shown_source(url text, auth text, kind text, project_root text) RETURNS boolean
    LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
    DECLARE is_elsewhere boolean := position('://' in url) > 0;
    BEGIN
        RETURN is_elsewhere AND auth = ''
            OR is_below(CASE WHEN kind IN ('folder', 'git') AND NOT is_elsewhere THEN url ELSE project_root END);
    END $$;
CREATE FUNCTION is_shown_api(source text) RETURNS boolean LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
    BEGIN
        RETURN starts_with(lower(ltrim(source)), 'http://') OR starts_with(lower(ltrim(source)), 'https://')
            OR is_below(source);
    END $$;
CREATE FUNCTION remembered_projects() RETURNS bigint[] LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
    BEGIN
        RETURN coalesce((SELECT array_agg(key) FROM memory_project), '{}');
    END $$;
CREATE FUNCTION shown_sources() RETURNS integer[] LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
    BEGIN
        RETURN coalesce((SELECT array_agg(number) FROM docs_source), '{}');
    END $$;
CREATE FUNCTION shown_apis() RETURNS integer[] LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
    BEGIN
        RETURN coalesce((SELECT array_agg(id) FROM api), '{}');
    END $$;
CREATE TABLE application_role (name text COLLATE "C" PRIMARY KEY);
CREATE FUNCTION grant_application_roles() RETURNS void LANGUAGE plpgsql AS $$
    DECLARE role_name text; protected_table text; counter text;
    BEGIN
        FOR role_name IN SELECT name FROM application_role LOOP
            EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), role_name);
            FOR protected_table IN
                SELECT polrelid::regclass::text FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid
                WHERE polname = 'rights' AND relnamespace = current_schema()::regnamespace
            LOOP
                EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', protected_table, role_name);
            END LOOP;
            EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON migration, application_role FROM %I', role_name);
            EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO %I', current_schema(), role_name);
        END LOOP;
    END $$;
"""
_DIGEST_INDEXES = {
    "file_by_path": ("file", "path"),
    "skipped_by_path": ("skipped", "path"),
    "folder_by_path": ("folder", "path"),
    "place_by_path": ("place", "path"),
    "mention_by_name": ("mention", "name"),
    "past_file_by_path": ("past_file", "path"),
    "past_name_by_before": ("past_name", "before"),
}
_LOWER_CASE_INDEXES = {"definition_by_name": "definition", "symbol_by_name": "symbol"}


def row_security_sql(table: str, rule: str, *, write_rule: str = "") -> str:
    """Return SQL that enables a policy on a new table and grants access to application roles.

    The migration that creates the table must include this SQL. `write_rule` is the policy for writes, if it differs.
    """
    return f"{_policy_sql(table, rule, write_rule)} SELECT grant_application_roles();"


def _policy_sql(table: str, rule: str, write_rule: str = "") -> str:
    return (
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;"
        f" CREATE POLICY rights ON {table} USING ({rule}) WITH CHECK ({write_rule or rule});\n"
    )


RIGHTS_001 = Migration(
    "rights-001",
    """ALTER TABLE project ADD COLUMN root text COLLATE "C" NOT NULL DEFAULT '';
       UPDATE project SET root = coalesce(
           (SELECT value FROM meta WHERE meta.project = project.id AND key = 'root'), '');
    """
    + "".join(
        f"DROP INDEX {index}; CREATE INDEX {index} ON {table} (project, {digest_expression(column)});\n"
        for index, (table, column) in _DIGEST_INDEXES.items()
    )
    + "".join(
        f"ALTER TABLE {table} ADD COLUMN {lower_prefix_definition('name')};"
        f" DROP INDEX {index}; CREATE INDEX {index} ON {table} (project, {lower_prefix_column('name')});\n"
        for index, table in _LOWER_CASE_INDEXES.items()
    )
    + _FUNCTIONS
    + "".join(_policy_sql(table, rule) for table, rule in RULES.items()),
)


# ---------------------------------------------------------------------- roles


def admit_role(connection: Connection, name: str, password: str = "") -> bool:
    """Grant a role access to the tables, and return whether the role was created.

    The password is set if it is not empty. The connection must belong to the owner of the tables.
    """
    row = connection.execute(
        "SELECT rolsuper OR rolbypassrls, pg_has_role(oid, current_user, 'MEMBER') FROM pg_roles WHERE rolname = %s",
        (name,),
    ).fetchone()
    if row and any(row):
        raise BadArgument(
            f"The role {name} is exempt from row-level security: it owns the tables, is a superuser or bypasses it",
            hint="Choose another role name. A role that does not exist is created.",
        )
    if row is None:
        connection.execute(f"CREATE ROLE {quote_identifier(name)} LOGIN NOSUPERUSER NOBYPASSRLS".encode())
    if password:  # hashed here, so that the server's log cannot contain the password
        secret = connection.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256")
        connection.execute(SQL("ALTER ROLE {} PASSWORD {}").format(Identifier(name), secret.decode()))
    _grant_connect(connection, name)
    connection.execute("INSERT INTO application_role VALUES (%s) ON CONFLICT DO NOTHING", (name,))
    connection.execute("SELECT grant_application_roles()")
    return row is None


def _grant_connect(connection: Connection, name: str) -> None:
    """Allow a role to connect to the database, unless it is already allowed."""
    row = connection.execute(
        """SELECT has_database_privilege(%s, oid, 'CONNECT'), datname,
                  has_database_privilege(oid, 'CONNECT WITH GRANT OPTION')
           FROM pg_database WHERE datname = current_database()""",
        (name,),
    ).fetchone()
    may_connect, database, may_grant = row or (True, "", False)
    if may_connect:
        return
    grant = f"GRANT CONNECT ON DATABASE {quote_identifier(database)} TO {quote_identifier(name)}"
    if not may_grant:
        raise StoreError(
            f"The role {name} may not connect to the database", hint=f"Ask the owner of the database to run: {grant}"
        )
    connection.execute(grant.encode())


def quote_identifier(name: str) -> str:
    """Return a name as a quoted SQL identifier."""
    if not name or "\0" in name:
        raise BadArgument("The role name is empty or contains NUL", hint="Pass a role name, such as deltos_server.")
    return '"' + name.replace('"', '""') + '"'


def owns_tables(connection: Connection, tables: list[str]) -> bool:
    """Whether the role of the connection owns the tables."""
    row = connection.execute(
        "SELECT bool_and(pg_has_role(relowner, 'USAGE')) FROM pg_class WHERE oid = ANY(%s::regclass[])", (tables,)
    ).fetchone()
    return bool(row and row[0])


def check_owner(connection: Connection, tables: list[str]) -> None:
    """Raise an error unless the role of the connection owns the tables."""
    # Without this check, PostgreSQL would only warn and skip the tables.
    if not owns_tables(connection, tables):
        raise StoreError(
            "Only the owner of the tables can rewrite them",
            hint="Set DELTOS_DATABASE to the connection string of the owner and run the command again.",
        )
