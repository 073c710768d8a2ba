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
