"""Git repositories as sources, served by a real git server on loopback, including hostile ones."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import deltos.clones.commit_files
from deltos.clones.address import RepositoryAddress, file_address, parse_repository
from deltos.clones.commit_files import CommitFiles, find_local
from deltos.clones.fetching import FetchLimits, Reference, Remote, choose_reference, find_reference, prepare_folder
from deltos.clones.storage import Clones
from deltos.domains.docs.repository import select_documents
from deltos.domains.docs.source import parse_address
from deltos.errors import AddressRefused, BadArgument, Cancelled, FetchFailed, NotFound, SourceError
from deltos.fetch.http import HttpClient
from deltos.logins import Login
from deltos.private_hosts import NO_PRIVATE_HOSTS
from tests.loopback import LOOPBACK, serving
from tests.repositories import git, make_repository, write_files
from tests.smart_http import serving_git

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.private_hosts import PrivateHosts
    from tests.domains.docs.conftest import DocsClient
    from tests.smart_http import GitSite

FILES = {
    "README.md": "# Shop\n\nHow to install the shop.\n",
    "docs/guide.md": "# Guide\n\nThe zebra setting sleeps.\n",
    "docs/other.md": "# Other\n\nNothing changes here.\n",
    "src/notes.md": "# Notes\n\nInner workings of the zebra.\n",
}


@pytest.fixture
def git_site(tmp_path: Path) -> Iterator[GitSite]:
    (tmp_path / "served").mkdir()
    with serving_git(tmp_path / "served") as site:
        yield site


def open_clones(folder: Path, *, private_hosts: PrivateHosts = LOOPBACK, **limits: int) -> Clones:
    def make_client(login: Login | None) -> HttpClient:
        return HttpClient(private_hosts=private_hosts, login=login)

    return Clones(folder, private_hosts, make_client, FetchLimits(**limits))


def test_documentation_of_a_branch_or_tag_is_read_and_updated_incrementally(
    docs_client: DocsClient, git_site: GitSite, tmp_path: Path
) -> None:
    shop = make_repository(git_site.folder / "shop", {**FILES, "docs/_templates/layout.html": "{{ zebra }}\n"})
    git(shop, "tag", "v1.0")
    write_files(shop, {"docs/guide.md": "# Guide\n\nThe zebra setting wakes.\n"})
    git(shop, "commit", "-qam", "later")
    url = f"{git_site.url}/shop"
    status = docs_client.add(f"git+{url}")
    assert (status.state, status.source.kind, status.source.version) == ("READY", "git", "main")
    assert docs_client.find_citations("zebra setting wakes") == [
        f"{url}@main/docs/guide.md#guide"
    ]  # the notes next to the code are not indexed
    assert docs_client.find_citations("install shop")[0] == f"{url}@main/README.md#shop"
    assert [(each.reason, each.count) for each in status.skipped] == [("in a template folder", 1)]
    write_files(shop, {"docs/guide.md": "# Guide\n\nThe zebra setting dreams.\n"})
    git(shop, "commit", "-qam", "latest")
    again = docs_client.recrawl()
    assert (again.pages_done, again.pages_unchanged) == (1, 2)
    assert docs_client.find_citations("zebra dreams") == [f"{url}@main/docs/guide.md#guide"]
    clones = tmp_path / "home" / "clones"
    assert [path.name for path in clones.iterdir()] == [status.source.id]
    docs_client.docs.library.remove("site")
    assert list(clones.iterdir()) == []
    assert docs_client.add(f"git+{url}", version="1.0").source.version == "v1.0"
    assert "sleeps" in docs_client.search("zebra setting")[0].text
    docs_client.docs.library.remove("site")
    with pytest.raises(NotFound, match=r"no branch or tag '9.9'.*main, v1.0"):
        docs_client.begin(f"git+{url}", version="9.9")


def test_links_submodules_filters_and_unusual_names_have_no_effect(
    docs_client: DocsClient, git_site: GitSite, tmp_path: Path
) -> None:
    trap = tmp_path / "sprung"
    shop = make_repository(
        git_site.folder / "shop",
        FILES
        | {
            ".gitattributes": "* filter=trap diff=trap\n",
            ".gitmodules": f'[submodule "sub"]\n\tpath = docs/sub.md\n\turl = file://{tmp_path}\n\tupdate = !touch {trap}\n',
            "docs/large.md": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
        },
    )
    (shop / "docs" / "passwords.md").symlink_to("/etc/passwd")
    (shop / "docs" / "whole.md").symlink_to("/etc")
    git(shop, "add", "--all")
    git(shop, "update-index", "--add", "--cacheinfo", f"160000,{git(shop, 'rev-parse', 'HEAD')},docs/sub.md")
    git(shop, "commit", "-qm", "hostile")
    branch = f"--upload-pack=touch${{IFS}}{trap}".replace("/", "-")
    write_files(shop, {f".git/refs/heads/{branch}": f"{git(shop, 'rev-parse', 'HEAD')}\n"})
    write_files(shop, {".git/hooks/post-upload-pack": f"#!/bin/sh\ntouch {trap}\n"})
    status = docs_client.add(f"git+{git_site.url}/shop", version=branch)
    assert (status.state, status.pages_done, status.pages_skipped) == ("READY", 3, 4)
    assert docs_client.search("root bin bash") == []
    assert not trap.exists()
    [clone] = (tmp_path / "home" / "clones").iterdir()
    assert not [path for path in clone.rglob("*") if path.is_symlink() or path.name in ("hooks", "modules")]


def test_git_does_not_follow_redirects_to_other_hosts(git_site: GitSite, tmp_path: Path) -> None:
    make_repository(git_site.folder / "shop", FILES)
    clones = open_clones(tmp_path / "clones")
    with serving() as elsewhere:
        moved = (302, {"Location": f"{elsewhere.url}/shop/info/refs?service=git-upload-pack"}, b"")
        git_site.intercept = lambda _path, headers: moved if headers["user-agent"].startswith("deltos (") else None
        with pytest.raises((AddressRefused, NotFound)):
            clones.fetch_commit("a", f"{git_site.url}/shop", "", None)
        elsewhere.asked.clear()
        git_site.intercept = lambda _path, headers: None if headers["user-agent"].startswith("deltos (") else moved
        with pytest.raises(FetchFailed, match="could not be fetched"):
            clones.fetch_commit("a", f"{git_site.url}/shop", "", None)
        assert not elsewhere.asked
        dumb = (200, {"Content-Type": "text/plain"}, b"")
        git_site.intercept = lambda _path, _headers: dumb
        with pytest.raises(SourceError, match="is not a git repository"):
            clones.fetch_commit("a", f"{git_site.url}/shop", "", None)
    with pytest.raises(AddressRefused, match="private network"):
        open_clones(tmp_path / "clones", private_hosts=NO_PRIVATE_HOSTS).fetch_commit(
            "a", f"{git_site.url}/shop", "", None
        )
    assert list((tmp_path / "clones").iterdir()) == []


def test_git_connects_to_the_checked_address_without_resolving_names(git_site: GitSite, tmp_path: Path) -> None:
    make_repository(git_site.folder / "shop", FILES)
    port = git_site.url.rpartition(":")[2]
    pinned = Remote(f"http://no-such-host.invalid:{port}/shop", ("127.0.0.1",))
    prepare_folder(tmp_path / "git", pinned)
    assert find_reference(pinned, "", tmp_path / "git").version == "main"
    local = Remote(f"file://{git_site.folder}/shop", ())
    with pytest.raises(AddressRefused, match="Only http and https"):
        find_reference(local, "", tmp_path / "git")


def test_a_repository_over_the_limits_is_reported_and_removed(
    git_site: GitSite, docs_client: DocsClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_repository(git_site.folder / "large", {"README.md": os.urandom(400_000)})
    with pytest.raises(SourceError, match="fetched more than 0 MB"):
        open_clones(tmp_path / "clones", max_bytes=100_000).fetch_commit("a", f"{git_site.url}/large", "", None)
    assert list((tmp_path / "clones").iterdir()) == []
    bomb = make_repository(git_site.folder / "bomb", {"README.md": "# Bomb\n"})
    tree = git(bomb, "rev-parse", "HEAD^{tree}")
    for _ in range(8):  # ten nested levels of ten folders: a few kilobytes describe a hundred million names
        tree = git(bomb, "mktree", text="".join(f"040000 tree {tree}\tfolder{at}\n" for at in range(10)))
    docs = git(bomb, "rev-parse", "HEAD^{tree}")
    tree = git(bomb, "mktree", text=f"040000 tree {tree}\tbomb\n040000 tree {docs}\tdocs\n")
    git(bomb, "update-ref", "refs/heads/main", git(bomb, "commit-tree", tree, "-m", "bomb"))
    monkeypatch.setattr(deltos.clones.commit_files, "MAX_LISTED_BYTES", 1_000_000)
    status = docs_client.add(f"git+{git_site.url}/bomb")
    assert status.state == "FAILED"
    assert "too many files to list (git printed more than 1 MB" in status.reason
    assert "Add the URL of one of its folders" in status.reason
    repository = find_local(bomb)
    assert repository
    files = CommitFiles(repository, "refs/heads/main", "docs")
    assert list(files.files()) == ["docs/README.md"]  # the hint suggests to select a folder
    files.close()
    with pytest.raises(Cancelled):
        files.read("docs/README.md", 1_000)  # a late read does not create a new temporary folder


def test_incomplete_fetches_of_a_killed_process_are_removed_at_the_next_start(
    docs_client: DocsClient, git_site: GitSite, tmp_path: Path
) -> None:
    make_repository(git_site.folder / "shop", FILES)
    source_id = docs_client.add(f"git+{git_site.url}/shop").source.id
    clones = tmp_path / "home" / "clones"
    write_files(
        clones,
        {
            "gone-123456/HEAD": "",
            f"{source_id}.unfinished/HEAD": "",
            f"{source_id}/objects/pack/tmp_pack_x": "x",
        },
    )
    docs_client.docs.library.crawls.resume()
    assert [path.name for path in clones.iterdir()] == [source_id]
    assert docs_client.recrawl().pages_unchanged == 3
    assert not list(clones.rglob("tmp_*"))


def test_credentials_are_sent_only_to_the_repository_and_not_stored(
    docs_client: DocsClient, git_site: GitSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_repository(git_site.folder / "shop", FILES)
    git_site.intercept = lambda _path, headers: (
        None if headers.get("authorization") == "Bearer s3cret-of-git" else (401, {"WWW-Authenticate": "Basic"}, b"")
    )
    with pytest.raises(NotFound, match="HTTP 401"):
        docs_client.begin(f"git+{git_site.url}/shop")
    login = Login(
        ("http", "127.0.0.1", int(git_site.url.rpartition(":")[2])), (("Authorization", "Bearer s3cret-of-git"),)
    )
    assert "s3cret" not in repr(login)
    open_clones(tmp_path / "clones").fetch_commit("a", f"{git_site.url}/shop", "", login)
    kept = b"".join(path.read_bytes() for path in (tmp_path / "clones").rglob("*") if path.is_file())
    assert b"s3cret" not in kept


def test_a_folder_of_a_repository_is_selected_by_its_exact_path(
    docs_client: DocsClient,
) -> None:
    address = parse_address("https://github.com/a/b/tree/main/docs/[slug]", project_root=docs_client.root, roots=())
    assert (address.folder, address.version) == ("docs/[slug]", "main")
    shop = make_repository(
        docs_client.root / "shop",
        {
            "docs/[slug]/a.md": "# A\n\nThe zebra.\n",
            "docs/s/b.md": "# B\n\nThe zebra.\n",
            "packages/x/docs/[slug]/c.md": "# C\n\nThe zebra.\n",
        },
    )
    whole = docs_client.store.sources.source(docs_client.begin(f"file://{shop}"))
    assert whole
    row = replace(whole, folder="docs/[slug]")
    repository = docs_client.docs.library.crawls.opener.open(row, docs_client.parser)
    assert list(repository.start_addresses()) == [f"{shop}@main/docs/[slug]/a.md"]
    repository.close()


def test_cancelling_a_crawl_ends_its_fetch(docs_client: DocsClient, git_site: GitSite, tmp_path: Path) -> None:
    make_repository(git_site.folder / "shop", FILES)
    source_id = docs_client.begin(f"git+{git_site.url}/shop")
    begun, ended = threading.Event(), threading.Event()

    def block_upload(path: str, headers: dict[str, str]) -> None:
        if path.endswith("/git-upload-pack"):
            begun.set()
            ended.wait(60)

    git_site.intercept = block_upload
    crawl = threading.Thread(target=docs_client.docs.library.crawls.run, args=(source_id,))
    crawl.start()
    assert begun.wait(60)
    assert docs_client.docs.library.cancel("site")
    crawl.join(60)
    assert not crawl.is_alive()
    assert docs_client.docs.library.status("site").state == "CANCELLED"
    for thread in threading.enumerate():
        if thread.name == "deltos-reader":
            thread.join(20)  # cancelling also ends the git process of the fetch
    assert list((tmp_path / "home" / "clones").glob("*")) == []
    ended.set()


def test_a_recrawl_reads_the_same_branch_as_before(docs_client: DocsClient, tmp_path: Path) -> None:
    shop = make_repository(docs_client.root / "shop", FILES)
    git(shop, "branch", "-m", "8.0")
    assert docs_client.add(f"file://{shop}").source.version == "8.0"
    for tag in ("8.0", "v8.0"):
        git(shop, "tag", tag)
    write_files(shop, {"docs/guide.md": "# Guide\n\nThe zebra setting wakes.\n"})
    git(shop, "commit", "-qam", "later")
    assert docs_client.recrawl().pages_done == 1
    assert "wakes" in docs_client.search("zebra setting")[0].text


@pytest.mark.parametrize(
    ("known", "found"),
    [
        (["refs/heads/8.0", "refs/tags/v8.0"], "refs/heads/8.0"),
        (["refs/heads/8.0", "refs/tags/8.0"], "refs/tags/8.0"),
        (["refs/heads/main", "refs/tags/v8.0"], "refs/tags/v8.0"),
    ],
)
def test_a_version_prefers_a_git_reference_without_the_prefix_v(known: list[str], found: str) -> None:
    assert choose_reference("8.0", known) == Reference(found)


def test_manual_pages_and_files_without_a_suffix_are_recognised_by_name(
    docs_client: DocsClient, tmp_path: Path
) -> None:
    files: dict[str, str | bytes] = {
        "README": "Shop\n\nThe giraffe is tall.\n",
        "CHANGES": "1.0\n\nThe okapi came.\n",
        "Makefile": "all:\n",
        "docs/a.md": "# A\n\nThe zebra.\n",
        "man/shop.1": ".TH SHOP 1\n.SH NAME\nshop \\- sells a quokka\n",
        "lib/libshop.so.1": b"\x7fELF\0",
        "src/notes.md": "# Notes\n",
    }
    shop = make_repository(docs_client.root / "shop", files)
    assert select_documents(dict.fromkeys(files)) == [  # type: ignore[arg-type]
        "README", "CHANGES", "docs/a.md", "man/shop.1", "lib/libshop.so.1"
    ]  # fmt: skip
    status = docs_client.add(f"file://{shop}")
    assert (status.state, status.pages_done, status.pages_skipped) == ("READY", 4, 1)
    for word, path in (("giraffe", "README"), ("okapi", "CHANGES"), ("quokka", "man/shop.1")):
        assert docs_client.find_citations(word)[0].startswith(f"{shop}@main/{path}")


def test_a_local_repository_is_read_in_place(docs_client: DocsClient, tmp_path: Path) -> None:
    shop = make_repository(docs_client.root / "shop", FILES)
    git(shop, "tag", "v2")
    write_files(shop, {"docs/guide.md": "# Guide\n\nNot committed.\n"})
    status = docs_client.add(f"file://{shop}", version="2")
    assert (status.state, status.source.version) == ("READY", "v2")
    assert docs_client.find_citations("zebra setting") == [f"{shop}@v2/docs/guide.md#guide"]
    git(docs_client.root, "clone", "--quiet", "--bare", str(shop), "bare.git")
    assert docs_client.add(str(docs_client.root / "bare.git"), "bare").source.kind == "git"
    docs_client.docs.library.remove("site")
    assert docs_client.add(str(shop), "folder").source.kind == "folder"
    assert not list((tmp_path / "home").glob("clones/*"))
    outside = make_repository(tmp_path / "outside", FILES)
    with pytest.raises(AddressRefused, match="outside"):
        docs_client.begin(f"file://{outside}", "outside")
    with pytest.raises(BadArgument, match="is not a git repository"):
        docs_client.begin(f"file://{docs_client.root}/shop/docs", "docs")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://github.com/pallets/flask", RepositoryAddress("https://github.com/pallets/flask")),
        ("https://user:secret@github.com/pallets/flask.git", RepositoryAddress("https://github.com/pallets/flask.git")),
        (
            "https://github.com/pallets/flask/tree/3.0.x/docs/api",
            RepositoryAddress("https://github.com/pallets/flask", "3.0.x", "docs/api"),
        ),
        ("https://gitlab.com/group/sub/tool", RepositoryAddress("https://gitlab.com/group/sub/tool")),
        ("git+https://git.example.org/tool", RepositoryAddress("https://git.example.org/tool")),
        ("https://git.example.org:8443/a/tool.git", RepositoryAddress("https://git.example.org:8443/a/tool.git")),
        ("git+https://Git.Bücher.example/tool", RepositoryAddress("https://git.xn--bcher-kva.example/tool")),
        ("https://github.com/features/actions", None),
        ("https://github.com/pallets/flask/issues", None),
        ("https://github.com/pallets", None),
        ("https://docs.example.org/guide/", None),
        ("docs/a@b/c", None),
    ],
)
def test_repository_addresses_are_recognised(text: str, address: RepositoryAddress | None) -> None:
    assert parse_repository(text) == address


def test_other_transports_are_refused_and_citations_use_the_web_urls_of_the_host() -> None:
    for text in ("git@github.com:pallets/flask.git", "ssh://git@host/a.git", "git://host/a.git"):
        with pytest.raises(BadArgument, match="only fetched over https"):
            parse_repository(text)
    assert (
        file_address("https://github.com/a/b", "main", "docs/a b.md")
        == "https://github.com/a/b/blob/main/docs/a%20b.md"
    )
    assert file_address("https://gitlab.com/a/b", "v1", "a.md") == "https://gitlab.com/a/b/-/blob/v1/a.md"
