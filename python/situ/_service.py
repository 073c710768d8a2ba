"""Services: clients and servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Generic, Iterator, Mapping, Optional, TypeVar, Union, cast

from . import _native
from ._endpoint import Closing, Stream
from ._errors import CallError, ReleasedError, TimeoutError


Req = TypeVar("Req")
Rep = TypeVar("Rep")


class Service(Generic[Req, Rep]):
    """The base of generated classes of services. They have the types `Request` and `Response`, and are given
    to `Node.client` and `Node.server` as `type`."""

    __slots__ = ()


class Client(_native.Client, Closing, Generic[Req, Rep]):
    """A client of a service. `Node.client` makes it."""

    def loan(self, **sizes: int) -> Req:
        """Lends a request that is written in place, in the memory where the server reads it.

        `sizes` are the numbers of elements of bulk members. `call`, `stream` and `acall` send it. Arrays of it
        must be gone by then. Requests that are serialized are new messages.
        """
        loan: Optional[Req] = self._loan(sizes)
        if loan is None:
            if sizes:
                raise TypeError(f"requests of service {self.service!r} are serialized, and need no sizes: {', '.join(sizes)}")
            loan = self.request()
        return cast(Req, loan)

    def call(
        self,
        request: Union[Req, Mapping[str, Any], None] = None,
        /,
        *,
        timeout: Optional[float] = None,
        **members: Any,
    ) -> Rep:
        """Sends a request, waits for the reply and returns it.

        The request is a message or a dict; instead of it, its members can be given. Raises `TimeoutError` if
        there is no reply after `timeout` seconds, and `RefusedError` if the server refuses.
        """
        call = self.send(members if request is None else request, timeout)
        try:
            taken = self.take_reply(call)
        except BaseException:
            self._forget(call)
            raise
        return self._only(call, taken)

    def stream(
        self,
        request: Union[Req, Mapping[str, Any], None] = None,
        /,
        *,
        timeout: Optional[float] = None,
        **members: Any,
    ) -> Iterator[Rep]:
        """Sends a request, and yields the parts of the reply."""
        call = self.send(members if request is None else request, timeout)
        is_over = False
        try:
            while not is_over:
                taken = self.take_reply(call)
                if taken is None:
                    continue
                message, is_over = taken
                if message is not None:
                    yield message
        finally:
            if not is_over:
                self._forget(call)

    async def acall(
        self,
        request: Union[Req, Mapping[str, Any], None] = None,
        /,
        *,
        timeout: Optional[float] = None,
        **members: Any,
    ) -> Rep:
        """As `call`, in an event loop. Many calls may be under way at once."""
        from ._async import readable

        call = self.send(members if request is None else request, timeout)
        try:
            while True:
                fd = self.fileno()
                self.clear_fd()
                taken = self.take_reply(call, False)
                if taken is not None:
                    return self._only(call, taken)
                await readable(fd)
        except BaseException:
            self._forget(call)
            raise

    def _only(self, call: int, taken: Any) -> Rep:
        message: Optional[Rep] = taken[0]
        is_over: bool = taken[1]
        if not is_over:
            self._forget(call)
        if message is None:
            raise CallError(f"the reply of service {self.service!r} has no parts: use `stream`")
        return message

    def _forget(self, call: int) -> None:
        try:
            self.cancel(call)
        except (CallError, ReleasedError):
            pass  # The call is over all the same.


class Server(_native.Server, Stream["_native.Request[Req, Rep]"], Generic[Req, Rep]):
    """A server of a service. `Node.server` makes it. It can be iterated, also in `async for`:

    >>> for request in server:
    ...     request.answer(sum=request.message.a + request.message.b)
    """

    if TYPE_CHECKING:

        def take(self) -> "Optional[_native.Request[Req, Rep]]": ...

    def recv(self, timeout: Optional[float] = None) -> "_native.Request[Req, Rep]":
        """Waits for the next request."""
        while True:
            request = self.take()
            if request is not None:
                return request
            if not self.wait(timeout):
                raise TimeoutError(f"no request for service {self.service!r} after {timeout} s")

    def serve(self, answer: Callable[[Req], Union[Rep, Mapping[str, Any]]], *, count: Optional[int] = None) -> None:
        """Answers requests with what a function returns, until the server is closed, or `count` of them.

        An `Exception` of the function refuses the request with its text. Others are raised: ctrl-C, for
        instance.
        """
        for request in self:
            handle(request, answer)
            if count is not None:
                count -= 1
                if count <= 0:
                    return


#: The number of a refusal because the server's function raised an exception.
EXCEPTION = 1


def handle(request: "_native.Request[Any, Any]", answer: Callable[[Any], Any]) -> None:
    """Answers a request with what a function returns."""
    try:
        reply = answer(request.message)
    except Exception as error:
        request.refuse(EXCEPTION, f"{type(error).__name__}: {error}")
        return
    try:
        request.answer(reply)
    except CallError:
        pass  # The client has ended meanwhile.
