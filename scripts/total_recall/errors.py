"""The errors that a user is meant to see.

Every message is one line: what failed, where, and what to do about it.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Final


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


ADVICE: Final[Mapping[int, str]] = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space within your quota",
    errno.EFBIG: "allow larger files (ulimit -f)",
    errno.EROFS: "make the file system writable",
    errno.EACCES: "give this user the right to it",
    errno.EPERM: "give this user the right to it",
    errno.EMFILE: "allow more open files (ulimit -n)",
    errno.ENFILE: "close some programs",
    errno.ENOMEM: "close some programs",
    errno.EIO: "check the disk",
    errno.ENOLCK: "put the memory on a file system that has locks",
    errno.ESTALE: "mount the network drive again",
}
"""What a person can do about a failure of the computer; anything else that the system refuses is a bug of ours."""


def of_the_computer(error: OSError) -> str | None:
    """The one line for a failure that is the computer's, not ours; None when it may be ours."""
    advice = ADVICE.get(error.errno or 0)
    if advice is None:
        return None
    where = f"{error.filename!s}: " if error.filename else ""
    return f"{where}{error.strerror}; what was done so far is kept: {advice}, then run it again"


class PayloadError(TotalRecallError):
    """What an agent or a person gave us as JSON is not what its schema asks for; nothing was written."""
