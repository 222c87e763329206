"""A compression that somebody asks for on the command line: which conversation, and how."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_args

import click

from context_compression.cli.app import Options, Refused, warn
from context_compression.cli.arguments import change_in, pin
from context_compression.cli.terminal import say, working
from context_compression.compression.forecast import Forecast, forecast_summary
from context_compression.compression.result import Result
from context_compression.doors.conversations import Conversations
from context_compression.settings import Settings, StrategyName
from context_compression.summaries.summarizer import Summarizer
from context_compression.tokens import Counter
from context_compression.workspace import Opened, Workspace

Command = TypeVar("Command", bound=Callable[..., Any])

OPTIONS = (
    click.option(
        "--target-tokens", type=int, metavar="N",
        help="What to come down to; without it half of the budget, or of what there is.",
    ),
    click.option(
        "--strategy", metavar="|".join(get_args(StrategyName)),
        help="How; without it that of the settings, which is auto unless changed.",
    ),
    click.option(
        "--pin", "pins", multiple=True, metavar="INDEX|TEXT", help="Keep whole; repeatable."
    ),
    click.option("--focus", help="What the remaining work is about."),
    click.option("--model", help="Whose tokens and window count."),
    click.option("--summary-model", metavar="MODEL", help="Claude model that writes a summary."),
    click.option(
        "--set", "changes", multiple=True, metavar="NAME=VALUE", help="For this run only."
    ),
)  # fmt: skip


def asked_how(command: Command) -> Command:
    """Gives a command the options of a compression."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class Asked:
    """A conversation and how it shall be compressed.

    Attributes:
        given: settings of this run.
        options: those of `Session.compress`.
    """

    workspace: Workspace
    opened: Opened
    settings: Settings
    given: Mapping[str, Any]
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
        **how: Any,
    ) -> "Asked":
        """What the options say; the conversation is opened, and its warnings are said."""
        # nobody gives up on a person's command: a summary may take as long as it takes
        workspace = replace(options.workspace(conversation), summary_seconds=None)
        given = dict(map(change_in, changes))
        if summary_model:
            given["summary_model"] = summary_model
        settings = workspace.settings(given)
        conversations = Conversations(workspace)
        opened = conversations.open(conversation, settings=settings, model=model)
        conversations.refuse_own_session(opened.session.id)
        warn(opened)
        return cls(workspace, opened, settings, given, {"pins": list(map(pin, pins)), **how})

    def compress(self, *, dry_run: bool = False) -> tuple[Result, Forecast | None]:
        """Compress a session's view; or a transcript, as its file has it now."""
        summarizer = self._summarizer()
        session = self.opened.session
        messages = self.opened.shown
        beside = self.opened.not_counted
        asked: dict[str, Any] = {**self.options, "force": True, "not_counted": beside}
        with working("Compacting" if summarizer and not dry_run else "compressing"):
            if not dry_run:
                session.summarizer = summarizer
                return session.compress(messages=messages, **asked), None
            if summarizer is None:
                return session.preview(messages, **asked), None
            return forecast_summary(
                session.preview,
                session.view() if messages is None else messages,
                asked,
                counter=Counter(session.model, session.counter),
                most=session.settings.summary_tokens,
            )

    def _summarizer(self) -> Summarizer | None:
        """Who writes a summary; says why a model that was named is not asked."""
        strategy = self.options["strategy"] or self.settings.strategy
        if strategy not in ("auto", "summarize"):
            return None
        if warning := self.workspace.why_no_model(self.settings, self.given):
            say(f"warning: {warning}")
        summarizer = self.workspace.summarizer(self.settings, self.given)
        if summarizer is None and self.options["strategy"] == "summarize":
            raise Refused(
                "Nobody is there to write the summary. Name a model with --summary-model, and its "
                "key in ANTHROPIC_API_KEY; or take --strategy extract, which needs none."
            )
        return summarizer
