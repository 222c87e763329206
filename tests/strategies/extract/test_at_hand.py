"""The lines of the files at hand, which the next edit quotes verbatim."""

from typing import Any

import pytest

from context_compression import compress, count_tokens
from context_compression.conversation import parse, texts_of
from context_compression.testing import Dialect, Run, tool_step

Messages = list[dict[str, Any]]
LINES = [
    f"    total = total + each * rate  # and so on {'as before ' * (n % 4)}" for n in range(24)
]
CODE = "\n".join(["def price_of(items):", *LINES])


def bash(number: int, dialect: Dialect) -> Messages:
    log = "".join(f"step {number}.{n} of build_{n} passed at {n * 37}\n" for n in range(150))
    return tool_step([Run(f"b{number}", "Bash", {"command": "make"}, log)], dialect)


def work_on(run: Run, others: int, dialect: Dialect = "anthropic") -> Messages:
    """A request, one call on a file, and other calls before and after it."""
    messages: Messages = [{"role": "user", "content": "Mend the rounding of prices."}]
    for number in range(others):
        messages += bash(number, dialect)
    messages += tool_step([run], dialect)
    for number in range(others):
        messages += bash(others + number, dialect)
    return [*messages, {"role": "user", "content": "Go on."}]


def lines_shown(messages: Messages, target: int) -> float:
    """The share of the file's lines that stand in the view of a target."""
    result = compress(messages, strategy="extract", target_tokens=target)
    blocks = [block for message in parse(result.messages).messages for block in message.blocks]
    shown = "\n".join(text for block in blocks for text in texts_of(block))
    return sum(line in shown for line in {*LINES}) / len({*LINES})


@pytest.mark.parametrize("others", [3, 6])
@pytest.mark.parametrize("dialect", ["anthropic", "openai", "responses"])
@pytest.mark.parametrize(
    "run",
    [
        Run("r", "Read", {"file_path": "src/prices.py"}, CODE),
        Run("r", "Bash", {"command": "cat src/prices.py"}, CODE),
        Run("r", "Write", {"file_path": "src/prices.py", "content": CODE}, "File created."),
    ],
    ids=["read", "printed", "written"],
)
def test_a_file_at_hand_stands_line_by_line(run: Run, dialect: Dialect, others: int) -> None:
    messages = work_on(run, others, dialect)

    assert lines_shown(messages, count_tokens(messages) // 4) == 1


def test_a_file_that_does_not_fit_its_share_of_the_room_competes_as_before() -> None:
    run = Run("r", "Read", {"file_path": "src/prices.py"}, CODE * 30)

    messages = work_on(run, 3)

    target = count_tokens(messages) // 4
    assert (
        count_tokens(compress(messages, strategy="extract", target_tokens=target).messages)
        <= target
    )
