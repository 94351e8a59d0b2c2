"""What each feature of a candidate weighs. Written by benchmarks/docs_train.py; not edited by hand."""

from __future__ import annotations

WEIGHTS = {
    "heading": 0.125,
    "trail": 1.120,
    "anchors": 0.907,
    "links": 0.959,
    "body": 0.000,
    "page": 4.105,
    "covered": 0.000,
    "covered_with_trail": 2.353,
    "covered_by_anchors": 0.594,
    "heading_answered": 1.887,
    "phrases": 0.814,
    "exact_name": 1.685,
    "source_named": 1.834,
    "links_in": 0.212,
    "page_links_in": 0.539,
    "length": -0.040,
    "definition": 0.354,
    "first": 0.968,
    "depth": -0.210,
    "news": -0.663,
}
