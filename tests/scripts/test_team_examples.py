"""compose.yaml and the Kubernetes example of docs/team.md are valid, and servers use the restricted role."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

TOP = Path(__file__).parents[2]


def test_compose_servers_and_workers_connect_as_the_restricted_role() -> None:
    services = yaml.safe_load((TOP / "compose.yaml").read_text("utf-8"))["services"]
    for name in ("deltos", "worker-1", "worker-2"):
        assert services[name]["environment"]["DELTOS_DATABASE"].startswith("postgresql://deltos_server:")
        assert services[name]["depends_on"] == {"setup": {"condition": "service_completed_successfully"}}
    assert services["setup"]["command"] == ["db", "init", "--role", "deltos_server"]
    assert services["setup"]["environment"]["DELTOS_ROLE_PASSWORD"] == "${SERVER_PASSWORD:?set it}"
    assert services["postgres"]["volumes"]


def test_the_kubernetes_example_names_its_own_parts() -> None:
    found = re.search(r"(?s)```yaml\n(.*?)```", (TOP / "docs" / "team.md").read_text("utf-8"))
    assert found
    deployment, service, ingress = yaml.safe_load_all(found[1])
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == labels == service["spec"]["selector"]
    backend = ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
    assert (backend["name"], backend["port"]["number"]) == (service["metadata"]["name"], 8731)
