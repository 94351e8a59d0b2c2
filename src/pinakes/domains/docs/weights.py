"""What each feature of a candidate weighs. Written by benchmarks/docs_train.py; not edited by hand."""

from __future__ import annotations

WEIGHTS = {
    "heading": 0.344,
    "trail": 1.166,
    "anchors": 0.520,
    "links": 0.918,
    "body": 0.258,
    "page": 3.319,
    "covered": 0.896,
    "covered_with_trail": 1.271,
    "covered_by_anchors": 0.952,
    "heading_answered": 1.725,
    "phrases": 0.680,
    "exact_name": 1.731,
    "source_named": 1.812,
    "links_in": 0.335,
    "page_links_in": 0.376,
    "length": -0.063,
    "definition": 0.301,
    "first": 0.720,
    "depth": -0.225,
    "meaning": 0.300,
    "secondary": -0.887,
}
