"""A whole conversation, read by looking at its file as of each compaction.

A reader gives the live conversation as of any row. So the context before a compaction is what the
reader gives just before the compaction's row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from context_compression.transcripts.history import Compaction, History, Stage
from context_compression.transcripts.transcript import Transcript


def led_to(live: Transcript, before: Mapping[int | None, Transcript]) -> list[Transcript]:
    """The live conversation, after those before the compactions that led to it.

    Args:
        live: the conversation at its end.
        before: the conversation before each compaction, by the compaction's place.
    """
    return [*(before[compaction.place] for compaction in live.compactions), live]


def history_of(stages: Sequence[Transcript], title: str = "") -> History:
    """The history of a conversation.

    Args:
        stages: the conversation before each compaction and at its end.
        title: the title of a session whose host records none.
    """
    live = stages[-1]
    began: list[Compaction | None] = [None]
    for compaction, before in zip(live.compactions, stages, strict=False):
        began.append(_with_size(compaction, before))
    made = [_stage(*parts) for parts in zip(stages, began, strict=True)]
    return History(
        path=live.path,
        host=live.host,
        session_id=live.session_id,
        stages=[stage for stage in made if stage.messages or stage is made[-1]],
        project=live.project,
        title=live.title or title,
        model=live.model,
        window=live.window,
        warnings=live.warnings,
    )


def _stage(transcript: Transcript, began: Compaction | None) -> Stage:
    times = transcript.times or [None] * len(transcript.messages)
    return Stage(transcript.messages, transcript.carried, times, transcript.requests, began)


def _with_size(compaction: Compaction, before: Transcript) -> Compaction:
    """A compaction with the size of the context before it, by the last request, if need be."""
    last = before.requests[-1] if before.requests else None
    if compaction.tokens_before is not None or last is None or last.input_tokens is None:
        return compaction
    return replace(compaction, tokens_before=last.input_tokens + last.output_tokens)
