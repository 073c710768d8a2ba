"""Interfaces of IDL: clients with a method for each operation, servers, and exceptions.

Each operation is a service of its own. That of the operation `add` of the interface that a program calls
`till` has the name `till/add`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, List, Optional, Tuple, Type, TypeVar, cast

from . import _native
from ._endpoint import Closing
from ._errors import Error, MalformedError, ReleasedError, SchemaError
from ._service import EXCEPTION, Client, Server, handle

if TYPE_CHECKING:
    from ._execute import Executor
    from ._node import Node

M = TypeVar("M")

#: The member of structs of operations that take or give nothing.
_NOTHING = "structure_needs_at_least_one_member"


class RaisedError(Error, Generic[M]):
    """An exception of IDL, which an operation raises. Each has a class of its own.

    A server raises `ClosedError(reason="it is late")`. Clients get the same, with the members as attributes.
    `message` is the struct of the exception.
    """

    #: The class of the struct.
    Message: Any = None
    #: The struct.
    message: M

    def __init__(self, message: Optional[M] = None, /, **members: Any) -> None:
        if message is None:
            message = type(self).Message(**members)
        elif members:
            raise TypeError("give either a message or its members")
        super().__init__(message)
        self.message = cast(M, message)

    if not TYPE_CHECKING:

        def __init_subclass__(cls, **options: Any) -> None:
            super().__init_subclass__(**options)
            if "Message" in cls.__dict__:
                cls.Message.__situ_error__ = cls

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__") or name == "message":
                raise AttributeError(name)
            return getattr(self.message, name)

    def __reduce__(self) -> Any:
        return type(self), (self.message,)


def _error_class(cls: Any) -> Any:
    """The exception for a class of structs. One that was not generated is made at its first use."""
    found = cls.__dict__.get("__situ_error__")
    if found is None:
        members = {"Message": cls, "__module__": cls.__module__, "__doc__": cls.__doc__}
        found = type(f"{cls.__name__}Error", (RaisedError,), members)
    return found


class Operation:
    """An operation of an interface: its method and its name, the class of its service, and whether it raises
    exceptions."""

    def __init__(self, method: str, name: str, service: Any, *, raises: bool = False) -> None:
        self.method, self.name, self.service, self.raises = method, name, service, raises
        #: Of operations that were not generated, the exceptions by the names of their structs.
        self.errors: Dict[str, Any] = {}
        self._parts: Optional[Tuple[Dict[str, str], List[str]]] = None
        self._cases: Dict[str, str] = {}

    def parts(self) -> Tuple[Dict[str, str], List[str]]:
        """The parameters, each with the member of the request, and the members of what it gives."""
        if self._parts is None:
            request = self.service.Request
            renamed = {name: attribute for attribute, name in getattr(request, "__situ_renamed__", {}).items()}
            members = [name for name, _, _ in request.__situ__.members if name != _NOTHING]
            taken = {renamed.get(name, name) for name in members}
            parameters: Dict[str, str] = {}
            for name in members:
                parameter = renamed.get(name, name)
                if parameter == "timeout":
                    parameter += "_"
                    while parameter in taken:
                        parameter += "_"
                parameters[parameter] = name
            output = self.service.Response.__situ__
            if self.raises:
                output, self._cases = output._reply()
            self._parts = parameters, [name for name, _, _ in output.members if name != _NOTHING]
        return self._parts

    def request(self, arguments: Tuple[Any, ...], given: Dict[str, Any]) -> Dict[str, Any]:
        """The members of a request."""
        parameters = self.parts()[0]
        if len(arguments) > len(parameters):
            raise TypeError(f"{self.method}() takes {len(parameters)} argument(s), and {len(arguments)} are given")
        members = dict(zip(parameters.values(), arguments))
        for parameter, value in given.items():
            name = parameters.get(parameter)
            if name is None:
                raise TypeError(f"{self.method}() has no parameter {parameter!r}; it has: {', '.join(parameters)}")
            if name in members:
                raise TypeError(f"{self.method}() is given {parameter!r} twice")
            members[name] = value
        missing = [parameter for parameter, name in parameters.items() if name not in members]
        if missing:
            raise TypeError(f"{self.method}() needs {', '.join(missing)}")
        return members

    def result(self, reply: Any) -> Any:
        """What a reply gives. Raises its exception if it has one."""
        if self.raises:
            union = reply["reply"]
            if union.case is None:
                raise MalformedError(f"the reply of operation {self.name!r} selects no case: {union.discriminator!r}")
            reply = union.value
            if union.case != "result":
                # A copy: the exception may live long, and must not keep the memory of the reply.
                error = self.errors.get(type(reply).__situ__.name) or _error_class(type(reply))
                raise error(_native.Struct.copy(reply))
        outputs = self.parts()[1]
        if len(outputs) == 1:
            return reply[outputs[0]]
        return reply if outputs else None

    def arguments(self, request: Any) -> List[Any]:
        """The arguments of a server's method."""
        return [request[name] for name in self.parts()[0].values()]

    def reply(self, given: Any) -> Any:
        """The reply with what a server's method has returned."""
        outputs = self.parts()[1]
        if not outputs:
            if given is not None:
                raise TypeError(f"{self.method}() gives nothing, and has returned {given!r}")
            given = {}
        elif len(outputs) == 1:
            given = {outputs[0]: given}
        elif given is None:
            raise TypeError(f"{self.method}() gives {', '.join(outputs)}, and has returned None")
        return {"reply": {"result": given}} if self.raises else given

    def raised(self, error: RaisedError[Any]) -> Any:
        """The reply with an exception. Another exception than those of the operation is raised again."""
        self.parts()
        case = self._cases.get(error.message.__situ__.name)
        if case is None:
            raise error
        return {"reply": {case: error.message}}


