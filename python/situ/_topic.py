"""Publishers and subscribers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Generic, Mapping, Optional, TypeVar, Union, cast

from . import _native
from ._endpoint import Closing, Stream, poll
from ._errors import TimeoutError
from ._types import Message


M = TypeVar("M")


class Publisher(_native.Publisher, Closing, Generic[M]):
    """A publisher of a topic. `Node.publisher` makes it.

    Messages of `@region` types grow as they are written, in the memory where they are read:

    >>> with teams.loan() as out:
    ...     out.names.extend(["Adam", "Eve"])
    ...     out.ages.update(Adam=41, Eve=42)
    ...     del out.ages["Adam"]
    ...     out.names.insert(0, "a name of any length")
    ...     out
    Team(name='', names=['a name of any length', 'Adam', 'Eve'], ages={'Eve': 42})

    `room` limits how large a message may become:

    >>> with teams.loan(room=4096) as out:
    ...     out.names.extend(["a name of some length"] * 1000)
    Traceback (most recent call last):
    ...
    situ._errors.RegionFullError: `names`: the loan's region is full: it may have 4096 bytes, ...
    """

    if TYPE_CHECKING:

        def loan(self, *, user_header: Optional[bytes] = None, **sizes: int) -> M: ...

    def _loan_of_objects(self, sizes: Optional[Mapping[str, int]]) -> Any:
        """A new message that is serialized when it is published."""
        if sizes:
            raise TypeError(f"messages of {self.topic!r} are serialized, and need no sizes: {', '.join(sizes)}")
        cls = self.type.cls
        message = cls.__new__(cls)
        _native.Struct._begin(cast(_native.Struct, message), self.type, {}, self)
        return message

    def publish(
        self,
        message: Union[M, Mapping[str, Any], None] = None,
        /,
        *,
        user_header: Optional[bytes] = None,
        **members: Any,
    ) -> int:
        """Publishes a message, and returns its number on the topic.

        The message is one of the topic's class, a dict, or an object with its members as attributes. Instead
        of it, its members can be given:

        >>> number = publisher.publish(x=1.5, y=2)
        """
        if message is not None:
            if members:
                raise TypeError("give either a message or its members")
            return self._publish(message, user_header)
        if self.encoding != "flat" or self._is_on_device or any("." in name for name in self.bulk_members):
            return self._publish(members, user_header)
        loan = self._loan(self._sizes(members), user_header)
        try:
            for name, value in members.items():
                loan[name] = value
            return int(_native.Struct.publish(loan))
        finally:
            # Returns the memory if the message was not published.
            _native.Struct.release(loan)

    @property
    def message(self) -> Any:
        """The class of its messages."""
        return self.type.cls

    def event(self, kind: str) -> "_native.Event":
        """The event `matched`, `incompatible_qos`, `deadline_missed` or `liveliness_lost`."""
        return self._event(kind)

    def wait_for_subscribers(self, count: int = 1, timeout: Optional[float] = None) -> None:
        """Waits until so many subscribers match."""
        if not poll(lambda: self.subscribers >= count, timeout, 0.002):
            raise TimeoutError(f"topic {self.topic!r} has {self.subscribers} subscriber(s) after {timeout} s, not {count}")

    def __repr__(self) -> str:
        return f"<situ.Publisher of {self.topic!r}, {self.type.name}>"


class Subscriber(_native.Subscriber, Stream[M], Generic[M]):
    """A subscriber of a topic. `Node.subscriber` makes it.

    It can be iterated, also in `async for`. It ends when it is closed.
    """

    if TYPE_CHECKING:

        def take(self) -> Optional[M]: ...
        def take_on(self, stream: Any, /) -> Optional[M]: ...

    def recv(self, timeout: Optional[float] = None, *, spin: float = 0.0) -> M:
        """Waits for the next message.

        `spin` is how long it looks for a message without sleeping. This answers sooner, and costs a
        processor. Raises `TimeoutError` if there is none after `timeout` seconds.
        """
        message = self.take()
        if message is not None:
            return message
        if spin > 0:
            spinning = time.monotonic() + spin
            while time.monotonic() < spinning:
                for _ in range(50):
                    message = self.take()
                    if message is not None:
                        return message
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if end is None else max(0.0, end - time.monotonic())
            is_ready = self.wait(left)
            message = self.take()
            if message is not None:
                return message
            if not is_ready and end is not None and time.monotonic() >= end:
                raise TimeoutError(f"no message on topic {self.topic!r} after {timeout} s")

    @property
    def message(self) -> Any:
        """The class of its messages."""
        return self.type.cls

    def event(self, kind: str) -> "_native.Event":
        """The event `matched`, `incompatible_qos`, `deadline_missed`, `liveliness_changed` or
        `messages_lost`."""
        return self._event(kind)

    def __repr__(self) -> str:
        return f"<situ.Subscriber of {self.topic!r}, {self.type.name}>"


__all__ = ["Message", "Publisher", "Subscriber"]
