"""The benchmark of growth, made small and in this process; no time is asserted."""

from benchmarks import growth


def test_each_row_of_the_table_of_growth_names_the_form_that_its_sizes_give(monkeypatch):
    monkeypatch.setattr(growth, "in_fresh_process", growth.measure)
    rows = [line.strip("| ").split(" | ") for line in growth.table(0.02, 1) if "**" in line]
    sizes = [[int(cell.strip("*").replace(",", "")) for cell in row[1:4]] for row in rows]
    assert sizes[:4] == [[80, 60, 20], [160, 60, 20], [80, 60, 20], [80, 120, 20]]
    assert [row[0] for row in rows] == ["dual" if N > D else "primal" for D, N, _ in sizes]
