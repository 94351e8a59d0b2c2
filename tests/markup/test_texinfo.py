"""Texinfo manuals become sections with the anchors of their nodes; definitions and table items are reference entries."""

from __future__ import annotations

from deltos.markup.formats import format_of, parse

MANUAL = r"""\input texinfo   @c -*-texinfo-*-
@settitle The Quokka Manual @c a comment
@set VERSION 3.1
@copying
Copyright of nobody.
@end copying
@node Top, Feeding, (dir), (dir)
@top Quokka @value{VERSION}
@menu
* Feeding::  When to feed.
@end menu
@node Feeding the animals, Options, Top, Top
@chapter Feeding
@cindex food
Feed @code{quokka}s @emph{twice} a day, see @ref{Options, , all options},
at @url{https://quokka.example, the site} or me@@example.org @dots{}

@example
quokka --feed @var{name} @{now@}
@end example

@itemize @bullet
@item Leaves
@item Roots
@end itemize
@iftex
Only on paper.
@end iftex
@node Options
@section Options
@table @option
@item --amount=@var{n}
@itemx -n @var{n}
The amount.
@item --help
Help.
@end table
After the table.
@deffn {Command} feed name [@var{amount}]
@deffnx Command water name
Feeds an animal.
@end deffn
@defun quokka_feed (char *@var{name})
Feeds it in C.
@end defun
"""


def test_texinfo_becomes_sections_with_reference_entries() -> None:
    document = parse(MANUAL.encode(), "texinfo", url="quokka.texi")
    found = {section.path[-1]: section for section in document.sections if section.path and section.blocks}
    assert document.title == "The Quokka Manual"
    feeding = found["Feeding"]
    assert "Feeding-the-animals" in feeding.anchors
    assert [block.text for block in feeding.blocks] == [
        "Feed `quokka`s *twice* a day, see all options, at the site (https://quokka.example) or me@example.org …",
        "```\nquokka --feed name {now}\n```",
        "- Leaves",
        "- Roots",
    ]
    assert {name for name, section in found.items() if section.is_definition} == {
        "--amount=n / -n n",
        "--help",
        "feed name [amount] / water name",
        "quokka_feed (char *name)",
    }
    assert found["feed name [amount] / water name"].path[:2] == ("Feeding", "Options")
    texts = [block.text for section in document.sections for block in section.blocks]
    assert "After the table." in texts
    assert not any("paper" in text or "nobody" in text or "When to feed" in text for text in texts)


def test_texinfo_files_are_recognised_by_their_suffix() -> None:
    assert [format_of(f"manual{suffix}") for suffix in (".texi", ".texinfo", ".txi")] == ["texinfo"] * 3


def test_broken_texinfo_is_read_to_the_end() -> None:
    text = "@deffn {Command\n@code{" * 500 + "\n@table @code\n" * 500 + "@end table\n}}}@\n@end example\nThe end."
    sections = parse(text.encode(), "texinfo", url="x").sections
    assert any("The end." in block.text for section in sections for block in section.blocks)
