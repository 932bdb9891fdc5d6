"""What the documents say that a program can compare with what is done."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_checks_run_the_test_command_that_the_readme_gives():
    (command,) = [line for line in (ROOT / "README.md").read_text().splitlines() if line.endswith("python -m pytest")]
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == command


def test_the_readmes_python_runs_and_both_ways_have_the_same_precision():
    names = {}
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL):
        exec(code, names)
    at_5 = names["result"].ps.metrics["precision"][5]
    assert at_5 == pytest.approx(0.4435, abs=5e-5)  # as in the README's table
    names["model"].set_params(xmlridge__A=0.55)
    assert names["model"].score(names["ds"].X_test, names["ds"].Y_test) == pytest.approx(at_5, abs=1e-4)
