"""``python -m isinglearn``."""

from isinglearn.cli import main

main()
