import base64
import copy
import gzip
import json
import math
import re
import runpy
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext import openai_public  # pyright: ignore[reportMissingTypeStubs]  # it ships none

from context_compression import count_tokens
from context_compression.conversation import (
    Document,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    assistant,
    user,
)
from context_compression.errors import InvalidCounter
from context_compression.tokens import (
    Anchor,
    Count,
    Counter,
    anchor_in,
    anchored,
    base_count,
    binds_thinking,
    family_of,
    fingerprint,
    o200k,
    window_of,
)
from context_compression.tokens.o200k import WORTH_A_THREAD, Recent, Remembered, estimate

TOKENIZER = Path(__file__).parents[2] / "data" / "tokenizer"
SHIPPED = (files("context_compression.tokens") / "data" / "o200k.bin").read_bytes()
RANKS = o200k.ranks(SHIPPED)


@pytest.fixture(scope="session")
def reference() -> Iterator[tiktoken.Encoding]:
    """What tiktoken itself builds, given the vocabulary it would otherwise download."""

    def no_download(*_: object, **__: object) -> dict[bytes, int]:
        return RANKS

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai_public, "load_tiktoken_bpe", no_download)
        definition: Any = openai_public.o200k_base()
        yield tiktoken.Encoding(**definition)


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_shipped_vocabulary_is_the_one_tiktoken_knows():
    text = b"".join(
        base64.b64encode(token) + b" %d\n" % rank
        for token, rank in sorted(RANKS.items(), key=lambda pair: pair[1])
    )

    digest = sha256(text).hexdigest()

    assert digest == "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


def test_the_builder_still_builds_what_is_shipped():
    build = runpy.run_path(str(TOKENIZER / "build.py"))

    built = build["pack"](build["read"]((TOKENIZER / "o200k_base.tiktoken").read_bytes()))

    assert built == SHIPPED
    assert sha256(built).hexdigest() == o200k.SHA256


def test_alternatives_and_special_tokens_are_tiktokens(reference: tiktoken.Encoding):
    definition = openai_public.o200k_base()

    assert definition["pat_str"] == "|".join(o200k.ALTERNATIVES)
    assert definition["special_tokens"] == o200k.SPECIAL


def test_importing_the_package_does_not_import_tiktoken():
    printed = run("import sys, context_compression.tokens; print('tiktoken' in sys.modules)")

    assert printed == "False"


def test_counting_opens_no_socket():
    printed = run(
        "import socket\n"
        "def refuse(*args, **kwargs): raise SystemExit('a socket was opened')\n"
        "socket.socket = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from context_compression.tokens import Counter\n"
        "counter = Counter('gpt-4o')\n"
        "print(counter.text('hello world'), counter.method)"
    )

    assert printed == "2 o200k"


@given(text=st.text(st.characters(codec=None), max_size=400))
def test_every_text_counts_as_in_tiktoken(reference: tiktoken.Encoding, text: str):
    assert Counter("gpt-4o").text(text) == len(reference.encode_ordinary(text))


WORDS = ["word", "'s", "Ünï", "你好", "😀", "12345", "/", "//", "--", "a" * 40, "A"]
BLANKS = [" ", "   ", "\n", "\n\n", "\r\n", "\t", "\u3000", "\x85", "\x1c", "\u2028", " \n "]
TEXTS = st.lists(st.sampled_from(WORDS + BLANKS), max_size=400).map("".join)


@given(text=TEXTS, limit=st.integers(20, 200), window=st.integers(1, 20))
def test_clean_cuts_change_no_count(
    reference: tiktoken.Encoding, text: str, limit: int, window: int
):
    cut = list(o200k.pieces(text, limit, window))

    assert "".join(piece for piece, _ in cut) == text
    assert all(len(piece) <= limit for piece, _ in cut)
    joined = [""]  # pieces with hard ends put together again
    for piece, clean in cut:
        joined[-1] += piece
        if clean:
            joined.append("")
    counts = [len(reference.encode_ordinary(piece)) for piece in joined]
    assert sum(counts) == len(reference.encode_ordinary(text))


