"""A sequence that is made when it is first looked at; most readers of transcripts never do."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar, overload

from context_compression.conversation.messages import is_array

T = TypeVar("T")


class Later(Sequence[T]):
    """A sequence whose items `make` gives, once they are asked for."""

    def __init__(self, make: Callable[[], Sequence[T]]) -> None:
        self._make: Callable[[], Sequence[T]] | None = make

    @cached_property
    def _items(self) -> Sequence[T]:
        make, self._make = self._make, None  # with all that it needed
        assert make is not None, "made once"
        return make()

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        return is_array(other) and [*self] == [*other]

    def __repr__(self) -> str:
        return repr(self._items)
