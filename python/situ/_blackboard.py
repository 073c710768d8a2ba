"""Blackboards: the latest value of each of some keys, which one writer sets and any number of others read."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Generic, Iterator, List, Mapping, Optional, Tuple, TypeVar, Union, cast

from . import _native
from ._endpoint import Closing
from ._errors import UnknownKeyError

M = TypeVar("M")


class BlackboardWriter(_native.BlackboardWriter, Closing, Generic[M]):
    """The writer of a blackboard. `Node.blackboard_writer` makes it.

    >>> with node.blackboard_writer("poses", ["arm", "base"], type=Point) as poses:
    ...     poses["arm"] = Point(x=0.5)
    ...     with poses.edit("arm") as arm:
    ...         arm.y = 1.0
    ...     node.blackboard_reader("poses")["arm"]
    Point(x=0.5, y=1.0)
    """

    def set(self, key: str, value: Union[M, Mapping[str, Any], None] = None, /, **members: Any) -> int:
        """Replaces the value of a key, and returns its new version: how often it was set.

        The value is a message or a dict; instead of it, its members can be given. Members that are not given
        have their defaults.
        """
        if value is not None and members:
            raise TypeError("give either a value or its members")
        return self._set(key, members if value is None else value)

    def __setitem__(self, key: str, value: Union[M, Mapping[str, Any]]) -> None:
        self._set(key, value)

    @contextmanager
    def edit(self, key: str) -> Iterator[M]:
        """Lends the value of a key, whose members are changed in place. The end of a `with` block sets it.

        If the block raises, the value stays as it was. A key that was never set begins with defaults.
        """
        value = self._edit(key)
        yield cast(M, value)
        self._set(key, value)

    def __len__(self) -> int:
        return len(self.keys())

    def __repr__(self) -> str:
        return f"<situ.BlackboardWriter of {self.name!r}, {self.type.name}>"


class BlackboardReader(_native.BlackboardReader, Closing, Generic[M]):
    """A reader of a blackboard. `Node.blackboard_reader` makes it. Values are copies, and read-only.

    It is as a mapping whose keys are fixed. A key that was never set has no value: `get` returns None for it,
    and `reader[key]` raises `LookupError`.
    """

    def get(self, key: str) -> Optional[M]:
        """The last value of a key, or None if it was never set."""
        return cast(Optional[M], self._get(key))

    def latest(self, key: str) -> Optional[Tuple[M, int]]:
        """The last value of a key with its version, or None if it was never set."""
        return cast(Optional[Tuple[M, int]], self._latest(key))

    def __getitem__(self, key: str) -> M:
        value = self.get(key)
        if value is None:
            raise UnknownKeyError(f"the key {key!r} of blackboard {self.name!r} was never set")
        return value

    def changed_since(self, key: str, version: int) -> bool:
        """Whether the value of a key was set after this version."""
        return self.version(key) != version

    def items(self) -> List[Tuple[str, M]]:
        """The keys that were set, with their values."""
        found = [(key, self.get(key)) for key in self.keys()]
        return [(key, value) for key, value in found if value is not None]

    def __contains__(self, key: object) -> bool:
        return key in self.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __repr__(self) -> str:
        return f"<situ.BlackboardReader of {self.name!r}, {self.type.name}>"