def test_a_long_text_counts_as_in_tiktoken(reference: tiktoken.Encoding):
    source = Path(__file__).read_text(encoding="utf-8")
    text = "\n".join(f"{i}\n{source}" for i in range(30))

    count = base_count(text)

    assert len(text) > 4 * o200k.PIECE
    assert count == len(reference.encode_ordinary(text))


@pytest.mark.parametrize("letter", ["a", "-", "\n", " ", "\t", "\u3000", "é", "字"])
def test_a_million_of_one_letter_is_counted_like_fewer(reference: tiktoken.Encoding, letter: str):
    tenth = len(reference.encode_ordinary(letter * 100_000))

    count = base_count(letter * 1_000_000)

    assert count == pytest.approx(10 * tenth, rel=0.01)


def test_a_million_spaces_before_a_word_do_not_panic():
    assert 7_000 < base_count(" " * 1_000_000 + "x") < 9_000


def test_when_tiktoken_panics_the_piece_is_estimated(
    reference: tiktoken.Encoding, monkeypatch: pytest.MonkeyPatch
):
    spaces = " " * 1_000_000
    monkeypatch.setattr(o200k, "PIECE", 2_000_000)
    with pytest.raises(BaseException, match="StackOverflow") as panic:  # tiktoken 0.13 and 0.14
        reference.encode_ordinary(spaces)

    count = o200k.O200K.count(spaces)

    assert not isinstance(panic.value, Exception)
    assert count == estimate(spaces)


def test_lone_surrogates_count_as_in_tiktoken(reference: tiktoken.Encoding):
    text = "\ud800 a lone one, a pair \ud83d\ude00, and many " + "\udfff" * 2_000

    assert base_count(text) == len(reference.encode_ordinary(text))


def test_text_that_looks_like_a_special_token_is_text(reference: tiktoken.Encoding):
    assert base_count("<|endoftext|>") == len(reference.encode_ordinary("<|endoftext|>")) == 7


@given(st.lists(st.one_of(TEXTS, st.text(st.characters(codec=None)), st.just("a<|endoftext|>"))))
def test_texts_count_together_as_they_do_one_by_one(texts: list[str]):
    assert [*o200k.O200K.counts(texts)] == [*map(o200k.O200K.count, texts)]


def test_a_text_that_is_counted_in_pieces_is_so_among_others_too():
    texts = [f"é{number} {'=' * 40_000}" for number in range(4)]

    assert [*o200k.O200K.counts(texts)] == [*map(o200k.O200K.count, texts)]


def test_where_tiktoken_panics_the_others_are_counted_all_the_same(monkeypatch: pytest.MonkeyPatch):
    spaces = " " * 1_000_000
    monkeypatch.setattr(o200k, "PIECE", 2_000_000)

    assert [*o200k.O200K.counts(["two words", spaces])] == [2, estimate(spaces)]


def test_texts_counted_ahead_are_not_counted_again():
    together, alone = list[str](), list[str]()

    def lengths(texts: Sequence[str]) -> list[int]:
        together.extend(texts)
        return [*map(len, texts)]

    def length(text: str) -> int:
        alone.append(text)
        return len(text)

    texts = [str(number) * WORTH_A_THREAD for number in range(9)]
    remembered = Remembered(length, lengths)
    remembered.text(texts[0])

    counting = remembered.ahead([*texts, *texts])
    assert counting
    counting.finish()

    assert [*map(remembered.text, texts)] == [*map(len, texts)]
    assert sorted(together) == texts[1:]
    assert counting.chars == sum(map(len, together))
    assert alone == texts[:1]
    assert remembered.ahead(texts) is None


@pytest.mark.parametrize("error", [ValueError, MemoryError])
def test_what_could_not_be_counted_ahead_is_counted_when_it_is_asked_for(error: type[Exception]):
    def fail(texts: Sequence[str]) -> list[int]:
        raise error

    text = "x" * WORTH_A_THREAD
    remembered = Remembered(len, fail)

    counting = remembered.ahead([text])
    assert counting
    counting.finish()

    assert remembered.text(text) == len(text)


