"""What each feature of a candidate weighs. Written by benchmarks/docs_train.py; not edited by hand."""

from __future__ import annotations

WEIGHTS = {
    "heading": 0.000,
    "trail": 0.568,
    "anchors": 0.000,
    "links": 0.172,
    "body": 0.542,
    "page": 3.518,
    "covered": 0.000,
    "covered_with_trail": 1.834,
    "covered_by_anchors": 2.256,
    "heading_answered": 1.190,
    "phrases": 0.228,
    "exact_name": 1.340,
    "source_named": 1.480,
    "links_in": 0.308,
    "page_links_in": 0.688,
    "length": -0.088,
    "definition": 0.605,
    "first": 0.275,
    "depth": -0.157,
    "news": -0.889,
}
