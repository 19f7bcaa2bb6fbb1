#!/usr/bin/env python3
"""hints.py [PART ...]: follows every hint of the programs that has a command or a flag in it, and checks that this gets further.

The hints are collected from the sources: the literals of each `with_hint(...)`. A hint that names a program or a flag, or that is assembled elsewhere
(no literal), needs a row here: in CASES, which makes the error and follows the hint, or in LEFT, with the reason why it is not tried. A hint without a
row, and a row without a hint, fail the test. PART: only cases whose hint contains it. TITAN_BIN names the folder of the programs.

A case runs in its own folder, a copy of one in which PREPARE ran: `fails` must not end with 0 and must show the hint (a part of it, as the user
reads it), and `then` must end with `code`.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

import harness

TOOLS = harness.ROOT / "tests" / "cli" / "tools"
FOLDERS = ("ckpt", "recipe", "corpus", "converters", "libtrain", "cli")
COMMAND = re.compile(r"titan-(?:ckpt|train)\b|(?:^|[\s`'(])--[a-z]")

PREPARE = r"""
python3 -c 'print("a leaf of the titan, saved at every step. " * 200)' > text.txt
printf '[job]\ndump_folder = "run"\nthreads_per_rank = 1\n[training]\ndataset_path = "text.txt"\nlocal_batch_size = 2\nseq_len = 16\nsteps = 2\nmixed_precision_param = "float32"\n[checkpoint]\ninterval = 1\n[debug]\nseed = 7\n[lr_scheduler]\nwarmup_steps = 1\n' > open.toml
cp open.toml small.toml
printf '[model]\ndim = 32\nn_layers = 2\nn_heads = 4\nn_kv_heads = 2\nhead_dim = 8\nffn_dim = 64\nvocab_size = 256\nnorm_eps = 1e-6\nrope_theta = 20000.0\nrope_scaling = "none"\n' >> small.toml
sed -n '/^\[model\]/,$p' small.toml > model.toml
titan-train run small.toml > log 2>&1
titan-ckpt convert run@2 hf --to hf > log
titan-ckpt convert run@2 dcp --to dcp > log
dcp-folder
cat > extra.py <<'PY'
import json, struct, sys
data = open("hf/model.safetensors", "rb").read()
(n,) = struct.unpack("<Q", data[:8])
header, tensors = json.loads(data[8:8 + n]), data[8 + n:]
if sys.argv[1:] == ["nan"]:
    first = header["lm_head.weight"]["data_offsets"][0]
    tensors = tensors[:first] + struct.pack("<f", float("nan")) + tensors[first + 4:]