def test_where_no_thread_is_to_be_had_all_is_counted_in_the_one_there_is(
    monkeypatch: pytest.MonkeyPatch,
):
    def refuse(thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", refuse)
    messages = [user(f"how many words are there in all {n}? " * 2_000) for n in range(2)]

    counter = Counter("gpt-4o")
    counting = counter.ahead(messages)
    assert counting
    counting.finish()

    assert counter.ahead(messages) is None


def test_nothing_counts_nothing():
    counter = Counter()

    assert (base_count(""), counter.text(""), counter.messages([])) == (0, 0, 0)
    assert counter.system(None) == counter.tools([]) == 0


def test_threads_that_count_first_together_agree():
    fresh = o200k.O200k()

    with ThreadPoolExecutor(4) as pool:
        counts = set(pool.map(fresh.count, ["all at once"] * 8))

    assert counts == {3}


@pytest.mark.parametrize("resource", ["missing.bin", "NOTICE"])
def test_a_missing_or_damaged_vocabulary_leaves_an_estimate(resource: str):
    counter = o200k.O200k(resource)

    count = counter.count("How many tokens are in this sentence?")

    assert counter.failed
    assert count == estimate("How many tokens are in this sentence?")


def test_without_tiktoken_the_method_says_so_and_the_bound_is_wider():
    printed = run(
        "import sys; sys.modules['tiktoken'] = None\n"
        "from context_compression.tokens import Counter\n"
        "counter = Counter('gpt-4o')\n"
        "count = counter.count(counter.text('Nobody has read the report yet. ' * 50))\n"
        "print(count.method, count, count.upper > 1.15 * count, sep=' | ')"
    )

    method, count, wider = printed.split(" | ")
    assert method == "bytes (tokenizer unavailable)"
    assert int(count) == pytest.approx(350, rel=0.2)
    assert wider == "True"


@given(text=st.text(st.characters(codec=None), max_size=300))
def test_the_estimate_stays_within_its_limits(text: str):
    size = len(text.encode("utf-8", "surrogatepass"))

    assert size / 12 <= estimate(text) <= size


@pytest.mark.parametrize(
    "text",
    [
        "The meeting starts at nine, and nobody has read the report yet. " * 20,
        "def area(width: int, height: int) -> int:\n    return width * height\n" * 20,
        '{"path": "/srv/app/main.py", "line": 42, "text": "import os"}' * 20,
        "Встреча начинается в девять, но никто ещё не прочитал отчёт. " * 20,
        "会议九点开始，但是还没有人读过报告。" * 20,
    ],
)
def test_the_estimate_is_close_for_common_kinds_of_text(text: str):
    assert estimate(text) == pytest.approx(base_count(text), rel=0.35)


def test_equal_values_have_equal_fingerprints_and_others_have_not():
    values: list[Any] = [
        "1", 1, True, 1.0, -1, -2, None, 0, "", [], {}, [[]], [{}], ["a"], {"a": None}, {"a": ""},
        ["a", ["b"]], [["a"], "b"], ["a", "b"], {"a": "b"}, {"b": "a"}, [["a", "b"]],
    ]  # fmt: skip

    prints = [fingerprint(value) for value in values]

    assert len(set(prints)) == len(values)
    assert prints == [fingerprint(copy.deepcopy(value)) for value in values]


def test_depth_is_no_limit_for_a_fingerprint():
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    assert fingerprint(deep) != fingerprint(deep[0])


def test_the_memory_of_counts_keeps_what_is_used_and_stays_small():
    recent = Recent(size=100)
    recent.put(0, 7)

    for i in range(1, 1_000):
        recent.put(i, i)
        assert recent.get(0) == 7
        assert len(recent) <= 100

    assert recent.get(1) is None


def test_the_callers_counter_is_asked_once_for_each_text():
    asked: list[str] = []

    def letters(text: str) -> int:
        asked.append(text)
        return len(text)

    counter = Counter("gpt-4o", counter=letters)
    message = user("x" * 100)

    counts = {counter.message(message) for _ in range(3)}

    assert counts == {103}
    assert len(asked) == 1
    assert counter.count(103).method == "custom"
    assert counter.count(103).upper == 103


@pytest.mark.parametrize("answer", [None, "7", math.nan, math.inf, -1, Decimal("NaN")])
def test_a_counter_that_gives_no_number_is_named_with_what_it_gave(answer: Any):
    told = re.escape(f"counter gave {answer!r} for a text of 40 char")
    with pytest.raises(InvalidCounter, match=told):
        count_tokens([{"role": "user", "content": "x" * 40}], counter=lambda _: answer)


@pytest.mark.parametrize("number", [float, Decimal, Fraction])
def test_a_counter_may_give_any_kind_of_number_and_part_of_a_token_is_one(number: Any):
    count = count_tokens("x" * 10, counter=lambda text: number(len(text)) / 4)

    assert count == 3
    assert isinstance(count, int)


def test_a_counter_that_cannot_be_called_is_named():
    no_function: Any = 0
    with pytest.raises(InvalidCounter, match="counter is 0; it must be a function"):
        Counter(counter=no_function)


def test_where_no_model_is_named_a_callers_counter_gets_the_most_that_wraps_a_call():
    named, unnamed = Counter("claude-sonnet-5", counter=len), Counter(counter=len)
    call = Message("assistant", (ToolCall("a", "ls", {"path": "src"}),))
    result = Message("user", (ToolResult("a", (Text("main.py"),)),))

    assert unnamed.message(call) > named.message(call)
    assert unnamed.message(result) > named.message(result)


@pytest.mark.parametrize(
    ("model", "family", "window"),
    [
        (None, "claude, older", None),
        ("claude-3-5-sonnet-20241022", "claude, older", 200_000),
        ("claude-sonnet-4-20250514", "claude, older", 200_000),
        ("claude-opus-4-6", "claude, older", 200_000),
        ("claude-haiku-4-5-20251001", "claude, older", 200_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude, older", 200_000),
        ("anthropic/claude-sonnet-4.6", "claude, older", 200_000),
        ("claude-sonnet-4-5[1m]", "claude, older", 1_000_000),
        ("claude-opus-4-7", "claude, newer", 200_000),
        ("claude-sonnet-5", "claude, newer", 1_000_000),
        ("claude-fable-5", "claude, newer", 1_000_000),
        ("claude-opus-5-5", "claude, newer", 1_000_000),
        ("claude-something", "claude, newer", 200_000),
        ("gpt-4o-mini", "openai", 128_000),
        ("openai/gpt-4.1", "openai", 1_047_576),
        ("gpt-5.1-codex-max", "openai", 400_000),
        ("o3", "openai", 200_000),
        ("azure/o4-mini", "openai", 200_000),
        ("gpt-4-turbo", "other", 128_000),
        ("gemini-2.5-pro", "other", 1_048_576),
        ("qwen3-coder", "other", None),
        ("", "other", None),
    ],
)
def test_models_are_known_by_name(model: str | None, family: str, window: int | None):
    assert family_of(model).name == family
    assert window_of(model) == window


@pytest.mark.parametrize(
    ("models", "binds"),
    [
        # those of `supportedModels` in the Claude docs, "Prefix checks on thinking blocks"
        (["claude-fable-5-1", "claude-fable-5-2", "claude-mythos-5-1", "claude-mythos-5-2"], True),
        (["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"], True),
        (["us.anthropic.claude-fable-5-1-v1:0", "anthropic/claude-opus-5.5"], True),
        (["claude-sonnet-5-5@20260928", "claude-fable-5-1-20260901", "claude-saga-6"], True),
        (["claude-fable-5", "claude-mythos-5", "claude-opus-5", "claude-sonnet-5"], False),
        (["claude-opus-5-20260724", "claude-opus-5[1m]", "anthropic.claude-opus-5-v1:0"], False),
        (["claude-opus-4-8", "claude-haiku-4-5-20251001", "claude-3-7-sonnet-latest"], False),
        (["claude-mythos-preview", "claude", "", None, "gpt-5.5", "gemini-6-pro"], False),
    ],
)
def test_models_that_bind_their_thinking_are_known_by_name(models: list[Any], binds: bool):
    assert [binds_thinking(model) for model in models] == [binds] * len(models)


def test_a_count_says_how_it_came_about():
    count = Counter("claude-opus-4-5").count(1_000)

    assert (count, count.method, count.upper) == (1_000, "o200k x 1.15 (claude, older)", 1_100)
    assert Counter("gpt-5").count(1_000).method == "o200k"
    assert Counter("nosuch").method == "o200k (no family known for this model)"
    assert Counter("qwen3").count(1_000).upper == 1_300


def test_a_count_survives_copying():
    count = copy.deepcopy(Count(10, "o200k", 12))

    assert (count, count.method, count.upper) == (10, "o200k", 12)


@pytest.mark.parametrize("family", ["claude, older", "claude, newer"])
def test_counts_meet_what_claude_charged(data_folder: Path, family: str):
    rows = data_folder / "conversations" / "calibration" / "claude_usage_deltas.jsonl.gz"
    charged = counted = 0
    for line in gzip.decompress(rows.read_bytes()).split(b"\n"):
        row = json.loads(line or "{}")
        if family_of(row.get("model", "")).name != family:
            continue
        calls = [ToolCall("", use["name"], use["input"]) for use in row["tool_use"]]
        said = [Text(text) for text in row["assistant_text"]]
        results = [ToolResult("", (Text(str(result)),)) for result in row["tool_result"]]
        step = [Message("assistant", (*said, *calls)), Message("user", tuple(results))]
        counted += Counter(row["model"]).messages(step)
        charged += row["delta_input_tokens"]

    assert charged > 300_000
    assert counted == pytest.approx(charged, rel=0.02)


def test_a_conversation_is_the_sum_of_its_blocks_and_what_wraps_them():
    counter = Counter("claude-opus-4-5")
    call = ToolCall("t1", "Bash", {"command": "ls", "timeout": 5})
    result = ToolResult("t1", (Text("main.py"), Text("test.py")))
    messages = [user("List the files."), Message("assistant", (call,)), Message("user", (result,))]

    total = counter.messages(messages)

    family = counter.family
    arguments = counter.text('Bash{"command":"ls","timeout":5}')
    assert counter.block(call) == family.per_call + 2 * family.per_argument + arguments
    assert counter.block(result) == family.per_result + 2 * counter.text("main.py")
    assert total == sum(map(counter.message, messages))
    assert counter.message(messages[0]) == family.per_message + counter.text("List the files.")


def test_arguments_that_are_not_json_are_counted_as_they_are():
    counter = Counter("gpt-4o")
    broken = '{"command": "ls'

    tokens = counter.block(ToolCall("t1", "Bash", broken))

    assert tokens == counter.family.per_call + base_count("Bash") + base_count(broken)


def test_thinking_counts_its_text_and_sealed_thinking_its_length():
    counter = Counter("gpt-4o")
    sealed = {"type": "redacted_thinking", "data": "x" * 1_600}

    assert counter.block(Thinking("hmm, well", source={"signature": "x" * 5_000})) == 4
    assert counter.block(Thinking("", redacted=True, source=sealed)) == 300


def test_system_prompts_count_as_text_or_as_blocks():
    counter = Counter("gpt-4o")

    assert counter.system("Be brief.") == base_count("Be brief.")
    assert counter.system([{"type": "text", "text": "Be brief."}]) == base_count("Be brief.")


@pytest.mark.parametrize("strange", [7, [None, 5, {"a": 1}], {"text": "be brief"}])
def test_a_system_prompt_of_a_strange_shape_is_counted_all_the_same(strange: Any):
    assert Counter().system(strange) > 0


def test_tool_definitions_count_as_compact_json():
    counter = Counter("gpt-4o")
    tool = {"name": "ls", "description": "Lists files.", "input_schema": {"type": "object"}}
    written = json.dumps(tool, separators=(",", ":"))

    tokens = counter.tools([tool, tool])

    family = counter.family
    assert tokens == family.with_tools + 2 * (family.per_definition + base_count(written))


def test_base64_in_an_unknown_block_is_not_counted_as_text():
    counter = Counter("claude-opus-4-5")
    data = base64.b64encode(zlib.compress(bytes(range(256)) * 9_000, 0)).decode()

    small = counter.block(Opaque({"type": "web_search", "query": "tokens"}))
    large = counter.block(Opaque({"type": "audio", "parts": [{"data": data, "seconds": 3}]}))

    assert small == counter.text('{"type":"web_search","query":"tokens"}')
    assert 1_568 < large < 1_600


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", width, height) + bytes(40)


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(40)


def jpeg(width: int, height: int) -> bytes:
    thumbnail = b"\xff\xe1" + struct.pack(">H", 30_002) + bytes(30_000)
    frame = b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width)
    return b"\xff\xd8" + thumbnail + b"\xff\xdb\x00\x04ab" + frame + bytes(40)


def webp(kind: bytes, header: bytes) -> bytes:
    return b"RIFF\x00\x00\x00\x00WEBP" + kind + b"\x00\x00\x00\x00" + header + bytes(40)


def webp_lossy(width: int, height: int) -> bytes:
    return webp(b"VP8 ", b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height))


