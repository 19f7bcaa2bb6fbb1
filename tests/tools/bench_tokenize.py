"""scripts/bench tokenize: what `titan-ckpt tokenize` takes for a lot of text, and whether one that was killed makes the same bytes.

    scripts/bench tokenize --tokenizer DIR [--gigabytes 10] [--files 8] [--kills 2] [--killed-gigabytes 1] [--seed 1] [--bin FOLDER] [--dir FOLDER] [--json]

The text is English: paragraphs of the Jargon File and of /usr/share/doc in an order that the seed draws, as JSON lines of 1 to 40 paragraphs, in files packed
with zstd. Memory is VmHWM; MB/s are bytes of text by the processor time of the process, unpacking and JSON included. Then --killed-gigabytes of such text is
tokenised once, and again by runs that are killed at moments drawn from the first one's time, with a last one that is left alone: all files must be equal.
Needs about 0.9 bytes of disk for each of the text below --dir, and gives it back.
"""
import argparse
import gzip
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTATION = pathlib.Path("/usr/share/doc")
NAMES = ("*.gz", "*.txt", "README*", "NEWS*", "TODO*", "copyright")
POOL = 48 << 20  # bytes of paragraphs to draw from


def english(path):
    """The paragraphs of a file that are running text, each as a string of JSON without its quotes."""
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    except (OSError, EOFError, ValueError):
        return []
    parts = [part.strip("\n") for part in text.split("\n\n")]
    return [json.dumps(part)[1:-1] for part in parts if 80 <= len(part) <= 4000 and sum(map(str.isalpha, part)) > 0.6 * len(part)]


def paragraphs():
    files = sorted({path for name in NAMES for path in DOCUMENTATION.rglob(name) if path.is_file()})
    found, size = {}, 0
    for path in [DOCUMENTATION / "jargon-text" / "jargon.txt.gz", *files]:
        for part in english(path) if size < POOL else ():
            size += 0 if part in found else len(part)
            found[part] = None
    return list(found)


def write_text(folder, size, files, dice, pool):
    """Files of JSON lines, packed; returns the bytes of JSON in them."""
    folder.mkdir()
    written = 0
    for number in range(files):
        path, end = folder / f"text-{number:02}.jsonl.zst", size * (number + 1) // files
        with open(path, "wb") as out, subprocess.Popen(["zstd", "-1", "-q", "-c"], stdin=subprocess.PIPE, stdout=out) as packer:
            while written < end:
                lines = "".join('{"text": "' + "\\n\\n".join(dice.choices(pool, k=dice.randint(1, 40))) + '"}\n' for _ in range(256)).encode()
                packer.stdin.write(lines)
                written += len(lines)
            packer.stdin.close()
        if packer.returncode != 0:
            sys.exit(f"error: zstd ended with {packer.returncode}")
    return written


class Run:
    """`titan-ckpt tokenize` from its beginning to its end, or to the moment at which it is killed."""

    def __init__(self, options, source, target, kill_after=None):
        command = [str(options.bin / "titan-ckpt"), "tokenize", str(source), "-o", str(target), "--tokenizer", str(options.tokenizer), "--json"]
        begin = time.monotonic()
        self.memory = 0
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                self.memory = max(self.memory, high_water(process.pid))
                if kill_after is not None and time.monotonic() - begin >= kill_after:
                    process.kill()
                time.sleep(0.2)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            self.text = out.read().decode()
        self.killed = process.returncode == -9
        self.wall, self.cpu = time.monotonic() - begin, usage.ru_utime + usage.ru_stime
        if process.returncode != 0 and not (self.killed and kill_after is not None):
            sys.exit(f"error: {' '.join(command)} ended with {process.returncode}\n{self.text}")


def high_water(pid):
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return max((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), default=0)


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def kill_trials(options, work, dice, pool):
    """Kills runs at moments drawn from one that was left alone; ends the program where bytes differ."""
    source, target = work / "killed", work / "killed.ids"
    write_text(source, int(options.killed_gigabytes * 1e9), options.files, dice, pool)
    whole = Run(options, source, target)
    expected = digests(target)
    shutil.rmtree(target)
    moments = [dice.uniform(0.05, 0.95) * whole.wall for _ in range(options.kills)]
    killed = [Run(options, source, target, moment).killed for moment in moments]
    if target.exists() and all(killed):
        sys.exit("error: a run that was killed left a finished folder")
    if not target.exists():
        Run(options, source, target)
    if digests(target) != expected:
        sys.exit("error: the bytes of a run behind killed ones are others")
    return [round(moment / whole.wall, 2) for moment, was in zip(moments, killed) if was]


def main(arguments):
    parser = argparse.ArgumentParser(prog="scripts/bench tokenize", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True)
    parser.add_argument("--gigabytes", type=float, default=10)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--killed-gigabytes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--dir", type=pathlib.Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    dice, pool = random.Random(options.seed), paragraphs()
    with tempfile.TemporaryDirectory(dir=options.dir) as name:
        work = pathlib.Path(name)
        written = write_text(work / "text", int(options.gigabytes * 1e9), options.files, dice, pool)
        run = Run(options, work / "text", work / "ids")
        said = json.loads(run.text)
        shutil.rmtree(work / "text")
        shutil.rmtree(work / "ids")
        kills = kill_trials(options, work, dice, pool) if options.kills else []
    figures = {"schema": "titan.bench_tokenize/1", "json_bytes": written, "text_bytes": said["text_bytes"], "documents": said["documents"], "tokens": said["tokens"],
               "memory": run.memory, "seconds": run.wall, "cpu_seconds": run.cpu, "bytes_per_core_second": said["text_bytes"] / run.cpu, "killed_at": kills}
    if options.json:
        print(json.dumps(figures))
        return 0
    print(f"text    {said['text_bytes'] / 1e9:.2f} GB in {said['documents']:,} documents, {said['tokens']:,} tokens")
    print(f"speed   {said['text_bytes'] / run.cpu / 1e6:.1f} MB/s a core ({run.cpu:.0f} s of processors in {run.wall:.0f} s)")
    print(f"memory  {run.memory / (1 << 20):.0f} MiB at most")
    if options.kills:
        print(f"killed  at {', '.join(map(str, kills))} of the time of a whole run: the same bytes afterwards")
    return 0
