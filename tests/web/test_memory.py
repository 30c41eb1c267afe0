"""What people own as Markdown, on the page: lists, one memory, forms, undo, conflicts, and the queue of stale ones."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Page, expect

from sage_code import Project
from sage_code.memory import changing
from sage_code.memory.files.knowledge import KnowledgeItem

from .conftest import WebServer, home_of_module, press, start_server, stop_server

Enter = Callable[..., Page]
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
SECRET = "ghp_" + "a8Kd03mXq7Zr1Tn5Wb2Ys6Vc9Lp4Hg0Jf3Ee"
CODE = '''"""Serves."""

LIMIT = 10


class Server:
    """Listens and answers."""

    def start(self, port: int) -> None:
        """Open the port."""
        self.port = port

    def stop(self):
        self.port = None


def connect(host, retries=3):
    """Reach a host."""
    return [host] * retries
'''
HOSTILE = (
    "</textarea><script>window.hit = 1</script>\n<img src=x onerror='window.hit = 1'>\n"
    "{{ 7 * 7 }} & &amp; \u202eright to left\u202c \x07bell \x1b[31mred\x1b[0m \ufeff\n\n"
    "# a heading\n- `code` **strong**"
)


@pytest.fixture(scope="module")
def prepared(shared_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, WebServer]]:
    """A project with memories about its code, todos and a checkpoint, and its page."""
    root = tmp_path_factory.mktemp("projects") / "sample"
    root.mkdir()
    (root / "server.py").write_text(CODE)
    (root / "client.ts").write_text("export function connect(url: string): string {\n  return url;\n}\n")
    with home_of_module(shared_home):
        _remember(Project.open(root))
        shutil.copytree(root, root.with_name("made"))
        server = start_server(root)
    yield root, server
    stop_server(server)


def _remember(opened: Project) -> None:
    opened.index()
    memory = opened.memory
    for id_, text, ref in (
        ("retries", "Connecting is tried three times.", "server.py:17"),
        ("ports", "The server keeps its port.", "Server.start"),
        ("stopping", "Stopping forgets the port.", "Server.stop"),
    ):
        memory.save_knowledge(KnowledgeItem(id_, text, keywords=("network",)), refs=[ref])
    memory.save_knowledge(KnowledgeItem("style", "Write short names.", "preference", ("style",)))
    memory.add_todo("Renew the certificate", id_="certificate", due="2026-01-01")
    memory.save_checkpoint(
        {
            "core_question": "Which queue?",
            "thesis": "Kafka, because order within a key matters.",
            "confidence": 0.8,
            "key_evidence": ["The consumers need order"],
            "code_refs": ["server.py:17"],
        },
        auto_code_context=False,
    )


@pytest.fixture
def project(prepared: tuple[Path, WebServer]) -> Project:
    """The project as it was made."""
    root, made = prepared[0], prepared[0].with_name("made")
    for name in ("checkpoints", "knowledge"):
        shutil.rmtree(root / ".sage" / name)
        shutil.copytree(made / ".sage" / name, root / ".sage" / name)
    for kept in (root / ".sage" / "local").glob("kept-*"):
        shutil.rmtree(kept)
    (root / ".sage" / "core.md").unlink(missing_ok=True)
    shutil.copy2(made / "server.py", root / "server.py")
    return Project(str(root))


@pytest.fixture
def site(prepared: tuple[Path, WebServer], project: Project) -> WebServer:
    """The page of that project."""
    return prepared[1]


@pytest.fixture
def shown(site: WebServer, enter: Enter) -> Callable[[str], Page]:
    """Opens a page of the project by the end of its address."""
    return lambda path="/memory": enter(site, f"/p/sample{path}")


def file_of(project: Project, id_: str) -> Path:
    """The file of a knowledge item."""
    return Path(project.root, ".sage", "knowledge", "global", f"{id_}.md")


def change_code(project: Project) -> None:
    """Make two memories stale: one's code changes, one's goes."""
    file = Path(project.root, "server.py")
    text = file.read_text().replace("retries=3", "retries=5").replace("        self.port = port\n", "        pass\n")
    file.write_text(text)


def toast(page: Page, text: str | re.Pattern[str]) -> Any:
    """The line at the corner that says this."""
    return page.locator(".toast", has_text=text)


def test_a_list_is_filtered_searched_and_left_with_back(shown: Any, look: Any) -> None:
    page = shown()
    rows = page.locator(".memory-row")
    expect(rows).to_have_count(6)
    expect(page.get_by_role("heading", level=2).first).to_contain_text("Today")
    expect(rows.filter(has_text="Connecting is tried").locator(".tag.holds")).to_be_visible()
    look(page, "memory-list")
    page.get_by_role("link", name="network 3").click()
    expect(rows).to_have_count(3)
    page.get_by_role("link", name=re.compile("^Todos")).click()
    expect(rows).to_have_text(re.compile("Renew the certificate"))
    expect(rows.locator(".tag.bad")).to_have_text("due 2026-01-01")
    page.go_back()
    expect(rows).to_have_count(3)
    page.go_back()
    expect(rows).to_have_count(6)
    page.get_by_label("Search memories").fill("order of messages in the queue")
    expect(rows.first).to_contain_text("Kafka")
    expect(page).to_have_url(re.compile(r"q=order\+of"))
    page.go_back()
    expect(rows).to_have_count(6)
    page.get_by_label("Search memories").fill("order of messages in the queue")
    press(page, "Enter")
    expect(rows.first).to_contain_text("Kafka")
    rows.first.get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Which queue?")
    expect(page.get_by_text("The consumers need order")).to_be_visible()
    page.go_back()
    expect(rows.first).to_contain_text("Kafka")
    page.goto(page.url.split("?")[0] + "?q=zebra+crossing&state=gone")
    expect(page.get_by_role("heading", name="Nothing fits")).to_be_visible()


def test_a_memory_shows_its_code_then_and_now(shown: Any, project: Project, look: Any) -> None:
    change_code(project)
    page = shown("/memory/knowledge/retries")
    ref = page.locator(".memory-refs li").first
    expect(ref.locator(".tag.changed")).to_be_visible()
    expect(ref.locator(".removed")).to_contain_text("retries=3")
    expect(ref.locator(".added")).to_contain_text("retries=5")
    expect(ref.get_by_role("link", name=re.compile("server.py:17"))).to_have_attribute(
        "href", "/p/sample/code/server.py#L17"
    )
    look(page, "memory-read")
    press(page, "s")
    expect(toast(page, "Still true")).to_be_visible()
    expect(page.locator(".memory-refs .tag.holds")).to_be_visible()
    toast(page, "Still true").get_by_role("button", name="Undo").click()
    expect(toast(page, "Undone")).to_be_visible()
    expect(page.locator(".memory-refs .tag.changed")).to_be_visible()


def test_an_edit_and_its_undo(shown: Any, project: Project, look: Any) -> None:
    before = file_of(project, "retries").read_bytes()
    page = shown("/memory/knowledge/retries")
    press(page, "e")
    page.get_by_label("Text", exact=True).fill(f"Three times, then it gives up.\ntoken: {SECRET}")
    page.get_by_label("Keywords").fill("network, retry")
    look(page, "memory-edit")
    page.get_by_role("button", name="Save").click()
    expect(toast(page, "Saved; masked")).to_be_visible()
    expect(page.get_by_text("Three times, then it gives up.")).to_be_visible()
    after = file_of(project, "retries").read_text()
    assert SECRET not in after
    assert "[masked: " in after
    assert project.memory.knowledge.load("retries").keywords == ("network", "retry")
    toast(page, "Saved").get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Connecting is tried three times.")).to_be_visible()
    assert file_of(project, "retries").read_bytes() == before


def test_what_is_deleted_comes_back_at_once_and_after_a_reload(shown: Any, project: Project) -> None:
    before = file_of(project, "style").read_bytes()
    page = shown("/memory/knowledge/style")
    page.get_by_role("button", name="Delete").click()
    expect(page.locator(".memory-row").first).to_be_visible()
    expect(page.get_by_text("Write short names.")).to_have_count(0)
    assert not file_of(project, "style").exists()
    toast(page, "Deleted").get_by_role("button", name="Undo").click()
    expect(page.locator(".memory-prose")).to_have_text("Write short names.")
    assert file_of(project, "style").read_bytes() == before
    page.get_by_role("button", name="Delete").click()
    page.wait_for_url("**/memory")
    page.reload()
    page.get_by_role("link", name="Deleted").click()
    row = page.locator(".memory-row", has_text="Write short names.")
    row.get_by_role("button", name="Restore").click()
    expect(page.locator(".memory-prose")).to_have_text("Write short names.")
    assert file_of(project, "style").read_bytes() == before
    assert [one.item.id for one in project.memory.knowledge.items()].count("style") == 1


def test_a_conflict_loses_nothing(shown: Any, project: Project, look: Any) -> None:
    page = shown("/memory/knowledge/style/edit")
    file = file_of(project, "style")
    file.write_text(file.read_text().replace("Write short names.", "Names say what a thing is for."))
    page.get_by_label("Text", exact=True).fill("Names are nouns.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Somebody else has changed it")
    expect(page.locator(".memory-diff .removed")).to_contain_text("Names say what a thing is for.")
    expect(page.get_by_label("Text", exact=True)).to_have_value("Names are nouns.")
    assert "what a thing is for" in file.read_text()
    look(page, "memory-conflict")
    page.get_by_role("button", name="Save mine").click()
    expect(page.locator(".memory-prose")).to_have_text("Names are nouns.")
    page.get_by_text("Earlier versions (1)").click()
    page.get_by_role("button", name=re.compile("^Restore")).click()
    expect(page.locator(".memory-prose")).to_have_text("Names say what a thing is for.")
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Text", exact=True).fill("Names are for people.")
    project.memory.knowledge.remove("style")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("style was deleted meanwhile")
    page.get_by_role("button", name="Save it as a new note").click()
    expect(page.locator(".memory-prose")).to_have_text("Names are for people.")


def test_new_knowledge_and_what_cannot_be_saved(shown: Any, project: Project) -> None:
    page = shown("/memory")
    press(page, "n")
    page.get_by_label("Text", exact=True).fill("   ")
    page.get_by_label("Id", exact=True).fill("bad id!")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("is no id")
    expect(page.get_by_label("Id", exact=True)).to_have_value("bad id!")
    page.get_by_label("Id", exact=True).fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("the text is empty")
    page.get_by_label("Text", exact=True).fill("The client has one option.\n\nIt is the address.")
    page.get_by_label("Code that it is about").fill("client.ts:1")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("the-client-has-one-option-it")
    expect(page.locator(".memory-refs .tag.holds")).to_be_visible()
    toast(page, "Added").get_by_role("button", name="Undo").click()
    page.wait_for_url("**/memory")
    assert not file_of(project, "the-client-has-one-option-it").exists()


def test_todos_and_core_files(shown: Any, project: Project, look: Any) -> None:
    page = shown("/memory?tab=todos")
    page.get_by_role("button", name=re.compile("^Done Renew")).click()
    expect(page.locator(".memory-row .tag.ok")).to_have_text("done")
    page.get_by_role("button", name=re.compile("^Reopen Renew")).click()
    expect(page.locator(".memory-row .tag.bad")).to_have_text("due 2026-01-01")
    page.get_by_label("New todo").fill("Look at the queue")
    page.get_by_role("button", name="Add").click()
    expect(page.locator(".memory-row")).to_have_count(2)
    look(page, "memory-todos")
    page.get_by_role("link", name="Core files").click()
    page.get_by_label("File").fill("../outside.py")
    page.get_by_role("button", name="Mark as core").click()
    expect(page.locator(".toast.bad")).to_contain_text("no file ../outside.py")
    page.get_by_label("File").fill("server.py")
    page.get_by_label("Why", exact=True).fill("How it listens")
    page.get_by_role("button", name="Mark as core").click()
    summary = page.get_by_label("Why server.py is core")
    expect(summary).to_have_value("How it listens")
    look(page, "memory-core")
    before = Path(project.root, ".sage", "core.md").read_bytes()
    page.get_by_role("button", name="Remove the mark of server.py").click()
    expect(page.get_by_role("heading", name="No core file yet")).to_be_visible()
    toast(page, "Not a core file").get_by_role("button", name="Undo").click()
    expect(summary).to_have_value("How it listens")
    assert Path(project.root, ".sage", "core.md").read_bytes() == before


def test_the_stale_queue_to_its_end_by_keyboard_alone(shown: Any, project: Project, look: Any) -> None:
    change_code(project)
    page = shown("/stale")
    expect(page.get_by_text("1 of 3", exact=True)).to_be_visible()
    look(page, "memory-stale")
    press(page, "n")
    expect(page.get_by_text("2 of 3", exact=True)).to_be_visible()
    press(page, "s")
    expect(page.get_by_text("3 of 3", exact=True)).to_be_visible()
    press(page, "d")
    expect(page.get_by_text("2 settled, 1 skipped.")).to_be_visible()
    press(page, "n")
    expect(page.get_by_text("1 of 1", exact=True)).to_be_visible()
    press(page, "e")
    text = page.get_by_label(re.compile("^Text"))
    text.focus()
    press(page, "End")
    page.keyboard.type(" It is so.")
    press(page, "Tab")
    while page.evaluate("document.activeElement.textContent.trim()") != "Save":
        press(page, "Tab")
    press(page, "Enter")
    expect(page.get_by_role("heading", name="All done")).to_be_visible()
    assert project.stale() == []


def test_hostile_memories_are_text_and_come_back_unchanged(shown: Any, project: Project) -> None:
    project.memory.save_knowledge(KnowledgeItem("hostile", HOSTILE, keywords=("<b>key</b>",), source='"><script>'))
    file = file_of(project, "hostile")
    before = file.read_bytes()
    page = shown("/memory/knowledge/hostile")
    expect(page.get_by_text("<script>window.hit = 1</script>")).to_be_visible()
    expect(page.locator(".memory-prose")).to_contain_text("\\u202eright to left")
    expect(page.locator(".memory-prose script, .memory-prose img")).to_have_count(0)
    page.get_by_role("link", name="Edit").click()
    page.get_by_role("button", name="Save").click()
    expect(toast(page, "Nothing had to be changed")).to_be_visible()
    assert file.read_bytes() == before
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Source").fill("me")
    page.get_by_role("button", name="Save").click()
    expect(toast(page, "Saved")).to_be_visible()
    saved = project.memory.knowledge.load("hostile")
    assert (saved.content, saved.keywords, saved.source) == (HOSTILE, ("<b>key</b>",), "me")
    page.goto(page.url.partition("/memory/")[0] + "/memory?keyword=%3Cb%3Ekey%3C/b%3E")
    expect(page.locator(".memory-row")).to_have_count(1)
    assert page.evaluate("window.hit") is None


def test_foreign_addresses_and_changes_without_a_key_are_refused(site: WebServer, project: Project) -> None:
    def post(path: str, **fields: str) -> int:
        sent = Request(f"{site.base}/p/sample/memory/{path}", urlencode(fields).encode())
        sent.add_header("Authorization", f"Bearer {site.token}")
        try:
            with urlopen(sent) as answer:
                return int(answer.status)
        except HTTPError as error:
            return error.code

    with urlopen(Request(f"{site.base}/", headers={"Authorization": f"Bearer {site.token}"})) as answer:
        key = re.search(r'change-key" content="(\w+)"', answer.read().decode())[1]  # type: ignore[index]
    before = file_of(project, "style").read_bytes()
    assert post("knowledge/style/delete") == 403
    for back in ("https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "/ä"):
        assert post("knowledge/style/delete", _change=key, back=back) == 400, back
        assert post("knowledge/new", _change=key, content="x", back=back) == 400, back
    assert post("knowledge/sty/delete", _change=key) == 400  # a part of an id names nothing
    assert post("knowledge/style/restore", _change=key, key="../../etc/passwd") == 400
    assert file_of(project, "style").read_bytes() == before


def test_a_checkpoint_is_edited_as_markdown(shown: Any, project: Project) -> None:
    [checkpoint] = [one for one, _ in project.memory.checkpoints.newest()]
    page = shown(f"/memory/checkpoint/{checkpoint.id}/edit")
    text = page.get_by_label("Text, in Markdown")
    expect(text).to_have_value(re.compile("^# Which queue\\?\n\n## Thesis\nKafka"))
    text.fill(text.input_value().replace("Kafka, because", "NATS, although").replace("## Thesis", "## Else"))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("a checkpoint needs a thesis")
    text.fill(text.input_value().replace("## Else", "## Thesis"))
    page.get_by_label("How sure").fill("40")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".memory-lead")).to_have_text("NATS, although order within a key matters.")
    edited = project.memory.checkpoints.load(checkpoint.id)
    assert (edited.confidence, edited.key_evidence) == (0.4, ("The consumers need order",))
    assert edited.code_refs == checkpoint.code_refs


def test_many_memories_are_paged_and_compared_while_the_page_waits(shown: Any, project: Project) -> None:
    folder = Path(project.root, ".sage", "checkpoints")
    for number in range(205):
        day = f"2026-0{1 + number // 28}-{1 + number % 28:02d}"
        (folder / f"{day}T10-00-00_step-{number}.md").write_text(f"# Step {number}\n\n## Thesis\nIt is {number}.\n")
    page = shown("/memory?tab=checkpoints")
    expect(page.locator(".memory-row")).to_have_count(30)
    page.get_by_role("link", name="Older").click()
    expect(page.get_by_text("Page 2 of 7")).to_be_visible()
    page.get_by_role("link", name="Newer").click()
    expect(page.get_by_text("Page 1 of 7")).to_be_visible()
    change_code(project)
    page.goto(page.url.partition("/memory")[0] + "/memory?state=changed")
    expect(page.locator(".memory-row")).to_have_count(3)


def test_small_dark_and_for_everybody(shown: Any, project: Project, look: Any) -> None:
    change_code(project)
    changing.delete(project.memory, "knowledge", "style")
    changing.mark_core(project.memory, "server.py", "How it listens")
    [checkpoint] = [one for one, _ in project.memory.checkpoints.newest()]
    tabs = ("memory?tab=core", "memory?tab=todos", "memory?tab=deleted")
    paths = ("memory", "memory/knowledge/retries", f"memory/checkpoint/{checkpoint.id}/edit", "stale", *tabs)
    page = shown("/memory")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 360, "height": 740})
    for path in paths:
        page.goto(page.url.partition("/p/sample/")[0] + f"/p/sample/{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        look(page, "memory-small-" + re.sub(r"\W", "-", path.partition("/2026")[0]))
        page.evaluate(AXE.read_text())
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        assert [(path, one["id"], one["nodes"][0]["html"][:200]) for one in found] == []
