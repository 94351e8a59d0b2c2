"""Documentation of npm packages from their declarations: imports, complete signatures, and ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.domains.docs.node_api import describe_declarations
from deltos.domains.docs.node_exports import DeclarationFiles, ImportableNames
from deltos.markup.model import Trait
from tests.domains.docs.test_packages import install_npm_package

if TYPE_CHECKING:
    from deltos.markup.model import Section
    from tests.domains.docs.conftest import DocsClient

KIT = {
    "index.d.ts": """
export * from "./lamp";
export * as tools from "./tools";
export { default as Shade } from "./shade";
export { hidden as shown } from "./hidden";
/** The whole kit. */
export default class Kit {}
""",
    "lamp.d.ts": "/** Lights a room. */\nexport declare function lamp(): void;\nexport interface LampOptions { dim: boolean }\n",
    "tools.d.ts": "/** Sharpens blades. */\nexport declare function sharpen(): void;\n",
    "shade.d.ts": "/** Keeps light out. */\ndeclare class Shade {}\nexport default Shade;\n",
    "hidden.d.ts": "/** Was hidden. */\nexport declare function hidden(): void;\n",
    "extra.d.ts": '/** Glows alone. */\nexport declare function glow(): void;\nexport { lamp } from "./lamp";\n',
}
MANIFEST: dict[str, object] = {
    "version": "1.0.0",
    "exports": {".": {"types": "./index.d.ts"}, "./extra": {"types": "./extra.d.ts"}},
}


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("lights a room", 'import { lamp } from "kit";'),
        ("LampOptions", 'import type { LampOptions } from "kit";'),
        ("sharpens blades", 'import { tools } from "kit";  // tools.sharpen'),
        ("keeps light out", 'import { Shade } from "kit";'),
        ("the whole kit", 'import { Kit } from "kit";'),
        ("was hidden", 'import { shown } from "kit";'),
        ("glows alone", 'import { glow } from "kit/extra";'),
    ],
)
def test_a_passage_shows_the_import_that_users_write(docs_client: DocsClient, question: str, statement: str) -> None:
    install_npm_package(docs_client.root, "kit", MANIFEST, KIT)
    docs_client.add("npm:kit", name="kit")
    assert statement in docs_client.search(question)[0].text


def test_importable_functions_rank_before_internal_ones_and_option_types(docs_client: DocsClient) -> None:
    comment_text = "/** Paints the fence in a colour. */\n"
    files = {
        "index.d.ts": 'export { paint } from "./paint";\n',
        "paint.d.ts": f"{comment_text}export declare function paintInside(): void;\n{comment_text}export declare function paint(): void;\n",
    }
    install_npm_package(docs_client.root, "brush", {"version": "1.0.0", "types": "index.d.ts"}, files)
    docs_client.add("npm:brush", name="brush")
    anchors = [found.anchors[0] for found in docs_client.search("paints the fence in a colour")]
    assert anchors == ["paint", "paintInside"]
    assert docs_client.search("paintInside")[0].anchors[0] == "paintInside"


def describe_definitions(source: str) -> dict[str, Section]:
    """Return the documented definitions of the file that users import as `a`."""
    sections = describe_declarations("a.d.ts", source.encode(), ImportableNames("a")).sections
    return {section.anchors[0]: section for section in sections if section.is_definition}


@pytest.mark.parametrize(
    ("source", "name", "traits"),
    [
        ("/** Told. */\nexport declare function f(): void;", "f", Trait(0)),
        ("export declare function f(): void;", "f", Trait.UNDOCUMENTED),
        ("/** Told. */\nexport interface Options { a: 1 }", "Options", Trait.TYPE),
        ("/** Told. @deprecated Use g. */\nexport declare function f(): void;", "f", Trait.DEPRECATED),
        ("/** Told. @internal */\nexport declare function f(): void;", "f", Trait.INTERNAL),
    ],
)
def test_traits_that_lower_the_rank_are_detected(source: str, name: str, traits: Trait) -> None:
    assert describe_definitions(source)[name].traits == traits


@pytest.mark.parametrize(
    ("source", "comment", "code"),
    [
        ("/** Told. */\nexport const a: 1;", "Told.", "export const a: 1;"),
        ("/** Told. */ export const a: 1;", "Told.", "export const a: 1;"),
        ("/* Told\n * twice. */\nexport const a: 1;", "Told\ntwice.", "export const a: 1;"),
        ("// Told\n// twice.\nexport const a: 1;", "Told\ntwice.", "export const a: 1;"),
        ("/**\n * Do:\n *   b();\n */\nconst a = 1;", "Do:\n  b();", "const a = 1;"),
    ],
)
def test_comment_markers_are_removed(source: str, comment: str, code: str) -> None:
    found = describe_definitions(source)["a"]
    assert found.blocks[0].text == comment
    assert found.blocks[1].text.split("\n")[2:-1] == code.split("\n")


def test_links_in_comments_are_replaced_by_their_text() -> None:
    source = (
        "/** See {@link add}, {@linkcode Options.zone|the zone} and {@link https://a.org the site}. */\nconst a = 1;"
    )
    assert describe_definitions(source)["a"].blocks[0].text == "See add, the zone and the site."


def test_overloads_share_one_passage_without_repeated_comments() -> None:
    source = """
