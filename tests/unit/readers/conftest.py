"""What the tests of the readers share: putting a file down, and the message of a refusal."""

from collections.abc import Callable
from pathlib import Path

import pytest

from xmlcore.checks import DataError
from xmlcore.readers import read


@pytest.fixture
def put(tmp_path) -> Callable[[str, str | bytes], Path]:
    """A function that writes a file of the given name and content and returns its path."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def refusal() -> Callable[..., str]:
    """A function that reads what must be refused and returns the message."""

    def message(path, **options) -> str:
        with pytest.raises(DataError) as caught:
            read(path, **options)
        return str(caught.value)

    return message
