"""``python -m unmet``: the command line."""

from unmet.cli.main import main

if __name__ == "__main__":
    main()
