#!/usr/bin/env python3
"""transformers_fine_tuned.py: the companion files of a Hugging Face model pass through a run and out again, with the transformers version that runs this.

A small Llama with a tokenizer, a chat template and a generation_config.json is what a run begins from (--init-from, 2 ranks). Its folder
disappears; the run goes on, is resharded, stripped, given another curve, and begins another run. Each of these is exported, and
AutoTokenizer, GenerationConfig and the configuration say what the original's say. The learning rate is 0, so the weights stay, and
generation must stop at the token at which the original stops.
TITAN_BIN names the folder of the programs. Exit 1 with a message at the first difference.
"""
import json
import pathlib
import shutil
import sys
import tempfile

import tokenizers
import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import transformers_both_ways as both_ways

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

TEXT = "a titan saves every leaf of the model, and resumes where it stopped; the quick leaf stops where the original stops."
TEMPLATE = "{% for message in messages %}{{ '<s>' + message['role'] + ': ' + message['content'] + '</s>' }}{% endfor %}"
CONTEXT = 640  # not the length of the sequences that are trained
RUN = {"job.threads_per_rank": 1, "training.dataset": "tokens", "training.seq_len": 32, "training.local_batch_size": 2, "training.global_batch_size": 4, "training.steps": 6,
       "training.mixed_precision_param": "float32", "optimizer.lr": 0.0, "lr_scheduler.warmup_steps": 0, "debug.seed": 5}


def make_tokenizer(folder):
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=320, special_tokens=["<unk>", "<s>", "</s>", "<pad>"], initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
                                             show_progress=False)
    bpe.train_from_iterator([TEXT] * 4, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=bpe, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>", model_max_length=CONTEXT)
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    # transformers 5 writes no such file any more; people's folders have it.
    (folder / "special_tokens_map.json").write_text(json.dumps({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}))
    return fast


def generate(folder, prompt):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        return model.generate(prompt, do_sample=False, max_new_tokens=40)[0].tolist()


def make_model(folder):
    """The model's eos is a token that it comes to by itself within 20 tokens, but not at once."""
    folder.mkdir()
    tokenizer = make_tokenizer(folder)
    config = LlamaConfig(vocab_size=len(tokenizer), hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                         max_position_embeddings=CONTEXT, bos_token_id=1, eos_token_id=2, pad_token_id=3, tie_word_embeddings=True, **both_ways.rope(1e5))
    torch.manual_seed(4)
    model = LlamaForCausalLM(config)
    for parameter in model.parameters():
        parameter.data.normal_(std=0.3)
    model.save_pretrained(folder)
    prompt = tokenizer("a titan", return_tensors="pt").input_ids
    free = model.generate(prompt, do_sample=False, max_new_tokens=20, eos_token_id=None)[0].tolist()[prompt.shape[1]:]
    stop = next(token for at, token in enumerate(free) if at >= 4 and free.index(token) == at)
    GenerationConfig(bos_token_id=1, eos_token_id=[2, stop], pad_token_id=3).save_pretrained(folder)
    return prompt


def facts(folder, prompt):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    generation, config = GenerationConfig.from_pretrained(folder), json.loads((folder / "config.json").read_text())
    return {
        "ids": tokenizer(TEXT).input_ids,
        "text": tokenizer.decode(tokenizer(TEXT).input_ids),
        "special": tokenizer.special_tokens_map,
        "length": tokenizer.model_max_length,
        "chat": tokenizer.chat_template,
        "generation": {key: getattr(generation, key) for key in ("bos_token_id", "eos_token_id", "pad_token_id")},
        "config": {key: config.get(key) for key in ("bos_token_id", "eos_token_id", "pad_token_id", "max_position_embeddings", "architectures", "model_type")},
        "generated": generate(folder, prompt),
    }


def export(source, folder, expected, original, prompt):
    said = both_ways.titan_ckpt("convert", source, folder, "--to", "hf")
    if "no tokenizer files" in said or "no config.json came" in said:
        both_ways.fail(f"{source}: the export lacks files:\n{said}")
    found = facts(folder, prompt)
    for key, value in expected.items():
        if found[key] != value:
            both_ways.fail(f"{source}: {key} is {found[key]}, the original's {value}")
    for path in original.iterdir():
        if path.name not in ("config.json", "model.safetensors") and path.read_bytes() != (folder / path.name).read_bytes():
            both_ways.fail(f"{source}: {path.name} has other bytes")


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        source, run, kept = work / "source", work / "run", work / "kept"
        prompt = make_model(source)
        expected = facts(source, prompt)
        new = len(expected["generated"]) - prompt.shape[1]
        if not 4 < new < 21:
            both_ways.fail(f"the original stops after {new} tokens: the test would show nothing")
        shutil.copytree(source, kept)
        harness.write_tokens(work / "tokens.bin", 4000, 256)
        settings = {"job.dump_folder": run, "training.dataset_path": work / "tokens.bin", **RUN}
        log = harness.train("", 2, {**settings, "debug.stop_at_step": 3, "parallelism.pipeline_parallel_degree": 2}, ("--init-from", str(source)), expect=75)[1]
        if "tokenizer.json" not in log:
            both_ways.fail(f"the banner does not name the files that travel:\n{log}")
        shutil.rmtree(source)
        harness.train("", 1, {**settings, "checkpoint.compression": "zstd"})
        steps = run / "checkpoint"
        both_ways.titan_ckpt("reshard", f"{run}@6", work / "resharded", "--dp", "3", "--pp", "1", "--compression", "none")
        both_ways.titan_ckpt("strip", f"{run}@6", work / "stripped")
        both_ways.titan_ckpt("lr", "set", f"{run}@6", work / "curve", "--steps", "12", "--policy", "extend")
        other = work / "other"
        harness.train("", 1, {**settings, "job.dump_folder": other, "training.steps": 1}, ("--init-from", str(work / "resharded")))
        sources = [steps / "step-00000003", steps / "step-00000006", work / "resharded", work / "stripped", work / "curve", other / "checkpoint" / "step-00000001"]
        for at, checkpoint in enumerate(sources):
            both_ways.titan_ckpt("verify", checkpoint)
            export(checkpoint, work / f"export-{at}", expected, kept, prompt)
        # Trained on longer sequences than the model allowed, it allows as many.
        longer = work / "longer"
        harness.train("", 1, {**settings, "job.dump_folder": longer, "training.steps": 1, "training.seq_len": 700}, ("--init-from", str(kept)))
        both_ways.titan_ckpt("convert", f"{longer}@1", work / "export-longer", "--to", "hf")
        context = json.loads((work / "export-longer" / "config.json").read_text())["max_position_embeddings"]
        if context != 700:
            both_ways.fail(f"trained on 700 tokens, the export allows {context}")
    print(f"transformers {transformers.__version__}: tokenizer, generation and configuration of {len(sources)} exports are the original's; generation stops after {new} tokens as there")


if __name__ == "__main__":
    main()
