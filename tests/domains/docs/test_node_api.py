"""Documentation of npm packages from their declarations: imports, complete signatures, and ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.domains.docs.node_api import PublicNames, describe_declarations
from deltos.domains.docs.node_comment import split_comment
from deltos.domains.docs.node_imports import PackageImport
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
        ("the whole kit", 'import Kit from "kit";'),
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


def describe_definitions(source: str, public: PublicNames | None = None) -> dict[str, Section]:
    sections = describe_declarations("a.d.ts", source.encode(), public or PublicNames({}, {})).sections
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


def test_a_declaration_is_shown_up_to_its_closing_bracket() -> None:
    source = (
        "export declare const pick: <T>(\n  a: { b: T },\n  c: (d: T) => T,\n) => T;\nexport declare const next: 1;\n"
    )
    text = describe_definitions(source)["pick"].blocks[-1].text
    assert text.split("\n")[1:-1] == source.split("\n")[:4]


@pytest.mark.parametrize(
    ("source", "comment", "code"),
    [
        ("/** Told. */\nexport const a: 1;", "Told.", "export const a: 1;"),
        ("/** Told. */ export const a: 1;", "Told.", "export const a: 1;"),
        ("/* Told\n * twice. */\nexport const a: 1;", "Told\ntwice.", "export const a: 1;"),
        ("// Told\n// twice.\nexport const a: 1;", "Told\ntwice.", "export const a: 1;"),
        (
            "/**\n * ```js\n * if (a) {\n *   // why\n *   b();\n * }\n * ```\n */\na;",
            "```js\nif (a) {\n  // why\n  b();\n}\n```",
            "a;",
        ),
        ("    /**\n    Told:\n\n        // why\n    */\n    a;", "Told:\n\n    // why", "    a;"),
        ("/**\nTold.\n*/\n/** Again. */\na;", "Told.\nAgain.", "a;"),
        ("/*/ Told. */\na;", "/ Told.", "a;"),
        ("/** never closed\na;", "never closed", "a;"),
    ],
)
def test_comment_markers_are_removed_and_examples_are_kept(source: str, comment: str, code: str) -> None:
    comment_text, lines = split_comment(source.split("\n"))
    assert (comment_text, "\n".join(lines)) == (comment, code)


def test_links_in_comments_are_replaced_by_their_text_and_html_comments_removed() -> None:
    source = """/**
 * <!-- prettier-ignore -->
 * See {@link add}, {@linkcode Options.zone|the zone} and {@link https://example.org the site};
 * [Options]{@link https://example.org/options}<!-- of v3 -->.
 * ```html
 * <!-- {@link kept} -->
 * ```
 */
export declare function other(): void;"""
    comment_text, lines = split_comment(source.split("\n"))
    assert comment_text == (
        "See add, the zone and the site;\n[Options](https://example.org/options).\n```html\n<!-- {@link kept} -->\n```"
    )
    assert lines == ["export declare function other(): void;"]


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
        "```typescript\nexport declare function email(): Email;\nexport declare function email(message: string): Email;\n```",
    ]


def test_a_long_type_is_one_passage_and_methods_of_a_long_interface_are_separate() -> None:
    fields = "".join(f"  /** Field {number}. */\n  field{number}: string;\n" for number in range(40))
    method = "  /** Runs it. */\n  run(): void;\n"
    source = (
        f"export type Options = {{\n{fields}}} & More;\n/** Told. */\nexport interface Many {{\n{fields}{method}}}\n"
    )
    found = describe_definitions(source)
    assert "field39: string;\n} & More;" in found["Options"].blocks[-1].text
    assert found["Many.run"].blocks[0].text == "Runs it."
    assert found["Many"].blocks[-1].text == f"```typescript\nexport interface Many {{\n{fields}}}\n```"


def test_a_long_comment_does_not_truncate_the_declaration() -> None:
    comment = "".join(f" * Line {number}.\n" for number in range(100))
    found = describe_definitions(
        f"/**\n{comment} */\nexport declare function parse<T>(\n  text: string,\n): Result<T>;\n"
    )
    assert "export declare function parse<T>(\n  text: string,\n): Result<T>;" in found["parse"].blocks[-1].text


def test_region_markers_of_editors_are_not_comments() -> None:
    source = "//#region src/kit.d.ts\n/** Told. */\nexport declare function f(): void;\n//#endregion\n"
    assert describe_definitions(source)["f"].blocks[0].text == "Told."


def test_a_definition_that_is_also_exported_under_an_old_name_keeps_its_own_name() -> None:
    source = (
        "export class BadOption {}\nexport { BadOption as WrongOption };\nclass Inner {}\nexport { Inner as Outer };\n"
    )
    public = PublicNames(
        {"BadOption": ["WrongOption"], "Inner": ["Outer"]},
        {"BadOption": PackageImport("kit", "", "BadOption"), "Inner": PackageImport("kit", "", "Outer")},
    )
    found = describe_definitions(source, public)
    assert found["BadOption"].path[-1] == "BadOption"
    assert found["BadOption"].anchors == ("BadOption", "WrongOption")
    assert found["Outer"].anchors == ("Outer", "Inner")


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
