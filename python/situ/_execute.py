"""Wait sets, and the executor that calls functions for what is ready."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple, cast

from . import _native
from ._service import Rep, Req, Server, handle
from ._topic import M, Subscriber


class WaitSet(_native.WaitSet):
    """Waits for subscribers, servers, clients, events, timers, guard conditions and descriptors.

    >>> ready = waits.wait(timeout=1.0)
    >>> subscriber in ready
    False
    """

    _sources: Dict[int, Any]

    def __init__(self, node: _native.Node) -> None:
        self._sources = {}

    def attach(self, source: Any) -> Any:
        """Attaches a source and returns it. Anything with `fileno()` is ready when it can be read."""
        self._sources[self._attach(source)] = source
        return source

    def detach(self, source: Any) -> bool:
        """Detaches a source. Returns whether it was attached."""
        for number, it in list(self._sources.items()):
            if it is source:
                del self._sources[number]
                return self._detach(number)
        return False

    def wait(self, timeout: Optional[float] = None) -> List[Any]:
        """Waits until a source is ready, and returns all that are: none when the time is over."""
        found = [self._sources.get(number) for number in self._wait(timeout)]
        return [it for it in found if it is not None]


class Executor:
    """Calls functions for messages, requests, timers and other sources, in one thread.

    >>> executor = situ.Executor(node)
    >>> _ = executor.subscribe(subscriber, print)
    >>> _ = executor.timer(0.001, executor.stop)
    >>> executor.spin()
    """

    def __init__(self, node: _native.Node) -> None:
        self._set = WaitSet(node)
        self._calls: List[Tuple[Any, Callable[[], None]]] = []
        self._bell = self._set.attach(_native.GuardCondition())
        self._is_stopped = False

    def _add(self, source: Any, call: Callable[[], None]) -> Any:
        self._set.attach(source)
        self._calls.append((source, call))
        return source

    def subscribe(self, subscriber: Subscriber[M], callback: Callable[[M], Any]) -> Subscriber[M]:
        """Calls a function with each message. The message is released when the function has returned."""

        def call() -> None:
            message = subscriber.take()
            if message is not None:
                try:
                    callback(message)
                finally:
                    _native.Struct.release(cast(_native.Struct, message))

        self._add(subscriber, call)
        return subscriber

    def serve(self, server: Server[Req, Rep], callback: Callable[[Req], Any]) -> Server[Req, Rep]:
        """Answers each request with what a function returns."""

        def call() -> None:
            request = server.take()
            if request is not None:
                handle(request, callback)

        self._add(server, call)
        return server

    def timer(self, seconds: float, callback: Callable[[], Any], *, once: bool = False) -> "_native.Timer":
        """Calls a function after so many seconds, again and again or once."""
        timer: _native.Timer = self._add(_native.Timer(seconds, once=once), lambda: callback() and None)
        return timer

    def event(self, event: "_native.Event", callback: Callable[[Any], Any]) -> "_native.Event":
        """Calls a function with the status of an event when it changes."""
        self._add(event, lambda: callback(event.take()) and None)
        return event

    def add(self, source: Any, callback: Callable[[], Any]) -> Any:
        """Calls a function when a source of a wait set is ready: a descriptor, a guard condition."""
        return self._add(source, lambda: callback() and None)

    def remove(self, source: Any) -> bool:
        """Removes what was added."""
        self._calls = [(it, call) for it, call in self._calls if it is not source]
        return self._set.detach(source)

    def spin_once(self, timeout: Optional[float] = None) -> int:
        """Waits until something is ready, and calls its functions. Returns how many it called."""
        count = 0
        for source in self._set.wait(timeout):
            for it, call in list(self._calls):
                if it is source:
                    call()
                    count += 1
        return count

    def spin(self) -> None:
        """Calls functions until `stop` is called, or ctrl-C."""
        while not self._is_stopped:
            self.spin_once()
        self._is_stopped = False

    def wake(self) -> None:
        """Ends a `spin_once` that waits. Other threads may call it."""
        self._bell.trigger()

    def stop(self) -> None:
        """Ends `spin`. Other threads and the functions themselves may call it."""
        self._is_stopped = True
        self._bell.trigger()
