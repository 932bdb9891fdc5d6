"""What the tests of the cache on disk share."""

from xmlcore.store import Store


def leftovers(store: Store) -> list[str]:
    """Names in its folder that are none of an entry: what was begun and not finished."""
    return sorted(path.name for path in (store.folder / "store").iterdir() if "." not in path.name)