/** Checks an address. */
export declare function email(): Email;
/** Checks an address.
 * @param message The message. */
export declare function email(message: string): Email;
export declare function other(): void;
"""
    found = describe_definitions(source)
    assert list(found) == ["email", "other"]
    assert [block.text for block in found["email"].blocks] == [
        "Checks an address.\n@param message The message.",
        (
            '```typescript\nimport { email } from "a";\nexport declare function email(): Email;\n'
            "export declare function email(message: string): Email;\n```"
        ),
    ]


def test_methods_of_a_long_interface_are_separate_passages() -> None:
    fields = "".join(f"  /** Field {number}. */\n  field{number}(): string;\n" for number in range(40))
    found = describe_definitions(f"/** Many. */\nexport interface Many {{\n{fields}}}\n")
    assert found["Many.field7"].blocks[0].text == "Field 7."
    assert "field7" not in found["Many"].blocks[-1].text


def test_a_long_comment_does_not_truncate_the_declaration() -> None:
    comment = "".join(f" * Line {number}.\n" for number in range(100))
    found = describe_definitions(
        f"/**\n{comment} */\nexport declare function parse<T>(\n  text: string,\n): Result<T>;\n"
    )
    assert "export declare function parse<T>(\n  text: string,\n): Result<T>;" in found["parse"].blocks[-1].text


def test_bundled_declarations_have_the_names_under_which_they_are_exported() -> None:
    files = {
        "index.d.ts": 'import { t as Outer } from "./chunk-1.js";\nexport { Outer, type Outer as Old };\nexport * from "./chunk-2.js";\n',
        "chunk-1.d.ts": "declare class Inner {}\ndeclare class Hidden {}\nexport { Inner as t, Hidden as h };\n",
        "chunk-2.d.ts": 'export * as space from "./deep.js";\n',
        "deep.d.ts": "export declare function go(): void;\n",
    }
    reader = DeclarationFiles(files.get)
    reader.follow([("kit", "index.d.ts")], "kit")
    importable = reader.importable
    assert importable["chunk-1.d.ts"].public_name("Inner") == "Outer"
    assert importable["chunk-1.d.ts"].public_name("Hidden") == ""
    assert importable["deep.d.ts"].public_name("go") == "space.go"


def test_declarations_in_dependencies_of_a_types_package_are_read(docs_client: DocsClient) -> None:
    install_npm_package(
        docs_client.root, "web", {"version": "1.0.0", "main": "main.js"}, {"main.js": "module.exports = () => {};"}
    )
    types = {"index.d.ts": 'import * as core from "web-core";\ndeclare function web(): core.App;\nexport = web;\n'}
    install_npm_package(
        docs_client.root, "@types/web", {"version": "1.0.0", "dependencies": {"@types/web-core": "*"}}, types
    )
    core = {"index.d.ts": "export interface App {\n  /** Serves on a port. */\n  listen(port: number): void;\n}\n"}
    install_npm_package(docs_client.root, "@types/web-core", {"version": "1.0.0"}, core)
    docs_client.add("npm:web", name="web")
    assert "listen(port: number)" in docs_client.search("serves on a port")[0].text
