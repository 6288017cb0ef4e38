"""`python -m rollback_gym` is `rollback-gym`, for launchers that start modules."""

from rollback_gym.cli import main

if __name__ == "__main__":
    main()
