"""``python -m tisim``: the command line."""

from tisim.commands.cli import main

if __name__ == "__main__":
    main()
