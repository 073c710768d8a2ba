"""Nodes."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any, Iterable, List, Optional, Tuple, Type, TypeVar, Union, overload

from . import _native
from ._blackboard import BlackboardReader, BlackboardWriter
from ._endpoint import Closing, poll
from ._errors import NotFoundError, SchemaError
from ._service import Client, Server, Service
from ._topic import Publisher, Subscriber
from ._types import Message

#: A type of messages: its name, its class, or its handle.
TypeLike = Union[str, type, _native.Type, None]
#: Where the type is defined: a file, several, or a schema that was read.
SchemaLike = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]], _native.Schema, None]

#: A class of messages, and those of a service.
M = TypeVar("M", bound=_native.Struct)
Req = TypeVar("Req")
Rep = TypeVar("Rep")

_POLL = 0.01


def read_schema(schema: SchemaLike, include: Iterable[Any] = ()) -> _native.Schema:
    """A schema from files."""
    if isinstance(schema, _native.Schema):
        return schema
    files = [schema] if isinstance(schema, (str, os.PathLike)) else list(schema or ())
    return _native.Schema(files=files, include=list(include))


def find_type(type: TypeLike, schema: SchemaLike = None, include: Iterable[Any] = ()) -> Optional[_native.Type]:
    """The type that a user names; None if that needs the topic."""
    if type is None or isinstance(type, _native.Type):
        return type
    if not isinstance(type, str):
        handle = getattr(type, "__situ__", None)
        if isinstance(handle, _native.Type):
            return handle
        raise TypeError(f"{type!r} is no type of messages: give a class of messages, or the name of a type")
    if schema is not None:
        return read_schema(schema, include).find(type)
    return None


class Node(_native.Node, Closing):
    """A named participant of the bus.

    Publishers, subscribers, clients and servers are made from it, and closed with it:

    >>> with situ.Node("camera") as node:
    ...     node.name
    'camera'
    """

    _endpoints: "weakref.WeakSet[Any]"

    def __init__(
        self,
        name: str,
        *,
        namespace: str = "",
        root: Optional[Union[str, "os.PathLike[str]"]] = None,
        user_data: bytes = b"",
    ) -> None:
        self._endpoints = weakref.WeakSet()

    if TYPE_CHECKING:

        @overload
        def publisher(
            self,
            topic: str,
            *,
            type: Type[M],
            storage: Optional[str] = None,
            user_header: Optional[int] = None,
            **qos: Any,
        ) -> Publisher[M]: ...
        @overload
        def publisher(
            self,
            topic: str,
            *,
            type: Union[str, _native.Type, None] = None,
            schema: SchemaLike = None,
            include: Iterable[Any] = (),
            storage: Optional[str] = None,
            user_header: Optional[int] = None,
            **qos: Any,
        ) -> Publisher[Any]: ...

    def publisher(
        self,
        topic: str,
        *,
        type: TypeLike = None,
        schema: SchemaLike = None,
        include: Iterable[Any] = (),
        storage: Optional[str] = None,
        user_header: Optional[int] = None,
        **qos: Any,
    ) -> Publisher[Any]:
        """Joins a topic as publisher.

        `type` is a class of messages, or a name that `schema` defines (a `.idl` or `.msg` file, or a
        `situ.Schema`). Without `schema` the type is that of the topic, or of a package of ROS. `storage` is
        `flat`, `region` or `cdr`; without it, the topic or the type decides.

        Quality of service: `reliable`, `durability` (`volatile`, `transient_local`), `depth`, `block` (how
        many seconds it waits for room; None: for ever; 0: never), `deadline`, `lifespan`, `liveliness`
        (`automatic`, `manual`), `lease`, `best_available`, `user_data`. `domain` is the memory domain of
        bodies, such as `cuda:0`. Bulk members of loans are then `DeviceArray`s, which other libraries fill.
        """
        _check(_PUBLISHER, qos)
        existing = self._topic(topic)
        handle = self._type(topic, type, schema, include, existing)
        if storage not in (None, "flat", "region", "cdr"):
            raise ValueError(f"storage is `flat`, `region` or `cdr`, not {storage!r}")
        if storage == "flat" and not handle.is_flattable:
            raise SchemaError(f"{handle.name} has no flat form")
        if storage is None:
            storage = "flat" if handle.is_flat else "region" if handle.is_region else "cdr"
            # A topic that has had no publisher yet says `flat`.
            if existing is not None and existing[2] == "flat" and handle.is_flattable and not handle.is_region:
                storage = "flat"
            elif existing is not None and existing[2] != "flat":
                storage = "region" if existing[2] == "region" else "cdr"
        header = user_header if user_header is not None else (existing[3] if existing else 0)
        made: Publisher[Any] = Publisher(self, topic, handle, storage, header, qos)
        self._endpoints.add(made)
        return made

    if TYPE_CHECKING:

        @overload
        def subscriber(
            self,
            topic: str,
            *,
            type: Type[M],
            wait: Optional[float] = 5.0,
            user_header: Optional[int] = None,
            **qos: Any,
        ) -> Subscriber[M]: ...
        @overload
        def subscriber(
            self,
            topic: str,
            *,
            type: Union[str, _native.Type, None] = None,
            schema: SchemaLike = None,
            include: Iterable[Any] = (),
            wait: Optional[float] = 5.0,
            user_header: Optional[int] = None,
            **qos: Any,
        ) -> Subscriber[Any]: ...

    def subscriber(
        self,
        topic: str,
        *,
        type: TypeLike = None,
        schema: SchemaLike = None,
        include: Iterable[Any] = (),
        wait: Optional[float] = 5.0,
        user_header: Optional[int] = None,
        **qos: Any,
    ) -> Subscriber[Any]:
        """Joins a topic as subscriber.

        Without `type`, the type is that of the topic. If there is no topic yet, it waits for the first
        publisher: at most `wait` seconds, or for ever if `wait` is None.

        Quality of service: `reliable`, `durability`, `keep_last`, `deadline`, `liveliness`, `lease`,
        `best_available`, `max_held` (how many messages it may hold), `trust` (`same_user`, `everyone`,
        `nobody`), `reception_times`, `user_data`. `domain` is the memory domain where it takes messages, such as
        `cuda:0`. Bulk members are `DeviceArray`s there.
        """
        _check(_SUBSCRIBER, qos)
        existing = self._topic(topic)
        if type is None and existing is None:
            existing = self._wait_for_topic(topic, wait)
        handle = self._type(topic, type, schema, include, existing)
        header = user_header if user_header is not None else (existing[3] if existing else 0)
        made: Subscriber[Any] = Subscriber(self, topic, handle, header, qos)
        self._endpoints.add(made)
        return made

    def _wait_for_topic(self, topic: str, wait: Optional[float]) -> Tuple[str, str, str, int]:
        existing = poll(lambda: self._topic(topic), wait, _POLL)
        if existing is None:
            names = self._topic_names()
            there = f"there are: {', '.join(names)}" if names else "there are no topics"
            raise NotFoundError(
                f"there is no topic {topic!r} after {wait} s; {there}; start its publisher, or name the type to create it"
            )
        return existing

    def _type(
        self,
        topic: str,
        type: TypeLike,
        schema: SchemaLike,
        include: Iterable[Any],
        existing: Optional[Tuple[str, str, str, int]],
    ) -> _native.Type:
        found = find_type(type, schema, include)
        if found is not None:
            return found
        if existing is not None:
            handle = _native.type_of(existing[0], existing[1])
            if isinstance(type, str) and _spelled(type) != _spelled(handle.name):
                raise SchemaError(f"topic {topic!r} has the type {handle.name}, not {type}")
            return handle
        if type is None:
            raise SchemaError(f"there is no topic {topic!r} yet: name its type")
        if "AMENT_PREFIX_PATH" in os.environ:
            return _native.Schema(ros=["/".join(_spelled(str(type)))]).find(str(type))
        raise SchemaError(f"the type {type} is not known: name the file that defines it with `schema`")

    if TYPE_CHECKING:

        @overload
        def client(
            self,
            service: str,
            *,
            type: Type[Service[Req, Rep]],
            wait: Optional[float] = 5.0,
            **options: Any,
        ) -> Client[Req, Rep]: ...
        @overload
        def client(
            self,
            service: str,
            *,
            request: TypeLike = None,
            reply: TypeLike = None,
            type: Optional[str] = None,
            schema: SchemaLike = None,
            include: Iterable[Any] = (),
            wait: Optional[float] = 5.0,
            **options: Any,
        ) -> Client[Any, Any]: ...

    def client(
        self,
        service: str,
        *,
        request: TypeLike = None,
        reply: TypeLike = None,
        type: Union[str, Type[Service[Any, Any]], None] = None,
        schema: SchemaLike = None,
        include: Iterable[Any] = (),
        wait: Optional[float] = 5.0,
        **options: Any,
    ) -> Client[Any, Any]:
        """Joins a service as client.

        Without types, they are those of the service. If there is no service yet, it waits for the first
        server: at most `wait` seconds, or for ever if `wait` is None. `type` is the name of a service that
        `schema` defines (a `.srv` file, or an interface of IDL), or a generated class of a service. `request`
        and `reply` name types.

        Options: `max_calls`, `depth`, `max_held`, `user_data`.
        """
        _check(_SERVICE, options)
        types = self._service_types(request, reply, type, schema, include)
        if types is None:
            existing = self._wait_for_service(service, wait)
            types = (_native.type_of(existing[0], existing[1]), _native.type_of(existing[2], existing[3]))
            flat = existing[4] and types[0].is_flat
        else:
            flat = types[0].is_flat
        made: Client[Any, Any] = Client(self, service, types[0], types[1], flat, options)
        self._endpoints.add(made)
        return made

    if TYPE_CHECKING:

        @overload
        def server(
            self,
            service: str,
            *,
            type: Type[Service[Req, Rep]],
            **options: Any,
        ) -> Server[Req, Rep]: ...
        @overload
        def server(
            self,
            service: str,
            *,
            request: TypeLike = None,
            reply: TypeLike = None,
            type: Optional[str] = None,
            schema: SchemaLike = None,
            include: Iterable[Any] = (),
            **options: Any,
        ) -> Server[Any, Any]: ...

    def server(
        self,
        service: str,
        *,
        request: TypeLike = None,
        reply: TypeLike = None,
        type: Union[str, Type[Service[Any, Any]], None] = None,
        schema: SchemaLike = None,
        include: Iterable[Any] = (),
        **options: Any,
    ) -> Server[Any, Any]:
        """Joins a service as server. Types and options are those of `client`."""
        _check(_SERVICE, options)
        types = self._service_types(request, reply, type, schema, include)
        if types is None:
            raise SchemaError(f"name the types of service {service!r}: `request` and `reply`, or `type` and `schema`")
        made: Server[Any, Any] = Server(self, service, types[0], types[1], options)
        self._endpoints.add(made)
        return made

    if TYPE_CHECKING:

        @overload
        def blackboard_writer(self, name: str, keys: Iterable[str], *, type: Type[M]) -> BlackboardWriter[M]: ...
        @overload
        def blackboard_writer(
            self,
            name: str,
            keys: Iterable[str],
            *,
            type: Union[str, _native.Type],
            schema: SchemaLike = None,
            include: Iterable[Any] = (),
        ) -> BlackboardWriter[Any]: ...

    def blackboard_writer(
        self,
        name: str,
        keys: Iterable[str],
        *,
        type: TypeLike,
        schema: SchemaLike = None,
        include: Iterable[Any] = (),
    ) -> BlackboardWriter[Any]:
        """Creates a blackboard with these keys, and its writer. It has one writer at a time.

        The type is given as to `publisher`. It needs a flat form without `@bulk` members, of at most 64 KiB.
        """
        handle = find_type(type, schema, include)
        if handle is None:
            raise SchemaError(f"the type {type} is not known: name the file that defines it with `schema`")
        made: BlackboardWriter[Any] = BlackboardWriter(self, name, list(keys), handle)
        self._endpoints.add(made)
        return made

    if TYPE_CHECKING:

        @overload
        def blackboard_reader(
            self, name: str, *, type: Type[M], wait: Optional[float] = 5.0
        ) -> BlackboardReader[M]: ...
        @overload
        def blackboard_reader(
            self,
            name: str,
            *,
            type: Union[str, _native.Type, None] = None,
            schema: SchemaLike = None,
            include: Iterable[Any] = (),
            wait: Optional[float] = 5.0,
        ) -> BlackboardReader[Any]: ...

    def blackboard_reader(
        self,
        name: str,
        *,
        type: TypeLike = None,
        schema: SchemaLike = None,
        include: Iterable[Any] = (),
        wait: Optional[float] = 5.0,
    ) -> BlackboardReader[Any]:
        """Opens a blackboard. Without `type`, the type is the blackboard's own.

        If there is none yet, it waits for the writer: at most `wait` seconds, or for ever if `wait` is None.
        """
        handle = find_type(type, schema, include)
        if handle is None and type is not None:
            raise SchemaError(f"the type {type} is not known: name the file that defines it with `schema`")
        missing: List[NotFoundError] = []

        def look() -> Optional[BlackboardReader[Any]]:
            try:
                return BlackboardReader(self, name, handle)
            except NotFoundError as error:
                missing[:] = [error]
                return None

        made = poll(look, wait, _POLL)
        if made is None:
            raise missing[0]
        self._endpoints.add(made)
        return made

    def _service_types(
        self, request: TypeLike, reply: TypeLike, type: Any, schema: SchemaLike, include: Iterable[Any]
    ) -> Optional[Tuple[_native.Type, _native.Type]]:
        if type is not None and not isinstance(type, str):
            # A class of a service. If it is none, the error says so.
            request = getattr(type, "Request", type)
            reply = getattr(type, "Response", type)
        elif type is not None:
            found = read_schema(schema, include)
            for name, request_name, reply_name in found.services:
                if _parts_of(name, "srv") == _parts_of(type, "srv"):
                    return found.find(request_name), found.find(reply_name)
            names = ", ".join(name for name, _, _ in found.services) or "none"
            raise SchemaError(f"there is no service {type!r}; there are: {names}")
        of_request, of_reply = find_type(request, schema, include), find_type(reply, schema, include)
        if of_request is None or of_reply is None:
            if request is not None or reply is not None:
                raise SchemaError("a service needs both types, `request` and `reply`, and the schema that defines them")
            return None
        return of_request, of_reply

    def _wait_for_service(self, service: str, wait: Optional[float]) -> Tuple[str, str, str, str, bool]:
        existing = poll(lambda: self._service(service), wait, _POLL)
        if existing is None:
            raise NotFoundError(f"there is no service {service!r} after {wait} s: start its server, or name its types")
        return existing

    def topics(self) -> List[Any]:
        """The topics of the node's root: names, types, counts."""
        from ._graph import topics

        return topics(self.root)

    def graph(self) -> List[Any]:
        """The living nodes of the root, with their publishers, subscribers, clients and servers."""
        from ._graph import graph

        return graph(self.root)

    def close(self) -> None:
        """Closes all that was made from it, and leaves. Messages that were taken stay valid."""
        for endpoint in list(self._endpoints):
            endpoint.close()
        self._close()

    def __repr__(self) -> str:
        return f"<situ.Node {self.full_name!r}{', closed' if self.is_closed else ''}>"


_SHARED = ("reliable", "durability", "deadline", "liveliness", "lease", "best_available", "user_data", "domain", "capacity")
_PUBLISHER = frozenset(_SHARED + ("depth", "block", "lifespan"))
_SUBSCRIBER = frozenset(_SHARED + ("keep_last", "max_held", "trust", "reception_times"))

_SERVICE = frozenset(("max_calls", "depth", "max_held", "user_data"))


def _check(known: "frozenset[str]", options: Any) -> None:
    for name in options:
        if name not in known:
            raise TypeError(f"there is no option {name!r}; there are: {', '.join(sorted(known))}")


def _parts_of(name: str, middle: str) -> List[str]:
    """The parts of a name, in any spelling. ROS leaves out the one in the middle."""
    parts = name.replace("::", "/").strip("/").split("/")
    return [parts[0], parts[2]] if len(parts) == 3 and parts[1] == middle else parts


def _spelled(name: str) -> List[str]:
    return _parts_of(name, "msg")


__all__ = ["Message", "Node"]
