#!/usr/bin/env python3
"""agree.py DATA: the ids of `titan-ckpt tokenize` are those of Hugging Face's library, for six real tokenizers (make.py); so is the text of `tokens --show`.

Texts: 5.4 MB of English and 1 MB of all scripts, each as one document, by digests of ids that the library gave once; what else people write, runs of one
character, and random strings, compared with the library here. --strings N: so many of the latter. --files FILE...: what is in these, too.
"""
import argparse
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy
import tokenizers

CKPT = pathlib.Path(os.environ["TITAN_BIN"]) / "titan-ckpt"
# sha256 of the ids as u32 of two whole texts, by tokenizers 0.23.3.
DIGESTS = {
    "L3": ("22facd7e6fd5c29cf491f92f0aee49edd56e21bf0cf256067340b6261fe915e7", "56dd5ec9ffe40d56a7a39aeff1f572f514c32e3c70bc837072f7fa864f9ddb3f"),
    "QW": ("b01ae4f25b4379f2161a635f98569d4a19997fd5bdece99aef897f45cca7fe1e", "d0a0e9524c90a715572db0824b32da79f31c813cb4d39e5bce35fc388fde38cc"),
    "DS": ("5efbfb05a8f7cfd8a4e93e217d100782cf98352957d53a9e5f78e744cb40ed9e", "1ae78e883b89f694b316e684e6c0fc755db3aa9fb7c03db00eb485b5df095397"),
    "NX": ("3f4cad550bf670ebde5ef70c6e6650808453417ae3448b7d588d36cb0c269388", "3e6b18b1376cd211d9bc07c25544bff0f89a4311a3dea63497ffd4e286fb80c2"),
    "G2": ("b24ab60b23b17d2bdaf62f3ec29efeff1836232ea3930c884ab686e5058a60ab", "a95af59343a5f836d16064b29c0b91d7c4b77bc4099498ddc03ad9150201da67"),
    "M1": ("a3e36700c7c40d458919dc526896d49909d4e0af4663539a109c868c4937c749", "2a0d4e961bcfb97f68961198c80c15422b9337359b84be318d122725b4f1003d"),
}
RANGES = ([(0x20, 0x7E)] * 6 + [(0x20, 0x20)] * 4 + [(0x61, 0x7A)] * 6 +
          [(0x30, 0x39), (0x0A, 0x0D), (0xA0, 0x17F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x4FF), (0x590, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F),
           (0x1100, 0x11FF), (0x1E00, 0x1EFF), (0x2000, 0x206F), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x1F300, 0x1FAFF)])
# The last ones have what came after Unicode 9 and 14, and what a regex engine of another version takes for something else.
WIDER = RANGES + [(0x1FD, 0xD7FF), (0xE000, 0x10FFFF), (0x10D40, 0x11400), (0x1C80, 0x1D00), (0xA7C0, 0xA7FF)]
WORDS = ["<|endoftext|>", "<s>", "</s>", "<unk>", "   ", "\n\n", "'s", "'LL", "'\u017f", "\u180e", "\u2581", "<0x41>", "\ufeff"]
TEXTS = [
    "Hello world", "  Hello   world  ", "a\r\n\r\n  b\n\n\n c\t\td \n", "I'M you'Ll DON'T it's x'S'", "3.14159 1234567 \u0663\u0664\u0665 \u00b2\u00bd\u2167",
    "caf\u00e9 cafe\u0301 \u212b", "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u3053\u3093\u306b\u3061\u306f \ud55c\uad6d\uc5b4",
    "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd \u200f!", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466\U0001f1e9\U0001f1ea\U0001f44d\U0001f3fd",
    "a\0b\x01\x7f", "\u00a0x\u2003y\u3000z\u2028w\u0085v\ufeffq", "def f(x):\n        return x+1\n", "\t\t\t", " ", "ends with spaces   ",
    "https://a.b/c?d=e&f=%20#g", "$100,000.00!!!???...", "\u1e9b\u0323 \ufb01 \u01c4", "A\u0327\u0301\u0328", "q\u0323\u0307 \u1100\u1161\u11a8 \U00011935\U00011930",
    " \U00011f04\U00031350\u1c89a", "a\u180eb", "x<s>y z</s> w", *(unit * 20000 for unit in ("a", " ", "\n", "9", "\u200d"))]


def all_scripts():
    """1,049,325 bytes by a congruential generator."""
    state, text = 1, []
    for _ in range(600000):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        low, high = RANGES[(state >> 33) % 32]
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        text.append(chr(low + (state >> 33) % (high - low + 1)))
    return "".join(text)


def random_strings(count, seed):
    rng, strings = random.Random(seed), []
    for _ in range(count):
        string = "".join(rng.choice(WORDS) if rng.random() < 0.05 else chr(rng.randint(*rng.choice(WIDER))) for _ in range(rng.randint(1, 40)))
        strings.append(string)
    return strings


def ckpt(*words):
    done = subprocess.run([CKPT, *map(str, words)], capture_output=True)
    if done.returncode != 0:
        sys.exit(f"error: titan-ckpt {' '.join(map(str, words))}: {done.stderr.decode()}")
    return done.stdout


def tokenized(name, tokenizer, source, folder):
    """The ids of each document."""
    out = folder / name
    ckpt("tokenize", source, "-o", out, "--tokenizer", tokenizer, "--bos", "none", "--eos", "none")
    about = json.loads((out / "data.json").read_text())
    ids = numpy.fromfile(out / "tokens-00000.bin", f"<u{about['token_bytes']}")
    return out, numpy.split(ids, numpy.fromfile(out / "ends-00000.bin", "<u8")[:-1].astype(int))


def check(name, data, texts, folder):
    tokenizer = data / f"{name}.json"
    for source, digest in zip([data / "shakespeare.txt", folder / "scripts.txt"], DIGESTS[name]):
        [ids] = tokenized(f"{name}-{source.stem}", tokenizer, source, folder)[1]
        found = hashlib.sha256(ids.astype("<u4").tobytes()).hexdigest()
        assert found == digest, f"{name}: {source.name}: {len(ids)} ids with the digest {found}"
    out, documents = tokenized(name, tokenizer, folder / "texts.jsonl", folder)
    library = tokenizers.Tokenizer.from_file(str(tokenizer))
    expected = library.encode_batch(texts, add_special_tokens=False)
    assert len(documents) == len(texts)
    for text, ids, other in zip(texts, documents, expected):
        assert ids.tolist() == other.ids, f"{name}: {ascii(text[:200])}: {ids[:60].tolist()}, the library {other.ids[:60]}"
    shown = json.loads(ckpt("tokens", out, "--show", 1000, "--json"))["shown"]
    for document, other in zip(shown, expected):
        decoded = library.decode(other.ids[:1000], skip_special_tokens=False)
        assert document["text"] == decoded, f"{name}: {ascii(decoded[:200])}, shown {ascii(document['text'][:200])}"
    print(f"{name}: two texts and {len(texts)} strings as the library has them, {len(shown)} decoded")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--strings", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--files", type=pathlib.Path, nargs="*", default=[])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "scripts.txt").write_bytes(all_scripts().encode())
        here = pathlib.Path(__file__).read_text(encoding="utf-8")
        texts = TEXTS + [here] + random_strings(options.strings, options.seed) + [path.read_text(encoding="utf-8") for path in options.files]
        (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        for tokenizer in DIGESTS:
            check(tokenizer, options.data, texts, folder)


if __name__ == "__main__":
    main()
