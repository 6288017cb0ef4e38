"""Doors into other projects: the same episodes, called in the way that each of them calls.

`seat` plays an episode in texts, and `tools` says it in tool calls; `trl`, `batch` and `openenv` are made of these.
None imports the project that it is a door to, but for `openenv`, which needs the extra of that name.
"""
