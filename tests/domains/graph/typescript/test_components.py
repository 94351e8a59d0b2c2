"""JSX: components, their uses and their properties."""

from tests.domains.graph.typescript.resolving import resolve

APP = """\
import * as React from 'react'
interface Props { title: string; onPick: (id: Id) => void }
class Id { value() {} }
export function Button(props: Props) { return <button>{props.title}</button> }
export const Card = ({ title }: Props) => <Button title={title} onPick={id => id.value()} />
export const FixpointMemo = React.memo(() => <><Card title="x" onPick={f} /></>)
class Old extends React.Component { render() { return <ns.Item><div /></ns.Item> } }
const ns = { Item: () => <i />, plain: () => 1 }
function f(id: Id) {}
export const helper = () => <b />
"""


def test_components_are_distinguished_from_functions() -> None:
    kinds = resolve({"app.tsx": APP}).kinds("app.tsx")
    components = [key for key, kind in kinds.items() if kind == "component"]
    assert components == ["Button", "Card", "FixpointMemo", "Old", "ns.Item"]
    assert kinds["helper"] == "function"


def test_jsx_elements_refer_to_their_component() -> None:
    graph = resolve({"app.tsx": APP})
    assert graph.edges("app.tsx#Button") == [("app.tsx", 5, "call", "scope")]
    assert graph.references("app.tsx#Card") == ["app.tsx:6"]
    assert graph.references("app.tsx#ns.Item") == ["app.tsx:7"]
    assert graph.references("app.tsx#f") == ["app.tsx:6"]


def test_jsx_attributes_refer_to_members_of_the_properties_type() -> None:
    graph = resolve({"app.tsx": APP})
    assert graph.references("app.tsx#Props.title") == ["app.tsx:4", "app.tsx:5", "app.tsx:6"]
    assert graph.references("app.tsx#Props.onPick") == ["app.tsx:5", "app.tsx:6"]
    assert graph.references("app.tsx#Id.value") == ["app.tsx:5"]


def test_jsx_is_parsed_in_javascript_files() -> None:
    graph = resolve(
        {"a.jsx": ("export const A = (p) => <B {...p} x={p.y}>text {p.z}</B>\nfunction B() { return <a b:c='d'/> }\n")}
    )
    assert graph.kinds("a.jsx") == {"A": "component", "B": "component"}
    assert graph.references("a.jsx#B") == ["a.jsx:1"]
