"""Write a review as one comment on a pull request; replace the comment of an earlier run."""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path

MARK = "<!-- deltos-review -->"
MAX_COMMENT_CHARACTERS = 60_000
PAGE_SIZE = 100
MAX_PAGES = 20
TIMEOUT_SECONDS = 30


def call_api(method: str, path: str, body: dict[str, str] | None = None) -> object:
    """Call the API of the hosting service and return the decoded answer."""
    request = urllib.request.Request(  # noqa: S310 (the address comes from the runner)
        f"{os.environ.get('GITHUB_API_URL', 'https://api.github.com')}{path}",
        method=method,
        data=json.dumps(body).encode() if body is not None else None,
        headers={
            "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 (as above)
        return json.load(answer)


def find_comment(comments_path: str) -> int:
    """Return the id of the comment of an earlier run; 0 if there is none."""
    for page in range(1, MAX_PAGES + 1):
        comments = call_api("GET", f"{comments_path}?per_page={PAGE_SIZE}&page={page}")
        if not isinstance(comments, list) or not comments:
            return 0
        for comment in comments:
            if str(comment.get("body", "")).startswith(MARK):
                return int(comment["id"])
    return 0


def main() -> None:
    """Create or replace the comment."""
    repository, number = os.environ["GITHUB_REPOSITORY"], int(os.environ["PULL_REQUEST"])
    text = Path(os.environ["COMMENT_FILE"]).read_text("utf-8")[:MAX_COMMENT_CHARACTERS]
    comments_path = f"/repos/{repository}/issues/{number}/comments"
    if comment_id := find_comment(comments_path):
        call_api("PATCH", f"/repos/{repository}/issues/comments/{comment_id}", {"body": text})
    else:
        call_api("POST", comments_path, {"body": text})


if __name__ == "__main__":
    main()
