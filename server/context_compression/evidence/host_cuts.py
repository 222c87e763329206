r"""What a host left out of a tool result before we got it.

Hosts cut long outputs themselves, and say so in the result. Such a result is not complete: what is
archived of it is what the host left. Some hosts keep the full output in a file, which they name.

    Claude Code  <persisted-output>\nOutput too large (106.3KB). Full output saved to: /…\n
                 Error: result (288,901 characters) exceeds maximum allowed tokens. Output has …
                 Exit code 1\n… ... [19966 characters truncated] ...
    Codex        Warning: truncated output (original token count: 82224)\nTotal output lines: 20000
                 …81924 tokens truncated…
    Gemini CLI   Output too large. Showing first 8,000 and last 32,000 characters. For full output …
                 ... [288,967 characters omitted] ...
    opencode     ...output truncated...\n\nFull output saved to: /…\n
    Pi           [Showing lines 1801-2000 of 20000. Full output: /…]

A text that only quotes these words, as a source file does, is not cut: the words have their places
at the beginning or the end of a result. (Seen in the versions that `hosts/*/about.py` name.)
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from context_compression.conversation.messages import Message
from context_compression.display.strings import one_line

NEAR = 400  # characters from an end of a result in which a host's words stand
LONGEST_PATH = 200  # characters
PATH = r"(?P<path>[^\n;\[\]\"\\]{1,400}?)"
NUMBER = r"\d{1,15}"
SIZE = r"[\d.,]{1,20} ?[KMG]?B"
CODEX_HEAD = re.compile(
    r"(?:(?:Chunk ID|Wall time|Process|Original token count|Exit code)[^\n]*\n)*"
    rf"(?:(?:Output:\n)?(?:Warning: truncated output \(original token count: (?P<tokens>{NUMBER})\)"
    r"\n)?Total output lines: \d+\n|(?<=\n)Output:\n)"
)
CODEX_CUT = re.compile(rf"…({NUMBER}) (tokens|chars) truncated…")
FAILED = re.compile(r"(?:Error: )?Exit code \d+\n")
FAILED_CUT = re.compile(rf"\n\n\.\.\. \[({NUMBER}) characters truncated\] \.\.\.\n\n")
BEGINNINGS = (
    re.compile(
        rf"<persisted-output>\nOutput too large \((?P<size>{SIZE})\)\. "
        rf"Full output saved to: {PATH}\n"
    ),
    re.compile(
        r"Error: result \((?P<size>[\d,]{1,20} characters)[^\n)]{0,200}\) exceeds maximum"
        rf" allowed tokens\. Output has been saved to {PATH}\.\n"
    ),
    re.compile(
        r"(?:\{\"output\": ?\")?Output too large\. Showing first [\d,]+ and last [\d,]+ "
        rf"characters\. For full output see: {PATH}(?:\n|\\n)"
    ),
    re.compile(rf"\.\.\.output truncated\.\.\.\n\nFull output saved to: {PATH}\n"),
)
OMITTED = re.compile(r"\.\.\. \[([\d,]{1,20} characters) omitted\] \.\.\.")
ENDING = re.compile(
    rf"(?:\[Showing lines (?P<first>{NUMBER})-(?P<last>{NUMBER}) of (?P<of>{NUMBER})"
    rf"[^\n\[\]]{{0,200}}?Full output: {PATH}\]"
    r"|The tool call succeeded but the output was truncated\. "
    r"Full output saved to: (?P<saved>[^\n;\[\]\"\\]{1,400}))"
)


@dataclass(frozen=True)
class HostCut:
    """What a host left out of a result.

    Attributes:
        missing: how much, in the host's own words: `81924 tokens`; empty if it does not say.
        path: the file in which the host keeps the full output; empty if it keeps none.
    """

    missing: str = ""
    path: str = ""

    def __str__(self) -> str:
        """`cut by the host: 81924 tokens missing`."""
        missing = f": {self.missing} missing" if self.missing else ""
        place = f", full output in {one_line(self.path, LONGEST_PATH)}" if self.path else ""
        return f"cut by the host{missing}{place}"


def cut_by_host(text: str) -> HostCut | None:
    """What the host left out of a result; `None` if it gives no sign that it did."""
    for beginning in BEGINNINGS:
        if found := beginning.match(text):
            omitted = OMITTED.search(text)
            size = found.groupdict().get("size")
            return HostCut(
                omitted[1] if omitted else (size and f"most of {size}") or "", found["path"]
            )
    end = max(0, len(text) - NEAR)
    if found := ENDING.search(text, end):
        shown = found["of"] and int(found["of"]) - int(found["last"]) + int(found["first"]) - 1
        return HostCut(f"{shown} lines" if shown else "", found["path"] or found["saved"])
    if (head := FAILED.match(text)) and (cut := FAILED_CUT.search(text, head.end())):
        return HostCut(f"{int(cut[1]):,} characters")
    if head := CODEX_HEAD.match(text):
        if cut := CODEX_CUT.search(text, head.end()):
            kind = "characters" if cut[2] == "chars" else cut[2]
            return HostCut(f"{int(cut[1]):,} {kind}")
        if head["tokens"]:
            return HostCut(f"part of {int(head['tokens']):,} tokens")
    return None


def results_cut_by_hosts(messages: Iterable[Message]) -> int:
    """How many tool results their host had cut."""
    results = (result for message in messages for result in message.results)
    return sum(cut_by_host(result.text) is not None for result in results)
