#!/bin/sh
# Write the review of the checked-out commit as Markdown and SARIF, and fail as requested.
#
# REVIEW_BASE     commit, branch or range; default: the target branch of the pull request
# REVIEW_FAIL_ON  never or breaking
# REVIEW_FOLDER   folder for review.md and review.sarif
set -eu

base=${REVIEW_BASE:-}
if [ -z "$base" ] && [ -n "${GITHUB_BASE_REF:-}" ]; then
    base="origin/$GITHUB_BASE_REF...HEAD"
fi
folder=${REVIEW_FOLDER:-deltos-review}
mkdir -p "$folder"

deltos review --format markdown --budget 5000 -- "$base" > "$folder/review.md"
deltos review --format sarif -- "$base" > "$folder/review.sarif"
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    printf 'markdown=%s\nsarif=%s\n' "$folder/review.md" "$folder/review.sarif" >> "$GITHUB_OUTPUT"
fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    cat "$folder/review.md" >> "$GITHUB_STEP_SUMMARY"
fi
deltos review --fail-on "${REVIEW_FAIL_ON:-never}" -- "$base"
