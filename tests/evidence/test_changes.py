"""Changes of files by here-documents, `sed -i` and diffs; commands that only look."""

from typing import Any

import pytest

from context_compression.conversation import Message, Text, ToolCall, ToolResult
from context_compression.evidence.files import Outdated
from context_compression.evidence.ledger.actions import only_looks
from context_compression.evidence.ledger.changes import Change, changes_of


def changes(command: str) -> list[Change]:
    return [*changes_of(ToolCall("c", "shell", {"command": command}))]


DIFF = """--- a/src/pool.rs
+++ b/src/pool.rs
@@ -10,3 +10,3 @@ impl Pool {
     fn size(&self) -> usize {
-        self.workers_old
+        self.workers
     }
"""


@pytest.mark.parametrize(
    ("command", "path", "text"),
    [
        ("cat > a.lua <<'END'\nlocal x = 1\nprint(x)\nEND", "a.lua", "local x = 1\nprint(x)"),
        ("cat <<EOF > conf/app.yml\nport: 1\nEOF\necho ok", "conf/app.yml", "port: 1"),
        (
            "mkdir -p k && cat <<\\DONE >k/main.kt\nfun main() {}\nDONE",
            "k/main.kt",
            "fun main() {}",
        ),
        ('tee "notes.txt" <<-X\none\n\ttwo\nX', "notes.txt", "one\n\ttwo"),
        ("cat <<EOF | tee out.ini\n[a]\nEOF", "out.ini", "[a]"),
        ("cat <<EOF | sudo tee /etc/x.conf\n[a]\nEOF", "/etc/x.conf", "[a]"),
        ("cd web && cat > app.ts <<'EOF'\nlet a\nEOF", "web/app.ts", "let a"),
    ],
)
def test_a_here_document_is_the_text_of_its_file(command: str, path: str, text: str) -> None:
    assert changes(command) == [Change(path, None, text)]


def test_several_here_documents_each_write_their_file() -> None:
    command = "cat > a.py <<A\nx\nA\ncat > b.py <<'B'\ncat > c.py <<A\nB"

    assert changes(command) == [Change("a.py", None, "x"), Change("b.py", None, "cat > c.py <<A")]


@pytest.mark.parametrize(
    "command",
    [
        "python3 - <<'EOF' > report.txt\nprint(1)\nEOF",
        "cat <<EOF | sort > sorted.txt\nb\na\nEOF",
        "cat <<EOF | tr a b | tee out.txt\na\nEOF",
        "cat >> log.txt <<EOF\nmore\nEOF",
        "cat > a.py <<EOF\nno end",
        "psql <<SQL\nselect 1 > 0;\nSQL",
        "grep x <<< 'here > there'",
        "echo $((1 << 4)) > n.txt",
    ],
)
def test_other_here_documents_are_no_text_of_a_file(command: str) -> None:
    assert changes(command) == []


@pytest.mark.parametrize(
    ("command", "path", "before", "after"),
    [
        ("sed -i 's/maxRetries/attempts/' lib/a.dart", "lib/a.dart", "maxRetries", "attempts"),
        ('sed -i "s|/old/dir|/new/dir|g" run.sh', "run.sh", "/old/dir", "/new/dir"),
        ("sed -i.bak 's#one#two#' a.txt && cat a.txt", "a.txt", "one", "two"),
        ("sed -i '' 's/one/two/g' a.txt", "a.txt", "one", "two"),
        ("sed -E -i -e 's/one/two/' ./a.txt", "a.txt", "one", "two"),
        ("cd pkg; sed -i 's/one/two/' a.txt", "pkg/a.txt", "one", "two"),
    ],
)
def test_sed_replaces_a_plain_text(command: str, path: str, before: str, after: str) -> None:
    assert changes(command) == [Change(path, before, after)]


@pytest.mark.parametrize(
    "command",
    [
        "sed 's/one/two/' a.txt",
        "sed -i 's/on./two/' a.txt",
        "sed -i '3d' a.txt",
        "used -i 's/a/b/' c",
    ],
)
def test_other_uses_of_sed_are_no_certain_change(command: str) -> None:
    assert changes(command) == []


