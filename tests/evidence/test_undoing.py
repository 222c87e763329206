"""Changes that were taken back: by git, or because the file was deleted."""

from typing import Any

import pytest

from context_compression import compress, count_tokens
from context_compression.conversation import parse
from context_compression.evidence import entries
from context_compression.evidence.files import Outdated
from context_compression.evidence.ledger.changes import Undoing, covers, is_same
from context_compression.testing import Run, tool_step

EDIT = {
    "file_path": "lib/rate.go",
    "old_string": "limit := 10\n" + "// a note on limits\n" * 40,
    "new_string": "limit := retry_budget\n" + "// a note on budgets\n" * 40,
}
Step = tuple[dict[str, Any], str]


def shell(command: str, answer: str = "") -> Step:
    return {"command": command}, answer


def conversation(*steps: Step) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Try another limit."}]
    for n, (arguments, answer) in enumerate(steps):
        name = "Bash" if "command" in arguments else "Edit"
        messages += tool_step([Run(f"c{n}", name, arguments, answer)], "anthropic")
    return messages


def undone(*steps: Step) -> set[str]:
    """The ids of the calls that were taken back."""
    return {*Undoing(Outdated(parse(conversation(*steps)).messages).actions()).calls}


TAKEN_BACK = [
    "git checkout -- lib/rate.go", "git checkout lib/rate.go", "git checkout .", "git checkout -f",
    "git checkout HEAD -- lib", "git checkout main -- lib/rate.go",
    "cd lib && git checkout rate.go",
    "git restore lib/rate.go", "git restore .", "git restore --source=HEAD~1 lib/rate.go",
    "git restore --staged --worktree lib/", "git -C . restore lib/rate.go", "git stash",
    "git stash push -m wip", "git stash push lib/rate.go", "git stash -u", "git stash save later",
    "git reset --hard", "git reset --hard HEAD", "git --no-pager stash", "rm lib/rate.go",
    "rm -f ./lib/rate.go", "go vet ./... ; git checkout -- lib/rate.go",
    "git switch --discard-changes main",
]  # fmt: skip
KEPT = [
    "git checkout main", "git checkout -b other", "git switch main", "git checkout -",
    "git checkout -- lib/other.go", "git checkout lib", "git restore --staged lib/rate.go",
    "git restore --staged .", "git reset", "git reset lib/rate.go", "git reset --soft HEAD~1",
    "git stash list", "git stash show -p", "git diff -- lib/rate.go", "git log -- lib/rate.go",
    "git clean -n", "git stash push -- docs", "rm lib/other.go", "echo git checkout .",
    "git commit -am done && git checkout .", "git add . && git checkout -- lib/rate.go",
    "git stash && git stash pop", "git stash && go test ./... ; git stash apply",
]  # fmt: skip


@pytest.mark.parametrize("command", TAKEN_BACK)
def test_an_edit_is_taken_back(command: str) -> None:
    assert "c0" in undone((EDIT, "ok"), shell(command))


@pytest.mark.parametrize("command", KEPT)
def test_an_edit_stays(command: str) -> None:
    assert "c0" not in undone((EDIT, "ok"), shell(command))


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("git checkout -- lib/rate.go", "fatal: not a git repository\nexit code: 128"),
        ("git checkout lib/rate.go", "error: pathspec 'lib/rate.go' did not match any file(s)"),
        ("git stash", "Exit code 1"),
        ("cd lib; git restore rate.go", "error: unable to unlink old file\n[exit code: 1]"),
    ],
)
def test_a_git_command_that_failed_takes_nothing_back(command: str, answer: str) -> None:
    assert undone((EDIT, "ok"), shell(command, answer)) == set()


def test_tests_that_fail_after_git_do_not_hide_what_it_took_back() -> None:
    answer = "--- FAIL: TestRate (0.00s)\nFAIL\nexit code: 1"

    assert undone((EDIT, "ok"), shell("git checkout -- lib/rate.go && go test ./...", answer)) == {
        "c0"
    }


def test_what_was_committed_is_taken_back_with_its_commit_only() -> None:
    commit = shell("git add -A && git commit -m limit")

    assert undone((EDIT, "ok"), commit, shell("git reset --hard")) == set()
    assert undone((EDIT, "ok"), commit, shell("git reset --hard HEAD~1")) == {"c0"}
    assert undone((EDIT, "ok"), commit, shell("git revert --no-edit HEAD")) == {"c0"}


