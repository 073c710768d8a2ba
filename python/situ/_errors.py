"""The exceptions of the package. Their texts are those of the Rust crates: what happened, and what to do."""

from __future__ import annotations

import builtins


class Error(Exception):
    """The base of all exceptions of the package."""


class SchemaError(Error):
    """A schema cannot be read, or does not define a type."""


class ConversionError(Error, ValueError):
    """A value does not fit the type of a member. The text names the member."""


class MalformedError(Error, ValueError):
    """The bytes of a message are not valid for its type."""


class RegisterError(Error):
    """A node, publisher, subscriber, client or server cannot join."""


class PublishError(Error):
    """A message cannot be lent or published."""


class BorrowedError(PublishError):
    """Arrays of a loan still exist. It cannot be published, because they could change the message, and a region
    cannot be changed where the change would move or free what they show."""


class RegionFullError(PublishError):
    """The room of a loan's region is used up. The text says how much there is; ``loan(room=...)`` lends more."""


class TakeError(Error):
    """A message cannot be taken."""


class HeldError(TakeError):
    """The subscriber holds as many messages as it may."""


class ReleasedError(Error):
    """The message was released or the loan published, or the endpoint is closed."""


class ForkedError(Error):
    """The object belongs to the process that this one was forked from."""


class TimeoutError(Error, builtins.TimeoutError):
    """The time is over."""


class NotFoundError(Error, LookupError):
    """There is no such topic, service or blackboard."""


class UnknownKeyError(Error, KeyError):
    """A blackboard has no such key."""

    # The text of a `KeyError` is shown quoted.
    __str__ = Exception.__str__


class CallError(Error):
    """A call of a service cannot be made, or gets no reply."""


class RecordError(Error):
    """A recording cannot be read, written or played."""


class RefusedError(CallError):
    """The server refused the request, with a number and a text."""

    def __init__(self, message: str, code: int = 0, text: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.text = text
