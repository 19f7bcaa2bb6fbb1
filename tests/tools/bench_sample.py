"""`scripts/bench sample`: tokens/s of `titan-train sample` beside transformers' generate() on the same random weights, in one run.

Each round runs every contestant once, in turn, on the same processors; a figure is the median of the rounds: tokens after the first
by the time that they took, greedy, float32, one text. So what other work on the machine costs, it costs all.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# name: layers, dim, heads, key/value heads, ffn, vocabulary; the last has the form of SmolLM2-135M
SIZES = {"7M": (6, 256, 8, 8, 704, 4096), "50M": (5, 768, 12, 12, 2048, 8192), "135M": (30, 576, 9, 3, 1536, 49152)}
PROMPT = list(range(1, 65))


class Failed(Exception):
    pass


def make_model(folder, size):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM
    layers, dim, heads, groups, ffn, vocab = SIZES[size]
    torch.manual_seed(1)
    LlamaForCausalLM(LlamaConfig(hidden_size=dim, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=groups, intermediate_size=ffn, vocab_size=vocab,
                                 tie_word_embeddings=True, eos_token_id=None, bos_token_id=None)).save_pretrained(folder)


def generate(folder, tokens, threads, cached, dtype):
    """transformers' tokens/s after the first token."""
    import torch
    from transformers import AutoModelForCausalLM
    torch.set_num_threads(threads)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
    prompt = torch.tensor([PROMPT])
    times = []

    def heard(ids, scores, **_):
        times.append(time.perf_counter())
        return torch.zeros(ids.shape[0], dtype=torch.bool)
    with torch.inference_mode():
        model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=tokens, use_cache=cached, stopping_criteria=[heard])
    return (len(times) - 1) / (times[-1] - times[0])


def run(command, cores):
    done = subprocess.run(["taskset", "-c", cores, *command], capture_output=True, text=True, env=os.environ | {"HF_HUB_OFFLINE": "1"})
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {(done.stdout + done.stderr).strip()[-600:]}")
    return done.stdout.strip()


def ours(options, folder, tokens, threads, cached, dtype):
    command = [str(pathlib.Path(options.bin) / "titan-train"), "sample", folder, "--prompt-ids", ",".join(map(str, PROMPT)), "--max-new-tokens", str(tokens), "--threads", str(threads),
               "--dtype", dtype, "--json"] + ([] if cached else ["--no-kv-cache"])
    report = json.loads(run(command, options.cores).splitlines()[-1])
    return (len(report["ids"]) - 1) / report["other_tokens_s"]


def theirs(options, folder, tokens, threads, cached, dtype):
    return float(run([options.python, __file__, "--theirs", folder, str(tokens), str(threads), str(int(cached)), dtype], options.cores).splitlines()[-1])


def main(arguments):
    parser = argparse.ArgumentParser(prog="scripts/bench sample", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, action="append", help="default: all")
    parser.add_argument("--threads", type=int, action="append", help="default: 1 and 2")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--cores", default="0-1", help="processors that all run on (taskset)")
    parser.add_argument("--bin", default=str(ROOT / "build" / "bin"))
    parser.add_argument("--python", default=str(ROOT / ".deps" / "transformers5" / "bin" / "python"), help="with transformers")
    options = parser.parse_args(arguments)
    print(f"{'model':7}{'threads':>8}  {'KV cache':9}{'titan':>9}{'transformers':>14}{'share':>8}   tokens/s, median of {options.rounds}, {options.dtype}")
    for size in options.size or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            run([options.python, __file__, "--make", folder, size], options.cores)
            for threads in options.threads or [1, 2]:
                for cached in (True, False):
                    rounds = [(ours(options, folder, options.tokens, threads, cached, options.dtype), theirs(options, folder, options.tokens, threads, cached, options.dtype))
                              for _ in range(options.rounds)]
                    a, b = (statistics.median(column) for column in zip(*rounds))
                    print(f"{size:7}{threads:8}  {'yes' if cached else 'no':9}{a:9.1f}{b:14.1f}{a / b:8.2f}", flush=True)
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--make":
        make_model(*sys.argv[2:])
    else:
        print(generate(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5] == "1", sys.argv[6]))