header["model.extra"] = {"dtype": "F32", "shape": [32], "data_offsets": [len(tensors), len(tensors) + 128]}
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open("extra/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + tensors + struct.pack("<32f", *range(32)))
PY
cp -r hf extra; python3 extra.py
cp -r run hurt; damage leaf hurt/checkpoint/step-00000002 norm.weight 0
cp -r hurt allhurt; damage leaf allhurt/checkpoint/step-00000001 norm.weight 0
small-tokenizer tok && printf '{"body":"hello"}\n{"body":"hell"}\n' > rows.jsonl
titan-ckpt tokenize text.txt -o ids --tokenizer tok > log
printf '\001\000' > raw; for i in 1 2 3 4 5 6; do cat raw raw > more; mv more raw; done
"""

# (a part of the hint in the source, the command that fails, what the user reads of the hint, the command that follows it, its code)
CASES = [
    ("names every such place", "titan-ckpt strip hurt@2 x --verify", "names every such place", "titan-ckpt verify hurt@2", 1),
    ("shows the steps there are", "titan-ckpt prune run --keep 99", "`titan-ckpt ls` shows the steps there are", "titan-ckpt ls run", 0),
    ("names every damaged place", "titan-ckpt reshard hurt@2 x --dp 2", "names every damaged place", "titan-ckpt verify hurt/checkpoint/step-00000002", 1),
    ("makes a whole one of a damaged one", "titan-ckpt verify hurt@2 --from run@2", "`titan-ckpt verify CKPT --repair --from OTHER -o DST`",
     "titan-ckpt verify hurt@2 --repair --from run@2 -o DST && titan-ckpt verify DST", 0),
    ("parity --help` shows its arguments", "titan-ckpt parity run@2", "`titan-ckpt parity --help` shows", "titan-ckpt parity --help | grep files", 0),
    ("makes a whole one where it has parity files", "titan-ckpt parity run@2 --files 1; damage byte run/checkpoint/step-00000002/train_state.json 3; titan-ckpt parity run@2 --files 2",
     "--repair -o DST", "titan-ckpt verify run@2 --repair -o DST && titan-ckpt verify DST", 0),
    ("makes such an export anew", "titan-ckpt verify hf --repair -o x", "`titan-ckpt convert` makes such an export anew", "titan-ckpt verify hf && titan-ckpt convert run@2 hf --to hf --force", 0),
    ("makes a checkpoint of its parity files", "titan-ckpt parity run@2 --files 1; rm run/checkpoint/step-00000002/manifest.json; titan-ckpt inspect run@2",
     "--repair -o DST` makes a checkpoint", "titan-ckpt verify run@2 --repair -o DST && titan-ckpt verify DST", 0),
    ("` first, and pin it again afterwards", "titan-ckpt pin run@2; titan-ckpt parity run@2 --files 1", "` first, and pin it again", "titan-ckpt unpin run@2 && titan-ckpt parity run@2 --files 1", 0),
    ("verify --help` shows its arguments", "titan-ckpt verify hurt@2 --repair", "`titan-ckpt verify --help` shows", "titan-ckpt verify --help | grep output", 0),
    ("shows what is in a run folder", "mkdir -p other/checkpoint; titan-ckpt verify other", "`titan-ckpt ls` shows what is in a run folder", "titan-ckpt ls other; titan-ckpt ls run", 0),
    ("` makes a Titan checkpoint of it", "titan-ckpt reshard hf x --dp 2", "`titan-ckpt convert hf DST` makes a Titan checkpoint of it", "titan-ckpt convert hf DST && titan-ckpt reshard DST x --dp 2", 0),
    ("shows the arguments of both", "titan-ckpt lr draw run@2", "`titan-ckpt lr --help` shows", "titan-ckpt lr --help | grep 'set SRC DST'", 0),
    ("lr --help` shows its arguments", "titan-ckpt lr set run@2", "`titan-ckpt lr --help` shows", "titan-ckpt lr --help | grep 'set SRC DST'", 0),
    ("titan-ckpt reshard SRC DST --dp 4 --pp 2", "titan-ckpt reshard run@2 x", "titan-ckpt reshard SRC DST --dp 4 --pp 2", "titan-ckpt reshard run@2 x --dp 4 --pp 2", 0),
    ("config --init -o my.toml", "titan-train config", "`titan-train config --init -o my.toml`", "titan-train config --init -o my.toml && titan-train config my.toml", 0),
    ("add --init", "titan-train config -o my.toml", "add --init", "titan-train config --init -o my.toml", 0),
    ("where FILE.toml has model.flavor or model.n_heads", "titan-train eval dcp --tokens raw --seq-len 16", "NEW --to titan --config FILE.toml",
     "titan-ckpt convert dcp NEW --to titan --config model.toml --skip 'optimizer.*' && titan-train eval NEW --tokens raw --seq-len 16", 0),
    ("`titan-ckpt reshard` and `titan-ckpt strip` rewrite checkpoints", "titan-ckpt convert run@2 x --to titan", "`titan-ckpt reshard` and `titan-ckpt strip`",
     "titan-ckpt reshard run@2 x --dp 2 && titan-ckpt strip run@2 y", 0),
    ("`titan-ckpt strip --dtype` casts", "titan-ckpt convert hf x --dtype bf16", "`titan-ckpt strip --dtype`", "titan-ckpt convert hf x && titan-ckpt strip x y --dtype bf16", 0),
    ("leaves out all of it", "titan-ckpt convert run@2 x --to dcp --skip '*.wo.weight.exp_avg'", "--skip 'optimizer.*'", "titan-ckpt convert run@2 x --to dcp --skip 'optimizer.*'", 0),
    ("say all of model.* in a file", "rm hf/config.json; titan-ckpt convert hf x", "titan-ckpt convert hf NEW --to titan --config FILE.toml",
     "titan-ckpt convert hf NEW --to titan --config model.toml", 0),
    ("replace this checkpoint with --force", "titan-ckpt convert hf x && titan-ckpt convert hf x", "with --force", "titan-ckpt convert hf x --force", 0),
    ("use --pp ", "titan-ckpt reshard run@2 x --pp 9", "use --pp ", "titan-ckpt reshard run@2 x --pp 4", 0),
    (" or less", "titan-ckpt reshard run@2 x --pp 3 --placement v", "use --pp 2 or less", "titan-ckpt reshard run@2 x --pp 2 --placement v", 0),
    (" --help lists the verbs", "titan-ckpt nosuch", "--help", "titan-ckpt --help", 0),
    ("add --config torchtitan.toml", "titan-ckpt convert hf x --to dcp --set model.n_heads=4", "add --config torchtitan.toml",
     "titan-ckpt convert hf x --to dcp --config model.toml --set model.n_heads=4", 0),
    ("add --stats", "titan-ckpt inspect run@2 --top 3", "add --stats", "titan-ckpt inspect run@2 --top 3 --stats", 0),
    ("say what stays: --keep-last", "titan-ckpt prune run", "--keep-last N", "titan-ckpt prune run --keep-last 1 --dry-run", 0),
    ("--weights says how much each one counts", "titan-ckpt merge run@1 run@1 -o x", "--weights says how much", "titan-ckpt merge run@1 run@2 -o x --weights 2,1", 0),
    ("--weights mean, or one number", "titan-ckpt strip run@2 y --dtype bf16 > log; titan-ckpt strip y z --dtype f32 > log; titan-ckpt merge run@2 z -o x --weights cosine", "--weights mean",
     "titan-ckpt merge run@2 z -o x --weights mean", 0),
    ("merge --help` shows its arguments", "titan-ckpt merge run@1 run@2", "`titan-ckpt merge --help` shows", "titan-ckpt merge --help | grep output", 0),
    ("patch.cpp: `titan-ckpt  --help` shows its arguments", "titan-ckpt patch hf extra", "`titan-ckpt patch --help` shows", "titan-ckpt patch --help | grep output", 0),
    ("replace this patch with --force", "titan-ckpt patch hf extra -o p; titan-ckpt patch hf extra -o p", "replace this patch with --force", "titan-ckpt patch hf extra -o p --force", 0),
    ("takes the A of `titan-ckpt patch A B`", "titan-ckpt convert run@1 one --to hf > log; titan-ckpt patch hf extra -o p; titan-ckpt apply one p -o x", "`titan-ckpt apply` takes the A", "titan-ckpt apply hf p -o x", 0),
    ("convert one of them with `titan-ckpt convert`", "titan-ckpt patch hf run@2 -o p", "convert one of them with `titan-ckpt convert`", "titan-ckpt convert run@2 two --to hf && titan-ckpt patch hf two -o p", 0),
    ("DST --to hf` makes safetensors of it", "titan-ckpt convert run@2 m.gguf --to gguf > log; titan-ckpt patch m.gguf hf -o p", "DST --to hf` makes safetensors", "titan-ckpt convert m.gguf two --to hf && titan-ckpt patch two hf -o p", 0),
    ("ed25519.cpp: kMakeKey", "titan-ckpt sign run@2 --key text.txt", "`openssl genpkey", "openssl genpkey -algorithm ed25519 -out KEY.pem && titan-ckpt sign run@2 --key KEY.pem", 0),
    ("ed25519.cpp: kMakePublic", "openssl genpkey -algorithm ed25519 -out KEY.pem; titan-ckpt sign run@2 --key KEY.pem; titan-ckpt verify run@2 --key KEY.pem", "`openssl pkey -in KEY.pem",
     "openssl pkey -in KEY.pem -pubout -out PUB.pem && titan-ckpt verify run@2 --key PUB.pem", 0),
    ("replace this signature with --force", "openssl genpkey -algorithm ed25519 -out k; titan-ckpt sign run@2 --key k; titan-ckpt sign run@2 --key k", "replace this signature with --force",
     "titan-ckpt sign run@2 --key k --force", 0),
    ("--signature FILE` compares with what was signed", "titan-ckpt verify run@2 --signature s", "--signature FILE` compares",
     "openssl genpkey -algorithm ed25519 -out k && openssl pkey -in k -pubout -out p && titan-ckpt sign run@2 --key k -o s && titan-ckpt verify run@2 --key p --signature s", 0),
    ("--keep model --dtype f32` makes types equal", "titan-ckpt strip run@1 half --keep model --dtype bf16 > log; titan-ckpt merge run@2 half -o x", "`titan-ckpt strip SRC DST --keep model --dtype f32`",
     "titan-ckpt strip half y --keep model --dtype f32 && titan-ckpt merge run@2 y -o x", 0),
    ("merge.cpp: `titan-ckpt verify ", "titan-ckpt merge run@1 hurt@2 -o x", "`titan-ckpt verify hurt/checkpoint/step-00000002`", "titan-ckpt verify hurt/checkpoint/step-00000002", 1),
    ("ckpt/ops/run_history.cpp: meant", "titan-ckpt blame run training.stepss", "did you mean `training.steps`", "titan-ckpt blame run training.steps", 0),
    ("--dir DIR keeps the folder of the replay", "mv text.txt other.txt; titan-train replay run@1..2", "--dir DIR keeps", "mv other.txt text.txt; titan-train replay run@1..2 --dir kept && ls kept/steps-1-2/from-1/log", 0),
    ("without --keep everything but", "titan-ckpt strip run@2 x --keep all", "without --keep", "titan-ckpt strip run@2 x", 0),
    ("--tokens: integers [B,T]", "titan-train eval run@2", "--text: what a model of bytes, or its tokenizer, reads", "titan-train eval run@2 --text text.txt --seq-len 16", 0),
    ("write `--job.config_file FILE`", "titan-train run --job.config_file", "--job.config_file FILE", "titan-train plan --job.config_file small.toml --job.dump_folder=new", 0),
    ("with --job.config_file", "titan-train plan small.toml --job.config_file open.toml", "name it once", "titan-train plan small.toml --job.dump_folder=new", 0),
    ("--prompt is for models of bytes", "rm hf/tokenizer.json; titan-train sample hf",
     "--prompt is for models of bytes", "titan-train sample run@2 --prompt a --max-new-tokens 2", 0),
    ("--eos TOKEN names it", "rm tok/tokenizer_config.json; titan-ckpt tokenize text.txt -o new --tokenizer tok", "--eos TOKEN names it; --eos none",
     "titan-ckpt tokenize text.txt -o new --tokenizer tok --eos '<eos>' && titan-ckpt tokenize text.txt -o other --tokenizer tok --eos none", 0),
    ("make ids of the text first", "rm tok/tokenizer_config.json; titan-train plan small.toml --job.dump_folder=new --model.tokenizer=tok --model.vocab_size=301",
     "titan-ckpt tokenize TEXT -o DATA --tokenizer DIR --eos TOKEN",
     "titan-ckpt tokenize text.txt -o made --tokenizer tok --eos '<eos>' && titan-train plan small.toml --job.dump_folder=new --training.dataset=tokens --training.dataset_path=made --model.vocab_size=301", 0),
    ("train on it as it is", "titan-ckpt tokenize ids -o new --tokenizer tok", "train on it as it is (--training.dataset=tokens --training.dataset_path=ids), or look at it: titan-ckpt tokens ids",
     "titan-ckpt tokens ids && titan-train plan small.toml --job.dump_folder=new --training.dataset=tokens --training.dataset_path=ids --model.vocab_size=301", 0),
    ("--field NAME says", "titan-ckpt tokenize rows.jsonl -o new --tokenizer tok", "--field NAME says", "titan-ckpt tokenize rows.jsonl -o new --tokenizer tok --field body", 0),
    ("--messages FILE reads lines", "printf '{\"prompt\":\"he\"}\\n' > p.jsonl; titan-ckpt tokenize p.jsonl -o new --tokenizer tok --completions", "--messages FILE reads lines",
     "printf '{\"messages\":[{\"role\":\"assistant\",\"content\":\"he\"}]}\\n' > m.jsonl; echo '{\"roles\":{\"assistant\":{}}}' > FILE; titan-ckpt tokenize m.jsonl -o new --tokenizer tok --messages FILE", 0),
    ("--completions reads prompt and completion", "echo '{\"roles\":{\"assistant\":{}}}' > FILE; printf '{\"prompt\":\"he\",\"completion\":\"hell\"}\\n' > p.jsonl; titan-ckpt tokenize p.jsonl -o new --tokenizer tok --messages FILE",
     "--completions reads", "titan-ckpt tokenize p.jsonl -o new --tokenizer tok --completions", 0),
    ("--format jsonl says that every file has such", "printf ' {\"prompt\":\"he\",\"completion\":\"hell\"}\\n' > p.txt; titan-ckpt tokenize p.txt -o new --tokenizer tok --completions --format text",
     "--format jsonl", "titan-ckpt tokenize p.txt -o new --tokenizer tok --completions --format jsonl", 0),
    ("install it together with titan-train", "cp \"$(command -v titan-train)\" own; ./own eval run@2 --text text.txt --seq-len 16", "install it together with titan-train",
     "cp \"$(dirname \"$(command -v titan-train)\")/titan-train-engine\" . && ./own eval run@2 --text text.txt --seq-len 16", 0),
    ("or leave it out: --training.dataset_path=none", "titan-train plan small.toml --job.dump_folder=new --training.datasets=path=raw", "--training.dataset_path=none",
     "titan-train plan small.toml --job.dump_folder=new --training.datasets=path=text.txt --training.dataset_path=none", 0),
    ("--replace-malformed puts", "printf 'caf\\351' > latin.txt; titan-ckpt tokenize latin.txt -o new --tokenizer tok", "--replace-malformed puts U+FFFD there",
     "titan-ckpt tokenize latin.txt -o new --tokenizer tok --replace-malformed", 0),
    ("make ids of it beforehand (titan-ckpt tokenize", "printf 'caf\\351' > latin.txt; titan-train run small.toml --job.dump_folder=new --training.dataset_path=latin.txt --training.seq_len=2 --training.steps=1 --model.tokenizer=tok --model.vocab_size=301",
     "titan-ckpt tokenize TEXT -o DATA --tokenizer DIR), where --replace-malformed", "titan-ckpt tokenize latin.txt -o made --tokenizer tok --replace-malformed", 0),
    ("make ids of it: titan-ckpt tokenize", "titan-train plan small.toml --job.dump_folder=new --training.dataset_path=rows.jsonl --training.dataset=tokens --model.vocab_size=301",
     "titan-ckpt tokenize rows.jsonl -o DATA --tokenizer DIR",
     "titan-train plan small.toml --job.dump_folder=new --training.dataset_path=rows.jsonl --training.dataset=text --model.tokenizer=tok --model.vocab_size=301 && titan-ckpt tokenize rows.jsonl -o new --tokenizer tok --field body", 0),
    ("leave it out, or `--completions`", "titan-ckpt tokenize rows.jsonl -o new --tokenizer tok --format jsonl --split x", "leave it out, or `--completions`",
     "titan-ckpt tokenize rows.jsonl -o new --tokenizer tok --format jsonl --field body", 0),
    ("--split TEXT says", "head -c 70000000 /dev/zero | tr '\\0' 'x' > large.txt; echo >> large.txt; titan-ckpt tokenize large.txt -o new --tokenizer tok", "--split TEXT says what stands between",
     "titan-ckpt tokenize large.txt -o new --tokenizer tok --split xxx", 0),
    ("titan-ckpt tokenize makes one of text", "titan-ckpt tokens tok", "titan-ckpt tokenize makes one of text", "titan-ckpt tokenize text.txt -o new --tokenizer tok && titan-ckpt tokens new", 0),
    ("add --show 3", "titan-ckpt tokens ids --tokenizer tok", "add --show 3", "titan-ckpt tokens ids --tokenizer tok --show 3", 0),
    ("add --training.dataset=tokens ", "titan-train plan small.toml --job.dump_folder=new --training.dataset_path=ids --model.vocab_size=301", "--training.dataset=tokens --training.token_dtype=uint16",
     "titan-train plan small.toml --job.dump_folder=new --training.dataset_path=ids --model.vocab_size=301 --training.dataset=tokens --training.token_dtype=uint16", 0),
    ("token_files.cpp: add ", "titan-train plan small.toml --job.dump_folder=new --training.dataset_path=ids --model.vocab_size=301 --training.dataset=tokens --training.token_dtype=uint32",
     "add --training.token_dtype=uint16", "titan-train plan small.toml --job.dump_folder=new --training.dataset_path=ids --model.vocab_size=301 --training.dataset=tokens --training.token_dtype=uint16", 0),
    ("a new model takes --model.vocab_size=", "titan-train plan small.toml --job.dump_folder=new --training.dataset_path=ids --training.dataset=tokens", "--model.vocab_size=301 (or more)",
     "titan-train plan small.toml --job.dump_folder=new --training.dataset_path=ids --training.dataset=tokens --model.vocab_size=301", 0),
    ("--tokenizer DIR names a folder", "rm hf/tokenizer.json; titan-train eval hf --text text.txt --seq-len 16", "--tokenizer DIR names a folder",
     "titan-train eval hf --text raw --seq-len 4 --tokenizer tok || titan-train eval hf --tokens raw --seq-len 16", 0),
    ("add --temperature 1", "titan-train sample run@2 --prompt a --top-k 3", "add --temperature 1", "titan-train sample run@2 --prompt a --top-k 3 --temperature 1 --max-new-tokens 2", 0),
    ("; --from names one", "mkdir empty; titan-ckpt convert empty x --to titan", "--from names one", "titan-ckpt convert hf x --from hf", 0),
    ("it is for --to ", "titan-ckpt convert hf x --untie", "it is for --to hf, --to dcp and --to gguf", "titan-ckpt convert run@2 x --to hf --untie", 0),
    ("`--skip` also leaves out tensors of Titan checkpoints", "titan-ckpt convert run@2 x --to hf --rename a=b", "`--skip` also leaves out", "titan-ckpt convert run@2 x --to dcp --skip 'optimizer.*'", 0),
    ("--dry-run lists the names", "titan-ckpt convert hf x --skip nosuch", "--dry-run lists the names", "titan-ckpt convert hf x --dry-run | grep lm_head", 0),
    ("huggingface_writes", "titan-train run small.toml --model.head_dim=16 --job.dump_folder=wide > log 2>&1; titan-ckpt convert wide@2 x --to dcp", "--to hf writes such a model",
     "titan-ckpt convert wide@2 x --to hf", 0),
    ("--untie writes the head", "titan-train run small.toml --model.tied_embeddings=true --job.dump_folder=tied > log 2>&1; titan-ckpt convert tied@2 x --to dcp", "--untie writes the head",
     "titan-ckpt convert tied@2 x --to dcp --untie", 0),
    ("convert SRC DST --to titan --config torchtitan.toml", "titan-ckpt convert step-10 t > log; titan-train plan open.toml --resume t --job.dump_folder=new", "convert it again with `titan-ckpt convert",
     "titan-ckpt convert step-10 u --to titan --config torchtitan.toml && titan-ckpt ls u", 0),
    ("is made one with `titan-ckpt convert`", "titan-train plan small.toml --resume hf --job.dump_folder=new", "--init-from takes its weights", "titan-train plan open.toml --init-from hf --job.dump_folder=new", 0),
    ("choose another job.dump_folder RUN", "mkdir -p theirs/checkpoint; cp -r step-10 theirs/checkpoint/step-10; titan-train plan small.toml --job.dump_folder=theirs", "--to titan --config torchtitan.toml",
     "mkdir -p RUN/checkpoint && titan-ckpt convert theirs/checkpoint/step-10 RUN/checkpoint/step-00000010 --to titan --config torchtitan.toml", 0),
    ("says what is damaged; start anew", "for s in 1 2; do damage cut hurt/checkpoint/step-0000000$s/model/shard-00000.h5 9; done; titan-train plan small.toml --job.dump_folder=hurt", "`titan-ckpt verify",
     "titan-ckpt verify hurt/checkpoint", 1),
    ("init_map.cpp: mismatch_hint", "titan-train plan open.toml --init-from extra --job.dump_folder=new", "--skip GLOB", "titan-train plan open.toml --init-from extra --job.dump_folder=new --skip '*.extra'", 0),
    ("init_map.cpp: mismatch_hint", "titan-train eval extra --tokens raw --seq-len 16", "its eval and sample, and titan-ckpt convert, the first two", "titan-train eval extra --tokens raw --seq-len 16 --skip '*.extra'", 0),
    ("init_map.cpp: mismatch_hint", "sed -i s/lm_head.weight/my_head.weight/ hf/model.safetensors; titan-train sample hf --prompt-ids 1", "--rename FROM=TO",
     "titan-train sample hf --prompt-ids 1 --max-new-tokens 2 --rename my_head.weight=lm_head.weight", 0),
    ("choose a policy (`titan-train plan` draws each)", "titan-train plan small.toml --training.steps=4", "--lr_scheduler.on_change=", "titan-train plan small.toml --training.steps=4 --allow training.steps --lr_scheduler.on_change=keep", 0),
    ("add a policy (`titan-train plan` draws each)", "titan-train plan small.toml --training.steps=4 --allow training.steps", "--lr_scheduler.on_change=",
     "titan-train plan small.toml --training.steps=4 --allow training.steps --lr_scheduler.on_change=keep", 0),
    ("CONFIG --measure` times a layer", "titan-train plan small.toml --job.dump_folder=new --parallelism.stage_cost=measured --parallelism.pipeline_parallel_degree=2 --nproc 2", "--measure",
     "titan-train plan small.toml --job.dump_folder=new --parallelism.stage_cost=measured --parallelism.pipeline_parallel_degree=2 --nproc 2 --measure", 0),
    ("give the run folder of titan-train", "mkdir none; titan-ckpt plot none", "give the run folder", "titan-ckpt plot run", 0),
    ("add --training.dataset=text", "python3 -c 'print(\"words \" * 200)' > even.txt; echo >> even.txt; titan-train plan small.toml --job.dump_folder=new --training.dataset=tokens --training.dataset_path=even.txt", "add --training.dataset=text",
     "titan-train plan small.toml --job.dump_folder=new --training.dataset_path=even.txt --training.dataset=text", 0),
    ("add --training.dataset_path=FILE", "titan-train plan model.toml --training.steps=1 --training.dataset=text --job.dump_folder=new", "--training.dataset_path=FILE",
     "titan-train plan model.toml --training.steps=1 --training.dataset=text --job.dump_folder=new --training.dataset_path=text.txt --training.seq_len=16", 0),
    ("add --model.vocab_size=256", "titan-train plan small.toml --job.dump_folder=new --model.vocab_size=100", "--model.vocab_size=256", "titan-train plan small.toml --job.dump_folder=new --model.vocab_size=256", 0),
    ("add --seq-len T", "titan-ckpt strip run@2 s > log; titan-ckpt convert hf plain > log; titan-train eval plain --tokens raw", "--seq-len T", "titan-train eval plain --tokens raw --seq-len 16", 0),
    ("leave out --seq-len", "python3 -c 'import struct; h = \"{\\\"descr\\\": \\\"<i4\\\", \\\"fortran_order\\\": False, \\\"shape\\\": (2, 10)}\\n\"; open(\"rows.npy\", \"wb\").write(b\"\\x93NUMPY\\1\\0\" + struct.pack(\"<H\", len(h)) + h.encode() + struct.pack(\"<20i\", *range(20)))'; titan-train eval run@2 --tokens rows.npy --seq-len 5", "leave out --seq-len", "titan-train eval run@2 --tokens rows.npy", 0),
    ("--allow training.dataset begins", "mkdir -p got/checkpoint; titan-ckpt convert step-10 got/checkpoint/step-00000010 --to titan --config torchtitan.toml > log; titan-train plan small.toml --job.dump_folder=got", "--allow training.dataset begins",
     "titan-train plan small.toml --job.dump_folder=got --allow training.dataset 2>&1 | grep -v 'has no dataloader'", 0),
    ("resume from ", "titan-ckpt strip run@2 s > log; titan-train plan small.toml --resume s --job.dump_folder=new", "--init-from s", "titan-train plan open.toml --init-from s --job.dump_folder=new", 0),
    ("or resume into a new job.dump_folder", "titan-train plan small.toml --resume run@1", "job.dump_folder", "titan-train plan small.toml --resume run@1 --job.dump_folder=new", 0),
    ("Leave out --resume required", "titan-train plan small.toml --resume required --job.dump_folder=new", "Leave out --resume required", "titan-train plan small.toml --job.dump_folder=new", 0),
    ("add --init-from PATH, or leave out the rules", "titan-train plan open.toml --skip a --job.dump_folder=new", "add --init-from PATH", "titan-train plan open.toml --init-from hf --job.dump_folder=new", 0),
    ("or leave out --resume to continue", "titan-train plan small.toml --resume never", "leave out --resume", "titan-train plan small.toml", 0),
    ("put the checkpoint's value back, or start a new run", "titan-train plan small.toml --model.norm_eps=1e-3 --training.steps=3", "--init-from", "titan-train plan open.toml --init-from run@2 --job.dump_folder=new", 0),
    ("leave it out of --allow", "titan-train plan small.toml --allow checkpoint.interval --job.dump_folder=new", "leave it out of --allow", "titan-train plan small.toml --job.dump_folder=new", 0),
    ("start a new run from the weights with --init-from PATH", "titan-train plan small.toml --allow model.dim --job.dump_folder=new", "--init-from PATH", "titan-train plan open.toml --init-from run@2 --job.dump_folder=new", 0),
    ("a configuration file can say it: --config FILE.toml", "titan-ckpt convert dcp t > log; titan-ckpt convert t x --to hf", "--config FILE.toml", "titan-ckpt convert t x --to hf --config model.toml", 0),
    ("convert the original with a configuration that says it", "titan-ckpt convert dcp t > log; titan-train eval t --tokens raw --seq-len 16", "titan-ckpt convert ORIGINAL NEW --to titan --config FILE.toml",
     "titan-ckpt convert dcp NEW --to titan --config model.toml --skip 'optimizer.*' && titan-train eval NEW --tokens raw --seq-len 16", 0),
    ("), or set --parallelism.pipeline_parallel_degree=", "titan-train plan small.toml --job.dump_folder=new --nproc 3 --parallelism.pipeline_parallel_degree=2", "--parallelism.pipeline_parallel_degree=1",
     "titan-train plan small.toml --job.dump_folder=new --nproc 2 --parallelism.pipeline_parallel_degree=2", 0),
    ("set --training.global_batch_size=", "titan-train plan small.toml --job.dump_folder=new --training.global_batch_size=3", "set --training.global_batch_size=",
     "titan-train plan small.toml --job.dump_folder=new --training.global_batch_size=4", 0),
    ("use at most ", "titan-train plan small.toml --job.dump_folder=new --nproc 4 --training.global_batch_size=4", "--training.global_batch_size=8",
     "titan-train plan small.toml --job.dump_folder=new --nproc 4 --training.global_batch_size=8", 0),
    ("set --parallelism.pipeline_parallel_degree=", "titan-train plan small.toml --job.dump_folder=new --nproc 5 --parallelism.pipeline_parallel_degree=5 --training.local_batch_size=8",
     "--parallelism.pipeline_parallel_degree=4", "titan-train plan small.toml --job.dump_folder=new --nproc 4 --parallelism.pipeline_parallel_degree=4 --training.local_batch_size=8", 0),
    ("cli/kit/command_line.cpp: suggestion", "titan-ckpt verfy run@2", "verify", "titan-ckpt verify run@2", 0),
    ("ckpt/plan/lr_policy.cpp: did_you_mean", "titan-ckpt lr set run@2 x --steps 4 --policy kep", "did you mean `keep`", "titan-ckpt lr set run@2 x --steps 4 --policy keep", 0),
    ("ckpt/ops/cat.cpp: no_match_hint", "titan-ckpt cat run@2 norm.wieght", "norm.weight", "titan-ckpt cat run@2 norm.weight", 0),
    ("ckpt/ops/diff.cpp: no_match_hint", "titan-ckpt diff run@1 run@2 --only 'norm.wieght'", "norm.weight", "titan-ckpt diff run@1 run@2 --only norm.weight", 1),
    ("cli/titan_ckpt/inspect.cpp: ckpt::no_match_hint", "titan-ckpt inspect run@2 --tensors norm.wieght", "norm.weight", "titan-ckpt inspect run@2 --tensors norm.weight", 0),
    ("cli/titan_ckpt/plot.cpp: hint", "titan-ckpt plot run -o x.pdf", "x.svg", "titan-ckpt plot run -o x.svg", 0),
    ("convert_hf_to_gguf.py of llama.cpp writes it", "cp -r hf y; python3 -c 'import json; c = json.load(open(\"y/config.json\")); s = {\"rope_type\": \"yarn\", \"factor\": 4.0, "
     "\"original_max_position_embeddings\": 16}; c.update(rope_scaling=s, rope_parameters=s | {\"rope_theta\": 20000.0}); json.dump(c, open(\"y/config.json\", \"w\"))'; titan-ckpt convert y z.gguf --to gguf",
     "from a Hugging Face folder (--to hf)", "titan-ckpt convert y z --to titan && titan-ckpt convert z w --to hf", 0),
    ("optimizer_groups.cpp: expected.decay_hint", "titan-ckpt convert step-10 t --config torchtitan.toml --set optimizer.weight_decay=0.7", "where groups differ, by name: --set 'optimizer.rules=",
     "titan-ckpt convert step-10 t --config torchtitan.toml --set optimizer.weight_decay=0.7 --set 'optimizer.rules=[\"* weight_decay=0.1\"]'", 0),
    ("leave out only what is no parameter of the model", "titan-ckpt convert run@2 x --to hf --skip 'layers.0.*'", "--skip 'optimizer.*'", "titan-ckpt convert run@2 x --to hf --skip 'optimizer.*'", 0),
    ("take the model alone: --skip 'optimizer.*'", "titan-ckpt convert dcp x --skip optimizer.state.norm.weight.exp_avg", "--skip 'optimizer.*'", "titan-ckpt convert dcp x --skip 'optimizer.*'", 0),
    ("kModelAlone", "mkdir hf/optimizer.pt; titan-ckpt convert hf x --config model.toml --set optimizer.lr=1e-3", "--skip 'optimizer.*'",
     "titan-ckpt convert hf x --config model.toml --set optimizer.lr=1e-3 --skip 'optimizer.*'", 0),
    ("leave one of them out, by its name in the file", "titan-ckpt convert extra x --rename model.extra=model.norm.weight", "--skip 'model.extra'",
     "titan-ckpt convert extra x --rename model.extra=model.norm.weight --skip model.extra", 0),
    ("converters/hf/hf_plan.cpp: hint", "titan-ckpt convert extra x", "--skip '*.extra'", "titan-ckpt convert extra x --skip '*.extra'", 0),
    ("converters/file_names.cpp: hint", "titan-ckpt convert hf x --rename 'model.layers.*.self_attn.q_proj.weight=layers.*.attention.wq.weight'", "--rows hf",
     "titan-ckpt convert hf x --rename 'model.layers.*.self_attn.q_proj.weight=layers.*.attention.wq.weight' --rows hf", 0),
    ("must be numbers above 0: --set", "titan-ckpt convert dcp x --config model.toml", "--set parallelism.data_parallel_shard_degree=N",
     "titan-ckpt convert dcp x --config model.toml --set parallelism.data_parallel_shard_degree=1 2>&1 | grep 'lr_scheduler._last_lr'", 0),
    ("--lr-from-config takes the learning rate's curve", "titan-ckpt convert step-10 t --config torchtitan.toml > log; sed 's/^lr = .*/lr = 5e-3/' torchtitan.toml > other.toml; titan-ckpt convert t x --to dcp --config other.toml",
     "--lr-from-config takes", "titan-ckpt convert t x --to dcp --config other.toml --lr-from-config", 0),
    ("or draw the parameter anew, by rules (--init-map)", "python3 extra.py nan; titan-train run open.toml --init-from extra --skip model.extra --job.dump_folder=new", "(--init-map) with skip = [\"lm_head.weight\"] and create = [\"output.weight\"]",
     "printf 'skip = [\"model.extra\", \"lm_head.weight\"]\ncreate = [\"output.weight\"]\n' > rules.toml; titan-train run open.toml --init-from extra --init-map rules.toml --job.dump_folder=new2", 0),
    ("libtrain/job/data/data_plausibility.cpp: hint", "for i in 1 2 3 4 5 6 7 8 9; do echo '{\"text\": \"a line of some words\"}'; done > x.jsonl; titan-train plan small.toml --job.dump_folder=new --training.dataset_path=x.jsonl", "import json",
     "titan-train plan small.toml --job.dump_folder=new --training.dataset_path=x.jsonl 2>&1 | sed -n '/hint:/,$s/^    //p' > lines.py; python3 lines.py && titan-train plan small.toml --job.dump_folder=new --training.dataset_path=x.txt", 0),
    ("token ids are read with --training.dataset=tokens", "titan-train plan small.toml --job.dump_folder=new --training.dataset_path=raw", "--training.dataset=tokens",
     "titan-train plan small.toml --job.dump_folder=new --training.dataset_path=raw --training.dataset=tokens", 0),
    ("a folder of its own: --job.dump_folder=FOLDER", "mkdir d; cp text.txt d; titan-train plan small.toml --job.dump_folder=d --training.dataset_path=d", "--job.dump_folder=FOLDER",
     "titan-train plan small.toml --job.dump_folder=FOLDER --training.dataset_path=d", 0),
    ("convert it (iconv -t UTF-8)", "for i in 1 2 3 4 5 6 7 8 9; do printf 'a caf\\351 of many words '; done > latin.txt; titan-train plan small.toml --job.dump_folder=new --training.dataset_path=latin.txt && titan-train run small.toml --job.dump_folder=new --training.dataset_path=latin.txt", "iconv -t UTF-8",
     "iconv -f latin1 -t UTF-8 latin.txt > utf8.txt && titan-train plan small.toml --job.dump_folder=new --training.dataset_path=utf8.txt", 0),
    ("libtrain/job/start/prepare.cpp: hint", "titan-train plan open.toml --init-from hf --job.dump_folder=new --model.rope_theta=10000", "--allow KEY",
     "titan-train plan open.toml --init-from hf --job.dump_folder=new --model.rope_theta=10000 --allow model.rope_theta", 0),
    ("name it by model.flavor or its size", "titan-train plan open.toml --job.dump_folder=new", "--init-from PATH", "titan-train plan open.toml --job.dump_folder=new --init-from hf && titan-train plan open.toml --job.dump_folder=new --model.dim=256 --model.n_layers=6", 0),
    ("recipe/keys/key_table.cpp: key.hint", "titan-train plan small.toml --job.dump_folder=new --checkpoint.initial_load_in_hf=true", "leave it out", "titan-train plan open.toml --job.dump_folder=new --init-from hf", 0),
    ("recipe/plan/device_figures.cpp: ckpt::did_you_mean", "titan-train plan small.toml --job.dump_folder=new --device h10", "h100", "titan-train plan small.toml --job.dump_folder=new --device h100", 0),
    ("recipe/plan/run_plan.cpp: hint", "titan-train plan small.toml --job.dump_folder=new --nproc 2 --parallelism.data_parallel_shard_degree=3", "--nproc 3",
     "titan-train plan small.toml --job.dump_folder=new --nproc 3 --parallelism.data_parallel_shard_degree=3 --training.global_batch_size=6", 0),
    ("recipe/plan/schedule_kind.cpp: meant", "titan-train plan small.toml --job.dump_folder=new --nproc 2 --parallelism.pipeline_parallel_degree=2 --parallelism.pipeline_parallel_schedule=1F1", "1F1B",
     "titan-train plan small.toml --job.dump_folder=new --nproc 2 --parallelism.pipeline_parallel_degree=2 --parallelism.pipeline_parallel_schedule=1F1B", 0),
    ("libtrain/job/host/measured_costs.cpp: kHint", "titan-train plan small.toml --job.dump_folder=new --parallelism.stage_cost=measured", "--measure", "titan-train plan small.toml --job.dump_folder=new --parallelism.stage_cost=measured --measure", 0),
    ("leave out --nproc under a launcher", "RANK=0 WORLD_SIZE=1 MASTER_ADDR=localhost MASTER_PORT=1 titan-train run small.toml --nproc 2 --job.dump_folder=new", "unset RANK and WORLD_SIZE",
     "titan-train run small.toml --nproc 2 --job.dump_folder=new --training.global_batch_size=4", 0),
    ("without --device it is planned", "titan-train plan small.toml --job.dump_folder=new --model.sliding_window=8 --device h100", "without --device", "titan-train plan small.toml --job.dump_folder=new --model.sliding_window=8", 0),
    ("name the GPU: --device ", "titan-train plan small.toml --job.dump_folder=new --device-memory 80GiB", "name the GPU: --device", "titan-train plan small.toml --job.dump_folder=new --device-memory 80GiB --device h100", 0),
    ("leave the optimizer out as well: --skip", "titan-ckpt convert run@2 x --to dcp --names torchtitan-0.3 --skip layers.0.attention.wk.weight", "--skip 'optimizer.*'",
     "titan-ckpt convert run@2 x --to dcp --names torchtitan-0.3 --skip layers.0.attention.wk.weight --skip 'optimizer.*'", 0),
    ("--names torchtitan writes such a run", "titan-train run small.toml --job.dump_folder=new --optimizer.rules='[\"*.wv.* weight_decay=0\"]' > log 2>&1; titan-ckpt convert new@2 x --to dcp --names torchtitan-0.3",
     "--names torchtitan writes such a run", "titan-ckpt convert new@2 x --to dcp --names torchtitan", 0),
    ("both are in the units of the x axis", "titan-ckpt plot run --from 90", "--x tokens", "titan-ckpt plot run --from 1 --x tokens", 0),
]

# (a part of the hint in the source, or the expression that makes it; why no command follows it here)
LEFT = [
    ("apply_patch.cpp: `titan-ckpt verify` its target", "needs a target that was damaged before its patch was made; the command stands for itself"),
    ("finite.cpp: take an older checkpoint; or the model alone", "needs a moment that is NaN: tests/converters/finite_test makes one and follows the hint"),
    ("--dir DIR names another place", "needs a folder that takes no other beside the run; cli.train-replay computes in a folder of --dir"),
    ("recover.cpp: `titan-ckpt verify` shows", "a tool that was killed between two renames, beside a damaged copy: tests/crash and tests/ckpt/run/recover_test hold it"),
    ("step_proof.cpp: steps were moved", "a step that somebody replaces while a run goes on: tests/libtrain/job/start and e2e.retention hold it"),
    ("store_probe.cpp: std::move(hint)", "needs a store that lacks renames or locks: e2e.file_systems has such stores"),
    ("inspect.cpp: `titan-ckpt inspect` lists what is left out", "needs a DCP directory with elements that we do not hold: tests/converters/dcp hold it; the hint only lists"),
    ("use a version of titan-ckpt that reads", "needs a format of the future"),
    ("shows what is damaged in each; delete by hand", "asks for a deletion by hand"),
    ("prune.cpp: `titan-ckpt verify ` names the", "prune says first that the newest step is invalid, and what to move; `verify` of such a run is the case of `names every damaged place`"),
    ("`titan-ckpt reshard` writes a file per component", "needs a shard with leaves of two components, which no version of ours writes"),
    ("stop.cpp: lines.hint", "what was typed, once more, after a signal: cli.interrupt runs it"),
    ("run.cpp: hint", "what goes on after a lost rank: e2e.go_on runs these commands"),
    ("dcp_plan.cpp: why_missing", "a key of config.json, no command: interop.users has `untied_without_head` and `layers_fewer`"),
    ("--lr-from-config --config torchtitan.toml takes", "needs a curve of two policies; cli.convert-dcp has the case and the flag"),
    ("give them with --config , or leave", "needs a checkpoint with an optimizer whose configuration is unknown; cli.convert-dcp has it"),
    ("put the model's config.json into the folder, or give --config", "needs torch to write it: interop.transformers5_layouts has both ways on"),
    ("trained_run.cpp: decay_hint_", "needs pickles that torch writes: tests/converters/trainer/trainer_state_test and trained_run_test follow it"),
    ("hf_plan.cpp: tie_hint(", "keys of config.json, and --skip where two tensors stand for one: tests/converters/hf and gguf_format_test have them"),
    ("or leave the optimizer out: --skip", "needs a checkpoint of a run that does not say its heads: tests/converters/dcp/fused_qkv_test follows it"),
    ("kTensorsAlone", "needs directories that torch writes: tests/converters/dcp hold each; `convert` without --config is cli.convert-dcp's"),
    ("--names hf writes such a model, and --to hf", "needs a model with biases: interop.hf_dcp_round_trip writes one with --names hf"),
    ("add: --set training.global_batch_size=N", "needs the directory of a loop of torch: interop.hf_dcp_round_trip says the key"),
    ("--to hf writes a folder that transformers and vLLM load", "Mistral's own layout is read alone; --to hf has cases of its own above"),
    ("converters/other_programs.cpp: hint", "commands of other programs, which are not installed with the tests"),
    ("known_members.h: hint_", "says where a params.json comes from; no command"),
    ("python -m deepspeed.utils.zero_to_fp32", "a command of DeepSpeed"),
    ("kMakeUniversal", "a command of DeepSpeed"),
    ("--to hf writes a folder that verl begins from", "verl's checkpoints are read alone; --to hf has cases of its own above"),
    ("--to hf writes weights that from_pretrained loads before deepspeed.initialize", "DeepSpeed's checkpoints are read alone; --to hf has cases of its own above"),
    ("--rows interleaved, where the run was trained by nanotron's old rotary embedding", "needs a step of nanotron, which torch writes: interop.nanotron has both orders"),
    ("kMisplaced", "no command: files of nanotron's ranks are put back by hand; interop.nanotron takes the right ones"),
    ("megatron/state.cpp: ", "needs state of Megatron's in another form: tests/converters/megatron/megatron_checkpoint_test takes the weights alone"),
    ("load it and save it again with --ckpt-format torch_dist", "a flag of Megatron's"),
    ("say all of model.* in a file: titan-ckpt convert  NEW --to titan --config FILE.toml", "needs a step of Megatron without arguments: megatron_checkpoint_test follows it"),
    ("--to hf writes a folder that Megatron Bridge imports", "Megatron's checkpoints are read alone; --to hf has cases of its own above"),
    ("trained_run.cpp: add: --set training.", "needs a step of another trainer, as torch writes it: trained_run_test and arguments_test have both values"),
    ("nanotron_checkpoint.cpp: give the batch that this run was trained with", "needs a step of nanotron, which torch writes: interop.nanotron has the right batch"),
    ("model_weights.cpp: hint", "no command of ours: the files of a step of DeepSpeed are in each other's place; zero_test has them"),
    ("parts_view.cpp: add: --set training.global_batch_size=", "needs a step of Megatron: megatron_checkpoint_test has both batches"),
    ("--dtype f32 casts it", "needs weights of float64: tests/converters/hf/hf_report_test follows it"),
    ("leave it out with --skip GLOB", "needs one of our checkpoints with a parameter that no model has; tests/converters/hf hold it"),
    ("or cast them in the program that saved them", "needs moments of float64, written by torch; the first half is the case of `take the model alone`"),
    ("gpu_wait.cpp: kWhereToLook", "needs a GPU"),
    ("cuda_module.cpp: ", "needs a machine with a GPU and without our module; e2e.gpu_module has both"),
    ("gpu_checks.cpp: ", "needs a GPU; e2e.gpu_module has the messages"),
    ("build both together: cmake --build build", "builds the project"),
    ("dataset_open.cpp: hint", "says which number to make smaller; no command"),
    ("the least that suffices on these ranks", "needs a model of the memory's size: tests/libtrain/job/forecast/fit_memory_test follows it"),
    ("out_of_memory.cpp: way_out", "needs a rank that runs out of memory: tests/libtrain/job/forecast follow it"),
    ("launch_env.cpp: kContract", "what a launcher has to set; no command"),
    ("in every task: export RANK=", "needs Slurm"),
    ("master.cpp: unreachable_hint", "needs two hosts: e2e.two_hosts"),
    ("schedule_csv.cpp: hint_for", "the nearest name of an action; no command"),
    ("an import of another program's checkpoint widens it", "needs a checkpoint of an older version, with a state of bfloat16"),
    ("space.cpp: std::move(hint)", "needs a full disk: tests/libtrain/job/start/space_test"),
    ("given_stages.cpp: ckpt::did_you_mean", "the nearest name; no command"),
    ("stage_cost.cpp: meant", "the nearest name; no command"),
    ("stage_rules.cpp: nearest_fix", "keys of stages: tests/recipe/plan/stage_rules_test follows each"),
    ("give it more epochs in training.datasets", "e2e.same_data meets the end of the data"),
    ("or leave training.document_mask out", "needs a GPU; tests/libtrain/job/host/attention_choice_test has it"),
    ("run_plan.cpp: --training.device=cpu", "needs a GPU; tests/recipe/plan/run_plan_test has it"),
    ("tokens --verify` of the folder says", "needs a damaged folder of tokens; tests/libtrain/job/data/dataset_test has it, and cli.tokenize the verb"),
    ("plot them over steps: --x step", "needs a metrics.jsonl of an older version, whose steps have no tokens"),
]


def hints():
    """(file, line, its literals joined, the whole argument) of each with_hint(...)."""
    for path in sorted(path for folder in FOLDERS for path in (harness.ROOT / folder).rglob("*") if path.suffix in (".cpp", ".h")):
        text = path.read_text()
        for call in re.finditer(r"\bwith_hint\(", text):
            depth, end = 1, call.end()
            for token in re.finditer(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|[()]', text[call.end():]):
                depth += {"(": 1, ")": -1}.get(token.group(), 0)
                if depth == 0:
                    end = call.end() + token.start()
                    break
            argument = text[call.end():end]
            literals = "".join(re.findall(r'"((?:\\.|[^"\\])*)"', argument)).replace('\\"', '"').replace("\\n", "\n")
            yield path.relative_to(harness.ROOT), text[:call.start()].count("\n") + 1, literals, " ".join(argument.split())


def unmatched():
    """Hints without a row, and rows without a hint."""
    rows = {part: False for part, *_ in [*CASES, *LEFT]}
    wrong = []
    for path, line, literals, argument in hints():
        if path.name in ("status.h", "status.cpp") or (literals and not COMMAND.search(literals)):
            continue
        found = [part for part in rows if part in f"{path}: {literals or argument}"]
        for part in found:
            rows[part] = True
        if not found:
            wrong.append(f"{path}:{line}: no case follows this hint: {literals or argument}")
    return wrong + [f"no hint has \"{part}\"" for part, used in rows.items() if not used]


def attempt(case, template, environment):
    part, fails, shows, then, code = case
    home = harness.scratch("hint")
    shutil.rmtree(home)
    shutil.copytree(template, home, symlinks=True)
    bash = lambda line: subprocess.run(["bash", "-c", line], cwd=home, env=environment, capture_output=True, text=True, timeout=300)
    first, second = bash(fails), None
    shown = first.stdout + first.stderr
    wrong = "" if first.returncode != 0 and shows in shown else f"{part}: `{fails}` ended with {first.returncode} and does not show \"{shows}\":\n{shown[-1200:]}"
    if not wrong:
        second = bash(then)
        if second.returncode != code:
            wrong = f"{part}: `{then}` ended with {second.returncode}, expected {code}:\n{(second.stdout + second.stderr)[-1200:]}"
    subprocess.run(["chmod", "-R", "u+w", str(home)], check=True)
    shutil.rmtree(home)
    return wrong


def main(parts):
    wrong = [] if parts else unmatched()
    chosen = [case for case in CASES if not parts or any(part in case[0] for part in parts)]
    environment = {**os.environ, "PATH": f"{harness.BIN}:{TOOLS}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "COLUMNS": "10000"}
    template = harness.scratch("hints")
    subprocess.run(["bash", "-ec", PREPARE], cwd=template, env=environment, check=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong += [line for line in pool.map(lambda case: attempt(case, template, environment), chosen) if line]
    subprocess.run(["chmod", "-R", "u+w", str(template)], check=True)
    shutil.rmtree(template)
    print("\n".join(wrong))
    print(f"{len(chosen)} hints followed, {len(LEFT)} left, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