def webp_lossless(width: int, height: int) -> bytes:
    return webp(b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14))


def webp_extended(width: int, height: int) -> bytes:
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return webp(b"VP8X", bytes(4) + size)


def anthropic_image(data: bytes) -> Image:
    encoded = base64.b64encode(data).decode()
    source = {"type": "base64", "media_type": "image/png", "data": encoded}
    return Image({"type": "image", "source": source})


PICTURES = [png, gif, jpeg, webp_lossy, webp_lossless, webp_extended]


@pytest.mark.parametrize("make", PICTURES)
def test_a_picture_costs_its_patches(make: Any):
    tokens = Counter("claude-opus-4-5").block(anthropic_image(make(1_000, 280)))

    assert tokens == 36 * 10


@pytest.mark.parametrize(
    ("model", "tokens"), [("claude-opus-4-5", 1_568), ("claude-opus-5", 4_784), ("gpt-4o", 765)]
)
def test_a_large_picture_is_counted_at_the_size_its_model_sees(model: str, tokens: int):
    assert Counter(model).block(anthropic_image(png(8_000, 6_000))) == tokens


@pytest.mark.parametrize("url", ["https://example.org/cat.png", "data:image/png;base64,@@@@"])
def test_a_picture_of_unknown_size_costs_the_most(url: str):
    picture = Image({"type": "image_url", "image_url": {"url": url}})

    assert Counter().block(picture) == 1_568


