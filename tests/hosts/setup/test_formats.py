"""Entries in JSON, TOML and YAML as text: what others wrote stays, whatever it is."""

import json
import re
import tomllib
from typing import Any

import pytest
import yaml as pyyaml
from hypothesis import given
from hypothesis import strategies as st

from context_compression.conversation import is_array, is_object
from context_compression.hosts.setup import jsonc, toml, yaml

NAME = "context-compression"
ENTRY: dict[str, Any] = {
    "command": "/home/me/a b/ü/bin",
    "args": ["--store", "C:\\x", "serve"],
    "timeout": 30,
}
NAMES = st.text("abc_-/*.é \"'\\#:", min_size=1, max_size=6)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-99, 99)
    | st.text("ab/*#é\"' \\{}[]:", max_size=8)
    | st.just(1.5)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
OTHERS = st.dictionaries(NAMES, VALUES, max_size=4)
INDENTS = [None, 1, 2, 4, "\t"]
COMMENTS = ["", "", " ", '//§ it\'s {"a": 1},\n', "/*§ \n } */", "\n", "\t"]


def is_within(old: str, new: str) -> bool:
    """Whether all that was there is still there, in order."""
    rest = iter(new)
    return all(character in rest for character in old)


@st.composite
def jsonc_texts(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """A value and how somebody may have written it."""
    whole: dict[str, Any] = draw(OTHERS)
    if draw(st.booleans()):
        whole["servers"] = draw(OTHERS)
    if draw(st.booleans()):
        return whole, json.dumps(whole, indent=draw(st.sampled_from(INDENTS)))
    spaces = st.sampled_from(COMMENTS)

    def space() -> str:
        return draw(spaces)

    def written(value: Any) -> str:
        if not (is_object(value) or is_array(value)) or not value:
            return json.dumps(value) if value != {} else f"{{{space()}}}"
        parts = (
            [f"{json.dumps(k)}{space()}:{space()}{written(v)}" for k, v in value.items()]
            if is_object(value)
            else [written(part) for part in value]
        )
        inside = ",".join(f"{space()}{part}{space()}" for part in parts)
        inside += draw(st.sampled_from(["", ",", f",{space()}"]))
        return f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]"

    return whole, f"{space()}{written(whole)}{space()}"


def read_jsonc(text: str) -> Any:
    """Another way to read it: the comments of these texts are marked, no string holds a comma."""
    text = re.sub(r"//§[^\n]*|/\*§.*?\*/", "", text, flags=re.DOTALL)
    return json.loads(re.sub(r",(\s*[}\]])", r"\1", text))


@given(jsonc_texts())
def test_an_entry_goes_into_any_json_and_the_rest_stays(given: tuple[dict[str, Any], str]) -> None:
    whole, text = given

    def whole_as(indent: Any) -> str:
        return json.dumps(whole, indent=indent)

    new = jsonc.with_entry(text, "servers", NAME, ENTRY)

    expected = {**whole, "servers": {**whole.get("servers", {}), NAME: ENTRY}}
    assert read_jsonc(new) == expected
    assert jsonc.entry_in(new, "servers", NAME) == ENTRY
    assert is_within(re.sub(r"\s", "", text), new)
    gone = jsonc.without_entry(new, "servers", NAME, tidy="servers" not in whole)
    assert jsonc.entry_in(gone, "servers", NAME) is None
    assert read_jsonc(gone) == whole
    assert "".join(gone.split()) == "".join(text.split())
    if whole and whole.get("servers") != {} and text in map(whole_as, INDENTS):
        assert gone == text


@pytest.mark.parametrize(
    "text", ["", "\n", "// nothing yet\n", "\ufeff", "{}", "{ }", "{\r\n}\r\n"]
)
def test_an_empty_json_file_takes_an_entry(text: str) -> None:
    new = jsonc.with_entry(text, "servers", NAME, ENTRY)

    assert jsonc.entry_in(new, "servers", NAME) == ENTRY


SETTINGS = """\
// my settings
{
\t"theme": "dark", // at night
\t"servers": {
\t\t/* the one I wrote */
\t\t"mine": {"command": "x"} // keep
\t},
}
"""


def test_the_layout_of_the_file_is_taken_over() -> None:
    new = jsonc.with_entry(SETTINGS, "servers", "ours", {"command": "c", "args": ["serve"]})

    assert new == SETTINGS.replace(
        '{"command": "x"} // keep\n',
        '{"command": "x"}, // keep\n\t\t"ours": {\n\t\t\t"command": "c",\n'
        '\t\t\t"args": [\n\t\t\t\t"serve"\n\t\t\t]\n\t\t}\n',
    )


def test_an_entry_is_replaced_where_it_stands() -> None:
    first = jsonc.with_entry('{"servers": {"ours": 1, "b": 2}}', "servers", "ours", {"c": 3})

    assert first == '{"servers": {"ours": {"c": 3}, "b": 2}}'


