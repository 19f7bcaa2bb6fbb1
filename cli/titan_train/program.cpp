#include "cli/titan_train/program.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/base/path.h"
#include "ckpt/base/quoting.h"
#include "ckpt/base/text.h"
#include "cli/kit/completion.h"
#include "cli/kit/version.h"
#include "cli/titan_train/engine.h"
#include "cli/titan_train/plan_device.h"
#include "cli/titan_train/replay.h"
#include "converters/foreign_view.h"
#include "libtrain/job/start/resume_command.h"
#include "recipe/history/best_step.h"
#include "recipe/keys/key_table.h"

namespace titan::cli {

namespace {

// Whether a flag takes no separate value: `name` is a boolean key ("section.key") or its negation ("section.no_key").
bool is_switch(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  const auto boolean = [](const std::string& candidate) {
    const recipe::Key* key = recipe::find_key(recipe::canonical_name(candidate));
    return key != nullptr && recipe::is_bool(*key);
  };
  const std::size_t dot = name.rfind('.');
  return boolean(name) ||
         (name.compare(dot + 1, 3, "no_") == 0 && boolean(name.substr(0, dot + 1) + name.substr(dot + 4)));
}

bool names_the_file(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name == "job.config_file";
}

std::vector<std::string> keys() {
  std::vector<std::string> names;
  for (const recipe::Key& key : recipe::key_table())
    if (key.value_in != nullptr) names.push_back(key.name);
  return names;
}

std::string meant_by_path(const std::string& path) {
  ckpt::Fs& fs = ckpt::posix_fs();
  const std::string config = ckpt::join_path(path, "config.toml");
  if (fs.stat(config).ok()) return "titan-train run " + ckpt::shell_word(config);
  const auto info = fs.stat(path);
  const bool is_checkpoint = info.ok() ? info->type == ckpt::FileType::kDirectory : path.find('@') != std::string::npos;
  return is_checkpoint ? "titan-train eval " + ckpt::shell_word(path) + " --tokens FILE"
                       : "titan-train run " + ckpt::shell_word(path);
}

/// In a hint, replaces the "..." at the beginning of a command line to paste by the command line as typed.
void complete_line_to_paste(const Request& request, ckpt::Status& error) {
  const std::string dots = "\n    ... ";
  const std::size_t at = error.hint.find(dots);
  if (at != std::string::npos)
    error.hint.replace(at, dots.size(), "\n    " + train::shell_line(request.command.words) + " ");
}

}  // namespace

const Program& titan_train_program() {
  static const std::vector<Flag> run_flags = {
      {"nproc", "N", "number of local ranks to start (default: 1, or what torchrun set)"},
      {"resume", "auto|required|never|PATH",
       "auto: the newest valid step of the run folder, else a fresh start (default); required: never a fresh "
       "start; never: a fresh start, refused where there are steps; PATH: this checkpoint, or RUN@step"},
      {"init-from", "PATH", "start a new run from the weights of a checkpoint; ignored once the run folder has a step"},
      {"init-map", "FILE", "rename and skip rules for --init-from"},
      {"skip", "GLOB", "leave out the weights of --init-from whose names match", 0, Repeat::kMany},
      {"rename", "FROM=TO", "rename weights of --init-from; * stands for a part without dots", 0, Repeat::kMany},
      {"rows", "hf|interleaved",
       "order of the rows of query and key projections in the checkpoint, if a rename does not imply it"},
      {"allow", "KEY[,KEY...]", "permit these keys to differ from the checkpoint at this start", 0, Repeat::kMany},
      {"set", "SECTION.KEY=VALUE", "override a key; the short form is --section.key=value", 0, Repeat::kMany},
  };
  static const std::vector<Flag> launch_flags = [] {
    std::vector<Flag> flags = run_flags;
    flags.insert(
        flags.begin() + 1,
        {"max-restarts", "K",
         "start again after a failure, at most K times, as long as newer steps are saved (not under torchrun)"});
    return flags;
  }();
  static const std::vector<Flag> config_flags = [] {
    std::vector<Flag> flags = run_flags;
    flags.push_back({"classes", "", "print the class of every key: what a changed value means for a resume"});
    flags.push_back({"init", "", "print a small configuration to begin with; without CONFIG"});
    flags.push_back(
        {"from", "CKPT", "with --init: a configuration that starts from these weights (Titan or Hugging Face)"});
    flags.push_back({"output", "FILE.toml", "with --init: write the configuration to this file", 'o'});
    return flags;
  }();
  static const std::vector<Flag> plan_flags = [] {
    std::vector<Flag> flags = run_flags;
    flags.push_back({"schedule-csv", "FILE", "write the pipeline schedule, a row per rank, in torchtitan's format"});
    flags.push_back({"measure", "",
                     "time a layer, the embedding and the head here first, for parallelism.stage_cost = \"measured\""});
    flags.push_back(
        {"trace", "FILE", "write the pipeline schedule with simulated times, for chrome://tracing or ui.perfetto.dev"});
    for (const Flag& flag : device_flags()) flags.push_back(flag);
    return flags;
  }();
  const Flag skip = {"skip", "GLOB", "leave out the weights whose names match", 0, Repeat::kMany};
  const Flag rename = {"rename", "FROM=TO", "rename weights; * stands for a part without dots", 0, Repeat::kMany};
  const Flag rows = {"rows", "hf|interleaved",
                     "order of the rows of query and key projections in the checkpoint, if a rename does not imply it"};
  static const std::vector<Flag> eval_flags = {
      {"tokens", "FILE", "token ids: integers [B,T] as .npy, or raw ids, which are cut into rows"},
      {"text", "FILE", "text, which is cut into rows; for byte models or models with a tokenizer.json"},
      {"tokenizer", "DIR", "with --text: the folder of the model's tokenizer.json (default: the checkpoint's)"},
      {"seq-len", "T", "tokens of a row (default: the checkpoint's training.seq_len)"},
      {"token-dtype", "uint16|uint32", "type of raw ids, little-endian (default: uint16 if the vocabulary fits)"},
      {"ema", "", "the exponential average of the parameters (training.ema) instead of the parameters"},
      {"logits", "OUT.npy", "also write the logits, float32 [B,T,vocabulary]"},
      skip,
      rename,
      rows,
  };
  static const std::vector<Flag> sample_flags = {
      {"prompt", "TEXT", "text that the model continues; for byte models or models with a tokenizer.json"},
      {"tokenizer", "DIR", "with --prompt: the folder of the model's tokenizer.json (default: the checkpoint's)"},
      {"ema", "", "the exponential average of the parameters (training.ema) instead of the parameters"},
      {"prompt-ids", "IDS|FILE", "the prompt as token ids: 1,2,3, or a file with ids; the output is ids, too"},
      {"max-new-tokens", "N", "most tokens to generate (default: 256, or the limit of the model)"},
      {"temperature", "T",
       "0: always the most likely token (default, the same text each time); 1: drawn as likely as the model says"},
      {"top-k", "K", "draw only among the K most likely tokens"},
      {"top-p", "P", "draw only among the most likely tokens with total probability P"},
      {"seed", "N", "seed of the random draws (default: a new one each time, which is printed)"},
      {"stop", "TEXT", "stop before this text", 0, Repeat::kMany},
      {"ignore-end", "", "continue after the model's end token (eos_token_id)"},
      {"no-kv-cache", "", "recompute all tokens for each new one: slow, for comparison"},
      {"dtype", "float32|bfloat16", "type to compute in (default: float32)"},
      {"threads", "N", "threads that compute (default: one per core)"},
      skip,
      rename,
      rows,
  };
  static const std::vector<Flag> replay_flags = {
      {"nproc", "N", "number of local ranks (default: as many as the run had)"},
      {"pp", "P", "with --nproc: pipeline-parallel degree (default: 1); the rest is data parallel"},
      {"dir", "DIR", "compute in this folder, and keep it (default: a temporary folder next to the run)"},
      {"set", "SECTION.KEY=VALUE",
       "override a key, such as training.dataset_path; the short form is --section.key=value", 0, Repeat::kMany},
  };
  static const Program table = {
      "titan-train",
      "trains Llama-style models on data x pipeline parallel ranks, with checkpoints that any layout resumes bit for "
      "bit",
      {
          {"run", {{"CONFIG"}}, "train, or resume where the run stopped", launch_flags, run_run, false},
          {"config",
           {{"CONFIG", Names::kWord, Takes::kTitan, false}},
           "print the resolved configuration with the origin of every value",
           config_flags,
           run_config},
          {"plan",
           {{"CONFIG"}},
           "show what a run would do, without ranks or tensors; writes only the files that flags ask for",
           plan_flags,
           run_plan},
          {"eval",
           {{"CKPT", Names::kSource, Takes::kForeign}},
           "compute the loss of a checkpoint (a folder, RUN@step, RUN@latest or RUN@best) on a token file",
           eval_flags,
           run_eval},
          {"sample",
           {{"CKPT", Names::kSource, Takes::kForeign}},
           "generate text with a checkpoint: the continuation of a prompt",
           sample_flags,
           run_sample},
          {"replay",
           {{"RUN@A..B"}},
           "recompute steps of a run from its checkpoint at A, and compare losses and ids with those of the run",
           replay_flags,
           run_replay},
          {"bisect",
           {{"RUN", Names::kRun}},
           "find the first step of a run that a replay of the steps before it does not reproduce, with few replays",
           replay_flags,
           run_bisect},
          completion_verb(false),
      },
      {{"json", "", "machine-readable output (all but run)"},
       {"color", "auto|always|never", "colour of the output (default: auto)"}},
      keys,
      complete_line_to_paste,
      meant_by_path,
      {
          {{"train", "start", "resume", "continue", "restart", "fit", "launch", "pretrain", "finetune", "fine-tune"},
           "titan-train run CONFIG.toml"},
          {{"validate", "evaluate", "test", "score", "perplexity"}, "titan-train eval CKPT --tokens FILE"},
          {{"dry-run", "preview", "estimate"}, "titan-train plan CONFIG.toml"},
          {{"generate", "chat", "complete", "infer"}, "titan-train sample CKPT --prompt TEXT"},
          {{"show", "settings", "print-config"}, "titan-train config CONFIG.toml"},
          {{"ls", "list"}, "titan-ckpt ls RUN"},
          {{"inspect", "info"}, "titan-ckpt inspect CKPT"},
          {{"verify", "check"}, "titan-ckpt verify RUN"},
          {{"convert", "export"}, "titan-ckpt convert SRC DST --to hf"},
          {{"import"}, "titan-ckpt convert SRC DST"},
          {{"diff", "compare"}, "titan-ckpt diff A B"},
          {{"reshard", "merge"}, "titan-ckpt reshard SRC DST --dp 1 --pp 1"},
          {{"prune", "clean"}, "titan-ckpt prune RUN --keep-last N"},
          {{"lr"}, "titan-ckpt lr show CKPT"},
          {{"cat", "strip"}, "titan-ckpt --help"},
          {{"plot", "draw", "graph"}, "titan-ckpt plot RUN"},
          {{"advise"}, "titan-ckpt advise RUN"},
      },
      recipe::resolve_best,
      kNoticesOfTitanTrain,
      {convert::words_after_run, convert::tensor_names},
      [] { return ", LibTorch " + torch_version(); },
  };
  return table;
}

ckpt::Result<Command> parse_titan_train(const std::vector<std::string>& words) {
  std::vector<std::string> rest(words.begin() + 1, words.end()), files, overrides;
  for (Override& taken : take_overrides(rest, is_switch)) {
    if (!names_the_file(taken.key)) {
      overrides.insert(overrides.end(), taken.words.begin(), taken.words.end());
      continue;
    }
    // `--job.config_file FILE` is torchtitan's way to name the configuration file.
    const std::string& last = taken.words.back();
    const std::size_t equals = taken.words.size() == 1 ? last.find('=') : std::string::npos;
    if (taken.words.size() == 1 && equals == std::string::npos)
      return ckpt::invalid("--job.config_file needs a value").with_hint("write `--job.config_file FILE`");
    files.push_back(equals == std::string::npos ? last : last.substr(equals + 1));
  }
  rest.insert(rest.end(), files.begin(), files.end());
  ckpt::Result<Command> command = parse_command_line(titan_train_program(), rest);
  for (std::size_t left = files.size(); !command.ok() && left > 0; --left) {
    rest.pop_back();
    if (parse_command_line(titan_train_program(), rest).ok())
      return ckpt::invalid("more than one configuration file")
          .with_hint("name it once: as CONFIG or with --job.config_file");
  }
  if (!command.ok()) return command;
  for (const std::string& item : command->all("set")) overrides.push_back("--set=" + item);
  // Flags that are short forms of keys.
  if (const auto path = command->value("init-from")) overrides.push_back("--checkpoint.initial_load_path=" + *path);
  if (const auto file = command->value("init-map")) overrides.push_back("--checkpoint.initial_load_map=" + *file);
  for (const auto& [flag, key] : {std::pair("skip", "initial_load_skip"), std::pair("rename", "initial_load_rename")})
    if (const auto words = command->all(flag); !words.empty())
      overrides.push_back(std::string("--checkpoint.") + key + "=" + ckpt::joined(words, ","));
  if (const auto rows = command->value("rows")) overrides.push_back("--checkpoint.initial_load_rows=" + *rows);
  command->overrides = std::move(overrides);
  command->words = words;
  return command;
}

}  // namespace titan::cli
