#include "cli/titan_train/program.h"

#include <span>

#include "ckpt/base/shell_word.h"
#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "cli/kit/errors.h"
#include "cli/titan_train/config_text.h"
#include "cli/titan_train/ranks.h"
#include "cli/titan_train/weights.h"
#include "libtrain/job/host/measured_costs.h"
#include "libtrain/job/start/preview.h"
#include "recipe/keys/starter.h"
#include "recipe/model/family.h"
#include "recipe/plan/run_config.h"
#include "recipe/plan/run_plan.h"

namespace titan::cli {

namespace {

/// Elements of the first dimension of the embedding: the vocabulary.
ckpt::Result<std::uint64_t> vocabulary_of(const std::string& weights) {
  TITAN_ASSIGN_OR_RETURN(const auto source, weight_opener(recipe::Config())(weights));
  for (const ckpt::WeightInfo& tensor : source->tensors())
    if (tensor.name == recipe::kEmbeddingName && !tensor.shape.empty()) return tensor.shape[0];
  return ckpt::incompatible(weights + " has no embedding: these are no weights of a language model");
}

Answer write_starter(const Request& request) {
  const Command& command = request.command;
  if (!command.positionals.empty())
    return {.error = ckpt::invalid("`--init` writes a configuration, and CONFIG is one")
                         .with_hint("leave one of them out; -o FILE.toml names the new file")};
  recipe::Starter starter{command.value("from").value_or("")};
  if (!starter.weights.empty()) TITAN_ASSIGN_OR_ANSWER(starter.vocabulary, vocabulary_of(starter.weights));
  const std::string text = recipe::starter_toml(starter);
  const auto path = command.value("output");
  if (!path) return {.text = text};
  if (request.fs.stat(*path).ok())
    return {.error = ckpt::invalid(*path + " exists").with_hint("choose another name, or move it away")};
  if (const ckpt::Status written = ckpt::write_new_file(request.fs, *path, std::as_bytes(std::span(text)));
      !written.ok())
    return {.error = written};
  return {.text = "wrote " + *path + "\n",
          .notes = {"set training.dataset_path in it, then `titan-train plan " + ckpt::shell_word(*path) +
                    "` says what would happen"}};
}

}  // namespace

Answer run_config(const Request& request) {
  const Command& command = request.command;
  if (command.has("classes")) return {.text = request.json ? classes_json() : classes_text()};
  if (command.has("init")) return write_starter(request);
  for (const char* flag : {"from", "output"})
    if (command.has(flag))
      return {.error = ckpt::invalid("`--" + std::string(flag) + "` goes with --init").with_hint("add --init")};
  if (command.positionals.empty())
    return {.error = ckpt::invalid("`config` needs CONFIG")
                         .with_hint("`titan-train config --init -o my.toml` writes one to begin with")};
  auto loaded = recipe::load_run_config(command.positionals[0], command.overrides);
  if (!loaded.ok()) return {.error = loaded.status()};
  // Keys of the model that are left open are those of the checkpoint that a start would load.
  auto with_model = train::model_of_start(request.fs, {*loaded, command.value("resume").value_or("auto"),
                                                       command.all("allow"), 1, weight_opener(loaded->config)});
  if (with_model.ok()) {
    loaded = std::move(with_model);
  } else if (loaded->config.checkpoint.initial_load_path) {
    return {.error = with_model.status()};
  } else {
    loaded->warnings.push_back("not filled in from a checkpoint: " + with_model.status().message);
  }
  // What the configuration leaves open is filled in for the number of ranks; one that does not fit any is shown as
  // written.
  int nproc = 1;
  TITAN_ASSIGN_OR_ANSWER(nproc, parse_nproc(command));
  const ckpt::Status measured = train::take_measured_costs(request.fs, loaded->config);
  const auto plan = measured.ok() ? recipe::make_run_plan(loaded->config, static_cast<std::uint32_t>(nproc))
                                  : ckpt::Result<recipe::RunPlan>(measured);
  if (plan.ok()) {
    loaded->config = recipe::resolved_config(loaded->config, *plan);
  } else {
    loaded->warnings.push_back("not filled in for " + std::to_string(nproc) + (nproc == 1 ? " rank: " : " ranks: ") +
                               plan.status().message);
  }
  // With --json the warnings go to stderr, too.
  if (request.json)
    for (const std::string& warning : loaded->warnings) report_note(warning, request.color);
  return {.text = request.json ? config_json(*loaded) : config_text(*loaded), .notes = loaded->warnings};
}

}  // namespace titan::cli
