"""What each feature of a candidate weighs. Written by benchmarks/docs_train.py; not edited by hand."""

from __future__ import annotations

WEIGHTS = {
    "heading": 0.5,
    "trail": 0.5,
    "anchors": 0.3,
    "links": 0.5,
    "body": 1.0,
    "page": 2.0,
    "covered": 1.5,
    "covered_with_trail": 0.5,
    "covered_by_anchors": 1.0,
    "heading_answered": 1.3,
    "phrases": 0.7,
    "exact_name": 1.3,
    "source_named": 1.7,
    "links_in": 0.5,
    "page_links_in": 0.2,
    "length": -0.1,
    "definition": 0.3,
    "first": 0.3,
    "depth": -0.2,
    "news": -1.0,
}
