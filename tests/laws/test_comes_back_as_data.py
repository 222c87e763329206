"""What comes back is data: fenced, with a fence that it cannot close, behind every door."""

import re

from every_door import Ask, Door, every_door, holds
from hypothesis import strategies as st
from talks import SMALL, shares
from tasks import FORGED, Task, tasks

from context_compression.conversation import REF

FENCES = re.compile(r"^(`{3,})text quoted.*?\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(rf"\bref ({REF})\b")


@every_door
def test_what_a_ref_brings_back_is_fenced(door: Door) -> None:
    def law(door: Door, task: Task, data: st.DataObject) -> None:
        asked = Ask(data.draw(shares), SMALL)
        with door.opened(task.talk, asked) as requests:
            for request in requests:
                for ref in {*NAMED.findall(str(request.view))}:
                    if (shown := request.about.shown(ref)) is None:
                        continue
                    [page] = [found[2] for found in FENCES.finditer(shown)]
                    assert request.about.restore(ref).startswith(page)
                    assert FORGED not in FENCES.sub("", shown)

    holds(door, tasks, law)


@every_door
def test_what_a_host_is_told_of_the_archive_is_fenced(door: Door) -> None:
    def law(door: Door, task: Task, data: st.DataObject) -> None:
        for request in door.requests(task.talk, Ask(0.1, SMALL)):
            for told in request.about.told:
                assert FORGED not in FENCES.sub("", told)

    holds(door, tasks, law)
