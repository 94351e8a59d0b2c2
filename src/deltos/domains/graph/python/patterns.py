"""Lower the patterns of `match`: which classes the subject may be of, which names are used, which are bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.python.expressions import ExpressionLowering
from deltos.domains.graph.python.nodes import Attribute

if TYPE_CHECKING:
    import tree_sitter

    from deltos.domains.graph.python.nodes import Expression, Name


class PatternLowering(ExpressionLowering):
    """Lowers case patterns."""

    def pattern(
        self,
        node: tree_sitter.Node,
        classes: list[Expression],
        uses: list[Expression],
        captures: list[Name],
    ) -> None:
        """Sort the names of a case pattern into classes of the subject, other uses, and captures."""
        pending = [(node, True)]
        while pending:
            current, outer = pending.pop()
            kind = current.kind_id
            parts = self.parts(current)
            if kind == self.kinds.class_pattern:
                (classes if outer else uses).append(self._dotted_expression(parts[0]))
                pending.extend((part, False) for part in parts[1:])
            elif kind == self.kinds.dotted_name and len(parts) > 1:
                uses.append(self._dotted_expression(current))
            elif kind in (self.kinds.dotted_name, self.kinds.identifier):
                captures.append(self._name(current))
            elif kind == self.kinds.keyword_pattern:
                pending.extend((part, False) for part in parts[1:])
            else:
                keeps_subject = current.type in (
                    "case_pattern",
                    "union_pattern",
                    "as_pattern",
                    "parenthesized_expression",
                )
                pending.extend((part, outer and keeps_subject) for part in parts)

    def _dotted_expression(self, node: tree_sitter.Node) -> Expression:
        first, *rest = self.parts(node) or [node]
        value: Expression = self._name(first)
        for part in rest:
            value = Attribute(self.source.line(part), value, self.source.name(part))
        return value
