"""`python -m mpopt.lint`, and what `mpopt lint` hands over to."""

import sys

from mpopt.lint import cli

if __name__ == "__main__":
    sys.exit(cli.main())
