"""What the pages in `docs/` say is so, where a machine can tell."""

import json
import re
import runpy
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pytest_examples import EvalExample, find_examples

import context_compression
from context_compression import Session, Store, errors
from context_compression.hosts import EXPORTERS, INSTALLABLE, LIVE
from context_compression.testing import ScriptedSummarizer, conversation
from context_compression.workspace import OTHERS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


EXAMPLES = [each for each in find_examples(str(DOCS / "library.md")) if each.prefix == "python"]


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def sections(text: str, heading: str) -> Iterator[tuple[str, str]]:
    """The name and the text of each part that begins with a name in bold, below a heading."""
    _, _, below = text.partition(f"\n## {heading}\n")
    parts = re.split(r"\n\*\*`(\w+)`\*\*", below.partition("\n### ")[0])
    yield from zip(parts[1::2], parts[2::2], strict=True)


def keys_named_in(text: str) -> set[str]:
    """The names in backticks in the first column of tables."""
    columns = re.findall(r"(?m)^\| (`.*?) \|", text)
    return {name for column in columns for name in re.findall(r"`(\w+)`", column)}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store in which everything happened that can happen."""
    store = Store(tmp_path_factory.mktemp("docs") / ".compression")
    messages = conversation(12)
    session = Session(store, "by-hand")
    session.record(*messages[:-1])
    result = session.compress(target_tokens=4_000)
    session.restore(next(iter(result.refs)), lines=(1, 1))
    session.offload("a text " * 100, what="text")
    session.undo()
    session.record(messages[-1])
    session.compress(target_tokens=4_000)
    session.follow(messages[:20])
    session.ask(strategy="summarize", target_tokens=3_000)
    summarized = Session(
        store, "summarized", summarizer=ScriptedSummarizer(), settings={"summary_role": "system"},
        system="Be brief.",
    )  # fmt: skip
    summarized.record(*conversation(30))
    summarized.compress(target_tokens=3_000)
    Session(store, "at-once").compress(messages=messages, target_tokens=4_000)
    fitted = Session(store, "fitted")
    fitted.record(*messages)
    fitted.compress(target_tokens=4_000)
    call = {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "make"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "it compiled well\n" * 999}
    step = ({"role": "assistant", "content": [call]}, {"role": "user", "content": [result]})
    fitted.fit([*messages, *step], tools=[{"name": "context_restore"}])
    store.search("error")
    store.update_config(lambda values: {**values, "keep_recent": 5})
    return store


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_every_event_and_each_of_its_keys_is_described(store: Store) -> None:
    described = {
        name: keys_named_in(text) for name, text in sections(page("storage.md"), "The log")
    }
    written: dict[str, set[str]] = {}

    for path in store.folder.glob("sessions/*/events.jsonl"):
        for event in lines_of(path)[1:]:
            keys = event.keys() - {"type", "created_at", "crc32"}
            written.setdefault(event["type"], set()).update(keys)

    of_others = {"answer", "history", "origin"}  # of a caller; of an adapter; of the proxy
    assert written.keys() | of_others == described.keys()
    assert {name: keys - described[name] for name, keys in written.items()} == {
        name: set[str]() for name in written
    }


def test_every_file_of_a_store_is_described(store: Store) -> None:
    text = page("storage.md")

    for path in store.folder.rglob("*"):
        name = re.sub(r"^compact-.*-\d+", "compact-<time>-<n>", path.name)
        name = re.sub(r"^(by-hand|summarized|at-once|fitted)\b", "<session>", name)
        name = re.sub(r"^[0-9a-f]{12,}", "<ref>", name)
        assert name in text, path


def test_each_key_of_summaries_refs_and_the_ledger_is_described(store: Store) -> None:
    known = keys_named_in(page("storage.md"))
    summaries = json.loads((store.folder / "summaries.json").read_text("utf-8"))["summaries"]
    [ledger] = store.folder.glob("sessions/summarized/ledger.jsonl")
    events = lines_of(store.folder / "sessions" / "summarized" / "events.jsonl")
    refs: list[Mapping[str, Any]] = [
        about for event in events for about in event.get("refs", {}).values()
    ]

    for value in (*summaries, *lines_of(ledger)[1:], *refs):
        assert value.keys() - {"crc32"} <= known


def test_the_example_of_a_checksum_is_one(tmp_path: Path) -> None:
    """It stands behind the line of the page without one."""
    log = Store(tmp_path / ".compression").session("any")
    log.append({"type": "undo", "n": 1})

    *_, line = (log.folder / "events.jsonl").read_text("utf-8").splitlines()

    assert line in page("storage.md")


def test_the_reference_lists_every_name_of_the_package() -> None:
    text = page("reference/index.md")
    listed = re.findall(r"\w+", text.partition("import (")[2].partition(")")[0])

    assert sorted(listed) == sorted(context_compression.__all__)
    assert [name for name in listed if name.islower() and f"`{name}`" not in text] == []


def test_the_tree_of_errors_has_each_of_them_below_its_base() -> None:
    tree: dict[str, str] = {}
    above: dict[int, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"(    [│ ]*(?:[├└]── )?)([A-Z]\w+)", line):
            above[len(found[1])] = found[2]
            tree[found[2]] = above.get(len(found[1]) - 4, "")
    kinds = [each for each in vars(errors).values() if isinstance(each, type)]
    own = [each for each in kinds if each.__module__ == errors.__name__]

    assert tree.pop("ContextCompressionError") == ""
    assert tree == {
        e.__name__: e.__bases__[0].__name__ for e in own if e is not errors.ContextCompressionError
    }


def test_each_adapter_has_its_classes_in_the_reference() -> None:
    text = page("reference/adapters.md")

    for adapter in (DOCS / "frameworks").glob("*.md"):
        module = adapter.stem.replace("-", "_")
        assert f"integrations.{module}." in text or f"(../frameworks/{adapter.name}#" in text


def test_the_table_of_layers_is_that_of_the_contract() -> None:
    """Which layer may import which is a contract of `lint-imports`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    [contract] = [c for c in contracts if c.get("containers") == ["context_compression"]]
    layers = [sorted(layer.split(" | ")) for layer in contract["layers"]]
    layers[0] = [room for room in layers[0] if room != "__main__"]

    rows = re.findall(r"(?m)^\| +(\d*) +\| `(\w+)` \|", page("architecture.md"))
    shown: list[list[str]] = []
    for number, room in rows:
        if number:
            assert int(number) == len(layers) - len(shown)
            shown.append([])
        shown[-1].append(room)

    assert shown == layers


