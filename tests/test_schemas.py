"""What Sage prints and writes is what `compiled_schema/` says, for every command and every file."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from sage_cli.app import app
from sage_code import Project
from sage_code.compiled.segment import KINDS
from sage_code.errors import SageError
from sage_code.events.events import EventType, LoadEvent
from sage_code.events.relay import line_of
from sage_code.languages.kinds import CHUNK_KIND, TABLES
from sage_code.paths import assets_dir, compiled_dir, manifest_path
from sage_code.settings.loading import TABLE
from sage_code.values import SkipReason

Run = Callable[..., Any]
SCHEMAS = {
    path.name: json.loads(path.read_text()) for path in sorted(Path(assets_dir("compiled_schema")).glob("*.json"))
}
RESOURCES: Registry[Any] = Registry().with_resources(
    (name, Resource.from_contents(schema)) for name, schema in SCHEMAS.items()
)
# Every command with --json, and the schema of what it prints.
COMMANDS = {
    "index": "index.json",
    "mcp install": "mcp_changes.json",
    "mcp uninstall": "mcp_changes.json",
    "hooks install": "hooks_changes.json",
    "hooks uninstall": "hooks_changes.json",
    "hooks status": "hooks_status.json",
    "skills install": "skills_changes.json",
    "skills update": "skills_changes.json",
    "skills uninstall": "skills_changes.json",
    "skills list": "skills_list.json",
    "skills show": "skill.json",
    "index export": "index_export.json",
    "index import": "index_import.json",
    "status": "status.json",
    "doctor": "doctor.json",
    "search": "search.json",
    "eval": "eval.json",
    "grep": "grep.json",
    "analyze": "analyze.json",
    "refs": "refs.json",
    "callers": "callers.json",
    "callees": "callees.json",
    "impact": "impact.json",
    "review": "review.json",
    "review post": "review_post.json",
    "outline": "outline.json",
    "map": "map.json",
    "similar": "similar.json",
    "refs-check": "refs_check.json",
    "stale": "refs_check.json",
    "why": "refs_check.json",
    "still-true": "still_true.json",
    "usage": "usage.json",
    "fleet add": "fleet_list.json",
    "fleet index": "fleet_index.json",
    "fleet list": "fleet_list.json",
    "fleet remove": "fleet_list.json",
    "fleet status": "fleet_status.json",
    "share distrust": "share_trust.json",
    "share key": "share_key.json",
    "share push": "share_push.json",
    "share status": "share_status.json",
    "share trust": "share_trust.json",
    "team init": "team_init.json",
    "team login": "team_login.json",
    "team status": "team_status.json",
    "team share": "team_sent.json",
    "team list": "team_list.json",
    "team show": "team_item.json",
    "team history": "team_history.json",
    "team edit": "team_sent.json",
    "team rm": "team_sent.json",
    "team drop": "team_drop.json",
    "team sync": "team_sync.json",
    "team conflicts": "team_conflicts.json",
    "team resolve": "team_resolve.json",
    "team members list": "team_members.json",
    "team members add": "team_member.json",
    "team members drop": "team_member_drop.json",
    "team audit": "team_audit.json",
    "projects list": "projects.json",
    "projects forget": "projects_forget.json",
    "serve user add": "serve_user.json",
    "serve user rotate": "serve_user.json",
    "serve user list": "serve_users.json",
    "serve user revoke": "serve_user_revoke.json",
    "admin verify": "admin_verify.json",
    "admin rebuild-embeddings": "index.json",
    "admin compact": "admin_compact.json",
    "models list": "models_list.json",
    "models info": "models_info.json",
    "models use": "models_use.json",
    "config list": "config_list.json",
    "config get": "config_get.json",
    "continuity status": "continuity_status.json",
    "continuity clear": "continuity_clear.json",
    "continuity mark": "continuity_mark.json",
    "channels list": "channels_list.json",
    "channels show": "channel.json",
    "channels summarise": "channel.json",
    "channels history": "channels_history.json",
    "context show": "context.json",
    "profile show": "profile.json",
    "profile edit": "profile.json",
    "profile list": "profile_list.json",
    "profile forget": "profile_forget.json",
    "scheduler run": "scheduler_tick.json",
    "scheduler status": "scheduler_status.json",
    "summarise": "summarise.json",
    "conversations list": "conversations_list.json",
    "conversations search": "conversations_search.json",
    "conversations show": "conversations_show.json",
    "conversations import": "conversations_import.json",
    "conversations forget": "conversations_forget.json",
    "core list": "core_list.json",
    "core add": "core_add.json",
    "core rm": "core_rm.json",
    "checkpoint save": "checkpoint_save.json",
    "checkpoint list": "checkpoint_list.json",
    "checkpoint show": "checkpoint.json",
    "checkpoint search": "checkpoint_search.json",
    "checkpoint rm": "memory_rm.json",
    "checkpoint prune": "checkpoint_prune.json",
    "checkpoint restore": "memory_restore.json",
    "memory status": "memory_status.json",
    "memory agents": "memory_agents.json",
    "memory blocks": "memory_blocks.json",
    "memory edit": "memory_edit.json",
    "memory history": "memory_history.json",
    "memory undo": "memory_edit.json",
    "memory add": "archival_insert.json",
    "memory search": "archival_search.json",
    "memory list": "archival_list.json",
    "memory show": "archival_passage.json",
    "memory rm": "memory_rm.json",
    "memory move": "memory_move.json",
    "memory verify": "memory_verify.json",
    "memory rebuild": "memory_rebuild.json",
    "memory forget": "memory_forget.json",
    "knowledge add": "knowledge_save.json",
    "knowledge list": "knowledge_list.json",
    "knowledge match": "knowledge_match.json",
    "knowledge show": "knowledge_item.json",
    "knowledge rm": "memory_rm.json",
    "knowledge restore": "memory_restore.json",
    "knowledge merge": "knowledge_item.json",
    "todo add": "knowledge_save.json",
    "todo list": "knowledge_list.json",
    "todo pending": "knowledge_list.json",
    "todo done": "knowledge_item.json",
    "scip import": "scip_import.json",
    "scip list": "scip_list.json",
    "scip rm": "scip_rm.json",
    "scip export": "scip_export.json",
    "tags": "tags.json",
    "templates list": "templates_list.json",
    "templates show": "template.json",
    "templates validate": "template.json",
    "watcher start": "watcher_status.json",
    "watcher stop": "watcher_status.json",
    "watcher status": "watcher_status.json",
    "watcher install": "watcher_service.json",
    "watcher uninstall": "watcher_service.json",
    "plugins list": "plugins_list.json",
    "plugins show": "plugin.json",
    "plugins enable": "plugin_change.json",
    "plugins disable": "plugin_change.json",
    "plugins new": "plugin_new.json",
    "events list": "events_list.json",
    "events tail": "events_tail.json",
}
# What is written rather than printed, printed on a flag, or part of another.
OTHERS = {"symbol.json", "symbols_file.json", "index_meta.json", "registry.json", "segments.json"}
OTHERS |= {"index_dry_run.json", "error.json", "summary.json", "channel_version.json"}
# What only the MCP server answers; tests/server/ holds it against them.
OTHERS |= {"mcp_version.json", "mcp_health.json", "mcp_references.json", "mcp_debug_query.json"}
OTHERS |= {"mcp_recall.json"}


def _validate(document: Any, schema: str) -> Any:
    Draft202012Validator(SCHEMAS[schema], registry=RESOURCES).validate(document)
    return document


@pytest.fixture
def project(sample: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    Project.open(sample).index()
    monkeypatch.chdir(sample)
    return sample


@pytest.fixture
def printed(sage: Run) -> Run:
    """Runs a command with --json and gives back its document, once it is known to be what the schema says."""

    def run(command: str, *words: str, code: int = 0, schema: str = "") -> Any:
        result = sage(*command.split(), *words, "--json")
        assert result.code == code, result.err
        return _validate(json.loads(result.out), schema or COMMANDS[command])

    return run


def _json_commands(group: Any, prefix: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _json_commands(command, f"{prefix}{name} ")
        elif any("--json" in parameter.opts for parameter in command.params):
            yield prefix + name


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every description of an object inside a schema."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from _objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _objects(value)


def test_every_command_with_json_has_a_schema_and_every_schema_a_use() -> None:
    assert set(_json_commands(typer.main.get_command(app))) == COMMANDS.keys()
    assert {*COMMANDS.values(), *OTHERS} == SCHEMAS.keys()


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_sound_documented_and_closed(name: str) -> None:
    schema = SCHEMAS[name]
    Draft202012Validator.check_schema(schema)
    assert schema["title"]
    assert schema["description"]
    for described in _objects(schema):
        # Either every key is ours and named, or the keys are data and their values described.
        assert described["additionalProperties"] is False or isinstance(described["additionalProperties"], dict)
        for key, value in described.get("properties", {}).items():
            assert value.get("description") or "$ref" in value, f"{name}: {key}"


def test_index_and_dry_run(project: Path, printed: Run) -> None:
    assert printed("index", "--full")["files_indexed"] == 2
    (project / "new.py").write_text("def added():\n    return 1\n")
    (project / "server.py").unlink()
    preview = printed("index", "--dry-run", schema="index_dry_run.json")
    assert [file["path"] for file in preview["to_index"]] == ["new.py"]
    assert preview["removed"] == ["server.py"]
    assert preview["skipped"]
    assert printed("index")["files_removed"] == 1
    assert printed("admin rebuild-embeddings")["chunks_created"] > 0


def test_export_and_import(project: Path, printed: Run, tmp_path: Path) -> None:
    archive, elsewhere = str(tmp_path / "index"), tmp_path / "elsewhere"
    exported = printed("index export", archive)
    imported = printed("index import", archive, str(elsewhere))
    assert imported["chunks"] == exported["chunks"] > 0
    assert _validate(json.loads(Path(manifest_path(str(elsewhere))).read_bytes()), "index_meta.json")["imported"]


def test_doctor(project: Path, printed: Run) -> None:
    found = printed("doctor")
    assert found["root"] == str(project)
    assert {finding["check"] for finding in found["findings"]} == {
        "python", "home", "settings", "model", "store", "index", "agents", "mcp"
    }  # fmt: skip
    assert {finding["level"] for finding in found["findings"]} <= {"ok", "note"}


def test_serve_users(printed: Run) -> None:
    assert printed("serve user add", "ann", "--scopes", "search,memory:read")["scopes"] == ["search", "memory:read"]
    assert printed("serve user rotate", "ann")["token"].startswith("sage_")
    assert [one["name"] for one in printed("serve user list")["users"]] == ["ann"]
    assert printed("serve user revoke", "ann") == {"revoked": "ann"}


def test_agents(project: Path, printed: Run) -> None:
    assert printed("mcp install", "--agent", "zed", "--print")["previews"]
    words = ["--agent", "claude", "--scope", "project"]
    added = printed("mcp install", *words, "--snippet", "--subagent")["changes"]
    assert [change["action"] for change in added] == ["added"] * 3
    assert [change["action"] for change in printed("mcp uninstall", *words)["changes"]] == ["removed"] * 3
    printed("mcp uninstall", *words, code=1)


def test_hooks(project: Path, printed: Run) -> None:
    assert printed("hooks install", "--print")["previews"]
    printed("hooks status", code=1)
    assert printed("hooks install")["changes"][0]["action"] == "added"
    assert printed("hooks status")["installed"]
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text("{")
    assert printed("hooks status", code=2)["scopes"][1]["problem"]
    printed("hooks install", "--scope", "project", code=2, schema="error.json")
    assert printed("hooks uninstall")["changes"][0]["action"] == "removed"
    printed("hooks uninstall", code=1)


def test_skills(project: Path, printed: Run) -> None:
    words = ["--scope", "project"]
    assert {change["action"] for change in printed("skills install", *words)["changes"]} == {"added"}
    assert {skill["state"] for skill in printed("skills list", *words)["skills"]} == {"current", "absent"}
    (project / ".claude" / "skills" / "sage-memory" / "SKILL.md").write_text("mine")
    assert printed("skills update", *words)["changes"][0]["note"]
    assert printed("skills uninstall", *words)["changes"][0]["action"] == "kept"
    assert printed("skills show", "sage-memory")["version"]
    printed("skills show", "nothing", code=2, schema="error.json")


def test_status(project: Path, printed: Run) -> None:
    status = printed("status")
    assert status["fresh"]
    assert [skip["path"] for skip in status["skipped"]] == ["logo.bin"]
    Path(manifest_path(str(project))).write_text("{")
    assert printed("status", code=1)["damaged"]
    Path(manifest_path(str(project))).unlink()
    assert not printed("status", code=1)["indexed"]


def test_grep_and_analyze(project: Path, printed: Run) -> None:
    assert len(printed("grep", "connect")["matches"]) == 2
    assert printed("grep", "connect", "-n", "1")["truncated"] == 1
    assert printed("grep", "conect", code=1)["nearest"] == ["connect"]
    assert printed("analyze", "Server")["matches"][0]["source"].startswith("class Server:")
    assert printed("analyze", "conect", code=1)["nearest"] == ["connect"]


def test_review(project: Path, printed: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    printed("review", code=2, schema="error.json")
    for words in ("init", "add server.py", "commit -m first"):
        names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *names, *words.split()], cwd=project, check=True, capture_output=True)
    text = (project / "server.py").read_text()
    (project / "server.py").write_text(text.replace("def connect(", "def connect(again, "))
    printed("index")
    assert printed("review", "--base", "HEAD")["definitions"]
    for name in ("GITLAB_CI", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GITLAB_CI", "true")
    assert printed("review", "-o", str(project / "review.md"), "--base", "HEAD")["markdown"]
    assert printed("review post", str(project / "review.md"), code=1)["action"].startswith("not posted")


def test_search(project: Path, printed: Run) -> None:
    found = printed("search", "connect", "--explain")
    assert found["good"]
    assert found["root"] == str(project)
    assert {hit["file"] for hit in found["results"]} == {"server.py", "web/client.ts"}
    everywhere = printed("search", "connect", "--all")
    assert {hit["project"] for hit in everywhere["results"]} == {"sample"}
    assert not printed("search", "kubernetes ingress quota", code=1)["good"]
    kinds = SCHEMAS["search.json"]["properties"]["results"]["items"]["properties"]["kind"]["enum"]
    assert tuple(kinds) == KINDS


def test_conversations(project: Path, printed: Run, tmp_path: Path) -> None:
    printed("conversations list", code=1)
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"role": "user", "content": "Which queue?"}\n{"role": "assistant", "content": "Kafka."}\n7\n')
    (tmp_path / "bad.jsonl").write_text("7\n")
    done = printed("conversations import", str(chat), str(tmp_path / "bad.jsonl"))
    assert (done["messages"], done["bad_lines"], len(done["failed"])) == (2, 1, 1)
    assert printed("conversations list")["sessions"][0]["title"] == "Which queue?"
    found = printed("conversations search", "which queue", "--explain")["results"]
    assert found[0]["signals"]
    assert [one["role"] for one in printed("conversations show", "chat")["messages"]] == ["user", "assistant"]
    assert printed("conversations forget", "--session", "chat", "--dry-run")["dry_run"]
    assert printed("conversations forget", "--session", "chat", "--force")["sessions"] == 1
    printed("conversations show", "chat", code=2, schema="error.json")


def test_channels_and_profiles(project: Path, printed: Run, tmp_path: Path) -> None:
    for command in ("channels list", "profile show", "profile list"):
        printed(command, code=1)
    printed("channels show", code=2, schema="error.json")
    chat = tmp_path / "chat.jsonl"
    said = ("I live in Oslo.", "We decided to use Kafka in worker.py.", "Who writes it?")
    lines = [json.dumps({"role": "user", "name": "Ana", "channel": "#team", "content": text}) for text in said]
    chat.write_text("\n".join(lines) + "\n")
    printed("conversations import", str(chat))
    assert printed("channels list")["channels"][0]["waiting"] == 3
    assert printed("channels show", "#team", code=1)["summary"] is None
    assert printed("scheduler status")["dirty"] == 1
    assert not printed("scheduler run", "--once")["summarised"]
    assert printed("channels summarise", "#team")["summary"]["version"] == 1
    assert printed("channels history", "#team", "--kind", "profile")["versions"]
    assert printed("context show", "#team")["parts"]
    assert printed("profile show", "Ana")["facts"]
    assert printed("profile edit", "Ana", "--set", "I like tea")["facts"][0]["by_hand"]
    assert printed("profile show", "Ana", "--retired")["facts"][0]["retired"]
    assert printed("profile list")["people"]
    assert printed("summarise", str(chat))["messages"] == 3
    assert printed("profile forget", "Ana", "--force")["facts"] >= 1


def test_eval(project: Path, printed: Run, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"query": "reach a host", "relevant": ["server.py"]}\n')
    for flags in ([], ["--path-blind"], ["--whole"]):
        found = printed("eval", str(labels), *flags)
        assert (found["queries"], found["ndcg"], found["missed"]) == (1, 1.0, [])


def test_what_the_code_says_about_itself(project: Path, printed: Run) -> None:
    (project / "client.py").write_text(
        "from server import Server\n\n\ndef start():\n    return Server().connect()\n\n\ndef main():\n    start()\n"
    )
    printed("index")
    assert [use["scope"] for use in printed("refs", "start")["references"] if use["kind"] == "call"] == ["main"]
    assert [caller["scope"] for caller in printed("callers", "start")["callers"]] == ["main"]
    assert "start" in {call["definition"]["qualname"] for call in printed("callees", "main")["callees"]}
    assert "main" in {hit["scope"] for hit in printed("impact", "start")["affected"]}
    assert printed("impact", "server.py")["affected"]
    assert [item["name"] for item in printed("outline", "client.py")["symbols"]] == ["start", "main"]
    found = printed("map", "--max-tokens", "60")
    assert found["tokens"] <= 60
    assert found["entries"]
    assert printed("similar", "start")["similar"]
    printed("similar", "--duplicates", code=1)
    assert printed("refs", "main", code=1)["references"] == []
    for command in ("refs", "callers", "impact"):
        assert printed(command, "start", "--seconds", "0.000001", code=1)["incomplete"]
    assert printed("callees", "main", "--seconds", "0.000001", code=1)["incomplete"]
    assert "incomplete" not in printed("callers", "start", "--seconds", "0")


def test_memories_and_their_code(project: Path, printed: Run) -> None:
    assert printed("refs-check")["memories"] == []
    assert printed("stale")["memories"] == []
    (project / ".sage" / "checkpoints").mkdir()
    refs = "code_refs:\n- file: server.py\n  symbol: connect\n- file: gone.py\n  lines: [1, 2]\n"
    (project / ".sage" / "checkpoints" / "c.md").write_text(f"---\nid: c\nts: x\n{refs}---\n# Why\n")
    assert printed("refs-check")["counts"] == {"unchanged": 1, "moved": 0, "changed": 0, "gone": 1}
    assert printed("stale")["memories"][0]["stale"]
    assert printed("why", "connect")["query"] == "connect"
    confirmed = printed("still-true", "c")
    assert (confirmed["dropped"], [ref["symbol"] for ref in confirmed["refs"]]) == (1, ["connect"])
    assert printed("stale")["memories"] == []


def test_usage(project: Path, printed: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    assert printed("usage", code=1)["rows"] == []
    folder = tmp_path / "claude" / "projects" / "-x"
    folder.mkdir(parents=True)
    message = {"id": "m", "model": "claude-sonnet-4-6", "usage": {"input_tokens": 1_000_000, "output_tokens": 10}}
    record = {"type": "assistant", "cwd": str(project), "timestamp": "2026-08-01T10:00:00Z", "message": message}
    (folder / "s.jsonl").write_text(json.dumps(record) + "\n")
    (row,) = printed("usage", "--since", "all", "--by", "model,project")["rows"]
    assert (row["project"], row["cost_usd"]) == (str(project), 3.00015)


def test_checkpoints(project: Path, printed: Run) -> None:
    assert printed("checkpoint list", code=1) == {"checkpoints": []}
    saved = printed("checkpoint save", "-q", "Which queue?", "-t", "Kafka keeps the order.", "-e", "measured")
    assert saved["saved"]
    (project / "whole.json").write_text(
        json.dumps(
            {
                "core_question": "Which cache?",
                "thesis": "Redis.",
                "template": "decision",
                "fields": {"options": "Redis or files"},
                "sources": [{"id": "docs", "type": "doc", "take": "says so", "relation": "supports"}],
                "tensions": [{"between": ["docs", "blog"], "nature": "speed", "resolution": "measured"}],
                "unique_contributions": [{"type": "experiment", "content": "ran it"}],
                "code_refs": [{"file": "server.py", "lines": [1, 3]}],
                "parent": saved["id"],
            }
        )
    )
    whole = printed("checkpoint save", "--from", "whole.json", "--no-code-context")
    assert (whole["code_refs"], whole["verdict"]) == (1, "save")
    again = printed("checkpoint save", "-t", "Kafka keeps the order.", "--auto", code=1)
    assert (again["verdict"], again["similar"]["id"]) == ("duplicate", saved["id"])
    assert len(printed("checkpoint list")["checkpoints"]) == 2
    shown = printed("checkpoint show", whole["id"])
    assert shown["sources"][0]["relation"] == "supports"
    assert shown["code_refs"][0]["state"] in ("unchanged", "moved", "changed")
    assert printed("checkpoint search", "order of the queue")["results"][0]["id"] == saved["id"]
    assert printed("checkpoint prune", "--keep", "1", code=1)["remaining"] == 2  # a person saved them
    (moved,) = printed("checkpoint prune", "--keep", "1", "--all")["archived"]
    assert [row["id"] for row in printed("checkpoint list", "--archived")["checkpoints"]] == [moved]
    assert printed("checkpoint restore", moved)["restored"]
    assert printed("checkpoint list", "--archived", code=1)["checkpoints"] == []
    assert printed("checkpoint rm", saved["id"])["removed"]
    assert printed("checkpoint show", saved["id"], code=2, schema="error.json")["error"]["code"] == "usage"
    assert printed("admin rebuild-embeddings")["memories"] == {"checkpoints": 1, "knowledge": 0}


def test_knowledge_and_todos(project: Path, printed: Run) -> None:
    (project / "fact.md").write_text("Consent under the GDPR must be easy to withdraw.\n")
    assert printed("knowledge list", code=1) == {"items": []}
    saved = printed("knowledge add", "fact.md", "--id", "gdpr", "--keywords", "gdpr, consent")
    assert (saved["scope"], saved["replaced"], saved["alike"]) == ("project", False, [])
    double = printed("knowledge add", "fact.md", "--id", "gdpr-2", "--type", "todo", "--due", "2020-01-01")
    assert double["alike"][0]["kind"] == "duplicate"
    assert {item["id"] for item in printed("knowledge list")["items"]} == {"gdpr", "gdpr-2"}
    assert printed("knowledge match", "what about GDPR consent")["results"][0]["recalled"]
    assert printed("knowledge show", "gdpr")["keywords"] == ["gdpr", "consent"]
    assert [item["is_due"] for item in printed("todo list")["items"]] == [True]
    assert printed("todo done", "gdpr-2")["status"] == "done"
    assert printed("todo pending", code=1) == {"items": []}
    added = printed("todo add", "Renew the certificate of staging", "--due", "2020-01-01")
    assert (added["id"], added["type"], added["replaced"]) == ("renew-the-certificate-of-staging", "todo", False)
    assert printed("todo add", "Renew the certificate of staging")["replaced"]
    assert [item["id"] for item in printed("todo pending")["items"]] == [added["id"]]
    assert printed("todo done", added["id"])["status"] == "done"
    assert printed("knowledge merge", "gdpr", "gdpr-2")["id"] == "gdpr"
    assert printed("knowledge rm", "gdpr")["removed"]


def test_scip_and_tags(project: Path, printed: Run) -> None:
    path = str(project / "index.scip")
    assert printed("scip export", "-o", path)["definitions"] > 0
    assert printed("scip import", path)["name"] == "sage"
    assert printed("scip list")["overlays"][0]["stale"] == 0
    assert printed("scip rm", "sage") == {"removed": "sage"}
    assert printed("tags", "-o", str(project / "tags"))["tags"] > 0


def test_templates(project: Path, printed: Run) -> None:
    assert [row["name"] for row in printed("templates list")["templates"]][:2] == ["default", "research"]
    assert "options" in printed("templates show", "decision")["optional_fields"]
    assert printed("templates validate", "code-review")["built_in"]


def test_models(project: Path, printed: Run) -> None:
    listed = printed("models list")
    assert [model["name"] for model in listed["models"]] == ["bundled", "hashing"]
    assert listed["models"][0]["projects"] == [str(project)]
    assert listed["tables"]
    assert printed("models info")["used_for"] == ["code", "prose"]
    assert printed("models use", "hashing")["index"]["model"] == "hashing"
    assert printed("models use", "bundled", "--no-index")["index"] is None
    assert "error" in printed("models info", "no such", code=2, schema="error.json")


def test_share(project: Path, tmp_path: Path, printed: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(project)]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *words], check=True)
    assert "error" in printed("share push", code=2, schema="error.json")
    monkeypatch.setenv("SAGE_SHARED_INDEX", str(tmp_path / "published"))
    made = printed("share key")
    assert made["made"]
    assert not printed("share key")["made"]
    assert printed("share trust", made["key"], "--name", "ci")["trusted_keys"] == [f"{made['key']}#ci"]
    assert printed("share status", code=1)["found"] == ""
    printed("index")
    assert printed("share push")["published"]
    assert printed("share status")["behind"] == 0
    assert printed("share distrust", "ci")["trusted_keys"] == [f"{made['key']}#ci"]
    assert printed("share distrust", "ci", code=1)["trusted_keys"] == []


def test_fleet(project: Path, printed: Run) -> None:
    assert printed("fleet list", code=1) == {"repositories": []}
    name = printed("fleet add", str(project))["repositories"][0]["name"]
    assert printed("fleet index", "--workers", "1")["rows"] > 0
    assert printed("fleet list")["repositories"][0]["source"] == str(project)
    assert printed("fleet status")["repositories"][0]["indexed"]
    assert printed("fleet remove", name)["repositories"][0]["name"] == name


def test_projects(project: Path, printed: Run) -> None:
    assert [entry["root"] for entry in printed("projects list")["projects"]] == [str(project)]
    assert printed("projects forget", str(project))["rows_deleted"] > 0
    assert printed("projects list", code=1) == {"projects": []}


def test_admin(project: Path, printed: Run) -> None:
    assert printed("admin verify")["clean"]
    Path(compiled_dir(str(project)), "functions.json").unlink()
    assert not printed("admin verify", "--check", code=2)["mended"]
    assert printed("admin verify")["mended"]
    (project / "server.py").unlink()
    printed("index")
    assert printed("admin compact")["rows_deleted"] > 0


def test_continuity(project: Path, printed: Run) -> None:
    assert printed("continuity status", code=1) == {"enabled": True, "sessions": [], "log": []}
    assert printed("continuity clear", code=1) == {"cleared": []}
    assert printed("continuity mark", "--session", "s1") == {"session": "s1", "state": "pending"}
    (session,) = printed("continuity status")["sessions"]
    assert (session["session"], session["state"], session["arrived"]) == ("s1", "pending", None)
    assert printed("continuity clear", "--force") == {"cleared": ["s1"]}


def test_core(project: Path, printed: Run) -> None:
    assert printed("core list", code=1)["files"] == []
    assert printed("core add", "server.py", "--summary", "Listens.")["summary"] == "Listens."
    assert [file["path"] for file in printed("core list")["files"]] == ["server.py"]
    assert printed("core rm", "server.py")["removed"]
    assert not printed("core rm", "server.py", code=1)["removed"]


def test_config(project: Path, printed: Run) -> None:
    listing = printed("config list")
    assert [record["key"] for record in listing["settings"]] == list(TABLE)
    for key in TABLE:
        assert printed("config get", key)["key"] == key
    (project / ".sage" / "tuning.yaml").write_text("store_uri: s3://elsewhere\nexclude: [a, b]\n")
    listing = printed("config list")
    assert listing["warnings"]
    assert {"exclude": ["a", "b"]}.items() <= {record["key"]: record["value"] for record in listing["settings"]}.items()


@pytest.mark.parametrize("command", COMMANDS)
def test_errors(tmp_path: Path, printed: Run, command: str) -> None:
    """A flag that does not exist is an error of every command."""
    assert printed(command, "--no-such-flag", code=2, schema="error.json")["error"]["code"] == "usage"


def test_written_files(project: Path, sage_home: Path) -> None:
    root = str(project)
    (project / "server.py").write_text("def only():\n    return 1\n")
    Project.open(root).index()
    _validate(json.loads(Path(manifest_path(root)).read_bytes()), "index_meta.json")
    _validate(json.loads((sage_home / "codebase" / "projects.json").read_bytes()), "registry.json")
    written = {path.name for path in Path(compiled_dir(root)).iterdir() if path.suffix == ".json"}
    assert written == {"segments.json", *(f"{table}.json" for table in TABLES)}
    segments = _validate(json.loads(Path(compiled_dir(root), "segments.json").read_bytes()), "segments.json")
    assert any(segment["dead"] for segment in segments["segments"])
    for table in TABLES:
        raw = Path(compiled_dir(root), f"{table}.json").read_bytes()
        document = _validate(json.loads(raw), "symbols_file.json")
        lines = [line.rstrip(b",") for line in raw.splitlines()[1:-1]]
        assert len(lines) == len(document["symbols"])
        for line in lines:
            _validate(json.loads(line), "symbol.json")


def test_enumerations_are_those_of_the_code() -> None:
    symbol = SCHEMAS["symbol.json"]["properties"]
    assert all(re.search(symbol["kind"]["pattern"], kind) for kind in CHUNK_KIND)
    analyzed = SCHEMAS["analyze.json"]["properties"]["matches"]["items"]["properties"]
    assert {key: value for key, value in analyzed.items() if key != "source"} == symbol
    reasons = SCHEMAS["status.json"]["properties"]["skipped"]["items"]["properties"]["reason"]["enum"]
    assert set(reasons) == set(SkipReason)
    codes = SCHEMAS["error.json"]["properties"]["error"]["properties"]["code"]["enum"]
    assert set(codes) == {SageError.code, *(error.code for error in SageError.__subclasses__())}


def test_watcher(printed: Run) -> None:
    assert printed("watcher start")["changed"]
    try:
        assert printed("watcher status")["running"]
        assert not printed("watcher start")["changed"]
    finally:
        assert printed("watcher stop")["changed"]
    ended = printed("watcher status", code=1)
    assert (ended["running"], bool(ended["session"]["ended"])) == (False, True)
    printed("watcher stop", code=1)
    assert printed("watcher install")["action"] == "written"
    assert printed("watcher uninstall")["action"] == "removed"
    printed("watcher uninstall", code=1)


def test_plugins(printed: Run) -> None:
    made = printed("plugins new", "my-words", "--hook", "pre_search", "--hook", "post_format")
    assert (made["hooks"], made["next"]) == (["pre_search", "post_format"], "sage plugins enable my-words")
    printed("plugins new", "my-words", code=2, schema="error.json")
    assert {row["name"]: row["enabled"] for row in printed("plugins list")["plugins"]}["my-words"] is False
    assert printed("plugins show", "my-words")["description"]
    assert printed("plugins enable", "my-words", "--priority", "7")["priority"] == 7
    assert not printed("plugins enable", "my-words")["changed"]
    assert printed("plugins list")["plugins"][0]["hooks"] == ["pre_search", "post_format"]
    Path(made["path"]).write_text("raise ValueError\n")
    assert printed("plugins show", "my-words")["problem"]
    assert printed("plugins disable", "my-words")["changed"]
    assert not printed("plugins disable", "my-words", code=1)["changed"]
    assert printed("plugins disable", "recovery")["kind"] == "built-in"
    assert not printed("plugins show", "recovery")["enabled"]
    printed("plugins enable", "my-wrods", code=2, schema="error.json")


def test_events(sage: Run) -> None:
    listed = _validate(json.loads(sage("events", "list", "--json").out), "events_list.json")
    assert [row["type"] for row in listed["events"]] == [str(one) for one in EventType]
    assert sage("events", "tail", "--json", "--seconds", "0.01").code == 1
    event = LoadEvent(EventType.POST_LOAD, layer="core", content="text", metadata={"a": [1], "b": {"c": 1}})
    _validate(json.loads(line_of(event, 3)), "events_tail.json")
