"""Numbers of things, in words that agree with them."""


def how_many(number: int, thing: str) -> str:
    """`how_many(1, "message")` -> `"1 message"`, `how_many(1200, "entry")` -> `"1,200 entries"`."""
    return f"{number:,} {thing if number == 1 else plural(thing)}"


def plural(thing: str) -> str:
    """`plural("message")` -> `"messages"`, `plural("summary")` -> `"summaries"`."""
    return f"{thing[:-1]}ies" if thing.endswith("ry") else f"{thing}s"


def texts_and_messages(number: int) -> str:
    """What is archived: `"1 text or message"`, `"5 texts and messages"`."""
    return f"{number:,} {'text or message' if number == 1 else 'texts and messages'}"


def out_of(total: int | None, *, exact: bool = True) -> str:
    """What follows a number: `" of 51"`, `" of up to 412"`, nothing where nobody counted."""
    if total is None:
        return ""
    return f" of {total:,}" if exact else f" of up to {total:,}"


def in_range(thing: str, first: int, last: int) -> str:
    """`in_range("line", 5, 5)` -> `"line 5"`, `in_range("line", 5, 1200)` -> `"lines 5-1200"`.

    As it can be asked for: without signs between thousands.
    """
    return f"{thing} {first}" if first == last else f"{plural(thing)} {first}-{last}"
