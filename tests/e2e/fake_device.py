"""Runs on the fake device (docs/dev/layers.md), over processes: losses and ids (which include the EMA) equal the CPU's, also if a run changes the device in between."""
import sys

import harness

CONFIG = harness.ROOT / "tests" / "e2e" / "small.toml"
CPU, FAKE = harness.TRAIN, str(harness.BIN / "titan-train-fake")


def train(program, folder, text, ranks, expect=0, **more):
    harness.TRAIN = program
    settings = {"training.dataset_path": text, "job.dump_folder": folder, "training.steps": 4, "training.cpu_gemm": "mkl", "training.ema": 0.9,
                "parallelism.exchange_parts": 2, "checkpoint.interval": 2} | more
    harness.train(CONFIG, ranks, settings, expect=expect, timeout=120)
    return folder


def expect_same(run, cpu):
    ours, theirs = harness.step_lines(run), harness.step_lines(cpu)
    if ours != theirs:
        raise harness.Failure(f"{run.name}: {ours}, on the CPU {theirs}")
    for step in (2, 4):
        if harness.checkpoint_id(run, step) != harness.checkpoint_id(cpu, step):
            raise harness.Failure(f"{run.name}: another id than the CPU's at step {step}")


def answers(work):
    """Settings of whole documents, of which only answers are trained on, beside others in a mixture."""
    tokenizer, lines = work / "tok", work / "lines.jsonl"
    if not lines.exists():
        harness.subprocess.run([harness.ROOT / "tests" / "cli" / "tools" / "small-tokenizer", tokenizer], check=True)
        lines.write_text("".join(harness.json.dumps({"prompt": "hell " * (1 + i % 7), "completion": "hello " * (1 + i % 3)}) + "\n" for i in range(60)))
        harness.ckpt("tokenize", lines, "-o", work / "chats", "--tokenizer", tokenizer, "--completions")
        harness.ckpt("tokenize", work / "text.txt", "-o", work / "book", "--tokenizer", tokenizer, "--split", ".")
    return {"training.dataset": "tokens", "training.dataset_path": "none", "training.datasets": f"path={work / 'chats'} weight=2,path={work / 'book'}",
            "training.pack": "whole", "training.seq_len": 24, "model.vocab_size": 301}


def main():
    work = harness.scratch("fake-device")
    text = work / "text.txt"
    harness.write_text(text, 20_000)
    cpu = train(CPU, work / "cpu", text, 1)
    pipeline = {"parallelism.pipeline_parallel_degree": 2}
    expect_same(train(FAKE, work / "two ranks", text, 2), cpu)
    expect_same(train(FAKE, work / "two stages", text, 2, **pipeline), cpu)
    both = train(CPU, work / "there and back", text, 1, expect=75, **{"debug.stop_at_step": 1})
    train(FAKE, both, text, 4, expect=75, **{"debug.stop_at_step": 3, "checkpoint.async_mode": "async"}, **pipeline)
    expect_same(train(CPU, both, text, 2), cpu)
    expect_same(train(FAKE, work / "answers there", text, 2, **answers(work), **pipeline), train(CPU, work / "answers", text, 1, **answers(work)))
    print("the fake device trains with the CPU's bits over processes")


if __name__ == "__main__":
    sys.exit(main())
