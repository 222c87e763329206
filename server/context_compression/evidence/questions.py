"""What a tool call asks for: a text that it names, a search, or the output of a program.

The arguments decide, then the words in the tool's name, in any spelling. Programs of a shell
command are told apart by their names: `cat src/a.py` asks for a text, and `make` does not.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from context_compression.conversation.messages import (
    ToolCall,
    is_array,
    is_object,
    strings_in,
)
from context_compression.evidence.ledger.file_actions import (
    PATH_LISTS,
    PATHS,
    QUESTIONS,
    by_name,
    words,
)
from context_compression.evidence.ledger.shell import SimpleCommand, steps

Kind: TypeAlias = Literal["text", "search", "output", "unknown"]
"""What is asked for: a text that the call names; places where something is; what a program prints;
or the question does not show it."""

ORDER: tuple[Kind, ...] = ("output", "search", "text")
"""Of the parts of a command, the first kind here counts."""
COMMANDS = words(
    "command cmd script commandline shellcommand bashcommand bash shell powershell commands"
)
"""Names of arguments that hold a shell command, as `plain_name` gives them."""
VERBS = words("action operation op method mode command subcommand")
"""Names of arguments that may hold a verb: `{"command": "view", "path": "a.py"}`."""
ADDRESSES = words("url urls uri uris href link links address")
SEARCHED = QUESTIONS | words("q search keywords searchterm searchquery glob globpattern")
SHELLS = words("bash shell sh zsh terminal powershell pwsh console cmd command exec execute run")
"""Words in the names of tools whose only text is a command."""

TEXT_WORDS = words(
    "read view open fetch cat get load show download retrieve display browse visit navigate goto"
    " scrape extract crawl inspect look see head tail dump content contents lire lis leer lee ler"
    " lesen lies leggi abrir ouvrir öffnen читать прочитать 读 读取 查看 打开 获取 読む 開く 읽기"
)
SEARCH_WORDS = words(
    "search grep rg find list ls glob query lookup tree dir match filter locate enumerate 搜索 查找"
)
OUTPUT_WORDS = words(
    "run exec execute test tests build compile install deploy lint check make start launch invoke"
    " output stdout console trace job ci watch wait poll monitor pytest npm cargo 运行 执行"
)
LOG_WORDS = words("log logs 日志")

READERS = words(
    "cat sed nl head tail less more bat batcat view tac rev zcat bzcat xzcat zstdcat gzcat zless"
    " gunzip unzip get-content gc type awk gawk mawk cut tr sort uniq fold fmt column paste join jq"
    " yq xmllint strings xxd od hexdump base64 pdftotext pandoc select-object tee diff cmp comm"
    " curl wget http invoke-webrequest iwr invoke-restmethod irm lynx w3m man tldr expand"
    " out-string format-list ft fl wc"
)
"""Programs that show a text that the command names, or only change how a text is shown."""
SEARCHERS = words(
    "ls dir find fd tree grep egrep fgrep rg ag ack locate which where whereis file stat du df"
    " select-string sls findstr get-childitem gci"
)
SILENT = words(
    "cd pushd popd set-location sl echo printf write-host write-output true false : test [ [["
    " sleep export set source . pwd date for in do done if fi esac case while until mkdir rm touch"
    " cp mv chmod ln cls clear exit return read local shopt unset alias select"
)
"""Programs and words of a shell that print nothing worth mentioning."""
GIT_TEXTS = words("show diff blame cat-file annotate")
GIT_SEARCHES = words("status log grep branch ls-files ls-tree rev-parse remote tag shortlog reflog")
WRAPPERS = words(
    "sudo doas timeout nice ionice time env nohup stdbuf unbuffer ssh docker podman kubectl oc wsl"
    " xargs cmd powershell pwsh bash sh zsh dash busybox command exec script watch poetry uv pipx"
)
"""Programs that run another one, which is named among their words."""
CODE = re.compile(r"\bopen\(|read_text|readFile|File\.read|file_get_contents|slurp")
"""What code that prints a file has in it."""
ONE_WORD = re.compile(r"[^\s\"'<>|]{2,1000}")
ENDING = re.compile(r"\w\.[A-Za-z]\w{0,4}\Z")
WORD = re.compile(r"[^\W\d_]+")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
LONGEST_VERB = 40
DEEPEST = 3
"""How many commands within commands are read."""


def kind_of(call: ToolCall) -> Kind:
    """What a call asks for.

    `kind_of(ToolCall("1", "bash", {"command": "sed -n 1,80p a.py"}))` -> `"text"`
    """
    given = by_name(call.arguments) if is_object(call.arguments) else {}
    names = [*_words_of(call.name), *_verbs(given)]
    command = _command(call, given)
    shows = any(_by_word(name) == "text" for name in names) and SHELLS.isdisjoint(names)
    if command and not shows and not _is_verb(command, given):
        return of_command(command)
    names_text = any(isinstance(given.get(key), str) for key in PATHS | ADDRESSES)
    if not names_text and not LOG_WORDS.isdisjoint(names):
        return "output"
    for kind in map(_by_word, names):
        if kind is not None:
            return kind
    if names_text or not given.keys().isdisjoint(PATH_LISTS | ADDRESSES):
        return "text"
    if not given.keys().isdisjoint(SEARCHED):
        return "search"
    return "text" if any(map(_is_place, given.values())) else "unknown"


def question_of(call: ToolCall) -> Sequence[Any]:
    """What tells whether two calls ask the same: the tool, and the command or all arguments.

    Words about the call, such as a description, do not matter.
    """
    given = by_name(call.arguments) if is_object(call.arguments) else {"input": call.arguments}
    if command := _command(call, given):
        places = {key: given[key] for key in given if key in PATHS}
        return [call.name, command.strip(), places]
    beside = words("description explanation reason thought timeout title justification")
    return [call.name, {key: given[key] for key in sorted(given) if key not in beside}]


def of_command(command: str, depth: int = 0) -> Kind:
    """What a shell command asks for: an output if one of its programs is not known to show texts.

    `of_command("cd src && cat a.py | head -50")` -> `"text"`
    """
    kinds = {kind for step in steps(command) if (kind := _of_step(step, depth))}
    for kind in ORDER:
        if kind in kinds:
            return kind
    return "unknown"


def _of_step(step: SimpleCommand, depth: int) -> Kind | None:
    """What one program prints; `None` for nothing."""
    if any(sign in (">", ">>", "&>", "1>", "&>>", ">|") for sign, _ in step.redirects):
        return None
    verb = step.verb.removesuffix(".exe")
    if verb in SILENT or not step.words:
        return None
    return _of_words(verb, step.words[1:], depth)


def _of_words(verb: str, rest: Sequence[str], depth: int) -> Kind:
    if verb == "git":
        named = next((word for word in rest if word in GIT_TEXTS or word in GIT_SEARCHES), "")
        return "text" if named in GIT_TEXTS else "search" if named else "output"
    if verb == "find" and "-exec" in rest:
        at = [*rest].index("-exec") + 1
        return _of_words(_verb(rest[at]), rest[at + 1 :], depth) if at < len(rest) else "search"
    if verb == "gh":
        return "text" if {"view", "diff", "api"} & {*rest} else "output"
    if verb in READERS:
        return "text"
    if verb in SEARCHERS:
        return "search"
    if "--help" in rest or any(CODE.search(word) for word in rest if " " in word or "(" in word):
        return "text"
    if verb in WRAPPERS or verb.startswith("-"):
        return _within(rest, depth)
    return "output"


def _within(rest: Sequence[str], depth: int) -> Kind:
    """What the command among the words of another one prints."""
    for at, word in enumerate(rest):
        if " " in word and depth < DEEPEST:
            return of_command(word, depth + 1)
        verb = _verb(word)
        if verb in READERS or verb in SEARCHERS or verb == "git":
            return _of_words(verb, rest[at + 1 :], depth)
    return "output"


def _verb(word: str) -> str:
    return re.split(r"[/\\]", word)[-1].lower().removesuffix(".exe")


def _words_of(name: str) -> list[str]:
    """`_words_of("mcp__files__readTextFile")` -> `["read", "text", "file"]`."""
    return [word.lower() for word in WORD.findall(CAMEL.sub(" ", name.rpartition("__")[2]))]


def _by_word(word: str) -> Kind | None:
    if word in TEXT_WORDS:
        return "text"
    if word in SEARCH_WORDS:
        return "search"
    return "output" if word in OUTPUT_WORDS or word in LOG_WORDS else None


def _verbs(given: Mapping[str, Any]) -> Iterator[str]:
    for key, value in given.items():
        if key in VERBS and isinstance(value, str) and len(value) <= LONGEST_VERB:
            yield from _words_of(value)


def _is_place(value: Any) -> bool:
    """Whether an argument is a path or an address, whatever its name."""
    if not isinstance(value, str) or not ONE_WORD.fullmatch(value):
        return False
    return "/" in value or "\\" in value or ENDING.search(value) is not None


def _command(call: ToolCall, given: Mapping[str, Any]) -> str:
    """The shell command of a call, or ""."""
    for key in given:
        value = given[key]
        if key in COMMANDS and (isinstance(value, str) or is_array(value)):
            more = given.get("args", given.get("arguments"))
            parts = [*strings_in(value), *(strings_in(more) if is_array(more) else ())]
            return " ".join(parts)
    if SHELLS.isdisjoint(_words_of(call.name)):
        return ""
    texts = [call.arguments] if isinstance(call.arguments, str) else given.values()
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _is_verb(command: str, given: Mapping[str, Any]) -> bool:
    """Whether a command is one of a tool, such as `view`, and not of a shell."""
    names_text = not given.keys().isdisjoint(PATHS | PATH_LISTS | ADDRESSES)
    return names_text and re.fullmatch(r"[A-Za-z_]+", command.strip()) is not None