def test_a_data_url_with_line_breaks_is_read():
    data = base64.encodebytes(png(512, 512)).decode()
    picture = Image({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}})

    assert Counter("gpt-4o").block(picture) == 85 + 170


def test_a_picture_in_the_base64_of_addresses_is_read():
    data = base64.urlsafe_b64encode(jpeg(512, 512)).decode()
    picture = Image({"inlineData": {"mimeType": "image/jpeg", "data": data}})

    assert data.startswith("_")
    assert Counter("gpt-4o").block(picture) == 85 + 170


def test_a_picture_in_a_result_is_counted_in_it():
    counter = Counter()
    picture = anthropic_image(png(280, 280))

    tokens = counter.block(ToolResult("t1", (picture,)))

    assert tokens == counter.family.per_result + 100


def pdf(content: bytes) -> Document:
    data = base64.b64encode(b"%PDF-1.7\n" + content).decode()
    return Document(source={"type": "document", "source": {"type": "base64", "data": data}})


def test_a_pdf_costs_its_pages():
    pages = b"1 0 obj <</Type /Pages /Count 3>>\n" + b"2 0 obj <</Type/Page /Parent 1 0 R>>\n" * 3

    assert Counter().block(pdf(pages)) == 3 * 2_200


def test_a_pdf_with_hidden_pages_is_judged_by_its_size():
    assert Counter().block(pdf(bytes(120_000))) == 3 * 2_200


