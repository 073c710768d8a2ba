"""Hints for debugging: where messages are taken that are held for too long."""

from __future__ import annotations

import os
import sys

from . import _native

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def debug(on: bool = True) -> None:
    """Notes where each message is taken, so that the error of a subscriber that holds too many says it.

    This costs time for each message. The variable ``SITU_PYTHON_DEBUG=1`` does the same.
    """
    _native.note_places(on)


def place() -> str:
    """The innermost place outside of the package."""
    frame = sys._getframe(0)
    while frame is not None:
        code = frame.f_code
        if not os.path.abspath(code.co_filename).startswith(_PACKAGE):
            return f"{code.co_filename}:{frame.f_lineno}, in {code.co_name}"
        if frame.f_back is None:
            break
        frame = frame.f_back
    return "an unknown place"
