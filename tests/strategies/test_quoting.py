"""How dropped messages are quoted: in order, each text labelled with what it is of."""

from typing import Any

from context_compression import Settings
from context_compression.formats import parse
from context_compression.plan import Plan, ref_of
from context_compression.strategies.quoting import Quoting
from context_compression.testing import Run, tool_step
from context_compression.tokens import Counter

PATH = "src/billing/invoices.py"
OLD, NEW = "total = 0\nfor line in lines:", "total = sum(\n    lines)"


def quoted(*runs: Run, only: tuple[int, ...] | None = None) -> str:
    """A note that quotes a tool step, or the texts of it with these numbers, each as a whole."""
    messages: list[dict[str, Any]] = tool_step(list(runs), "anthropic")
    parsed, counter = parse(messages).messages, Counter()
    plan = Plan(parsed, tuple(map(counter.message, parsed)), counter, Settings())
    quoting = Quoting(plan)
    found = [
        (index, slot, key, text)
        for index, message in enumerate(parsed)
        for slot, block in enumerate(message.blocks)
        for text, key, _ in quoting.texts(block)
    ]
    slots: dict[int, dict[tuple[int, str], list[tuple[int, int]]]] = {}
    for number, (index, slot, key, text) in enumerate(found):
        if only is None or number in only:
            slots.setdefault(index, {})[slot, key] = [(0, len(text))]
    return quoting.note(sorted(slots), dict(slots)).text.partition("\n")[2]


def test_a_result_alone_says_which_call_it_answers() -> None:
    note = quoted(Run("a", "Bash", {"command": "git status --short"}, " M a.py"), only=(1,))

    assert note == f"[Result of Bash: git status --short; ref {ref_of(' M a.py')}]  M a.py"


def test_a_result_below_its_call_does_not_name_it_again() -> None:
    note = quoted(Run("a", "Bash", {"command": "ls src"}, "a.py\nb.py"))

    assert note == "[Bash] ls src\n[Result; ref " + ref_of("a.py\nb.py") + "]\na.py\nb.py"


def test_results_of_parallel_calls_each_name_theirs() -> None:
    runs = [Run(name, "Read", {"path": f"{name}.py"}, f"print({name})") for name in "ab"]

    lines = quoted(*runs).splitlines()

    assert lines[:2] == ["[Read] a.py", "[Read] b.py"]
    assert lines[2].startswith("[Result of Read: a.py; ref ")
    assert lines[3].startswith("[Result of Read: b.py; ref ")


def test_short_arguments_stand_on_one_line_and_long_ones_keep_their_names_and_order() -> None:
    arguments = {"file_path": PATH, "old_string": OLD, "new_string": NEW}

    note = quoted(Run("a", "Edit", arguments, "done"), only=(0, 1, 2))

    assert note == f"[Edit] {PATH}\n[old_string]\n{OLD}\n[new_string]\n{NEW}"


def test_a_long_argument_alone_says_what_it_is_an_argument_of() -> None:
    arguments = {"old_string": OLD, "new_string": NEW, "file_path": PATH}

    note = quoted(Run("a", "Edit", arguments, "done"), only=(2,))

    assert note == f"[Edit: {PATH}; new_string]\n{NEW}"


def test_the_only_argument_needs_no_name() -> None:
    script = "set -e\nmake\nmake test"

    note = quoted(Run("a", "Bash", {"command": script}, "ok"), only=(0,))

    assert note == f"[Bash]\n{script}"


def test_a_long_path_in_a_label_keeps_the_name_of_the_file() -> None:
    path = f"/srv/{'deep/' * 40}settings.toml"

    label = quoted(Run("a", "Read", {"path": path}, "x = 1"), only=(1,))

    assert label.startswith("[Result of Read: /srv/deep/")
    assert "deep/settings.toml; ref " in label
    assert len(label) < 130
