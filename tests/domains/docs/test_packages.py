"""Documentation of installed packages in the version that the project uses, without network access or imports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from fuzz.inline_parser import InlineParser

from deltos.domains.docs.dependencies import direct_dependencies
from deltos.domains.docs.installed_packages import find_python_distribution
from deltos.domains.docs.library import NewSource
from deltos.domains.docs.python_names import module_name
from deltos.domains.docs.search import DocsRequest
from deltos.errors import NotFound, SourceError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.domains.docs.conftest import DocsClient

CLIENT = '''"""The client."""
raise SystemExit("must never be imported")


class Client(Base):
    """Talks to servers.

    >>> Client().get("/")
    """

    @property
    def timeout(self) -> float:
        """How long it waits."""

    async def get(
        self,
        url: str,
        *,
        timeout: float = 5.0,
    ) -> bytes:
        """Fetch a url with a timeout."""
        return b""

    def _private(self): ...

    class Inner:
        """Nested."""


def _hidden(): ...


def helper(): pass


try:
    def late(x): "Defined under a condition."
except ImportError:
    pass
'''


SCHEMA = """/**
 * Parses a wombat.
 *
 * @param input what to parse
 */
export declare function parse(input: string): Wombat;

export interface Wombat {
  /** Its name. */
  name: string;
}