def test_a_text_document_costs_its_text():
    counter = Counter("gpt-4o")

    assert counter.block(Document("Chapter one")) == base_count("Chapter one")


BY_REFERENCE: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "document", "source": {"type": "file", "file_id": "f"}}]},
    {"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]},
    {"role": "user", "content": [{"type": "input_file", "file_url": "https://example.org/a.pdf"}]},
    {"role": "user", "parts": [{"fileData": {"mimeType": "application/pdf", "fileUri": "gs://a/b"}}]},
    {"role": "user", "content": [{"document": {"name": "a", "source": {"s3Location": {"uri": "s3://a/b"}}}}]},
    {"role": "user", "content": [{"type": "file", "mediaType": "application/pdf", "data": "https://a/b"}]},
]  # fmt: skip


@pytest.mark.parametrize("message", BY_REFERENCE)
def test_a_document_by_reference_counts_as_some_pages_and_the_count_says_so(
    message: dict[str, Any],
) -> None:
    count = count_tokens([message])

    assert count >= 4 * 2_200
    assert count.method.endswith("1 document by reference taken for 4 pages each")
    assert count.upper >= 10 * 2_200


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_beside_the_content_counts_as_it_is_sent(key: str) -> None:
    thought = "first the reader, then the writer " * 200
    said = {"role": "assistant", "content": "Done."}

    more = count_tokens([{**said, key: thought}], model="deepseek-reasoner")

    assert more - count_tokens([said], model="deepseek-reasoner") >= base_count(thought)


