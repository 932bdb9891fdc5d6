"""Files to Dataset: every format of this field, recognised by content, and two formats written."""

from xmlcore.readers.limits import LIMITS, Limits
from xmlcore.readers.reading import FORMATS, Recognition, read, recognise
from xmlcore.readers.writers import write_npz, write_xc_text

__all__ = ["FORMATS", "LIMITS", "Limits", "Recognition", "read", "recognise", "write_npz", "write_xc_text"]