@pytest.mark.parametrize("name", ["reference/settings.md", "coming-from.md"])
def test_the_tables_of_settings_and_names_are_those_of_the_code(name: str) -> None:
    """`python docs/settings.py` writes them."""
    made = runpy.run_path(str(DOCS / "settings.py"))["page"](name)

    assert page(name) == made
    if name == "reference/settings.md":
        assert all(f"`CONTEXT_COMPRESSION_{other}`" in made for other in OTHERS)


@pytest.mark.slow
def test_the_examples_print_what_they_say(
    eval_example: EvalExample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each block goes on with the names of those before it."""
    monkeypatch.chdir(tmp_path)
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):  # one of the blocks sets them
        monkeypatch.setenv(name, "")
    update = eval_example.update_examples
    known: dict[str, Any] = {}

    for example in EXAMPLES:
        run = eval_example.run_print_update if update else eval_example.run_print_check
        known |= run(example, module_globals=known)

    assert len(EXAMPLES) > 8


def test_the_page_of_hosts_says_what_each_host_can_do() -> None:
    """Live status, resuming and installing are known to the code."""
    text = page("hosts.md")
    rows = {
        title: row.split(" | ")
        for title, row in re.findall(r"(?m)^\| \[(.+?)\]\(#.+?\) \| (.+) \|$", text)
    }
    resumed = {title for title, row in rows.items() if row[3] == "`export`"}

    assert {title for title, row in rows.items() if row[2] == "yes"} == {
        host.title for host, _ in LIVE
    }
    assert {title.lower().replace(" ", "-") for title in resumed} == {*EXPORTERS}
    assert [host.name for host in INSTALLABLE if f"install {host.name}`" not in text] == []


@pytest.mark.parametrize(
    "path", [*sorted(DOCS.glob("*.md")), *sorted(ROOT.glob("*.md"))], ids=lambda path: path.name
)
def test_files_that_a_page_names_exist(path: Path) -> None:
    """Names with a slash that stand in backticks, and scripts that are run."""
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:tests|benchmarks|examples|docs|server|data)/[\w./-]+)`", text))
    named |= set(re.findall(r"python ((?:benchmarks|docs)/\w+\.py)", text))
    package = ROOT / "server" / "context_compression"
    rooms = "|".join(room.parent.name for room in package.glob("*/__init__.py"))
    inside = set(re.findall(rf"`((?:{rooms})/[\w/]*(?:/|\.(?:py|md|txt)))`", text))

    missing = {name for name in named if not (ROOT / name).exists()}
    missing |= {name for name in inside if not (package / name).exists()}
    assert missing == set()