declare function _hidden(): void;
"""


def install_distribution(
    project: Path, files: dict[str, str], metadata: str = "", name: str = "web_kit", version: str = "2.1.0"
) -> None:
    packages = project / ".venv/lib/python3.11/site-packages"
    for path, text in files.items():
        (packages / path).parent.mkdir(parents=True, exist_ok=True)
        (packages / path).write_text(text)
    info = packages / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n{metadata}"
    )
    record = "".join(f"{path},sha256=x,1\n" for path in files) + f"{info.name}/METADATA,,\n../../bin/tool,,\n"
    (info / "RECORD").write_text(record)


def install_web_kit(project: Path) -> None:
    install_distribution(
        project,
        {
            "web_kit/__init__.py": "from ._client import Client\nfrom .tools import *\nfrom ._star import *\n",
            "web_kit/_client.py": CLIENT,
            "web_kit/_star.py": 'def shiny():\n    """Exported by star."""\n',
            "web_kit/_unused.py": 'def unused():\n    """Never exported."""\n',
            "web_kit/tools.py": 'def helper(a, b=1):\n    """Helps with quokkas."""\n    return a\n',
            "web_kit/fast.pyi": 'def speedy(x: int) -> int:\n    """In a stub only."""\n',
            "web_kit/broken.py": "def (",
            "web_kit/tests/test_it.py": "def test(): ...",
            "web_kit/guide.md": "# Guide\n\nbundled wombat guide",
            "web_kit/LICENSE.txt": "license words",
        },
        "Description-Content-Type: text/markdown\n\n# Web kit\n\nA readme about platypus.\n",
    )


def test_a_python_package_provides_its_readme_api_and_bundled_documents(docs_client: DocsClient) -> None:
    install_web_kit(docs_client.root)
    status = docs_client.add("pypi:Web.Kit", name="kit")
    assert (status.source.version, status.source.url) == ("2.1.0", "pypi:web-kit")
    assert [place.url for place in status.failures] == ["pypi:web-kit@2.1.0/web_kit/broken.py"]
    assert docs_client.find_citations("platypus") == ["pypi:web-kit@2.1.0/README#web-kit"]
    assert docs_client.find_citations("wombat") == ["pypi:web-kit@2.1.0/web_kit/guide.md#guide"]
    assert docs_client.find_citations("quokkas") == ["pypi:web-kit@2.1.0/web_kit/tools.py#web_kit.helper"]
    assert docs_client.find_citations("shiny")[0] == "pypi:web-kit@2.1.0/web_kit/_star.py#web_kit.shiny"
    assert docs_client.find_citations("stub speedy")[0].endswith("fast.pyi#web_kit.fast.speedy")
    assert (
        docs_client.find_citations("never exported unused") == []
        or "unused" not in docs_client.find_citations("never exported unused")[0]
    )


def test_a_class_is_documented_under_its_public_name_with_signatures_and_examples(docs_client: DocsClient) -> None:
    install_web_kit(docs_client.root)
    docs_client.add("pypi:web-kit")
    found = docs_client.search("fetch url timeout")[0]
    assert found.citation == "pypi:web-kit@2.1.0/web_kit/_client.py#web_kit.Client.get"
    assert found.section == "web_kit > web_kit.Client > web_kit.Client.get"
    assert found.version == "2.1.0"
    assert "timeout: float = 5.0," in found.text
    assert ">>> Client" in docs_client.search("talks to servers")[0].text
    assert all("_private" not in passage.text for passage in docs_client.search("private hidden"))


def upgrade_distribution(project: Path, version: str) -> None:
    info = next((project / ".venv").rglob("web_kit-*.dist-info"))
    former = info.name.removesuffix(".dist-info").rpartition("-")[2]
    renamed = info.rename(info.with_name(f"web_kit-{version}.dist-info"))
    metadata = renamed / "METADATA"
    metadata.write_text(metadata.read_text().replace(former, version))


def test_a_newly_installed_version_replaces_the_old_one_before_the_next_search(
    docs_client: DocsClient,
) -> None:
    install_distribution(docs_client.root, {"web_kit/__init__.py": 'def old():\n    """Ancient words."""\n'})
    docs_client.add("pypi:web_kit")
    upgrade_distribution(docs_client.root, "3.0.0")
    module = next((docs_client.root / ".venv").rglob("web_kit/__init__.py"))
    module.write_text('def new():\n    """Modern words."""\n')
    assert docs_client.find_citations("modern words") == ["pypi:web-kit@3.0.0/web_kit/__init__.py#web_kit.new"]
    assert docs_client.find_citations("ancient") == []


def test_a_source_is_not_updated_if_another_source_has_the_installed_version(docs_client: DocsClient) -> None:
    install_distribution(docs_client.root, {"web_kit/__init__.py": 'def old():\n    """Ancient words."""\n'})
    docs_client.add("pypi:web_kit", name="first")
    upgrade_distribution(docs_client.root, "3.0.0")
    elsewhere = docs_client.root / "other"
    install_distribution(elsewhere, {"web_kit/__init__.py": 'def new():\n    """Modern words."""\n'}, version="3.0.0")
    added = docs_client.docs.library.add(NewSource("pypi:web_kit", "second", elsewhere, (elsewhere,)))
    docs_client.crawl(added.sources[0].id)
    found = docs_client.docs.search.search(DocsRequest("ancient words"))
    assert "Note: first 2.1.0 is indexed, but version 3.0.0 is installed now." in found.note


def test_a_recrawl_reads_a_newly_installed_version(docs_client: DocsClient) -> None:
    install_distribution(docs_client.root, {"web_kit/__init__.py": 'def old():\n    """Ancient words."""\n'})
    docs_client.add("pypi:web_kit")
    upgrade_distribution(docs_client.root, "3.0.0")
    status = docs_client.recrawl()
    assert status.source.version == "3.0.0"
    assert docs_client.find_citations("ancient")[0].startswith("pypi:web-kit@3.0.0/")


def test_unchanged_packages_are_not_read_again(docs_client: DocsClient) -> None:
    install_distribution(docs_client.root, {"web_kit/__init__.py": '"""Doc."""\n', "web_kit/a.py": '"""Alpha."""\n'})
    docs_client.add("pypi:web_kit")
    assert docs_client.recrawl().pages_unchanged == 2


def test_a_package_that_is_not_installed_is_an_error_with_the_searched_folders(docs_client: DocsClient) -> None:
    with pytest.raises(NotFound, match="No Python environment"):
        docs_client.add("pypi:nothing")
    install_web_kit(docs_client.root)
    with pytest.raises(NotFound, match="not installed"):
        docs_client.add("pypi:nothing")
    with pytest.raises(NotFound, match="node_modules"):
        docs_client.add("npm:nothing")


def test_a_distribution_without_record_or_metadata_causes_no_failure(tmp_path: Path) -> None:
    info = tmp_path / "venv/lib/python3.12/site-packages/odd-1.0.dist-info"
    info.mkdir(parents=True)
    with pytest.raises(SourceError, match="METADATA"):
        find_python_distribution("odd", tmp_path)
    (info / "METADATA").write_text("Name: odd\nVersion: 1.0\nDescription: short\n")
    found = find_python_distribution("odd", tmp_path)
    assert (found.readme, found.files) == ("short", ())


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b.py", "a.b"),
        ("a/__init__.py", "a"),
        ("a/tests/x.py", ""),
        ("a/data.json", ""),
        ("a/test_x.py", ""),
        ("__init__.py", ""),
    ],
)
def test_modules_have_their_import_names(path: str, name: str) -> None:
    assert module_name(path) == name


def install_npm_package(project: Path, name: str, manifest: dict[str, object], files: dict[str, str]) -> None:
    folder = project / "node_modules" / name
    for path, text in {"package.json": json.dumps({"name": name, **manifest}), **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def test_an_npm_package_provides_its_readme_and_exported_declarations(docs_client: DocsClient) -> None:
    install_npm_package(
        docs_client.root,
        "@scope/kit",
        {"version": "4.5.6", "exports": {".": {"import": {"types": "./dist/index.d.ts"}}}},
        {
            "README.md": "# Kit\n\nAbout platypus.",
            "LICENSE.md": "license words",
            "dist/index.d.ts": 'export * from "./schema.js";\nexport { x } from "../../outside";\n',
            "dist/schema.d.ts": SCHEMA,
            "dist/unused.d.ts": "export declare function unreachable(): void;",
        },
    )
    status = docs_client.add("npm:@scope/kit", name="kit")
    assert (status.state, status.source.version, status.pages) == ("READY", "4.5.6", 2)
    assert docs_client.find_citations("platypus") == ["npm:@scope/kit@4.5.6/README.md#kit"]
    found = docs_client.search("parses a wombat")[0]
    assert found.citation == "npm:@scope/kit@4.5.6/dist/schema.d.ts#parse"
    assert found.text.startswith("Parses a wombat.\n")
    code = 'import { parse } from "@scope/kit";\nexport declare function parse(input: string): Wombat;'
    assert f"```typescript\n{code}\n```" in found.text
    assert docs_client.recrawl("kit").pages_unchanged == 2


def test_large_declarations_are_split_by_members(docs_client: DocsClient) -> None:
    members = "\n".join(f"  /** Does thing{n}. */\n  method{n}(): void;" for n in range(60))
    install_npm_package(
        docs_client.root,
        "big",
        {"version": "1.0.0", "types": "index.d.ts"},
        {"index.d.ts": f"export declare class Big {{\n{members}\n}}\n"},
    )
    docs_client.add("npm:big", name="big")
    assert docs_client.find_citations("thing7")[0].partition("#")[2].startswith("Big.method")


def test_a_package_without_types_is_read_from_its_main_file(docs_client: DocsClient) -> None:
    install_npm_package(
        docs_client.root,
        "plain",
        {"version": "1.0.0", "main": "main.js"},
        {"main.js": "/** Adds quokkas. */\nfunction add(a, b) {\n  return a + b;\n}\n"},
    )
    docs_client.add("npm:plain", name="plain")
    assert docs_client.find_citations("quokkas") == ["npm:plain@1.0.0/main.js#add"]


def test_dependencies_are_read_from_every_kind_of_file(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["Web_Kit>=2", "attrs"]\n[project.optional-dependencies]\nx = ["rich[all]"]\n'
        '[dependency-groups]\ndev = ["pytest", {include-group = "x"}]\n'
        '[tool.poetry.dependencies]\npython = "3.11"\nflask = "*"\n'
    )
    (tmp_path / "requirements.txt").write_text(
        "-r more.txt\n# comment\nhttpx==1 # pinned\n./local\n-e .\nhttps://x/y.whl\nweb-kit\n"
    )
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "test.txt").write_text("-r ../requirements.txt\nclick\n")
    (tmp_path / "package.json").write_text('{"dependencies": {"zod": "4"}, "devDependencies": {"@types/node": "1"}}')
    assert direct_dependencies(tmp_path, InlineParser()).addresses == (
        "pypi:web-kit", "pypi:attrs", "pypi:rich", "pypi:pytest", "pypi:flask", "pypi:httpx", "pypi:click",
        "npm:zod", "npm:@types/node",
    )  # fmt: skip


def test_all_direct_dependencies_are_added_and_missing_ones_reported(docs_client: DocsClient) -> None:
    install_web_kit(docs_client.root)
    (docs_client.root / "requirements.txt").write_text("web-kit\nmissing\n")
    added = docs_client.docs.library.add(NewSource("deps:", "", docs_client.root, (docs_client.root,)))
    assert [source.name for source in added.sources] == ["web-kit"]
    (failure,) = added.failures
    assert failure == "pypi:missing: missing is not installed in the project's environment"


@pytest.mark.parametrize(
    ("address", "similar"), [("pypi:web-kitt", "web-kit"), ("npm:@scope/kitt", "@scope/kit"), ("npm:zood", "zod")]
)
def test_an_unknown_package_is_an_error_with_similar_names(docs_client: DocsClient, address: str, similar: str) -> None:
    install_web_kit(docs_client.root)
    for name in ("@scope/kit", "zod"):
        install_npm_package(docs_client.root, name, {"version": "1.0.0"}, {"README.md": "# Kit"})
    with pytest.raises(NotFound) as error:
        docs_client.begin(address)
    assert error.value.hint is not None
    assert error.value.hint.endswith(f"Similar names there: {similar}.")


def test_a_project_without_dependencies_is_an_error_that_lists_the_files_read(docs_client: DocsClient) -> None:
    with pytest.raises(NotFound, match="has no dependencies"):
        docs_client.docs.library.add(NewSource("deps:", "", docs_client.root, (docs_client.root,)))


@pytest.mark.parametrize(
    ("name", "text"), [("pyproject.toml", "not toml ["), ("package.json", "[1]"), ("package.json", "{")]
)
def test_invalid_dependency_files_are_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SourceError):
        direct_dependencies(tmp_path, InlineParser())


def test_a_name_re_exported_through_private_packages_has_its_public_name(docs_client: DocsClient) -> None:
    files = {
        "core/__init__.py": "from ._sync import Pool as ConnectionPool\n",
        "core/_sync/__init__.py": "from .pool import Pool\nfrom .hidden import Secret\n",
        "core/_sync/pool.py": 'class Pool:\n    """Keeps connections."""\n\n    def close(self) -> None: ...\n',
        "core/_sync/hidden.py": "class Secret: ...\n",
    }
    install_distribution(docs_client.root, files, name="core", version="3")
    docs_client.add("pypi:core")
    assert docs_client.find_citations("keeps connections") == ["pypi:core@3/core/_sync/pool.py#core.ConnectionPool"]
    assert docs_client.search("core.ConnectionPool.close")[0].anchors[0] == "core.ConnectionPool.close"
    assert docs_client.find_citations("secret") == []


def test_a_star_import_binds_the_public_names_or_the_names_in_dunder_all(docs_client: DocsClient) -> None:
    module = 'def send(a):\n    """Sends quokkas."""\n\nclass Stream:\n    """Streams wombats."""\n'
    files = {
        "mails/__init__.py": "from ._lists import *\nfrom ._grows import *\nfrom ._core import sort\n",
        "mails/_lists.py": f"__all__ = ['send']\n{module}",
        "mails/_grows.py": "__all__ = ['one']\n__all__ += others()\ndef one(): ...\ndef two(): ...\n",
        "mails/_core/__init__.py": "from .numeric import *\n",
        "mails/_core/numeric.py": 'def sort(a):\n    """Sorts."""\n\ndef helper(a): ...\n',
    }
    install_distribution(docs_client.root, files, name="mails", version="1")
    docs_client.add("pypi:mails")
    names = [f"mails.{name}" for name in ("send", "one", "two", "sort")]
    assert [docs_client.search(name)[0].anchors[0] for name in names] == names
    assert docs_client.find_citations("streams wombats") == docs_client.find_citations("helper") == []


def test_names_re_exported_from_other_packages_are_documented_by_their_import(docs_client: DocsClient) -> None:
    fast = {
        "fast/__init__.py": "from .listed import Glider\nfrom star.unused import unused\nimport os as os\n",
        "fast/animals.py": "from star import Wombat as Marsupial\nfrom star import Wombat as Wombat\n",
        "fast/listed.py": 'from star.glider import Glider\n\n__all__ = ["Glider"]\n',
    }
    install_distribution(docs_client.root, fast, name="fast", version="1")
    assert docs_client.add("pypi:fast").failures == ()
    wombat = docs_client.search("fast.animals.Wombat")[0]
    assert wombat.citation == "pypi:fast@1/fast/animals.py#fast.animals.Wombat"
    assert wombat.text == "```python\nfrom star import Wombat as Wombat\n```"
    assert docs_client.search("fast.Glider")[0].text == "```python\nfrom star.glider import Glider\n```"
    assert docs_client.find_citations("unused") == docs_client.find_citations("marsupial") == []


def test_prose_answers_questions_and_declarations_answer_names(
    docs_client: DocsClient,
) -> None:
    install_npm_package(
        docs_client.root,
        "kit",
        {"version": "1.0.0", "types": "./index.d.ts"},
        {
            "README.md": "# Kit\n\n## Cancellation\n\nYou can stop what was begun: pass a signal to cancel a request.",
            "index.d.ts": "export interface Canceler {\n  (request: Request): void;\n}\n"
            "export interface CancelRequest {\n  request: string;\n  cancel: Canceler;\n}\n",
        },
    )
    docs_client.add("npm:kit", name="kit")
    assert (
        docs_client.search("how do I cancel a request that was begun")[0].citation
        == "npm:kit@1.0.0/README.md#cancellation"
    )
    assert docs_client.search("CancelRequest")[0].citation == "npm:kit@1.0.0/index.d.ts#CancelRequest"
    assert docs_client.search("cancel request")[0].citation == "npm:kit@1.0.0/index.d.ts#CancelRequest"


def names_with_definition(docs_client: DocsClient, *names: str) -> list[str]:
    """Return the names whose definition is among the first three results."""
    return [
        name
        for name in names
        if any(
            name in {anchor.rpartition(".")[2] for anchor in found.anchors}
            for found in docs_client.search(name, limit=3)
        )
    ]


def test_every_form_of_an_exported_declaration_is_found_by_its_name(docs_client: DocsClient) -> None:
    install_npm_package(
        docs_client.root,
        "forms",
        {"version": "1.0.0", "types": "index.d.ts"},
        {
            "index.d.ts": """