class _InterfaceEnds(Closing):
    """What clients of all operations share."""

    #: The operations.
    __situ_operations__: Tuple[Operation, ...] = ()

    def __init__(self, node: "Node", name: str, **options: Any) -> None:
        self._clients: List[Client[Any, Any]] = []
        for operation in type(self).__situ_operations__:
            service = f"{name}/{operation.name}"
            self._clients.append(node.client(service, type=operation.service, **options))

    def wait_for_servers(self, timeout: Optional[float] = None) -> bool:
        """Waits until each operation has a server. Returns whether all have."""
        import time

        begun = time.monotonic()
        for client in self._clients:
            left = None if timeout is None else max(0.0, timeout - (time.monotonic() - begun))
            if not client.wait_for_server(left):
                return False
        return True

    def close(self) -> None:
        """Leaves all services."""
        for client in self._clients:
            client.close()


class InterfaceClient(_InterfaceEnds):
    """A client of an interface. It has a method for each operation, which waits for the reply.

    Each method takes `timeout`, in seconds. It raises the exceptions of the operation, and those of `Client.call`.
    """


class InterfaceAsyncClient(_InterfaceEnds):
    """As `InterfaceClient`, for event loops: the methods are awaited."""


def _method(operation: Operation, position: int) -> Callable[..., Any]:
    def call(self: Any, /, *arguments: Any, timeout: Optional[float] = None, **given: Any) -> Any:
        request = operation.request(arguments, given)
        return operation.result(self._clients[position].call(request, timeout=timeout))

    return call


def _async_method(operation: Operation, position: int) -> Callable[..., Any]:
    async def call(self: Any, /, *arguments: Any, timeout: Optional[float] = None, **given: Any) -> Any:
        request = operation.request(arguments, given)
        return operation.result(await self._clients[position].acall(request, timeout=timeout))

    return call


