"""`compress` prints a conversation, compacted; `export` writes it as a new session of a host."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar, get_args
from uuid import uuid4

import click

from context_compression.cli import completion
from context_compression.cli.app import PROGRAM, Options, Refused, as_json, examples, warn
from context_compression.cli.archive import in_units
from context_compression.cli.arguments import Tokens, change_in, pin
from context_compression.cli.output import page_of, warnings_of
from context_compression.cli.page import Page, StyledLine, Table
from context_compression.cli.sessions import CONVERSATION
from context_compression.cli.terminal import is_terminal, say, show, working, write, write_json
from context_compression.compression.forecast import Forecast, forecast_summary
from context_compression.compression.result import Result
from context_compression.conversation.labels import without_speakers
from context_compression.conversation.system_prompt import summary_in
from context_compression.errors import ContextCompressionError
from context_compression.hosts import read
from context_compression.hosts.conversations import Conversations
from context_compression.hosts.exporting import EXPORTERS, Exported, NewSession
from context_compression.hosts.exporting import export as write_session
from context_compression.hosts.keeping import put_back
from context_compression.hosts.table import TITLES
from context_compression.listening import COMPRESSING, READING, STAGES
from context_compression.planning.edits import recorded
from context_compression.plurals import how_many
from context_compression.report.facts import (
    ReportedCompression,
    details,
    replaced_compressions,
    undone,
)
from context_compression.session import PLAN_SECONDS, SummaryAssignment
from context_compression.session.archive import REPEATED
from context_compression.settings import Settings, StrategyName
from context_compression.store.files import to_json
from context_compression.strings import one_line
from context_compression.summaries.summarizer import Summarizer
from context_compression.tokens import Counter
from context_compression.workspace import Opened, Workspace

Command = TypeVar("Command", bound=Callable[..., Any])

OPTIONS = (
    click.option(
        "--target-tokens", type=Tokens(), metavar="N",
        help="Tokens to compress the conversation to, as 50000 or 50k. Default: half of the "
        "budget, or half of the conversation if that is less.",
    ),
    click.option(
        "--strategy", metavar="|".join(get_args(StrategyName)),
        help="How to compress. Default: the strategy in the settings, auto unless changed.",
    ),
    click.option(
        "--pin", "pins", multiple=True, metavar="INDEX|TEXT",
        help="Keep a message in full: by its index, or by a text in it. Repeatable.",
    ),
    click.option("--focus", help="What the remaining work is about."),
    click.option(
        "--model",
        metavar="MODEL",
        help="The conversation's model, for token counts and window size.",
    ),
    click.option("--summary-model", metavar="MODEL", help="Model that writes a summary."),
    click.option(
        "--set", "changes", multiple=True, metavar="NAME=VALUE",
        shell_complete=completion.settings_with_values,
        help="A setting for this run only. Repeatable.",
    ),
)  # fmt: skip


def compression_options(command: Command) -> Command:
    """Decorates a command with the options of a compression."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class RequestedCompression:
    """The conversation to compress, with all options.

    Attributes:
        workspace: the workspace of this run.
        opened: the conversation.
        settings: all settings, including those of this run.
        changes: the settings of this run only, by name.
        options: the options of `Session.compress`.
    """

    workspace: Workspace
    opened: Opened
    settings: Settings
    changes: Mapping[str, Any]
    options: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        options: Options,
        conversation: str,
        *,
        changes: Sequence[str],
        summary_model: str | None,
        model: str | None,
        pins: Sequence[str],
        **more: Any,
    ) -> "RequestedCompression":
        """Opens the conversation, prints its warnings and parses the options."""
        # no time limit for a summary, because a person can wait
        workspace = replace(options.workspace(conversation), summary_seconds=None)
        changed = dict(map(change_in, changes))
        if summary_model:
            changed["summary_model"] = summary_model
        settings = workspace.settings(changed)
        conversations = Conversations(workspace)
        opened = conversations.open(conversation, settings=settings, model=model)
        conversations.refuse_own_session(opened.session.id)
        warn(opened)
        return cls(workspace, opened, settings, changed, {"pins": list(map(pin, pins)), **more})

    def run(self, *, dry_run: bool = False) -> tuple[Result, Forecast | None]:
        """Compresses the session, or the transcript in the current state of its file.

        Returns:
            The result, and in a dry run the forecast of a summary, if a model would write one.
        """
        summarizer = self._summarizer()
        session = self.opened.session
        messages = self.opened.shown
        options: dict[str, Any] = {**self.options, "force": True}
        with working(COMPRESSING, *STAGES):
            if not dry_run:
                session.summarizer = summarizer
                return session.compress(messages=messages, **options), None
            if summarizer is None:
                return session.preview(messages, **options), None
            return self.forecast()

    def forecast(self, *, by_caller: bool = False) -> tuple[Result, Forecast | None]:
        """The result of a dry run, and what its summary would take; nothing is kept."""
        session, messages = self.opened.session, self.opened.shown
        return forecast_summary(
            session.preview,
            session.state().view if messages is None else messages,
            {**self.options, "force": True},
            counter=Counter(session.model, session.counter),
            most=session.settings.summary_tokens,
            by_caller=by_caller,
        )

    @property
    def may_ask_a_model(self) -> bool:
        """Whether the strategy may use a summary."""
        return (self.options["strategy"] or self.settings.strategy) in ("auto", "summarize")

    @cached_property
    def warning(self) -> str | None:
        """Why a model that was named is not called."""
        if not self.may_ask_a_model:
            return None
        return self.workspace.why_no_model(self.settings, self.changes)

    @property
    def said(self) -> list[str]:
        """The warnings that were printed before there was a result."""
        transcript = self.opened.transcript
        printed = [self.warning] if self.warning else []
        return [*printed, *(transcript.warnings if transcript else ())]

    def told(self, result: Result, **more: Any) -> ReportedCompression:
        """A result as all doors tell it; `more` are attributes of `ReportedCompression`."""
        return ReportedCompression(result, self.opened, self.options, warning=self.warning, **more)

    def _summarizer(self) -> Summarizer | None:
        """The model that writes a summary; prints why a model that was named is not called."""
        if not self.may_ask_a_model:
            return None
        if self.warning:
            say(f"warning: {self.warning}")
        summarizer = self.workspace.summarizer(self.settings, self.changes)
        if summarizer is None and self.options["strategy"] == "summarize":
            raise Refused(
                "--strategy summarize needs a model, and none is named. Name one with "
                "--summary-model, and its key in ANTHROPIC_API_KEY, or with --summarizer openai in "
                "OPENAI_API_KEY; write the summary yourself with --summarizer caller; or use "
                "--strategy extract, which needs no summary."
            )
        return summarizer


