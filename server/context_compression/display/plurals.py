"""Numbers with nouns that agree with them."""


def how_many(number: int, thing: str) -> str:
    """`how_many(1, "message")` -> `"1 message"`, `how_many(1200, "entry")` -> `"1,200 entries"`."""
    return f"{number:,} {thing if number == 1 else plural(thing)}"


def plural(thing: str) -> str:
    """`plural("message")` -> `"messages"`, `plural("summary")` -> `"summaries"`."""
    return f"{thing[:-1]}ies" if thing.endswith("ry") else f"{thing}s"


def short_number(number: int) -> str:
    """`short_number(156_203)` -> `"156K"`, `4_130` -> `"4.1K"`, `940` -> `"940"`."""
    if number < 1_000:
        return str(number)
    if number < 9_950:
        return f"{number / 1_000:.1f}K"
    return f"{number / 1_000:.0f}K" if number < 999_500 else f"{number / 1_000_000:.2f}M"


def exact_number(number: int) -> str:
    """`short_number` with one more digit: `exact_number(30_512)` -> `"30.5K"`."""
    if not 1_000 <= number < 99_950:
        return short_number(number)
    return f"{number / 1_000:.1f}K".replace(".0K", "K")


def times(number: int) -> str:
    """`times(1)` -> `"once"`, `times(2)` -> `"twice"`, `times(3)` -> `"3 times"`."""
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def texts_and_messages(number: int) -> str:
    """`texts_and_messages(1)` -> `"1 text or message"`, `(5)` -> `"5 texts and messages"`."""
    return f"{number:,} {'text or message' if number == 1 else 'texts and messages'}"


def out_of(total: int | None, *, exact: bool = True) -> str:
    """The text after a number: `" of 51"`, `" of up to 412"` if not exact, `""` for `None`."""
    if total is None:
        return ""
    return f" of {total:,}" if exact else f" of up to {total:,}"


def in_range(thing: str, first: int, last: int) -> str:
    """`in_range("line", 5, 5)` -> `"line 5"`, `in_range("line", 5, 1200)` -> `"lines 5-1200"`.

    The numbers have no thousands separators, so that they can be passed back as an argument.
    """
    return f"{thing} {first}" if first == last else f"{plural(thing)} {first}-{last}"
