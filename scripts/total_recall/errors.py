"""The errors that a user is meant to see.

Every message is one line: what failed, where, and what to do about it.
"""

from __future__ import annotations


class TotalRecallError(Exception):
    """An expected failure; the command line prints it as one line and exits with 1."""


class SettingError(TotalRecallError):
    """A setting has a value outside its allowed range."""


class StoreError(TotalRecallError):
    """A session store could not be read; the message names it."""


class MemoryWriteError(TotalRecallError):
    """The memory directory could not be written; nothing was lost, the next run tries again."""


class AlreadyRunning(TotalRecallError):
    """Another observer holds the lock of this memory."""
