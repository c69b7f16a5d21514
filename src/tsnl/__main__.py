"""`python -m tsnl`."""

from tsnl.cli import main

if __name__ == "__main__":
    main()
