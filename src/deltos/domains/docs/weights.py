"""What each feature of a candidate weighs. Written by benchmarks/docs_train.py; not edited by hand."""

from __future__ import annotations

WEIGHTS = {
    "heading": 0.290,
    "trail": 1.171,
    "anchors": 0.504,
    "links": 0.908,
    "body": 0.167,
    "page": 3.283,
    "covered": 0.710,
    "covered_with_trail": 0.999,
    "covered_by_anchors": 0.953,
    "heading_answered": 1.724,
    "phrases": 0.717,
    "exact_name": 1.789,
    "source_named": 1.810,
    "links_in": 0.356,
    "page_links_in": 0.354,
    "length": 0.030,
    "definition": 0.250,
    "first": 0.715,
    "depth": -0.210,
    "meaning": 0.274,
    "secondary": -0.997,
}
