#include "ckpt/base/fs_posix.h"
#include "ckpt/store/output_file.h"
#include "cli/titan_train/program.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "ckpt/base/quoting.h"
#include "ckpt/format/json_writer.h"
#include "cli/kit/errors.h"
#include "cli/titan_train/ranks.h"
#include "cli/titan_train/weights.h"
#include "libtrain/job/host/measured_costs.h"
#include "libtrain/job/start/preview.h"
#include "recipe/keys/reference.h"
#include "recipe/keys/starter.h"
#include "recipe/keys/writer.h"
#include "recipe/model/family.h"
#include "recipe/plan/run_config.h"
#include "recipe/plan/run_plan.h"

namespace titan::cli {
namespace {

using recipe::Key;
using recipe::LoadedConfig;
using recipe::Origin;
using recipe::Value;

Origin origin_of(const LoadedConfig& loaded, const Key& key) {
  const auto found = loaded.origins.find(key.name);
  return found == loaded.origins.end() ? Origin{} : found->second;
}

std::string json_value(const Value& value) {
  if (const auto* number = value.as<double>()) {
    std::string text = recipe::toml_float(*number);
    return *number - *number == 0 ? text : ckpt::json_string(text);  // JSON has no nan and no inf
  }
  return recipe::to_toml(value);  // TOML's booleans, integers and basic strings are JSON's
}

const char* origin_kind(Origin::Kind kind) {
  switch (kind) {
    case Origin::Kind::kDefault: return "default";
    case Origin::Kind::kFile: return "file";
    case Origin::Kind::kFlag: return "flag";
    case Origin::Kind::kCheckpoint: return "checkpoint";
  }
  return "default";
}

/// The configuration as TOML, each value with its origin as a comment; unset keys are comments. Loads to the same
/// configuration.
std::string config_text(const LoadedConfig& loaded) {
  return recipe::config_toml(loaded.config, [&](const Key& key) { return origin_of(loaded, key).text(); });
}

/// config_text() as one JSON document, schema "titan.config/1": {"schema", "config_file", "keys": [{"key", "value",
/// "class", "origin", "source", "line", "column"}], "warnings"}; an unset key has the value null.
std::string config_json(const LoadedConfig& loaded) {
  ckpt::JsonWriter out;
  out.begin().members("schema", "titan.config/1", "config_file", loaded.config.job.config_file);
  out.key("keys").begin_list();
  for (const Key& key : recipe::key_table()) {
    if (!key.value_in) continue;
    const std::optional<Value> value = recipe::get_value(key, loaded.config);
    const Origin origin = origin_of(loaded, key);
    out.line().begin().members("key", key.name).key("value").json(value ? json_value(*value) : "null");
    out.members("class", recipe::class_name(key.cls), "origin", origin_kind(origin.kind));
    if (origin.kind != Origin::Kind::kDefault) out.members("source", origin.source);
    if (origin.kind == Origin::Kind::kFile) out.members("line", origin.line, "column", origin.column);
    out.end();
  }
  out.end_list().lines("warnings", loaded.warnings).end();
  return std::move(out).finish();
}

/// Every key and flag with its class and what a changed value means for a run that resumes. One line each.
std::string classes_text() {
  const std::vector<recipe::ChangeRule> rules = recipe::change_rules();
  std::size_t width = 0;
  for (const recipe::ChangeRule& rule : rules) width = std::max(width, rule.name.size());
  std::string out;
  for (const auto& [name, cls, change] : rules)
    out += name + std::string(width - name.size(), ' ') + "  " + cls + std::string(11 - cls.size(), ' ') + "  " +
           change + "\n";
  return out;
}

/// classes_text() as one JSON document, schema "titan.classes/1": {"schema", "keys": [{"key", "class", "change"}]}.
std::string classes_json() {
  ckpt::JsonWriter out;
  out.begin().members("schema", "titan.classes/1").key("keys").begin_list();
  for (const auto& [name, cls, change] : recipe::change_rules())
    out.line().begin().members("key", name, "class", cls, "change", change).end();
  out.end_list().end();
  return std::move(out).finish();
}

/// The vocabulary of the model in `weights`: the first dimension of its embedding. \error kIncompatible: no embedding
ckpt::Result<std::uint64_t> vocabulary_of(const std::string& weights) {
  TITAN_ASSIGN_OR_RETURN(const auto source, weight_opener(recipe::Config())(ckpt::posix_fs(), weights));
  for (const ckpt::WeightInfo& tensor : source->tensors())
    if (tensor.name == recipe::kEmbeddingName && !tensor.shape.empty()) return tensor.shape[0];
  return ckpt::incompatible(weights + " has no embedding: these are no weights of a language model");
}

ckpt::Result<Answer> write_starter(const Request& request) {
  const Command& command = request.command;
  if (!command.positionals.empty())
    return ckpt::invalid("`--init` writes a configuration, and CONFIG is one")
        .with_hint("leave one of them out; -o FILE.toml names the new file");
  recipe::Starter starter{command.value("from").value_or("")};
  if (!starter.weights.empty()) {
    TITAN_ASSIGN_OR_RETURN(starter.vocabulary, vocabulary_of(starter.weights));
  }
  const std::string text = recipe::starter_toml(starter);
  const auto path = command.value("output");
  if (!path) return Answer{.text = text};
  if (request.fs.stat(*path).ok())
    return ckpt::invalid(*path + " exists").with_hint("choose another name, or move it away");
  TITAN_RETURN_IF_ERROR(ckpt::write_output(request.fs, *path, text));
  return Answer{.text = "wrote " + *path + "\n",
                .notes = {"set training.dataset_path in it, then `titan-train plan " + ckpt::shell_word(*path) +
                          "` says what would happen"}};
}

}  // namespace

ckpt::Result<Answer> run_config(const Request& request) {
  const Command& command = request.command;
  if (command.has("classes")) return Answer{.text = request.json ? classes_json() : classes_text()};
  if (command.has("init")) return write_starter(request);
  for (const char* flag : {"from", "output"})
    if (command.has(flag))
      return ckpt::invalid("`--" + std::string(flag) + "` goes with --init").with_hint("add --init");
  if (command.positionals.empty())
    return ckpt::invalid("`config` needs CONFIG")
        .with_hint("`titan-train config --init -o my.toml` writes one to begin with");
  TITAN_ASSIGN_OR_RETURN(auto loaded, recipe::load_run_config(command.positionals[0], command.overrides));
  // Model keys that the configuration does not set are taken from the checkpoint that `run` would load.
  auto with_model = train::model_of_start(request.fs, {loaded, command.value("resume").value_or("auto"),
                                                       command.all("allow"), 1, weight_opener(loaded.config)});
  if (with_model.ok()) {
    loaded = std::move(*with_model);
  } else if (loaded.config.checkpoint.initial_load_path) {
    return with_model.status();
  } else {
    loaded.warnings.push_back("not filled in from a checkpoint: " + with_model.status().message);
  }
  // Other keys that are not set (stage cut, schedule, ...) are filled in for this number of ranks. If the configuration
  // does not fit it, the keys are shown as written, with a warning.
  TITAN_ASSIGN_OR_RETURN(const int nproc, parse_nproc(command));
  const ckpt::Status measured = train::take_measured_costs(request.fs, loaded.config);
  const auto plan = measured.ok() ? recipe::make_run_plan(loaded.config, static_cast<std::uint32_t>(nproc))
                                  : ckpt::Result<recipe::RunPlan>(measured);
  if (plan.ok()) {
    loaded.config = recipe::resolved_config(loaded.config, *plan);
  } else {
    loaded.warnings.push_back("not filled in for " + std::to_string(nproc) + (nproc == 1 ? " rank: " : " ranks: ") +
                              plan.status().message);
  }
  // With --json the warnings go to stderr, too.
  if (request.json)
    for (const std::string& warning : loaded.warnings) report_warning(warning, request.json, request.color);
  return Answer{.text = request.json ? config_json(loaded) : config_text(loaded), .notes = loaded.warnings};
}

}  // namespace titan::cli
