"""Python's code in traces, which `situ trace record` records and Perfetto shows.

>>> import situ.trace
>>> with situ.trace.slice("inference", model="small"):
...     pass
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Optional, TypeVar

from . import _native

F = TypeVar("F", bound=Callable[..., Any])


class slice:
    """A slice on the track of the calling thread, from the beginning of a `with` block to its end.

    Keyword arguments are its arguments in the trace. `flow` connects it by an arrow with other events of the
    same number. It also decorates functions. While no trace is recorded, it writes nothing.
    """

    __slots__ = ("_name", "_category", "_flow", "_arguments", "_is_open")

    def __init__(self, name: str, *, category: str = "python", flow: Optional[int] = None, **arguments: Any) -> None:
        self._name, self._category, self._flow, self._arguments = name, category, flow, arguments
        self._is_open = False

    def __enter__(self) -> "slice":
        self._is_open = _native.trace_event(False, self._name, self._category, self._flow, self._arguments)
        return self

    def __exit__(self, *error: object) -> None:
        if self._is_open:
            self._is_open = False
            _native.trace_end()

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def traced(*args: Any, **kwargs: Any) -> Any:
            with slice(self._name, category=self._category, flow=self._flow, **self._arguments):
                return function(*args, **kwargs)

        return traced  # type: ignore[return-value]


def instant(name: str, *, category: str = "python", flow: Optional[int] = None, **arguments: Any) -> None:
    """An event without a duration."""
    _native.trace_event(True, name, category, flow, arguments)


def enabled(category: str = "python") -> bool:
    """Whether a category is recorded at the moment."""
    return _native.trace_enabled(category)
