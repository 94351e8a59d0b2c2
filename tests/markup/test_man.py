"""Manual pages are parsed as they are displayed: sections, options as entries, verbatim examples, no roff escapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.markup.man import is_man_page, parse_man, unescape_roff
from deltos.markup.model import join_blocks

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.markup.model import Document

MAN = r"""'\" t
.\" a comment
.TH QUOKKA 1 2026-01-01 "quokka 1.0"
.ie \n(.g .ds Aq \(aq
.el       .ds Aq '
.de Me
.SH Hidden
..
.SH NAME
quokka \- feed \fIanimals\fR
.SH SYNOPSIS
.B quokka
.RB [ \-v ]
.br
.B quokka
.SH OPTIONS
Common ones:
.TP
.BR \-v ", " \-\-verbose
Say \(lqmore\(rq.
.TP
.B \-C
.TQ
\-\-chdir
Go there.
.IP
And stay.
.PP
\fB\-\-depth\fR=\fIn\fR
.RS 4
As generated pages write it.
.RE
.PP
After the options.
.IP \(bu 2
first point
.IP \(bu 2
second point
.SH EXAMPLES
.nf
quokka \-v \e
    food   # two  blanks
.fi
.TS
l l.
Key	Meaning
_
a	T{
all of
them
T}
.TE
"""
MDOC = r""".Dd May 1, 2026
.Dt WOMBAT 8
.Os
.Sh NAME
.Nm wombat
.Nd dig a hole
.Sh SYNOPSIS
.Nm
.Op Fl v
.Op Fl p Ar port
.Sh DESCRIPTION
See
.Xr quokka 1 ,
or
.Pa /etc/wombat .
.Bl -tag -width Ds
.It Fl p Ar port
Listen on
.Ar port .
.Pp
Not twice.
.El
.Bd -literal -offset indent
wombat -p 22
.Ed
"""


def entries(document: Document) -> dict[str, str]:
    return {" > ".join(section.path): join_blocks(section.blocks) for section in document.sections}


def test_a_page_with_man_macros_is_parsed() -> None:
    page = parse_man(MAN)
    assert page.title == "quokka(1)"
    assert entries(page) == {
        "NAME": "quokka - feed animals",
        "SYNOPSIS": "quokka [-v]\nquokka",
        "OPTIONS": "After the options.\n\n- first point\n- second point",
        "OPTIONS > -v, --verbose": "Say “more”.",
        "OPTIONS > -C / --chdir": "Go there.\n\nAnd stay.",
        "OPTIONS > --depth=n": "As generated pages write it.",
        "EXAMPLES": "```\nquokka -v \\\n    food   # two  blanks\n```\n\n| Key | Meaning |\n| a | all of them |",
    }
    assert all(section.is_definition == ("-" in section.path[-1]) for section in page.sections)


def test_a_page_with_mdoc_macros_is_parsed() -> None:
    page = parse_man(MDOC)
    assert page.title == "wombat(8)"
    assert entries(page) == {
        "NAME": "wombat — dig a hole",
        "SYNOPSIS": "wombat [-v] [-p port]",
        "DESCRIPTION": "```\nwombat -p 22\n```",
        "DESCRIPTION > -p port": "Listen on port.\n\nNot twice.",
    }
    assert join_blocks(page.sections[2].blocks) == "See quokka(1), or /etc/wombat."


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"\fBbold\fR \f[I]it\f[] \f(CWcode\fP", "bold it code"),
        (r"it\(aqs a\-b \[em] \(co \*(lqx\*(rq", "it's a-b — © “x”"),
        (r"\s-1SMALL\s0 \s+2x\s0\h'2'y\c", "SMALL xy"),
        (r"text \" comment", "text "),
        (r"C:\e\&.\|x\~y", "C:\\.x y"),
        ("ends with \\", "ends with "),
        (r"\h'never closed", ""),
    ],
)
def test_escape_sequences_are_replaced_by_their_characters(source: str, expected: str) -> None:
    assert unescape_roff(source) == expected


def test_only_manual_pages_are_recognised() -> None:
    assert is_man_page(MAN.encode())
    assert is_man_page(MDOC.encode())
    assert not is_man_page(b"\x7fELF\0\0.TH\n")
    assert not is_man_page(b"Release 2.1\n\nNothing of note.\n")


def test_requests_that_include_files_or_run_programs_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "other.1").write_text("wombats")
    ran = tmp_path / "ran"
    requests = [f".{name} {tmp_path}/other.1" for name in ("so", "mso", "soquiet")]
    requests += [f".{name} touch {ran}" for name in ("sy", "pso", "pi")] + [f".open a {ran}", f".opena a {ran}"]
    page = "\n".join((".TH A 1", ".SH NAME", "a \\- b", ".SH OPTIONS", *requests, "quokkas stay", ""))
    shown_text = "\n".join(join_blocks(section.blocks) for section in parse_man(page).sections)
    assert "quokkas stay" in shown_text
    assert "wombats" not in shown_text
    assert str(tmp_path) not in shown_text
    assert not ran.exists()
