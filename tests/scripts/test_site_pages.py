"""The pages of the documentation site link to each other and to the public repository, never to missing files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml
from scripts.site_pages import ROOT, page_sources, write_pages

if TYPE_CHECKING:
    from pathlib import Path

_REPOSITORY = "https://github.com/deltos/deltos"


def test_every_link_of_the_site_leads_to_a_page_a_picture_or_a_file_of_the_repository(tmp_path: Path) -> None:
    write_pages(tmp_path / "pages")
    for page in (tmp_path / "pages").glob("*.md"):
        for target in re.findall(r"\]\(([^()\s#]+)", page.read_text("utf-8")):
            if target.startswith((f"{_REPOSITORY}/blob/main/", f"{_REPOSITORY}/tree/main/")):
                assert (ROOT / target.split("/main/", 1)[1]).exists(), (page.name, target)
            elif "://" not in target and not target.startswith("mailto:"):
                assert (page.parent / target).exists(), (page.name, target)


def test_the_navigation_lists_every_page_once() -> None:
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    listed = re.findall(r"[\w-]+\.md", str(navigation))
    assert sorted(listed) == sorted(page_sources())


def test_issue_forms_have_the_fields_that_the_host_requires() -> None:
    for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text("utf-8"))
        if path.name == "config.yml":
            continue
        assert form["name"]
        assert form["description"]
        assert all(field["type"] in ("textarea", "input") and field["attributes"]["label"] for field in form["body"])
