"""Folders and archives that hold games, and the cache for those that cannot be read in place."""
