"""The pictures that a view shows: the newest that have room."""

from context_compression.conversation.messages import Message
from context_compression.strategies import measured
from context_compression.strategies.filling.competing import Competing
from context_compression.strategies.filling.kept import KeptMessages
from context_compression.strategies.filling.quoted_rules import tokens_owed
from context_compression.strategies.forms import Form
from context_compression.strategies.keep import cost
from context_compression.strategies.pictures import Showing


def without_others(
    base: KeptMessages, view: dict[int, Message], showing: Showing
) -> dict[int, Message]:
    """The messages of a view without the pictures that are not shown."""
    pictures = base.forms.pictures
    left_out = pictures.left_out(view, base.may_lose_pictures, showing.ids)
    return {**view, **left_out} if left_out else view


def room_left(base: KeptMessages, showing: Showing) -> int:
    """The tokens of the room that the kept messages leave; negative if they take more."""
    return base.room - cost(base.plan, without_others(base, {**base.shown}, showing), {})


def with_pictures(base: KeptMessages, left: int) -> tuple[KeptMessages, Showing]:
    """The kept messages, with further messages whose pictures have room, and the shown pictures.

    The newest pictures of kept messages get a share of the room, whatever texts compete for it.

    Args:
        base: the kept messages; the conversation has pictures.
        left: the tokens of the room that they leave without pictures.
    """
    count, sources = base.plan.counter.text, Competing(base).sources()
    texts = sum(count(source.text) + source.opening for source in sources)
    lines = measured.FILES_SHARE + measured.NAMES_SHARE
    room = left - tokens_owed(base, left) - (lines * base.room if base.lacks_much else 0)
    showing = Showing(
        picture
        for picture in base.forms.pictures.in_order
        if picture.message in base.kept and base.may_lose_pictures(picture.message)
    )
    share = max(measured.PICTURES_SHARE * room, room - texts)
    half = min(room, left - measured.NEWEST_PICTURES_SHARE * base.room)
    showing.take(max(share, half), recent=True)
    showing.take(share - showing.tokens)
    if not showing.shown:
        showing.take(measured.SINGLE_PICTURE_SHARE * room, most=1)
    return _with_brought_back(base, showing, room - texts - showing.tokens), showing


def _with_brought_back(base: KeptMessages, showing: Showing, room: float) -> KeptMessages:
    """The kept messages, with further messages whose pictures have room.

    The added unit is a tool step as a skeleton, or a message with its long texts clipped. Without
    its picture it takes no more tokens than the picture, so that it has room if the picture is
    given back.
    """
    plan, forms = base.plan, base.forms
    added: dict[int, Form] = {}
    for picture in forms.pictures.in_order:
        if picture.message in base.kept:
            continue
        step = plan.step_of(picture.message)
        form = Form.SKELETON if step else Form.CLIPPED
        unit = [i for i in step or (picture.message,) if i not in added]
        bare = without_others(base, {i: forms.plain(i, form) for i in unit}, showing)
        bare_tokens, note = sum(map(plan.counter.message, bare.values())), measured.NOTE_TOKENS
        if bare_tokens + note <= picture.tokens <= room - bare_tokens - note:
            room -= picture.tokens + bare_tokens + note
            added |= dict.fromkeys(unit, form)
            showing.shown.append(picture)
    return base.with_added(added) if added else base
