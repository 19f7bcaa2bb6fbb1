#!/usr/bin/env python3
"""ours_goes_on.py WORK SITE: accelerate goes on from a run of ours. By hand; save_there.py says what SITE is.

titan-train makes 5 of 15 steps, `convert --to dcp --names hf` writes them, and accelerate's `load_state` takes them under FSDP2 on two ranks: ten losses
within 1e-5 of ours.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "e2e")]

import accelerate_kept as kept  # noqa: E402
import harness  # noqa: E402


def main(work, site):
    work.mkdir()
    config, data, run, folder = work / "run.toml", work / "tokens.u16", work / "run", work / "theirs" / "sharded"
    config.write_text(kept.CONFIG)
    ids = [token for step in range(kept.STEPS) for token in kept.tokens(step)]
    data.write_bytes(struct.pack(f"<{len(ids)}H", *ids))
    settings = {"job.dump_folder": run, "job.threads_per_rank": 1, "training.dataset_path": data}
    harness.train(config, 1, {**settings, "debug.stop_at_step": kept.SAVED}, expect=75)
    folder.mkdir(parents=True)
    subprocess.run([harness.CKPT, "convert", f"{run}@{kept.SAVED}", folder / "pytorch_model_fsdp_0", "--to", "dcp", "--names", "hf"], check=True)
    (folder / "optimizer_0").symlink_to("pytorch_model_fsdp_0")
    harness.train(config, 1, settings)
    python = HERE.parent.parent.parent / ".deps" / "transformers5" / "bin" / "python"
    subprocess.run([python, HERE / "save_there.py", folder.parent], check=True, env={**os.environ, "PYTHONPATH": str(site)})
    theirs = dict(enumerate(json.loads((folder.parent / "sharded.json").read_text()), kept.SAVED + 1))
    ours = {n: float(line[1]) for n, line in harness.step_lines(run).items() if n > kept.SAVED}
    assert sorted(ours) == sorted(theirs) == list(range(kept.SAVED + 1, kept.STEPS + 1)), (ours, theirs)
    loss = max(abs(ours[n] - theirs[n]) for n in ours)
    print(f"ours continued by accelerate: losses within {loss:.1e}")
    assert loss <= 1e-5, (ours, theirs)


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
