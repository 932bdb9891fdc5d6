"""What the documents say that a program can compare with what is done."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_checks_run_the_test_command_that_the_readme_gives():
    (command,) = [line for line in (ROOT / "README.md").read_text().splitlines() if line.endswith("python -m pytest")]
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == command
