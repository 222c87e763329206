"""What a tool call asks for is told by its question, in any spelling."""

from typing import Any

import pytest

from context_compression.conversation import ToolCall
from context_compression.evidence.open_tasks import kind_of, question_of

CASES: list[tuple[str, str, Any]] = [
    ("text", "read_file", {"path": "a.py"}),
    ("text", "read_file", {"n": 3}),
    ("text", "view", {"n": 3}),
    ("text", "str_replace_based_edit_tool", {"command": "view", "path": "/a.py"}),
    ("text", "mcp__fs__read_text_file", {"path": "/a"}),
    ("text", "fetch", {"url": "https://x"}),
    ("text", "get_ticket", {"n": 4}),
    ("unknown", "bash", {"n": 9}),
    ("unknown", "Task", {"description": "a b", "prompt": "do src/a.py x"}),
    ("text", "bash", {"command": "cat a.py"}),
    ("text", "bash", {"command": "cd x && cat a.py | head -50"}),
    ("text", "shell", {"command": ["bash", "-lc", "sed -n '1,200p' src/a.py"]}),
    ("text", "exec_command", {"cmd": "nl -ba src/a.py | sed -n '1,80p'"}),
    ("text", "powershell", {"command": "Get-Content src\\a.py -TotalCount 50"}),
    ("text", "run_in_terminal", {"command": "type a.txt"}),
    (
        "text",
        "shell",
        {"command": ["powershell.exe", "-NoProfile", "-Command", "Get-Content -Raw a.txt"]},
    ),
    ("text", "bash", {"command": "bash -lc 'cd /x && less a.py'"}),
    ("text", "bash", {"command": "ssh host 'cat /etc/x'"}),
    ("text", "bash", {"command": "docker exec -it c cat /etc/x"}),
    ("output", "bash", {"command": "make"}),
    ("output", "bash", {"command": "make 2>&1 | tail -50"}),
    ("text", "bash", {"command": "make > b.log 2>&1; tail -50 b.log"}),
    ("output", "bash", {"command": "pytest -q"}),
    ("output", "bash", {"command": "cd x && npm test"}),
    ("search", "bash", {"command": "grep -rn foo src"}),
    ("search", "Grep", {"pattern": "x", "path": "src"}),
    ("search", "list_dir", {"path": "src"}),
    ("output", "logs", {"n": 3}),
    ("output", "mcp__ci__log", {"command": "make check"}),
    ("output", "mcp__ci__log", {"job": "x"}),
    ("text", "git", {"command": "git show HEAD:a.py"}),
    ("text", "bash", {"command": "git diff"}),
    ("search", "bash", {"command": "git log --oneline"}),
    ("text", "lire_fichier", {"chemin": "src/a.py"}),
    ("text", "foo", {"path": "src/a.py"}),
    ("output", "run_tests", {"path": "tests/"}),
    ("search", "search_docs", {"query": "x"}),
    ("search", "search_docs", {"n": 1}),
    ("text", "ReadFile", {"n": 1}),
    ("text", "open_file", {"n": 1}),
    ("text", "WebFetch", {"url": "https://a", "prompt": "x"}),
    ("text", "bash", {"command": "python -c \"print(open('a.py').read())\""}),
    ("output", "bash", {"command": "python a.py"}),
    ("text", "file_tool", {"operation": "read", "path": "a"}),
    ("text", "bash", {"command": "sudo cat /etc/x"}),
    ("text", "bash", {"command": "timeout 5 cat x"}),
    ("text", "bash", {"command": "for f in a b; do echo $f; cat $f; done"}),
    ("text", "bash", {"command": "find . -name x -exec cat {} \\;"}),
    ("text", "execute_bash", {"command": "cat a && echo --- && cat b"}),
    ("output", "shell", {"command": ["make", "-j4"]}),
    ("text", "shell", {"command": ["cat", "a.py"]}),
    ("text", "cat", {"n": 9}),
    ("text", "terminal", {"input": "cat a.py"}),
    ("text", "bash", "cat a.py"),
    ("text", "read_multiple_files", {"paths": ["a", "b"]}),
    ("text", "browser", {"action": "open", "url": "https://a"}),
    ("text", "cmd", {"command": "cmd /c type a.txt"}),
    ("output", "BashOutput", {"bash_id": "x"}),
    ("text", "bash", {"command": "bat --plain src/a.py"}),
    ("text", "bash", {"command": "curl -s https://a"}),
    ("output", "bash", {"command": "docker logs c"}),
    ("output", "bash", {"command": "kubectl logs p | tail -100"}),
    ("text", "bash", {"command": "sed -n '1,200p' \"my file.py\""}),
    ("text", "bash", {"command": "gc a.txt | select -First 50"}),
    ("text", "view_file", {"AbsolutePath": "/a", "StartLine": 1}),
    ("text", "run_command", {"CommandLine": "cat a.py", "Cwd": "/"}),
]


@pytest.mark.parametrize(("kind", "name", "arguments"), CASES)
def test_the_question_tells_what_is_asked_for(kind: str, name: str, arguments: Any) -> None:
    assert kind_of(ToolCall("1", name, arguments)) == kind


def test_a_description_makes_no_other_question() -> None:
    one = ToolCall("1", "Bash", {"command": "make", "description": "Build it"})
    other = ToolCall("2", "Bash", {"command": "make ", "description": "Build once more"})

    assert question_of(one) == question_of(other)
    assert question_of(one) != question_of(ToolCall("3", "Bash", {"command": "make test"}))
