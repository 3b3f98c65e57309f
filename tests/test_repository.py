"""The rules of the house that no linter knows: sizes, sentences, waiting, names of places, the built wheel."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "airflow_provider_mm2"
SHIPPED = ("airflow_provider_mm2", "dags")
CODE = (*SHIPPED, "tests")
EVERYTHING = (*CODE, "docs", "docker", "requirements", ".ci", ".github")

MODULE_LIMIT, FUNCTION_LIMIT = 300, 40

LONGER_FOR_A_REASON = {
    "airflow_provider_mm2/mirror/errors.py": "the catalogue of every error, read by name and never from top to bottom",
    "airflow_provider_mm2/mirror/interval/replicate.py": "the numbered protocol, told once, in one place",
    "airflow_provider_mm2/mirror/clusters/confluent/copy.py": "the one loop that decides the speed",
}

LEFT_OUT = re.compile(r"\b(mark\.skip|mark\.skipif|mark\.xfail|pytest\.skip|pytest\.xfail|importorskip)\b")

LEFT_OUT_FOR_A_REASON = {
    "tests/cases/test_records.py: mark.xfail": "a header key with a NUL character: the client cuts it (DESIGN.md)",
}

REGISTRY_HOSTS = re.compile(
    r"pypi\.org|pythonhosted\.org|repo1?\.maven|central\.sonatype|npmjs\.(org|com)|crates\.io|proxy\.golang|"
    r"deb\.debian|docker\.io|ghcr\.io|quay\.io|index-url|extra-index|find-links",
    re.IGNORECASE,
)
MAY_NAME_THEM = {"Makefile": "tells the lock's maker not to name any"}


def relative(path: Path) -> str:
    """Give a file's path as it is written in lists and messages."""
    return path.relative_to(ROOT).as_posix()


def python_files(*folders: str) -> Iterator[Path]:
    """Give every Python file below these folders of the repository."""
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def text_files() -> Iterator[Path]:
    """Give every file of the repository that people read or machines run."""
    for path in sorted(ROOT.iterdir()):
        if path.is_file() and path.name not in {".git"}:
            yield path
    for folder in EVERYTHING:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


