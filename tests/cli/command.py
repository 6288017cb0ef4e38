"""The command line in a process of its own, as the installed script would run it."""

from rollback_gym.cli import main

if __name__ == "__main__":
    main()
