"""What went wrong in a thread, which has nobody to raise to, in words for the visitor who waits for its work."""

import logging

from xmlcore import DataError

_log = logging.getLogger(__name__)


def in_words(error: Exception, what: str) -> str:
    """Why work on `what`, such as "the data", failed.

    What is not foreseen may name places on the server: a visitor is told its kind only, the server's log has all of it.
    """
    if isinstance(error, DataError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"there is not enough memory for {what}"
    if "interpreter shutdown" not in str(error):  # which ends all such work, when the server is stopped
        _log.error("work on %s failed", what, exc_info=error)
    return f"an unforeseen {type(error).__name__}; please report it with {what}"
