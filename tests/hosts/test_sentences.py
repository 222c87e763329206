from context_compression.hosts.sentences import in_words
from context_compression.transcripts import OURS, Compaction

LAST = Compaction(1_000.0, "auto", "claude-code", 156_000, 38_000)


def test_compactions_are_told_by_who_made_them_and_how_the_last_one_went():
    told = in_words([Compaction(by=OURS), Compaction(by="claude-code"), LAST], now=8_200)

    assert told == (
        "compacted once by context-compression and twice by Claude Code, "
        "last 156K → 38K tokens, auto, 2 hours ago"
    )


def test_results_that_were_cleared_are_told_apart():
    cleared = Compaction(by="claude-code", tokens_before=50_000, cleared=True)

    told = in_words([LAST, cleared], now=1_060)

    assert told == (
        "compacted once by Claude Code, last 156K → 38K tokens, auto, 1 minute ago; "
        "old tool results cleared once by Claude Code, last at 50K tokens"
    )


def test_a_conversation_without_compactions_has_no_words_for_them():
    assert in_words([], now=0) == ""