def test_git_does_not_take_back_a_file_that_it_does_not_know() -> None:
    write = shell("cat > lib/new.go <<'EOF'\npackage lib\nEOF")

    assert undone(write, shell("git checkout .")) == set()
    assert undone(write, shell("git stash")) == set()
    assert undone(write, shell("git stash -u")) == {"c0"}
    assert undone(write, shell("git clean -fd")) == {"c0"}
    assert undone(write, shell("git add lib/new.go && git reset --hard")) == {"c0"}
    assert undone(write, shell("rm lib/new.go")) == {"c0"}


def test_a_file_that_was_read_before_it_was_written_is_known_to_git() -> None:
    read, write = shell("cat lib/rate.go"), shell("cat > lib/rate.go <<'EOF'\npackage lib\nEOF")

    assert undone(read, write, shell("git checkout .")) == {"c1"}


def test_a_change_after_the_undoing_stays() -> None:
    again = {**EDIT, "new_string": "limit := 99"}

    assert undone((EDIT, "ok"), shell("git checkout ."), (again, "ok")) == {"c0"}


def test_a_call_counts_as_taken_back_if_all_its_changes_were() -> None:
    both = shell("sed -i 's/10/20/' lib/rate.go lib/size.go")

    assert undone(both, shell("git checkout -- lib/rate.go")) == set()
    assert undone(both, shell("git checkout -- lib/rate.go lib/size.go")) == {"c0"}


@pytest.mark.parametrize("command", ["git checkout -- lib/rate.go", "git stash", "rm lib/rate.go"])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_a_view_does_not_show_the_edit_as_done(command: str, share: float) -> None:
    looks = [shell(f"cat docs/page_{n}.md", f"page {n}\n" * 300) for n in range(6)]
    messages = [
        *conversation((EDIT, "The file was updated."), shell(command, "done"), *looks),
        {"role": "user", "content": "What is left to do?"},
    ]

    view = str(
        compress(
            messages, target_tokens=int(count_tokens(messages) * share), strategy="extract"
        ).messages
    )

    assert "changed: lib/rate.go" not in view
    if "retry_budget" in view:
        assert "undone later" in view or command in view


def test_a_deleted_file_that_git_restored_is_not_listed_as_deleted() -> None:
    looks = [shell(f"cat docs/page_{n}.md", f"page {n}\n" * 300) for n in range(6)]
    steps = (shell("rm lib/rate.go"), shell("git checkout -- lib/rate.go"), *looks)
    messages = [*conversation(*steps), {"role": "user", "content": "What is left to do?"}]

    view = compress(messages, target_tokens=count_tokens(messages) // 4, strategy="extract")

    assert "deleted: lib/rate.go" not in str(view.messages)


@pytest.mark.parametrize("command", ["mv draft.go lib/rate.go", "git mv draft.go lib/rate.go"])
def test_a_moved_file_counts_as_changed(command: str) -> None:
    looks = [shell(f"cat docs/page_{n}.md", f"page {n}\n" * 300) for n in range(6)]
    names = [shell(f"wc -l src/part_{n}.go && gofmt -l src/part_{n}.go") for n in range(40)]
    messages = [
        *conversation(*names, shell(command), *looks),
        {"role": "user", "content": "What is left to do?"},
    ]

    view = str(compress(messages, target_tokens=1_200, strategy="extract").messages)

    assert "changed: lib/rate.go" in view or command in view


def test_the_ledger_lists_the_file_as_read() -> None:
    messages = parse(conversation((EDIT, "ok"), shell("git checkout -- lib/rate.go"))).messages

    kinds = {entry.kind for entry in entries(messages) if entry.text == "lib/rate.go"}

    assert kinds == {"read"}


@pytest.mark.parametrize(
    ("target", "path", "is_covered"),
    [
        ("", "a/b.c", True), ("a", "a/b.c", True), ("a/", "/srv/a/b.c", True),
        ("b.c", "a/b.c", True),
        ("a", "ab/b.c", False), ("a/b", "a/b.c", False), ("/srv/a/b.c", "a/b.c", True),
    ],
)  # fmt: skip
def test_a_target_of_git_covers_a_file_or_the_files_of_a_folder(
    target: str, path: str, is_covered: bool
) -> None:
    assert covers(target, path) is is_covered


def test_paths_are_the_same_if_one_ends_with_the_other() -> None:
    assert is_same("/srv/lib/a.go", "lib/a.go")
    assert not is_same("/srv/mylib/a.go", "lib/a.go")