@lru_cache
def functions(path: Path) -> Sequence[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Give every function and method of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count a function's lines from its first statement on; its signature and its docstring are free."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return 0 if not body else (function.end_lineno or 0) - body[0].lineno + 1


def test_modules_are_short() -> None:
    """A module has fewer than 300 lines, or a reason here."""
    long = {
        relative(path) for path in python_files(*SHIPPED) if len(path.read_text("utf-8").splitlines()) >= MODULE_LIMIT
    }
    assert long <= LONGER_FOR_A_REASON.keys()


def test_functions_are_short() -> None:
    """A function has fewer than 40 lines."""
    assert [
        f"{relative(path)}:{function.lineno} {function.name}: {length(function)} lines"
        for path in python_files(*SHIPPED)
        for function in functions(path)
        if length(function) >= FUNCTION_LIMIT
    ] == []


@pytest.mark.thorough
def test_every_test_says_what_it_holds() -> None:
    """Each test has a docstring, and it is a sentence."""
    assert [
        f"{relative(path)}:{function.lineno} {function.name}"
        for path in python_files("tests")
        for function in functions(path)
        if function.name.startswith("test_") and not _is_sentence(ast.get_docstring(function))
    ] == []


def _is_sentence(docstring: str | None) -> bool:
    """Tell whether the first paragraph ends as a sentence does."""
    return docstring is not None and docstring.split("\n\n")[0].rstrip()[-1] in ".:?!"


@pytest.mark.thorough
def test_tests_wait_for_something() -> None:
    """No test sleeps for a time: it asks again and again, with a deadline."""
    assert [
        f"{relative(path)}:{function.lineno} {function.name}"
        for path in python_files("tests")
        if "sleep" in path.read_text("utf-8")
        for function in functions(path)
        if _sleeps(function) and not _polls(function)
    ] == []


def _sleeps(tree: ast.AST) -> bool:
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return bool(called & {"time.sleep", "sleep"})


def _polls(function: ast.AST) -> bool:
    """Tell whether a function sleeps in a loop only, and looks at the clock."""
    loops = [node for node in ast.walk(function) if isinstance(node, ast.While)]
    return any(_sleeps(loop) for loop in loops) and "time.monotonic()" in ast.unparse(function)


def test_no_test_is_left_out() -> None:
    """Nothing is skipped or expected to fail, unless a reason is given here: what cannot run fails."""
    found = {
        f"{relative(path)}: {match[0]}"
        for path in python_files("tests")
        if path != Path(__file__)
        for match in LEFT_OUT.finditer(path.read_text("utf-8"))
    }
    assert found == LEFT_OUT_FOR_A_REASON.keys()


@pytest.mark.thorough
def test_names_no_registry() -> None:
    """Where packages, jars and images come from is the machine's own setting."""
    assert [
        f"{relative(path)}: {match[0]}"
        for path in text_files()
        if path != Path(__file__) and relative(path) not in MAY_NAME_THEM
        for match in REGISTRY_HOSTS.finditer(path.read_bytes().decode("utf-8", errors="replace"))
    ] == []


def test_the_package_root_imports_nothing() -> None:
    """Importing the package costs nothing, and every other ``__init__`` at most names what its folder has."""
    root = ast.parse((PACKAGE / "__init__.py").read_text("utf-8"))
    assert [type(node).__name__ for node in root.body] == ["Expr"]
    allowed = (ast.Expr, ast.Import, ast.ImportFrom, ast.Assign)
    for path in PACKAGE.rglob("__init__.py"):
        assert all(isinstance(node, allowed) for node in ast.parse(path.read_text("utf-8")).body), relative(path)


@pytest.mark.thorough
def test_the_shell_works_without_airflow() -> None:
    """No module of the mirror, the command line or the local pair brings Airflow in, not even through a package."""
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for folder in ("cli", "local", "mirror")
        for path in python_files(f"airflow_provider_mm2/{folder}")
        if path.stem not in {"__init__", "__main__"} and "templates" not in path.parts
    ]
    program = (
        f"import importlib, sys\nfor name in {modules!r}: importlib.import_module(name)\n"
        "sys.exit(any(name.split('.')[0] == 'airflow' for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_version_is_in_one_place() -> None:
    """Only ``pyproject.toml`` says which version this is, and the changelog knows it."""
    match = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text("utf-8"), flags=re.MULTILINE)
    assert match is not None
    elsewhere = [relative(path) for path in python_files(*CODE) if match[1] in path.read_text("utf-8")]
    assert elsewhere == []
    assert f"\n## [{match[1]}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_workflow_runs_what_people_run() -> None:
    """The hosted checks are valid by GitHub's schema, pin every action by commit, and run only make and .ci/run."""
    workflow = YAML(typ="safe").load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    schema = files("check_jsonschema") / "builtin_schemas" / "vendor" / "github-workflows.json"
    # YAML 1.2 reads "on" as a word, as GitHub does.
    jsonschema.validate(workflow, json.loads(schema.read_text("utf-8")))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"]) for step in steps if "uses" in step)
    assert {step["run"].split()[0] for step in steps if "run" in step} == {"make", ".ci/run"}
    assert workflow["permissions"] == {"contents": "read"}


def test_the_workflow_for_drills_is_one() -> None:
    """What users copy is valid by GitHub's schema, runs the script where its first lines put it, and names the flow."""
    text = (ROOT / "docs" / "ci" / "drill.yml").read_text("utf-8")
    workflow = YAML(typ="safe").load(text)
    schema = files("check_jsonschema") / "builtin_schemas" / "vendor" / "github-workflows.json"
    jsonschema.validate(workflow, json.loads(schema.read_text("utf-8")))
    (run,) = (step["run"] for step in workflow["jobs"]["drill"]["steps"] if "run" in step)
    script = run.split()[0]
    assert (ROOT / "docs" / script).is_file()
    assert f"drill.sh to {script} " in text
    assert workflow["env"].keys() == {"FLOW", "PACKAGE"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Give the names of the files in the built wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        return set(archive.namelist())


def test_the_wheel_has_the_whole_package(wheel: set[str]) -> None:
    """Every module, the mark for type checkers and the files of ``mm2 init`` are in it."""
    wanted = {
        relative(path)
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix in {".py", ".typed", ".yaml", ".html", ".properties", ".java"}
    }
    assert wanted <= wheel
    assert "airflow_provider_mm2/py.typed" in wanted
    assert any("/templates/" in name for name in wanted)


def test_the_wheel_has_nothing_else(wheel: set[str]) -> None:
    """Neither tests nor example DAGs are installed beside the package."""
    assert {name.split("/")[0].partition("-")[0] for name in wheel} == {"airflow_provider_mm2"}
    assert not any("__pycache__" in name or "/tests/" in name for name in wheel)
