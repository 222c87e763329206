"""A whole conversation, read by looking at its file as of each compaction.

A reader gives the live conversation as of any row. So the context before a compaction is what the
reader gives just before the compaction's row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from context_compression.conversation.messages import is_by_model
from context_compression.transcripts import message_files
from context_compression.transcripts.history import Compaction, History, Request, Stage
from context_compression.transcripts.reading import Look
from context_compression.transcripts.transcript import Transcript


def contexts_of(reading: Look) -> list[Transcript]:
    """The live conversation, after those before the compactions that led to it, the oldest first.

    Raises:
        TranscriptError: as `Look.look`.
    """
    live, before = reading.look(), reading.before_compactions()
    return [*(before[compaction.place] for compaction in live.compactions), live]


def history_from(stages: Sequence[Transcript], title: str = "") -> History:
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
    messages, carried = transcript.messages, transcript.carried
    times = [*transcript.times] or [None] * len(messages)
    requests = [*transcript.requests]
    if transcript.host == message_files.NAME:
        requests = answers_among(messages, carried, times)
    return Stage(messages, carried, times, requests, began)


def answers_among(
    messages: Sequence[Mapping[str, Any]], carried: int, times: Sequence[float | None]
) -> list[Request]:
    """A request for each answer, where no usage is recorded.

    Consecutive items without a role, as in OpenAI Responses, are one answer.

    Args:
        messages: the context at the end of a stage.
        carried: how many of the messages were there before; their requests are not of the stage.
        times: when each message was written.
    """
    requests: list[Request] = []
    answered = False
    for index, message in enumerate(messages):
        is_answer = is_by_model(message)
        if is_answer and not (answered and "role" not in message) and index >= carried:
            requests.append(Request(index, times[index]))
        answered = is_answer
    return requests


def _with_size(compaction: Compaction, before: Transcript) -> Compaction:
    """A compaction with the size of the context before it, by the last request, if need be."""
    last = before.requests[-1] if before.requests else None
    if compaction.tokens_before is not None or last is None or last.input_tokens is None:
        return compaction
    return replace(compaction, tokens_before=last.input_tokens + last.output_tokens)
