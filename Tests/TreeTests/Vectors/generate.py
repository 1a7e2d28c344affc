#!/usr/bin/env python3
"""Writes the golden vectors of the data model, beside this file.

Independent of the Swift code: hashlib's BLAKE2b, cbor2's canonical CBOR and libsodium's Ed25519 through PyNaCl.

    python3 -m venv venv && venv/bin/pip install cbor2 pynacl && venv/bin/python generate.py
"""
import hashlib
import json
import pathlib

import cbor2
import nacl.signing

ALPHABET = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"


def blake2b(data, key=b""):
    return hashlib.blake2b(data, key=key, digest_size=32).digest()


def text64(data, bits):
    """The leading bits, six a character, zero bits behind."""
    number = int.from_bytes(data, "big") >> (len(data) * 8 - bits)
    padding = -bits % 6
    number <<= padding
    count = (bits + padding) // 6
    return "".join(ALPHABET[number >> 6 * (count - 1 - i) & 63] for i in range(count))


def hlc(ms, counter):
    return ms << 16 | counter


def auto_id(author, ms, counter, content=b""):
    proof = blake2b(author + ms.to_bytes(8, "big") + bytes([counter]) + content, key=b"starling-autoid-1")
    return text64(ms.to_bytes(6, "big"), 48) + ALPHABET[counter] + text64(proof, 78)


def name_key(workspace, folded):
    return "-" * 9 + text64(blake2b(workspace + folded.encode(), key=b"starling-name-1"), 78)


def encode_entry(kind, path, ms, counter, author, value):
    return cbor2.dumps([kind, path, hlc(ms, counter), author, value], canonical=True)


def merkle(ids):
    if len(ids) == 1:
        return blake2b(b"\0" + ids[0])
    half = 1
    while half * 2 < len(ids):
        half *= 2
    return blake2b(b"\1" + merkle(ids[:half]) + merkle(ids[half:]))


def omitted(ids, wanted, start=0):
    """Hashes of the maximal subtrees without a wanted leaf, left to right."""
    inside = [i for i in wanted if start <= i < start + len(ids)]
    if not inside:
        return [merkle(ids)]
    if len(ids) == 1:
        return []
    half = 1
    while half * 2 < len(ids):
        half *= 2
    return omitted(ids[:half], wanted, start) + omitted(ids[half:], wanted, start + half)


def is_integer(key):
    digits = key[1:] if key.startswith("-") else key
    return digits.isascii() and digits.isdigit() and str(int(key)) == key and -(2**31) <= int(key) < 2**31


def path_key(path):
    """One tag and content a key; order of bytes is order of the tree."""
    result = b""
    for key in path:
        if is_integer(key):
            result += b"\1" + (int(key) + 2**31).to_bytes(4, "big")
        else:
            raised = bytes(b + 8 if b in (0xEE, 0xEF) else b for b in key.encode())
            result += (b"\0" if key.startswith(".") else b"\2") + raised + b"\0"
    return result


AUTHORS = [bytes(32), bytes(range(32)), b"\xff" * 32, blake2b(b"somebody")]
MS = 1_700_000_000_000