def read_summary(path: str) -> str:
    """The summary in a file; `-` is stdin.

    Raises:
        UsageError: the file cannot be read as UTF-8.
    """
    try:
        with click.open_file(path, "rb") as file:
            return file.read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise click.UsageError(f"The summary in {path} cannot be read: {reason}.") from error


NOT_PRINTED = (
    "The messages are not shown on a terminal: `--output FILE` writes them, `| …` passes them on."
)
TOLD_FIRST = ("note", "session", "target_tokens", "target_met", "other_refs")
"""Facts that the beginning of the page tells, in words of its own."""
SHORT_ID = 8
"""How much of a long id of a session is shown in a command, if no other one begins so."""


def _in_writable_folder(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> Path | None:
    """Refuses a file that cannot be written, before the command does anything."""
    if path and not os.access(path.parent, os.W_OK):
        raise click.BadParameter(
            f"{path.parent} is not a folder that can be written. Name a file in another folder."
        )
    return path


@click.command(
    short_help="Print a conversation, compacted.",
    epilog=examples(
        ("compress chat.jsonl --dry-run", "what it would do"),
        (
            "compress chat.jsonl --target-tokens 50k --output small.json",
            "write the conversation to a file",
        ),
        ("compress chat.jsonl > small.json", "the same, to half of its size"),
        ("compress chat.jsonl --undo", "take the last compression back"),
    ),
)
@click.argument("conversation", type=CONVERSATION)
@compression_options
@click.option("--dry-run", is_flag=True, help="Print only the report; keep and write nothing.")
@click.option(
    "--explain", is_flag=True, help="Say why the most telling messages stayed or went, on stderr."
)
@click.option("--undo", is_flag=True, help="Undo the last compression of this conversation.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    callback=_in_writable_folder,
    metavar="FILE",
    help="Write the messages to FILE instead of stdout. With a summary that you write: the "
    "messages to summarize.",
)
@click.option(
    "--summarizer",
    type=click.Choice(["auto", "anthropic", "openai", "caller", "none"]),
    help="Who writes a summary. With caller, you do: this run prints the instructions, a second "
    "run takes the summary.",
)
@click.option("--plan-id", metavar="ID", help="From the run that asked you for a summary.")
@click.option("--summary", metavar="FILE|-", help="The summary that the run asked for.")
@click.option(
    "--quiet",
    "-q",
    is_flag=True,
    is_eager=True,
    help="Print nothing but warnings and errors. The messages go to --output or stay in the store.",
)
@as_json
@click.pass_obj
def compress(
    options: Options,
    conversation: str,
    dry_run: bool,
    explain: bool,
    undo: bool,
    output: Path | None,
    summarizer: str | None,
    plan_id: str | None,
    summary: str | None,
    quiet: bool,
    as_json: bool,
    **compression: Any,
) -> None:
    """Print CONVERSATION, compacted and valid for its provider; the report goes to stderr.

    CONVERSATION is a transcript or a file of messages (also as .gz), which is never changed, the id
    of a session (its first four characters are enough), or its number from `sessions`. The store
    keeps the originals.
    """
    if (plan_id is None) != (summary is None) or (plan_id and (dry_run or undo)):
        raise click.UsageError(
            "--plan-id and --summary go together, and not with --dry-run or --undo."
        )
    if undo and dry_run:
        raise click.UsageError("--undo has no dry run. Leave out --dry-run, or leave out --undo.")
    if summarizer:
        compression["changes"] = (*compression["changes"], f"summarizer={summarizer}")
    with working(READING, *STAGES):
        requested = RequestedCompression.of(options, conversation, **compression)
        _refuse_to_overwrite(requested, output)
        if undo:
            session = requested.opened.session
            before = session.state()
            view = session.undo()
            facts = undone(requested.opened, before, view)
            done = Done(view, facts.record, page_of(facts), ())
        else:
            replaced = replaced_compressions(requested.opened)
            if not dry_run:
                requested.opened.archive_cleared()
            with recorded(explain):
                outcome, forecast = _compressed(requested, dry_run, plan_id, summary)
            if isinstance(outcome, SummaryAssignment):
                id = requested.opened.session.id
                return _print_assignment(id, conversation, outcome, output, as_json)
            told = requested.told(
                outcome, dry_run=dry_run, explain=explain, forecast=forecast, replaced=replaced
            )
            done = _done(told, requested.said, conversation, output)
    if not dry_run:
        _deliver(done.messages, done.report, output, as_json, quiet)
    elif as_json:
        write_json(done.report)
    page = done.warnings if quiet else () if as_json else done.page
    if page:
        say(*page)
    return None


@dataclass(frozen=True)
class Done:
    """What the command did.

    Attributes:
        messages: the conversation as it is now.
        report: the report for programs.
        page: the report for people.
        warnings: the warnings in it.
    """

    messages: list[dict[str, Any]]
    report: Mapping[str, Any]
    page: Page
    warnings: Page


def _done(
    told: ReportedCompression, said: Sequence[str], conversation: str, output: Path | None
) -> Done:
    facts, result = told.facts, told.result
    more = {"details": details(result)} if told.explain else {}
    page = page_of(facts, said)
    if result.changed and not told.dry_run:
        first = [*_outcome(told, conversation, output), "", _next_commands(told)]
        page = page_of(facts, {*said, result.missed}, first=first, without=TOLD_FIRST)
    return Done(result.messages, facts.record | more, page, warnings_of(facts, {*said, REPEATED}))


def _outcome(told: ReportedCompression, conversation: str, output: Path | None) -> Iterator[str]:
    """Whether the target was met, and where the messages are now."""
    result, session = told.result, told.opened.session
    if told.has_target and result.target_tokens is not None:
        target = how_many(result.target_tokens, "token")
        missed = f"missed: {result.missed}" if result.missed else "missed"
        yield f"Target of {target}: {'met' if result.target_met else missed}."
    kept = f"The compacted context is kept in session {session.id} of {session.store.name}."
    if told.opened.transcript is None:
        kept = f"Session {session.id} of {session.store.name} continues with the compacted context."
    if told.replaced and not result.repeated:
        kept += f" It replaces that of {how_many(told.replaced, 'earlier compression')}."
    yield kept
    if output:
        stays = f"; {one_line(conversation)} is unchanged" * (told.opened.transcript is not None)
        yield f"{output} holds its messages{stays}."
    elif is_terminal(sys.stdout):
        yield NOT_PRINTED


def _next_commands(told: ReportedCompression) -> Table:
    """What one may do with a compression, as commands."""
    session = told.opened.session
    others = sum(each.startswith(session.id[:SHORT_ID]) for each in session.store.sessions()) > 1
    long = len(session.id) > 2 * SHORT_ID and not others
    id = quote(session.id[:SHORT_ID] if long else session.id)
    rows = [
        ("restore REF", "an original, byte for byte"),
        (f"status {id} --detailed", "the newest refs"),
        (f"export {id} --host HOST", "a session for that host"),
        (f"compress {id} --undo", "all as it was"),
    ]
    return Table([(f"{PROGRAM} {call}", does) for call, does in rows], left=2, head=False)


def _refuse_to_overwrite(requested: RequestedCompression, output: Path | None) -> None:
    """Refuses an output file that is the conversation itself, by any path, or is in the store."""
    if output is None:
        return
    store = requested.workspace.store
    if store.has_file(output):
        raise Refused(
            f"{output} lies in {store.name}, where the originals are kept. Name another file. "
            "Nothing was done."
        )
    if output.exists() and _holds(output, requested):
        raise Refused(
            f"{output} is the conversation itself, which is never changed. Name another file. "
            "Nothing was done."
        )


def _holds(output: Path, requested: RequestedCompression) -> bool:
    """Whether a file contains the conversation to compress."""
    if transcript := requested.opened.transcript:
        # opencode's sessions have paths inside their database, as if that were a folder
        files = (transcript.path, transcript.path.parent)
        return any(path.is_file() and output.samefile(path) for path in files)
    with suppress(ContextCompressionError, OSError):
        in_file = requested.workspace.of(read(output.resolve()))
        return in_file.session.id == requested.opened.session.id
    return False


def _compressed(
    requested: RequestedCompression, dry_run: bool, plan_id: str | None, summary: str | None
) -> tuple[Result | SummaryAssignment, Forecast | None]:
    """The result, or the summary (or its next part) that the user must write first.

    Raises:
        PlanError: the plan is unknown or has expired, or the messages it covers have changed.
        SummaryError: the summary cannot be used; the plan stays open.
    """
    session, transcript = requested.opened.session, requested.opened.transcript
    if plan_id is not None and summary is not None:
        text = read_summary(summary)
        if transcript and plan_id in session.state().plans:
            session.follow(transcript.messages)
        return session.answer(plan_id, text), None
    if requested.settings.summarizer != "caller" or not requested.may_ask_a_model:
        return requested.run(dry_run=dry_run)
    if dry_run:
        return requested.forecast(by_caller=True)
    messages, changes = transcript.messages if transcript else None, dict(requested.changes)
    return session.ask(messages=messages, force=True, settings=changes, **requested.options), None


def _print_assignment(
    session: str,
    conversation: str,
    assignment: SummaryAssignment,
    output: Path | None,
    as_json: bool,
) -> None:
    """Prints the instructions for a summary; the full request goes to a file, if one is named."""
    if output:
        _write(output, assignment.prompt.encode("utf-8", "surrogatepass") + b"\n")
    if as_json:
        names = ("plan_id", "part", "instructions", "prompt")
        told = {name: getattr(assignment, name) for name in names}
        write_json({"session": session, "changed": False, **told})
        return
    write(assignment.instructions.encode("utf-8", "surrogatepass") + b"\n")
    part = f"part {assignment.part} of the summary" if assignment.part > 1 else "the summary"
    source = f"{output} holds the messages to summarize.\n" if output else ""
    say(
        f"\nNothing is compressed yet. Write {part} by the instructions above. Then run, within "
        f"{PLAN_SECONDS // 60} minutes:\n{source}"
        f"context-compression compress {quote(conversation)} --plan-id {assignment.plan_id} "
        "--summary FILE  (or - for stdin)"
    )


def _write(output: Path, data: bytes) -> None:
    try:
        output.write_bytes(data)
    except OSError as error:
        reason = error.strerror or error
        raise Refused(f"{output} cannot be written: {reason}. Name another file.") from error


def _deliver(
    messages: list[dict[str, Any]],
    report: Mapping[str, Any],
    output: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Writes the messages to a file or a pipe, and for programs the report to stdout."""
    messages = [dict(without_speakers(message)) for message in messages]
    if output:
        _write(output, to_json(messages, indent=2) + b"\n")
    if as_json:
        write_json({**report, **({} if output else {"messages": messages})})
    elif not output and not quiet and not is_terminal(sys.stdout):
        write(to_json(messages, indent=2) + b"\n")


@click.command(
    short_help="Write a conversation, compacted, as a new session of a host.",
    epilog=examples(
        ("export chat.jsonl --host claude-code", "a session that the host resumes"),
        ("export a1b2 --host codex --target-tokens 50k", "a recorded session, compressed further"),
    ),
)
@click.argument("conversation", type=CONVERSATION)
@click.option(
    "--host", required=True, type=click.Choice([*TITLES]), help="The host that resumes it."
)
@compression_options
@as_json
@click.pass_obj
def export(
    options: Options, conversation: str, host: str, as_json: bool, **compression: Any
) -> None:
    """Write CONVERSATION, compacted, as a new session of a host; print the command to resume it.

    CONVERSATION is a transcript or a file of messages, which is never changed, the id of a session,
    or its number from `sessions`. A session is compressed only if --target-tokens is given. The new
    session belongs to this folder, whose store keeps the originals for context_restore.

    A kept session that its host has deleted comes back to this host as it was written, with its id.
    """
    conversations = options.conversations()
    kept = conversations.gone(conversation)
    if kept and kept.host == host and compression["target_tokens"] is None:
        brought = put_back(conversations.workspace, kept)
        say(f"{kept.id} is brought back as it was written: {in_units(kept.size)}.")
        _tell(brought, {}, as_json)
        return
    if host not in EXPORTERS:
        raise Refused(
            f"{TITLES[host]} takes only sessions of its own that were kept (`context-compression "
            f"keep`). Others go to {', '.join(EXPORTERS)}."
        )
    requested = RequestedCompression.of(options, conversation, **compression)
    session, transcript = requested.opened.session, requested.opened.transcript
    if transcript or compression["target_tokens"] is not None:
        result, _ = requested.run()
        facts = requested.told(result).facts
        view, report = result.messages, facts.record
        page = page_of(facts, requested.said, without=("note",))
    else:
        view, report = session.view(), {}
        page = [f"{session.id}: {how_many(len(view), 'message')}, not compressed further."]
    if summary := summary_in(session.system):  # the host has a system prompt of its own
        view = [{"role": "user", "content": summary}, *view]
    exported = write_session(
        view,
        host,
        NewSession(
            session_id=str(uuid4()),
            project=requested.workspace.cwd.resolve(),
            created=datetime.now(UTC),
            model=transcript.model if transcript else None,
        ),
        written_by=transcript.host if transcript else None,
        home=requested.workspace.home,
        environ=requested.workspace.environ,
    )
    if not as_json:
        say(*page)
    _tell(exported, report, as_json)


def _tell(exported: Exported, report: Mapping[str, Any], as_json: bool) -> None:
    """Says where a session was written, and how it is resumed."""
    if as_json:
        write_json(
            {
                "host": exported.host,
                "session": exported.session_id,
                "path": str(exported.path),
                "command": exported.command,
                "left_out": list(exported.notes),
                "account": report,
            }
        )
        return
    say(*exported.notes, "", "Written to:", StyledLine(str(exported.path), "command"))
    say("", "To resume it, run:")
    show(StyledLine(exported.command, "command"))
