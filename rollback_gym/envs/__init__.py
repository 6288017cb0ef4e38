"""The environments that come with rollback-gym."""
