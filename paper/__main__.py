"""``python -m paper reproduce | demo | bounds | favorita``, from the root of the repository."""

import sys

from paper.commands import run

if __name__ == "__main__":
    sys.exit(run())
