"""Waiting in event loops: asyncio (also with uvloop), and trio, directly or through anyio."""

from __future__ import annotations

import sys
import weakref
from typing import Any, Dict, List


def _library() -> str:
    sniffio = sys.modules.get("sniffio")
    if sniffio is not None:
        try:
            return str(sniffio.current_async_library())
        except Exception:
            return "asyncio"
    return "asyncio"


#: The futures that wait for each descriptor, for each loop: a loop has one reader for a descriptor.
_waiting: "weakref.WeakKeyDictionary[Any, Dict[int, List[Any]]]" = weakref.WeakKeyDictionary()


async def readable(fd: int) -> None:
    """Waits until a descriptor is readable."""
    if _library() == "trio":
        import trio  # type: ignore[import-not-found,unused-ignore]

        await trio.lowlevel.wait_readable(fd)
        return
    import asyncio

    loop = asyncio.get_running_loop()
    waiting = _waiting.setdefault(loop, {})
    future = loop.create_future()
    futures = waiting.setdefault(fd, [])
    futures.append(future)
    if len(futures) == 1:

        def wake() -> None:
            for it in futures:
                if not it.done():
                    it.set_result(None)

        loop.add_reader(fd, wake)
    try:
        await future
    finally:
        futures.remove(future)
        if not futures:
            waiting.pop(fd, None)
            loop.remove_reader(fd)


class Tasks:
    """Runs coroutines at once. The end of an `async with` block waits for all. An error of one ends the others."""

    def __init__(self) -> None:
        self._tasks: "set[Any]" = set()
        self._error: Any = None
        #: Set when no task is left, or one has failed.
        self._over: Any = None
        self._manager: Any = None
        self._nursery: Any = None

    def start(self, function: Any, *arguments: Any) -> None:
        """Runs a coroutine function."""
        if self._nursery is not None:
            self._nursery.start_soon(function, *arguments)
            return
        import asyncio

        task = asyncio.ensure_future(function(*arguments))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: Any) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and self._error is None:
            self._error = task.exception()
        if (self._error is not None or not self._tasks) and self._over is not None:
            self._over.set()

    async def __aenter__(self) -> "Tasks":
        if _library() == "trio":
            import trio

            self._manager = trio.open_nursery()
            self._nursery = await self._manager.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        if self._manager is not None:
            return await self._manager.__aexit__(*error)
        import asyncio

        self._over = asyncio.Event()
        try:
            if error[0] is None and self._tasks and self._error is None:
                await self._over.wait()
        finally:
            rest = list(self._tasks)
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)
        if self._error is not None:
            raise self._error
        return None
