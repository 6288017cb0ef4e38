"""Sets of small numbers as the bits of an integer."""


def numbers(mask: int) -> list[int]:
    """The numbers of the bits that are set, ascending."""
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found