export declare const arrow: (wombat: string) => void;
export declare let first: number, second: string;
export declare var old: boolean;
declare const hiddenName: number;
export { hiddenName as shownName };
declare function _void(): void;
export { _void as nothing };
export { default as Widget } from "./widget.js";
export { inner as outer } from "./deep.js";
export * as space from "./widget.js";
export type { Far } from "far-away";
export declare namespace Tools { const hammer: number; function saw(): void; }
""",
            "widget.d.ts": "export default class Button {}\n",
            "deep.d.ts": 'export { innermost as inner } from "./deeper.js";\n',
            "deeper.d.ts": "export declare function innermost(): void;\n",
        },
    )
    docs_client.add("npm:forms", name="forms")
    names = "arrow first second old shownName nothing Widget outer space Far Tools hammer saw".split()
    assert names_with_definition(docs_client, *names) == names
    widget = docs_client.search("Widget")[0]
    assert (widget.citation, "class Button" in widget.text) == ("npm:forms@1.0.0/widget.d.ts#Widget", True)


def test_declarations_for_import_and_require_are_read_once_and_completely(docs_client: DocsClient) -> None:
    many = {f"f{n}.d.{kind}ts": f"export declare function f{n}(): void;\n" for n in range(450) for kind in ("", "c")}
    exports = {
        f"./f{n}": {"require": {"types": f"./f{n}.d.cts"}, "import": {"types": f"./f{n}.d.ts"}} for n in range(450)
    }
    install_npm_package(docs_client.root, "many", {"version": "1.0.0", "exports": exports}, many)
    status = docs_client.add("npm:many", name="many")
    assert (status.pages, status.reason) == (450, "")
    assert names_with_definition(docs_client, "f0", "f449") == ["f0", "f449"]


def test_declarations_for_require_in_another_syntax_are_read_once(docs_client: DocsClient) -> None:
    exports = {".": {"require": {"types": "./index.d.cts"}, "import": {"types": "./index.d.ts"}}}
    install_npm_package(
        docs_client.root,
        "forms",
        {"version": "1.0.0", "exports": exports},
        {
            "index.d.ts": "export interface Canceler {}\nexport default function forms(): void;\n",
            "index.d.cts": "declare namespace forms {\n  interface Canceler {}\n}\ndeclare function forms(): void;\nexport = forms;\n",
        },
    )
    assert docs_client.add("npm:forms", name="forms").pages == 1
    assert docs_client.find_citations("Canceler") == ["npm:forms@1.0.0/index.d.ts#Canceler"]


def test_exported_sources_with_declarations_are_not_read(docs_client: DocsClient) -> None:
    exports = {".": {"@lamp/source": "./src/index.ts", "types": "./index.d.ts", "default": "./index.js"}}
    install_npm_package(
        docs_client.root,
        "lamp",
        {"version": "1.0.0", "exports": exports},
        {
            "index.d.ts": "export declare function lamp(): void;\n",
            "src/index.ts": "function throwAsync() {}\nexport function lamp() { throwAsync(); }\n",
        },
    )
    docs_client.add("npm:lamp", name="lamp")
    assert names_with_definition(docs_client, "lamp", "throwAsync") == ["lamp"]


def test_declarations_are_found_through_export_patterns_and_next_to_code(docs_client: DocsClient) -> None:
    install_npm_package(
        docs_client.root,
        "parts",
        {"version": "1.0.0", "exports": {"./parts/*": {"types": "./dist/parts/*.d.mts"}, "./side": "./side.mjs"}},
        {
            "dist/parts/lamp.d.mts": "export declare function lamp(): void;\n",
            "side.mjs": "export function side() {}\n",
            "side.d.mts": "/** The declared side. */\nexport declare function side(): void;\n",
        },
    )
    docs_client.add("npm:parts", name="parts")
    assert names_with_definition(docs_client, "lamp", "side") == ["lamp", "side"]
    assert docs_client.find_citations("declared side") == ["npm:parts@1.0.0/side.d.mts#side"]


def test_re_exported_packages_and_declarations_of_other_packages_are_read(docs_client: DocsClient) -> None:
    entry: dict[str, object] = {"version": "2.0.0", "types": "index.d.ts"}
    install_npm_package(
        docs_client.root, "shell", entry, {"index.d.ts": 'export * from "@kit/core";\nimport { x } from "other";\n'}
    )
    install_npm_package(
        docs_client.root, "@kit/core", entry, {"index.d.ts": "export declare function fromCore(): void;\n"}
    )
    install_npm_package(
        docs_client.root, "other", entry, {"index.d.ts": "export declare function fromOther(): void;\n"}
    )
    docs_client.add("npm:shell", name="shell")
    assert names_with_definition(docs_client, "fromCore", "fromOther") == ["fromCore"]
    install_npm_package(
        docs_client.root,
        "untyped",
        {"version": "1.0.0", "main": "main.js"},
        {"main.js": "exports.go = function () {};"},
    )
    install_npm_package(
        docs_client.root, "@types/untyped", entry, {"index.d.ts": "export declare function typedGo(): void;\n"}
    )
    docs_client.add("npm:untyped", name="untyped")
    assert docs_client.find_citations("typedGo")[0] == "npm:@types/untyped@2.0.0/index.d.ts#typedGo"


def test_public_test_helpers_are_documented_but_a_package_s_own_tests_are_not(docs_client: DocsClient) -> None:
    runner = 'class CliRunner:\n    """Runs commands in tests of wombats."""\n'
    install_distribution(
        docs_client.root, {"kit/__init__.py": "", "kit/testing.py": runner, "kit/tests/test_kit.py": runner}, name="kit"
    )
    docs_client.add("pypi:kit")
    assert docs_client.find_citations("runs commands wombats") == [
        "pypi:kit@2.1.0/kit/testing.py#kit.testing.CliRunner"
    ]


def test_export_patterns_beyond_the_limit_are_reported(docs_client: DocsClient) -> None:
    exports = {f"./{n}/*": {"types": f"./d{n}/*.d.ts"} for n in range(205)}
    files = {"d0/a.d.ts": "export declare function first(): void;", "README.md": "# Kit\n\nText."}
    install_npm_package(docs_client.root, "wild", {"version": "1.0.0", "exports": exports}, files)
    status = docs_client.add("npm:wild", name="wild")
    assert [place.reason for place in status.failures] == ["only the first 200 of its 205 export patterns were read"]
    assert names_with_definition(docs_client, "first") == ["first"]


def test_an_empty_module_has_no_passage(docs_client: DocsClient) -> None:
    run = "def run():\n    'Runs a wombat.'\n"
    install_distribution(
        docs_client.root, {"web_kit/__init__.py": "", "web_kit/results.py": "", "web_kit/jobs.py": run}
    )
    status = docs_client.add("pypi:web-kit", name="kit")
    assert [(each.reason, each.count) for each in status.skipped] == [("it contains no documentation", 2)]
    assert all(passage.text.strip() for passage in docs_client.search("web kit results jobs"))
    (first, *_) = docs_client.search("web_kit.jobs")
    assert {"web_kit.jobs", "web_kit.jobs.run"} <= set(first.anchors)


def test_documents_in_hidden_folders_of_a_package_are_skipped_and_counted(docs_client: DocsClient) -> None:
    hidden = {"web_kit/.agents/skills/web/SKILL.md": "# Skill\n\nAlways use wombats.", "web_kit/.x/notes.txt": "wombat"}
    install_distribution(
        docs_client.root,
        {"web_kit/__init__.py": "'''Kit.'''", "web_kit/guide.md": "# Guide\n\nA wombat guide.", **hidden},
    )
    files = {
        "README.md": "# Kit\n\nAbout wombats.",
        ".agents/SKILL.md": "Always use wombats.",
        ".github/x.md": "wombat",
    }
    install_npm_package(
        docs_client.root, "kit", {"version": "1.0.0"}, {**files, "src/notes.md": "wombat", "docs/.draft/a.md": "wombat"}
    )
    for address, count in (("pypi:web-kit", 2), ("npm:kit", 3)):
        status = docs_client.add(address, name=address)
        assert [(each.reason, each.count) for each in status.skipped] == [("in a hidden folder of the package", count)]
    assert not [url for url in docs_client.find_citations("wombat") if "/." in url.partition("@")[2]]
    assert len(docs_client.find_citations("wombat")) == 2
