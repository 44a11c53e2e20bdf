"""What each order of squaring and reducing costs on the paper's five instances, as a table."""

from rich.console import Console
from rich.table import Table

import isinglearn as il
from isinglearn.paper.instances import instances


def main() -> None:
    """Compile every instance in every order and print spins, auxiliaries and coefficients."""
    table = Table(title="Orders of the compact form")
    for column in ("task", "order", "spins", "auxiliaries", "couplers", "largest |c|", "bits"):
        table.add_column(column, justify="right")
    for instance in instances():
        for order in ("product", "square", "mixed"):
            problem = il.compile(instance.network, instance.X, instance.y, order=order)
            summary = problem.summary()
            table.add_row(
                instance.name,
                order,
                str(summary.spins),
                str(summary.auxiliaries),
                str(summary.couplers),
                str(summary.largest_coefficient),
                str(summary.resolution_bits),
            )
    Console().print(table)


if __name__ == "__main__":
    main()