@pytest.mark.parametrize(
    "command",
    [
        f"git apply <<'EOF'\n{DIFF}EOF",
        f"patch -p1 <<'EOF'\n{DIFF}EOF\ncargo check",
        f"patch -p1 <<'EOF'\ndiff --git a/src/pool.rs b/src/pool.rs\nindex 1..2 100644\n{DIFF}EOF",
    ],
)
def test_a_unified_diff_changes_the_lines_of_its_hunks(command: str) -> None:
    (change,) = changes(command)

    assert change.path == "src/pool.rs"
    assert change.before and "workers_old" in change.before and "EOF" not in change.before
    assert change.after == change.before.replace("workers_old", "workers")


@pytest.mark.parametrize(
    "command",
    [
        f"cat > fix.diff <<'EOF'\n{DIFF}EOF",
        f"git apply --check <<'EOF'\n{DIFF}EOF",
        f"patch -p1 -R <<'EOF'\n{DIFF}EOF",
        f"git commit -F - <<'EOF'\n{DIFF}EOF",
    ],
)
def test_a_diff_that_is_not_applied_changes_no_source(command: str) -> None:
    assert not any(change.path == "src/pool.rs" for change in changes(command))


READ = "    fn size(&self) -> usize {\n        self.workers_old\n    }\n    fn other(&self) {}\n"


@pytest.mark.parametrize(
    "command",
    [
        "sed -i 's/workers_old/workers/g' src/pool.rs",
        "cat > src/pool.rs <<'EOF'\n    fn size(&self) -> usize {\n        self.workers\nEOF",
        f"git apply - <<'EOF'\n{DIFF}EOF",
    ],
)
def test_a_change_by_a_command_makes_an_earlier_reading_outdated(command: str) -> None:
    steps: list[tuple[dict[str, Any], str]] = [
        ({"file_path": "src/pool.rs"}, READ),
        ({"command": command}, ""),
    ]
    messages = [
        message
        for n, (arguments, answer) in enumerate(steps)
        for message in (
            Message("assistant", (ToolCall(f"c{n}", "tool", arguments),)),
            Message("tool", (ToolResult(f"c{n}", (Text(answer),)),)),
        )
    ]

    spans = Outdated(messages).spans(messages[1].results[0], READ)

    assert any("workers_old" in READ[start:stop] for start, stop in spans)


@pytest.mark.parametrize(
    "repeated", ["<<EOF", "<<EOF\n", "sed -i 's/", "> ", "cat > a <<'", "@@ -1 +1 @@\n"]
)
def test_a_long_command_of_signs_is_read_to_its_end(repeated: str) -> None:
    changes(repeated * (300_000 // len(repeated)))


@pytest.mark.parametrize(
    "command",
    [
        "cat a.c | grep -n main | head", "cd lib && ls -la",
        "sed -n '1,9p' x.rb", "git diff HEAD~1",
        "git --no-pager log --oneline", "find . -name '*.go' | xargs wc -l", "echo a > /dev/null",
        "grep -rn x src 2>/dev/null || true", "Get-Content a.ps1", "for f in *.c; do cat $f; done",
    ],
)  # fmt: skip
def test_a_command_only_looks(command: str) -> None:
    assert only_looks(command)


@pytest.mark.parametrize(
    "command",
    [
        "", "cargo test", "cat a > b", "sed -i 's/a/b/' x", "git checkout .", "git commit -m log",
        "ls; rm a", "make | tail -5", "sed --in-place=.b s/a/b/ x", "find . -name x -delete",
        "find . -exec rm {} +", "ls | xargs rm", "tee a < b", "git stash show && git stash pop",
        "git branch -D old", "git remote add x y", "awk '{print > \"f\"}' a", "sort a -o a",
    ],
)  # fmt: skip
def test_a_command_that_may_change_something_does_not_only_look(command: str) -> None:
    assert not only_looks(command)
