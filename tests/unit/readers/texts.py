"""What the tests of texts with labels share: whether a data set has the texts and labels that were written."""

from xmlcore.dataset import Dataset


def shown(ds: Dataset) -> list[list[str]]:
    """The names of each training instance's labels."""
    return [[str(ds.label_names[i]) for i in ds.Y_train[[row]].indices] for row in range(ds.n_train)]


def same_as_given(ds: Dataset, texts: list[str], labels: list[list[str]]) -> bool:
    """Whether the training instances have just these texts and labels."""
    return list(ds.train_texts) == texts and shown(ds) == [sorted(each) for each in labels]