def entries():
    deep = 0
    for _ in range(30):
        deep = {"k": deep}
    cases = [
        ("tombstone", 0, ["app", "a"], MS, 0, AUTHORS[1], None),
        ("true", 0, ["app", "a"], MS, 63, AUTHORS[1], True),
        ("false", 0, ["app"], 0, 0, AUTHORS[0], False),
        ("zero", 0, ["app"], 1, 1, AUTHORS[2], 0),
        ("one byte integer", 0, ["app"], 1, 1, AUTHORS[2], 24),
        ("two byte integer", 0, ["app"], 1, 1, AUTHORS[2], 256),
        ("four byte integer", 0, ["app"], 1, 1, AUTHORS[2], 65536),
        ("negative", 0, ["app"], 1, 1, AUTHORS[2], -1),
        ("greatest integer", 0, ["app"], 1, 1, AUTHORS[2], 2**53),
        ("least integer", 0, ["app"], 1, 1, AUTHORS[2], -(2**53)),
        ("half float", 0, ["app"], MS, 2, AUTHORS[3], 1.5),
        ("single float", 0, ["app"], MS, 2, AUTHORS[3], 3.4028234663852886e38),
        ("double", 0, ["app"], MS, 2, AUTHORS[3], 0.1),
        ("huge", 0, ["app"], MS, 2, AUTHORS[3], 1e308),
        ("smallest", 0, ["app"], MS, 2, AUTHORS[3], 5e-324),
        ("beyond integers", 0, ["app"], MS, 2, AUTHORS[3], float(2**53 + 2)),
        ("empty string", 0, ["app"], MS, 2, AUTHORS[3], ""),
        ("string", 0, ["app"], MS, 2, AUTHORS[3], "grüße \U0001F600 \0"),
        ("long string", 0, ["app"], MS, 2, AUTHORS[3], "x" * 300),
        ("object", 0, ["app", "o"], MS, 2, AUTHORS[3], {"b": 1, "a": {"10": True, "9": "x"}, "aa": -1, "é": 0.5}),
        ("unknown kind", 7, ["app"], MS, 2, AUTHORS[3], 1),
        ("greatest kind", 2**64 - 1, ["app"], MS, 2, AUTHORS[3], 1),
        ("greatest time", 0, ["app"], 2**48 - 1, 63, AUTHORS[3], 1),
        ("integer keys", 0, ["0", "-5", "2147483647"], MS, 0, AUTHORS[1], 1),
        ("composed", 0, ["\u00e9"], MS, 0, AUTHORS[1], 1),
        ("decomposed", 0, ["e\u0301"], MS, 0, AUTHORS[1], 1),
        ("longest key", 0, ["x" * 768], MS, 0, AUTHORS[1], 1),
        ("deepest path", 0, ["k"] * 32, MS, 0, AUTHORS[1], 1),
        ("deepest value", 0, ["k", "k"], MS, 0, AUTHORS[1], deep),
        ("priority", 0, ["app", ".priority"], MS, 0, AUTHORS[1], 1),
        ("addition", 0, ["app", "n", ".add:" + auto_id(AUTHORS[1], MS, 3)], MS, 3, AUTHORS[1], 2.5),
        ("message", 0, ["channels", name_key(bytes(32), "general"), "messages", auto_id(AUTHORS[1], MS, 4)], MS, 4,
         AUTHORS[1], {"senderId": text64(AUTHORS[1], 256), "senderName": "Ada", "text": "hello", "createdAt": MS}),
    ]
    result = []
    for name, kind, path, ms, counter, author, value in cases:
        encoded = encode_entry(kind, path, ms, counter, author, value)
        result.append({
            "name": name, "kind": kind, "path": path, "ms": ms, "counter": counter, "author": author.hex(),
            "value": value, "encoded": encoded.hex(), "id": blake2b(encoded).hex()})
    return result


def auto_ids():
    result = []
    for author in AUTHORS:
        for ms, counter in [(0, 0), (1, 63), (MS, 0), (MS, 17), (2**48 - 1, 63)]:
            for content in [b"", blake2b(b"value")]:
                text = auto_id(author, ms, counter, content)
                result.append({
                    "author": author.hex(), "ms": ms, "counter": counter, "content": content.hex(), "text": text})
    return result


def names():
    workspaces = [bytes(32), blake2b(b"starling/workspace/open")]
    folded = ["general", "lunch", "grüße", "x", "x" * 80]
    return [{"workspace": w.hex(), "folded": f, "key": name_key(w, f)} for w in workspaces for f in folded]


def uids():
    return [{"author": author.hex(), "text": text64(author, 256)} for author in AUTHORS]


def bundles():
    result = []
    for count in [1, 2, 3, 5, 8, 13]:
        seed = blake2b(b"seed %d" % count)
        workspace = blake2b(b"workspace")
        key = nacl.signing.SigningKey(seed)
        author = bytes(key.verify_key)
        values = [{"n": i, "text": "message %d" % i} for i in range(count)]
        encoded = [encode_entry(0, ["app", "list", "k%d" % i], MS + i, i, author, values[i]) for i in range(count)]
        ids = [blake2b(e) for e in encoded]
        root = merkle(ids)
        message = blake2b(b"starling/bundle/1" + workspace + author + count.to_bytes(4, "big") + root)
        subsets = [s for s in ([0], [count - 1], list(range(0, count, 2)), [count // 2], list(range(count))) if s]
        result.append({
            "seed": seed.hex(), "workspace": workspace.hex(), "author": author.hex(), "ids": [i.hex() for i in ids],
            "entries": [e.hex() for e in encoded], "root": root.hex(), "message": message.hex(),
            "signature": key.sign(message).signature.hex(),
            "proofs": [{"wanted": s, "omitted": [h.hex() for h in omitted(ids, s)]} for s in subsets]})
    return result


def path_keys():
    paths = [
        [], ["a"], ["a", "b"], ["0"], ["1"], ["-1"], ["-2147483648"], ["2147483647"], ["2147483648"], ["01"], ["-0"],
        ["-"], ["1a"], ["a", "10"], ["\ue000"], ["\uffff"], ["\U00010000"], ["\U0010ffff"], ["\ud7ff"], ["é", "z"],
        ["app", ".priority"], ["n", ".add:" + auto_id(AUTHORS[1], MS, 3)], ["channels", "c", "messages", "m"],
    ]
    return [{"path": path, "key": path_key(path).hex()} for path in paths]


def main():
    folder = pathlib.Path(__file__).parent
    for name, make in [
        ("entries", entries), ("autoids", auto_ids), ("names", names), ("uids", uids), ("bundles", bundles),
        ("pathkeys", path_keys),
    ]:
        text = json.dumps(make(), indent=1, ensure_ascii=True)
        (folder / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