ASKED = {"role": "user", "content": "How many files are there?"}
USAGE = {"input_tokens": 3, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 40_000}


def test_usage_with_a_real_answer_covers_the_answer():
    answer = {"role": "assistant", "content": "Three.", "usage": {**USAGE, "output_tokens": 9}}

    assert anchor_in([ASKED, answer, ASKED]) == Anchor(40_212, 2)


def test_a_placeholder_for_the_answer_is_not_believed():
    said = "There are three: one, two and three. " * 9
    answer = {"role": "assistant", "content": said, "usage": {**USAGE, "output_tokens": 8}}

    assert anchor_in([ASKED, answer, ASKED]) == Anchor(40_203, 1)


def test_an_answer_in_several_messages_was_charged_before_the_first():
    answer = {
        "id": "msg_1",
        "role": "assistant",
        "content": "There are three: one, two and three. " * 9,
        "usage": {**USAGE, "output_tokens": 8},
    }

    assert anchor_in([ASKED, answer, answer]) == Anchor(40_203, 1)


def test_openai_usage_is_understood():
    usage = {"prompt_tokens": 500, "completion_tokens": 20, "cache_read_input_tokens": 400}

    assert anchor_in([ASKED, {"content": "Three.", "usage": usage}]) == Anchor(520, 2)


def test_usage_of_nothing_is_passed_over():
    real = {"role": "assistant", "content": "Three.", "usage": {**USAGE, "output_tokens": 9}}
    empty = {"role": "assistant", "content": "!", "usage": {"input_tokens": 0, "output_tokens": 0}}

    assert anchor_in([ASKED, real, ASKED, empty, {**ASKED, "usage": None}]) == Anchor(40_212, 2)
    assert anchor_in([ASKED, empty]) is None


def test_an_anchored_count_doubts_only_what_came_after():
    counter = Counter("claude-opus-4-5")
    messages = [user("How many?"), assistant("Three."), user("Which? " * 100)]
    tail = counter.message(messages[2])

    count = anchored(counter, messages, Anchor(40_212, 2))

    assert count == 40_212 + tail
    assert count.upper == 40_212 + counter.count(tail).upper
    assert count.method == "usage + o200k x 1.15 (claude, older)"


def test_an_anchor_from_a_longer_past_is_not_used():
    counter = Counter()
    messages = [user("How many?")]

    assert anchored(counter, messages, Anchor(40_212, 5)) == counter.messages(messages)
