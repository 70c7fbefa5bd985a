"""Raiden by its definition, on whole numbers without a size; prints vectors/raiden.txt.

    python3 raiden.py > raiden.txt

Bytes to words: four bytes are a word, the first of them the low one, in keys and in blocks. A vector that others
publish fixes that order and is checked first: the STM32 bootloader sboot_stm32, src/ctest.c, "RAIDEN 64/16/128".
"""

import hashlib

WORD = 1 << 32
CYCLES = 16


def words(data):
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]


def subkeys(key):
    k = words(key)
    for cycle in range(CYCLES):
        k[cycle % 4] = (k[0] + k[1] + ((k[2] + k[3]) % WORD ^ k[0] * 2 ** (k[2] % 32) % WORD)) % WORD
        yield k[cycle % 4]


def mixed(subkey, word):
    total = (subkey + word) % WORD
    return total * 2**9 % WORD ^ (subkey - word) % WORD ^ total // 2**14


def encrypt(key, block):
    left, right = words(block)
    for subkey in subkeys(key):
        left = (left + mixed(subkey, right)) % WORD
        right = (right + mixed(subkey, left)) % WORD
    return left.to_bytes(4, "little") + right.to_bytes(4, "little")


def many(key, block, passes):
    for _ in range(passes):
        block = encrypt(key, block)
    return block


def cases():
    """Keys and blocks: none, one or all bits, then hashes, which nobody can have chosen."""
    bits = [bytes(16), b"\xff" * 16]
    bits += [(1 << bit).to_bytes(16, "big") for bit in range(0, 128, 9)]
    for key in bits:
        for block in (bytes(8), b"\xff" * 8, b"\x80" + bytes(7), bytes(7) + b"\x01"):
            yield key, block
    for number in range(64):
        digest = hashlib.sha256(b"raiden %d" % number).digest()
        yield digest[:16], digest[16:24]


def main():
    key = bytes.fromhex("710b18f0ca9f8eee6db20c5e6a91f8ec")
    block = bytes.fromhex("cff3f2e8edc2eef0")
    assert encrypt(key, block).hex() == "d7d90ad82932a00f"
    print("# Raiden: key, plaintext, ciphertext of one pass, of twenty. Made by raiden.py.")
    for key, block in [(key, block), *cases()]:
        print(key.hex(), block.hex(), encrypt(key, block).hex(), many(key, block, 20).hex())


if __name__ == "__main__":
    main()