def _unimplemented(operation: Operation) -> Callable[..., Any]:
    def call(self: Any, /, *arguments: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement {operation.method}()")

    return call


class Interface:
    """The base of the classes of interfaces. A server derives from such a class, and implements its operations.

    `Till.Client(node, "till")` is a client, and `Till.AsyncClient` one whose methods are awaited. With
    `situ.InterfaceServer(node, "till", implementation)` a program serves an implementation.
    """

    __situ_operations__: Tuple[Operation, ...] = ()
    #: Of a class that was not generated, the exceptions by the names of their structs.
    errors: Dict[str, Any] = {}

    if not TYPE_CHECKING:
        Client: Type[InterfaceClient] = InterfaceClient
        AsyncClient: Type[InterfaceAsyncClient] = InterfaceAsyncClient

        def __init_subclass__(cls, **options: Any) -> None:
            super().__init_subclass__(**options)
            if "__situ_operations__" not in cls.__dict__:
                return
            cls.Client = _client_class(cls, "Client", InterfaceClient, _method)
            cls.AsyncClient = _client_class(cls, "AsyncClient", InterfaceAsyncClient, _async_method)
            for operation in cls.__situ_operations__:
                setattr(cls, operation.method, _named(_unimplemented(operation), cls, operation))


def _named(method: Callable[..., Any], cls: Any, operation: Operation) -> Callable[..., Any]:
    method.__name__, method.__qualname__ = operation.method, f"{cls.__qualname__}.{operation.method}"
    method.__doc__ = operation.service.__doc__
    return method


def _client_class(cls: Any, name: str, base: Any, method: Any) -> Any:
    operations = cls.__situ_operations__
    members = {
        "__module__": cls.__module__,
        "__qualname__": f"{cls.__qualname__}.{name}",
        "__situ_operations__": operations,
        "__doc__": f"A client of `{cls.__name__}`. {base.__doc__}",
    }
    for position, operation in enumerate(operations):
        members[operation.method] = _named(method(operation, position), cls, operation)
    return type(name, (base,), members)


class InterfaceServer(Closing):
    """Serves an implementation of an interface: an object of a class that derives from the interface's.

        class Shop(Till):
            def add(self, a, b):
                return a + b

        situ.InterfaceServer(node, "till", Shop()).serve()

    A method that raises an exception of its operation answers with it. Any other exception refuses the request with
    its text. Methods that are coroutines need `aserve`. Options are those of `Node.server`.
    """

    def __init__(self, node: "Node", name: str, implementation: Interface, **options: Any) -> None:
        from ._execute import Executor

        self._implementation = implementation
        self._node = node
        self._servers: List[Tuple[Operation, Server[Any, Any]]] = []
        self._is_closed = False
        for operation in type(implementation).__situ_operations__:
            service = f"{name}/{operation.name}"
            self._servers.append((operation, node.server(service, type=operation.service, **options)))
        if not self._servers:
            raise TypeError(f"{type(implementation).__name__} is no interface with operations: derive from its class")
        self._executor: Executor = Executor(node)
        self._answered = 0
        self.attach(self._executor)

    def _answer(self, operation: Operation, message: Any) -> Any:
        self._answered += 1
        method = getattr(self._implementation, operation.method)
        try:
            given = method(*operation.arguments(message))
        except RaisedError as error:
            return operation.raised(error)
        if hasattr(given, "__await__"):
            close = getattr(given, "close", None)
            if close is not None:
                close()
            raise TypeError(f"{operation.method}() is a coroutine, which `aserve` calls")
        return operation.reply(given)

    def attach(self, executor: "Executor") -> None:
        """Lets an executor answer the requests, beside what else it does."""

        def function(operation: Operation) -> Callable[[Any], Any]:
            return lambda message: self._answer(operation, message)

        for operation, server in self._servers:
            executor.serve(server, function(operation))

    def serve(self, *, count: Optional[int] = None) -> None:
        """Answers requests until it is closed, or `count` of them."""
        self._answered = 0
        while not self._is_closed and (count is None or self._answered < count):
            try:
                self._executor.spin_once()
            except ReleasedError:
                if not self._is_closed:
                    raise

    async def aserve(self) -> None:
        """Answers requests in an event loop until it is closed. Methods may be coroutines, of which many may be
        under way at once."""
        from ._async import Tasks

        async with Tasks() as tasks:
            for operation, server in self._servers:
                tasks.start(self._aserve, operation, server, tasks)

    async def _aserve(self, operation: Operation, server: Server[Any, Any], tasks: Any) -> None:
        async for request in server:
            tasks.start(self._aanswer, operation, request)

    async def _aanswer(self, operation: Operation, request: Any) -> None:
        method = getattr(self._implementation, operation.method)
        try:
            given = method(*operation.arguments(request.message))
            if hasattr(given, "__await__"):
                given = await given
            reply = operation.reply(given)
        except RaisedError as error:
            try:
                reply = operation.raised(error)
            except RaisedError as other:
                request.refuse(EXCEPTION, f"{type(other).__name__}: {other}")
                return
        except Exception as error:
            request.refuse(EXCEPTION, f"{type(error).__name__}: {error}")
            return
        handle(request, lambda _: reply)

    def close(self) -> None:
        """Leaves all services. `serve` and `aserve` end. Other threads may call it."""
        self._is_closed = True
        self._executor.wake()
        for _, server in self._servers:
            server.close()


def make_interface(schema: _native.Schema, name: str) -> Any:
    """The class of an interface that was not generated."""
    wanted = name.replace("::", "/").strip("/")
    for full, docs, operations in schema._interfaces:
        if full.replace("::", "/") == wanted:
            break
    else:
        names = ", ".join(full for full, _, _ in schema._interfaces) or "none"
        raise SchemaError(f"there is no interface {name!r}; there are: {names}")
    scope, _, simple = full.rpartition("::")
    made: List[Operation] = []
    errors: Dict[str, Any] = {}
    for method, operation, _, text, (request, reply), raises in operations:
        service = SimpleNamespace(Request=schema.find(request).cls, Response=schema.find(reply).cls, __doc__=text or None)
        made.append(Operation(method, operation, service, raises=raises))
        if raises:
            made[-1].errors = errors
            for struct in service.Response.__situ__._reply()[1]:
                if struct not in errors:
                    errors[struct] = _error_class(schema.find(struct).cls)
    members = {
        "__situ_operations__": tuple(made),
        "errors": errors,
        "__module__": "situ.types." + scope.replace("::", ".") if scope else "situ.types",
        "__doc__": docs or f"The interface {full}.",
    }
    return type(simple, (Interface,), members)


__all__ = ["Interface", "InterfaceAsyncClient", "InterfaceClient", "InterfaceServer", "Operation", "RaisedError"]