@pytest.mark.parametrize(
    "text",
    [
        "{", "[]", "1", '{"a": }', '{"a" 1}', "{a: 1}", '{"a": 1} x', '{"a": 1 "b": 2}', "{,}",
        '{"servers": []}', '{"servers": 1}', '{"a": "\n"}', "/* open", '{"a": [1 2]}', "[" * 99_999,
    ],
)  # fmt: skip
def test_broken_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        jsonc.with_entry(text, "servers", NAME, ENTRY)


def toml_key(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    """TOML with strings and comments that look like tables."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    lines: list[str] = []
    used: set[str] = set()
    tricky = [
        '"""\n[mcp_servers.context-compression]\n"""',
        "'''\n[x]\n'''",
        "[\n[1],\n[2], # ]\n]",
    ]
    values = st.sampled_from(['"a"', "'[x]'", "1", "{a = 1}", *tricky])
    comment = st.sampled_from(["", "", "# [no.table]", "   "])

    def body() -> None:
        for key in draw(st.lists(st.text("abc", min_size=1, max_size=3), unique=True, max_size=3)):
            lines.extend([draw(comment), f"{key} = {draw(values)} # {key}"])

    body()
    if draw(st.booleans()):
        lines.append(
            draw(st.sampled_from(["[mcp_servers]", "[ mcp_servers ] # [none]", "[mcp_servers]\n"]))
        )
    for name in draw(st.lists(st.text("def. -", min_size=1, max_size=3), unique=True, max_size=4)):
        server = draw(st.booleans())
        if server and name not in used:
            lines.append(f"[mcp_servers.{toml_key(name)}]")
            used.add(name)
        else:
            lines.append(f"  [ t_{len(lines)}.{toml_key(name)} ] # why")
        body()
        if server and draw(st.booleans()):
            lines.append(f"[mcp_servers.{toml_key(name)}.env]" if name in used else "")
    text = newline.join("\n".join(lines).split("\n"))
    return text + draw(st.sampled_from(["", newline, newline * 2]))


@given(toml_texts())
def test_a_table_goes_into_any_toml_and_the_rest_stays(text: str) -> None:
    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return

    new = toml.with_entry(text, "mcp_servers", NAME, ENTRY)

    expected = {**whole, "mcp_servers": {**whole.get("mcp_servers", {}), NAME: ENTRY}}
    assert tomllib.loads(new) == expected
    assert new.startswith(text)
    gone = toml.without_entry(new, "mcp_servers", NAME, tidy=True)
    assert tomllib.loads(gone) == whole
    assert gone.rstrip() == text.rstrip()
    if not text or text.endswith("\n"):
        assert gone == text


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "before",
    [
        "[mcp_servers]\n",
        "model = 'o9'\n\n[mcp_servers]\n\n[tui]\ntheme = 'dark'\n",
        "[mcp_servers]\n# none yet\n",
        "\ufeff[mcp_servers]",
        "mcp_servers.mine.command = 'x'\n",
        "[mcp_servers]\nmine = { command = 'x' }\n",
        "[mcp_servers]\nmine.command = 'x'\n[[others]]\na = 1\n",
    ],
)
def test_an_empty_table_of_servers_is_borne_and_left_and_so_are_later_edits(
    before: str, newline: str
) -> None:
    before = before.replace("\n", newline)
    later = f"{newline}[profiles.new]{newline}a = 1{newline}"
    expected = tomllib.loads((before + newline + later).removeprefix("\ufeff"))

    edited = toml.with_entry(before, "mcp_servers", NAME, ENTRY) + later
    gone = toml.without_entry(edited, "mcp_servers", NAME, tidy=False)

    assert tomllib.loads(gone.removeprefix("\ufeff")) == expected
    assert gone.startswith(before) and gone.endswith(later)
    assert "".join(gone.split()) == "".join((before + later).split())
    assert toml.entry_in(gone, "mcp_servers", NAME) is None


CODEX = """\
model = "o9"

[mcp_servers.context-compression]
command = "old"
# mine
[mcp_servers.context-compression.env]
A = '''
[tui]
'''

# the screen
[tui]
theme = "dark"
"""


def test_a_table_with_tables_inside_is_replaced_where_it_stands_and_taken_out_whole() -> None:
    new = toml.with_entry(CODEX, "mcp_servers", NAME, {"command": "new", "env": {"A": "b"}})

    assert tomllib.loads(new)["mcp_servers"] == {NAME: {"command": "new", "env": {"A": "b"}}}
    assert new.index(NAME) < new.index("# the screen")
    gone = toml.without_entry(new, "mcp_servers", NAME, tidy=True)
    assert gone == 'model = "o9"\n\n# the screen\n[tui]\ntheme = "dark"\n'


@pytest.mark.parametrize(
    "text",
    ["a = ", "[a", "mcp_servers = 3", "mcp_servers = {}", "[[mcp_servers]]\na = 1", "a = 1\na = 2"],
)
def test_toml_that_is_broken_or_takes_no_table_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        toml.with_entry(text, "mcp_servers", NAME, ENTRY)


@pytest.mark.parametrize(
    "text",
    [
        f"mcp_servers = {{ {NAME} = {{command = 'x'}} }}",
        f"mcp_servers.{NAME}.command = 'x'",
        f"[mcp_servers]\n{NAME}.command = 'x'",
    ],
)
def test_an_entry_that_is_no_table_of_its_own_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="mcp_servers"):
        toml.with_entry(text, "mcp_servers", NAME, ENTRY)
    with pytest.raises(ValueError, match="cannot take out"):
        toml.without_entry(text, "mcp_servers", NAME, tidy=True)


@st.composite
def yaml_texts(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """A value, and how Goose or a person writes it."""
    entry = st.fixed_dictionaries(
        {"enabled": st.booleans(), "args": st.lists(st.text("ab: #'", max_size=4), max_size=2)},
        optional={"about": st.sampled_from(["x", "a\nb # c\n", "it's: y"]), "envs": OTHERS},
    )
    names = st.text("abc-", min_size=1, max_size=4).filter(lambda name: name[0] != "-")
    whole: dict[str, Any] = {"GOOSE_MODEL": "m", "list": ["a", "b"]}
    if draw(st.booleans()):
        whole["extensions"] = draw(st.dictionaries(names, entry, max_size=3))
    whole["last"] = draw(st.sampled_from(["# no comment", {"deep": {"er": 1}}, None, "a\n\nb\n"]))
    text = pyyaml.safe_dump(whole, sort_keys=False, allow_unicode=True, width=draw(st.just(40)))
    if draw(st.booleans()):
        text = text.replace("\nextensions:", "\n\n# what I use\nextensions:  # all of it")
    return whole, draw(st.sampled_from(["", "---\n", "# mine\n"])) + text


@given(yaml_texts())
def test_an_entry_goes_into_any_yaml_of_a_host_and_the_rest_stays(
    given: tuple[dict[str, Any], str],
) -> None:
    whole, text = given
    if not text.endswith("\n") or pyyaml.safe_load(text) != whole:
        return

    new = yaml.with_entry(text, "extensions", NAME, ENTRY)

    expected = {**whole, "extensions": {**whole.get("extensions", {}), NAME: ENTRY}}
    assert pyyaml.safe_load(new) == expected
    assert yaml.entry_in(new, "extensions", NAME) == ENTRY
    assert is_within(text.replace("{}", ""), new)
    gone = yaml.without_entry(new, "extensions", NAME, tidy="extensions" not in whole)
    assert pyyaml.safe_load(gone) == whole
    if whole.get("extensions") or "extensions" not in whole:
        assert gone == text


GOOSE = """\
extensions:
  context-compression:
    args:
    - --store
    - 'it''s here'
    cmd: /usr/bin/context-compression
    enabled: true
    envs:
      A: b  # mine
      N: 1
    timeout: 300
    bundled: null
  developer:
    type: builtin
"""


def test_an_entry_that_the_host_wrote_anew_is_read_replaced_and_taken_out() -> None:
    assert yaml.entry_in(GOOSE, "extensions", NAME) == pyyaml.safe_load(GOOSE)["extensions"][NAME]

    new = yaml.with_entry(GOOSE, "extensions", NAME, {"cmd": "x"})

    assert new == f'extensions:\n  {NAME}:\n    cmd: "x"\n  developer:\n    type: builtin\n'
    gone = yaml.without_entry(GOOSE, "extensions", NAME, tidy=False)
    assert gone == "extensions:\n  developer:\n    type: builtin\n"


def test_a_section_that_is_left_empty_stays_a_mapping() -> None:
    text = f"extensions:\n  {NAME}:\n    cmd: x\nlast: 1\n"

    assert yaml.without_entry(text, "extensions", NAME, tidy=False) == "extensions: {}\nlast: 1\n"
    assert yaml.without_entry(text, "extensions", NAME, tidy=True) == "last: 1\n"


@pytest.mark.parametrize(
    "text",
    [
        "extensions: {a: {b: c}}\n", "extensions:\n- a\n", "extensions:\n  - a\n",
        "extensions:\n\ta: b\n", "extensions:\nextensions:\n", "- a\nextensions:\n",
        "{extensions: {}}\n", "a: 1\n---\nextensions:\n", "just words\n", "a: [1, 2\nextensions:\n",
        "a: 'open\nextensions:\n", "a: {b: c\nextensions:\n  x: {}\n", "a: b: c\nextensions:\n",
        "a:\n    b: 1\n  c: 2\nextensions:\n", "a: *nobody\nextensions:\n",
        "a: 1\na: 2\nextensions:\n", "a:\n  b: 1\n  b: 2\nextensions:\n",
        "extensions:\n  x:\n    - 1\n    y: 2\n", 'extensions:\n  x: "\\q"\n',
        "a: \x01\nextensions:\n", "a: %b\nextensions:\nc: @d\n",
    ],
)  # fmt: skip
def test_yaml_written_in_another_way_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        yaml.with_entry(text, "extensions", NAME, ENTRY)
    with pytest.raises(ValueError, match=r"\w"):
        yaml.without_entry(text, "extensions", NAME, tidy=True)
    with pytest.raises(ValueError, match=r"\w"):
        yaml.entry_in(text, "extensions", NAME)
