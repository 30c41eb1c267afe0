"""`Dockerfile` and `compose.yaml` use commands, options and variables that there are. No engine builds them here."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from sage_code.settings.loading import TABLE
from sage_serve.server import parser
from sage_serve.settings import ServeSettings

TOP = Path(__file__).parents[2]
DOCKERFILE = (TOP / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((TOP / "compose.yaml").read_text())


def _instruction(name: str) -> list[str]:
    joined = DOCKERFILE.replace("\\\n", " ")
    return re.findall(rf"^{name}\s+(.+)$", joined, re.MULTILINE)


def _settings(words: list[str]) -> ServeSettings:
    given = parser().parse_args(words)
    return ServeSettings(given.host, given.port, allowed_hosts=tuple(given.allowed_host), workers=given.workers)


def test_the_image_serves_as_a_user_without_rights() -> None:
    assert json.loads(_instruction("ENTRYPOINT")[0]) == ["sage", "serve"]
    settings = _settings(json.loads(_instruction("CMD")[-1]))
    settings.check()
    assert _instruction("USER") == ["sage"]
    assert str(settings.port) == _instruction("EXPOSE")[0]
    assert f":{settings.port}/healthz" in _instruction("HEALTHCHECK")[0]
    assert not re.search(r"(?i)(password|secret|token)\s*=", DOCKERFILE)


def test_the_services_use_options_and_variables_that_exist() -> None:
    services = COMPOSE["services"]
    words = [re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", word) for word in services["sage"]["command"]]
    _settings(words).check()
    for name in services["sage"]["environment"]:
        assert name.startswith("AWS_") or name.removeprefix("SAGE_").lower() in TABLE, name
    assert {volume.partition(":")[0] for one in services.values() for volume in one["volumes"]} - {
        "${SAGE_PROJECTS"
    } == {*COMPOSE["volumes"]}
    assert {*services["sage"]["depends_on"]} <= {*services}


def test_no_secret_is_written_down() -> None:
    for service in COMPOSE["services"].values():
        for name, value in service["environment"].items():
            if re.search("PASSWORD|SECRET|ACCESS_KEY|URI", name):
                assert "${SAGE_" in value, name
    assert all("127.0.0.1" in port for port in COMPOSE["services"]["sage"]["ports"])
