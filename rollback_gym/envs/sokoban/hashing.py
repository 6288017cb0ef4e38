"""CPython's `hash(str)` under a given PYTHONHASHSEED, in any process.

RAGEN seeds a second attempt at a room by the hash of a string, so which room it is depends on the process. CPython
hashes a string of ASCII characters as SipHash-1-3 of its bytes (since 3.11; PEP 456), with a key drawn from
PYTHONHASHSEED by a linear congruential generator, or all zeros for PYTHONHASHSEED=0 (`Python/bootstrap_hash.c`).
"""

from functools import cache

_WORD = 2**64 - 1
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


def string_hash(text: str, hash_seed: int) -> int:
    """What `hash(text)` is in CPython 3.11 or later, on 64 bits, under PYTHONHASHSEED=`hash_seed`; ASCII only."""
    data = text.encode("ascii")
    if not data:
        return 0
    unsigned = _siphash13(data, *_key(hash_seed))
    signed = unsigned - 2**64 if unsigned >> 63 else unsigned
    return -2 if signed == -1 else signed


@cache
def _key(hash_seed: int) -> tuple[int, int]:
    if hash_seed == 0:
        return 0, 0
    secret, x = bytearray(), hash_seed
    for _ in range(16):
        x = (x * 214013 + 2531011) & 0xFFFFFFFF
        secret.append(x >> 16 & 0xFF)
    return int.from_bytes(secret[:8], "little"), int.from_bytes(secret[8:], "little")


def _siphash13(data: bytes, k0: int, k1: int) -> int:
    """SipHash with one round a word and three at the end (Aumasson and Bernstein, 2012)."""
    v = (_START[0] ^ k0, _START[1] ^ k1, _START[2] ^ k0, _START[3] ^ k1)
    whole = len(data) & ~7
    words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, whole, 8)]
    words.append(int.from_bytes(data[whole:], "little") | (len(data) & 0xFF) << 56)
    for word in words:
        v0, v1, v2, v3 = _round(v[0], v[1], v[2], v[3] ^ word)
        v = (v0 ^ word, v1, v2, v3)
    v = (v[0], v[1], v[2] ^ 0xFF, v[3])
    for _ in range(3):
        v = _round(*v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def _round(v0: int, v1: int, v2: int, v3: int) -> tuple[int, int, int, int]:
    v0 = (v0 + v1) & _WORD
    v2 = (v2 + v3) & _WORD
    v1 = _rotated(v1, 13) ^ v0
    v3 = _rotated(v3, 16) ^ v2
    v0 = _rotated(v0, 32)
    v2 = (v2 + v1) & _WORD
    v0 = (v0 + v3) & _WORD
    v1 = _rotated(v1, 17) ^ v2
    v3 = _rotated(v3, 21) ^ v0
    v2 = _rotated(v2, 32)
    return v0, v1, v2, v3


def _rotated(x: int, by: int) -> int:
    return (x << by | x >> 64 - by) & _WORD
