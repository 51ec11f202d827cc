"""python -m recollect: the command line, where no script is on the path."""

from recollect.cli.entrypoint import main

if __name__ == "__main__":
    main()
