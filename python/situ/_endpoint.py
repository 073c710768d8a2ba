"""What nodes, publishers, subscribers, clients and servers share."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, AsyncIterator, Callable, Generic, Iterator, Optional, TypeVar

from ._errors import ReleasedError

T = TypeVar("T")
C = TypeVar("C", bound="Closing")


class Closing:
    """Is closed at the end of a `with` block."""

    if TYPE_CHECKING:

        def close(self) -> None: ...

    def __enter__(self: C) -> C:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Stream(Closing, Generic[T]):
    """Can be iterated, also in `async for`, until it is closed."""

    if TYPE_CHECKING:
        # The classes that are streams have these.
        @property
        def is_closed(self) -> bool: ...
        def take(self) -> Optional[T]: ...
        def recv(self) -> T: ...
        def fileno(self) -> int: ...
        def clear_fd(self) -> None: ...

    async def arecv(self) -> T:
        """Waits for the next one in an event loop."""
        from ._async import readable

        found = self.take()
        while found is None:
            fd = self.fileno()
            # Cleared before the take, so that none is missed.
            self.clear_fd()
            found = self.take()
            if found is None:
                await readable(fd)
                found = self.take()
        return found

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        try:
            return self.recv()
        except ReleasedError:
            if self.is_closed:
                raise StopIteration from None
            raise

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        try:
            return await self.arecv()
        except ReleasedError:
            if self.is_closed:
                raise StopAsyncIteration from None
            raise


def poll(look: Callable[[], T], timeout: Optional[float], pause: float) -> T:
    """The first result of `look` that is true. After `timeout` seconds, the last one, which is not."""
    begun = time.monotonic()
    while True:
        found = look()
        if found or (timeout is not None and time.monotonic() - begun >= timeout):
            return found
        time.sleep(pause)
