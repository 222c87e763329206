"""The options that `compress` and `export` share, and the compression that they describe."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_args

import click

from context_compression.cli.app import Options, Refused, warn
from context_compression.cli.arguments import Tokens, change_in, pin
from context_compression.cli.terminal import say, working
from context_compression.compression.forecast import Forecast, forecast_summary
from context_compression.compression.result import Result
from context_compression.doors.conversations import Conversations
from context_compression.progress import COMPRESSING, STAGES
from context_compression.settings import Settings, StrategyName
from context_compression.shell import completing
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
        shell_complete=completing.settings_with_values,
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
            return forecast_summary(
                session.preview,
                session.state().view if messages is None else messages,
                options,
                counter=Counter(session.model, session.counter),
                most=session.settings.summary_tokens,
            )

    def _summarizer(self) -> Summarizer | None:
        """The model that writes a summary; prints why a model that was named is not called."""
        strategy = self.options["strategy"] or self.settings.strategy
        if strategy not in ("auto", "summarize"):
            return None
        if warning := self.workspace.why_no_model(self.settings, self.changes):
            say(f"warning: {warning}")
        summarizer = self.workspace.summarizer(self.settings, self.changes)
        if summarizer is None and self.options["strategy"] == "summarize":
            raise Refused(
                "--strategy summarize needs a model, and none is named. Name one with "
                "--summary-model, and its key in ANTHROPIC_API_KEY, or with --summarizer openai in "
                "OPENAI_API_KEY; write the summary yourself with --summarizer caller; or use "
                "--strategy extract, which needs no summary."
            )
        return summarizer
