"""Chance that can be repeated: a coin is a function of the seed, a name and a number.

Nothing is drawn and nothing is remembered, so a replay, a restart or another machine sees the same
coin; and a coin that is kept while p rises falls to "drop" at some p and stays there.
"""

from __future__ import annotations

from hashlib import blake2b

HASH_BITS = 62
"""Hashes are compared as longs; with 62 bits the threshold of probability 1 is a long as well."""


def coin(seed: int, name: str, number: int) -> float:
    """A number in [0, 1): below p means "drop".

    Args:
        seed: of the network.
        name: what the coin is for.
        number: which of its coins, such as that of the seventh batch of windows.

    >>> coin(1, "bytes", 7) == coin(1, "bytes", 7), coin(1, "bytes", 7) == coin(1, "bytes", 8)
    (True, False)
    """
    digest = blake2b(f"{seed}\n{number}\n{name}".encode(), digest_size=8).digest()
    # 53 bits are what a float can tell apart: with more, the largest would be rounded up to 1.
    return (int.from_bytes(digest, "big") >> 11) / 2**53


def threshold(probability: float) -> int:
    """A hash of `HASH_BITS` bits is below this with that probability; at 0 none is, at 1 all are.

    >>> threshold(0.0), threshold(0.5) == 2**61, threshold(1.0) == 2**62
    (0, True, True)
    """
    return int(probability * float(2**HASH_BITS))
