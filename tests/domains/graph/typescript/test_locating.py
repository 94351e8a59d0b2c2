"""Mapping of import specifiers to files."""

import pytest

from tests.domains.graph.typescript.resolving import resolve

TARGET = "export const x = 1\n"


def imported_files(files: dict[str, str], importer: str) -> list[str]:
    return [path for path, _ in resolve(files).imports(importer)]


@pytest.mark.parametrize(
    ("specifier", "file"),
    [
        ("./lib", "lib.ts"),
        ("./lib", "lib.tsx"),
        ("./lib.js", "lib.ts"),
        ("./lib.mjs", "lib.mts"),
        ("./lib.cjs", "lib.cjs"),
        ("./lib.jsx", "lib.tsx"),
        ("./lib", "lib/index.ts"),
        ("./lib", "lib.d.ts"),
        ("./lib.ts", "lib.ts"),
        ("./lib.v2", "lib.v2.ts"),
        ("./lib?raw", "lib.ts"),
        (".", "index.ts"),
    ],
)
def test_relative_specifiers_find_their_file(specifier: str, file: str) -> None:
    assert imported_files({file: TARGET, "main.ts": f"import '{specifier}'\n"}, "main.ts") == [file]


def test_typescript_source_is_preferred_to_its_output() -> None:
    files = {"a.ts": TARGET, "a.js": TARGET, "main.ts": "import './a.js'\n"}
    assert imported_files(files, "main.ts") == ["a.ts"]


def test_paths_and_base_url_of_tsconfig_map_specifiers() -> None:
    files = {
        "tsconfig.json": """{
            // comments and trailing commas are fine
            "compilerOptions": { "baseUrl": "./src", "paths": { "@/*": ["*"], "exact": ["deep/exact.ts"], } },
        }""",
        "src/a.ts": TARGET,
        "src/deep/exact.ts": TARGET,
        "src/main.ts": "import '@/a'\nimport 'exact'\nimport 'deep/exact'\nimport '@/gone'\n",
    }
    graph = resolve(files)
    assert [path for path, _ in graph.imports("src/main.ts")] == [
        "src/a.ts",
        "src/deep/exact.ts",
        "src/deep/exact.ts",
    ]
    assert graph.resolutions["src/main.ts"].unresolved_imports == 1


def test_the_longest_matching_pattern_wins() -> None:
    files = {
        "tsconfig.json": '{"compilerOptions": {"paths": {"*": ["./other/*"], "lib/*": ["./src/*"]}}}',
        "src/a.ts": TARGET,
        "other/lib/a.ts": TARGET,
        "main.ts": "import 'lib/a'\n",
    }
    assert imported_files(files, "main.ts") == ["src/a.ts"]


def test_mappings_are_inherited_through_extends() -> None:
    files = {
        "tsconfig.base.json": '{"compilerOptions": {"baseUrl": ".", "paths": {"~/*": ["src/*"]}}}',
        "app/tsconfig.json": '{"extends": ["./missing.json", "../tsconfig.base"]}',
        "app/main.ts": "import '~/a'\n",
        "src/a.ts": TARGET,
    }
    assert imported_files(files, "app/main.ts") == ["src/a.ts"]


def test_mappings_of_referenced_projects_are_used_when_the_root_has_none() -> None:
    files = {
        "tsconfig.json": '{"references": [{"path": "./tsconfig.app.json"}, {"path": "./other"}]}',
        "tsconfig.app.json": '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}',
        "src/a.ts": TARGET,
        "src/main.ts": "import '@/a'\n",
    }
    assert imported_files(files, "src/main.ts") == ["src/a.ts"]


@pytest.mark.parametrize(
    "config",
    [
        '{"extends": "./gone"}',
        '{"extends": "./tsconfig.json"}',
        "{ broken",
        "[]",
        '{"compilerOptions": 3}',
        "",
    ],
)
def test_relative_imports_work_with_an_invalid_or_circular_tsconfig(config: str) -> None:
    files = {"tsconfig.json": config, "a.ts": TARGET, "main.ts": "import './a'\nimport 'a'\n"}
    assert imported_files(files, "main.ts") == ["a.ts"]


def test_workspace_packages_are_found_by_name() -> None:
    files = {
        "package.json": '{"name": "root", "workspaces": ["packages/*"]}',
        "packages/core/package.json": """{
            "name": "@acme/core",
            "exports": {".": {"types": "./dist/index.d.ts", "import": "./dist/index.js"},
                        "./sub": "./dist/sub.js", "./deep/*": ["./dist/deep/*.js"]}
        }""",
        "packages/core/src/index.ts": TARGET,
        "packages/core/src/sub.ts": TARGET,
        "packages/core/src/deep/x.ts": TARGET,
        "packages/old/package.json": '{"name": "old", "main": "lib/main.js"}',
        "packages/old/lib/main.js": TARGET,
        "packages/old/extra.js": TARGET,
        "app.ts": (
            "import '@acme/core'\nimport '@acme/core/sub'\nimport '@acme/core/deep/x'\nimport 'old'\n"
            "import 'old/extra'\nimport '@acme/none'\n"
        ),
    }
    graph = resolve(files)
    assert [path for path, _ in graph.imports("app.ts")] == [
        "packages/core/src/index.ts",
        "packages/core/src/sub.ts",
        "packages/core/src/deep/x.ts",
        "packages/old/lib/main.js",
        "packages/old/extra.js",
    ]
    assert graph.resolutions["app.ts"].external_imports == 1
    assert {"*/package", "packages/core/package.json"} <= graph.resolutions["app.ts"].dependencies


def test_subpath_imports_of_the_same_package_are_resolved() -> None:
    files = {
        "package.json": '{"imports": {"#util": "./src/util.js", "#lib/*": "./src/lib/*.js", "#x": "react"}}',
        "src/util.ts": TARGET,
        "src/lib/a.ts": TARGET,
        "src/main.ts": "import '#util'\nimport '#lib/a'\nimport '#x'\nimport '#none'\n",
    }
    graph = resolve(files)
    assert [path for path, _ in graph.imports("src/main.ts")] == ["src/util.ts", "src/lib/a.ts"]


@pytest.mark.parametrize("package", ["{ broken", "[]", '{"name": 3, "exports": 4, "imports": []}'])
def test_an_invalid_package_json_is_ignored(package: str) -> None:
    files = {"package.json": package, "a.ts": TARGET, "main.ts": "import './a'\nimport 'pkg'\nimport '#x'\n"}
    assert imported_files(files, "main.ts") == ["a.ts"]


def test_other_json_files_have_no_facts() -> None:
    graph = resolve({"data.json": '{"name": "x"}', "a.ts": "import data from './data.json'\n"})
    assert graph.facts["data.json"].interface is None
    assert graph.imports("a.ts") == [("data.json", "runtime")]
