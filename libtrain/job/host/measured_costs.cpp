#include "libtrain/job/host/measured_costs.h"

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/printed.h"
#include "ckpt/base/text.h"
#include "ckpt/store/parent_folder.h"
#include "ckpt/store/put_file.h"
#include "recipe/keys/config.h"
#include "recipe/keys/toml_reader.h"
#include "recipe/model/dims.h"
#include "recipe/plan/stage_cost.h"

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr const char* kHint = "`titan-train plan CONFIG --measure` times a layer, the embedding and the head here";

/// What the times depend on, except the host.
Result<std::string> subject_of(const recipe::Config& config) {
  TITAN_ASSIGN_OR_RETURN(const recipe::ModelDims dims, recipe::model_dims(config));
  std::string text;
  const auto add = [&](const char* name, std::int64_t value) {
    text += std::string(name) + " " + std::to_string(value) + ", ";
  };
  add("dim", dims.dim);
  add("heads", dims.n_heads);
  add("kv heads", dims.n_kv_heads);
  add("head dim", dims.head_dim);
  add("ffn dim", dims.ffn_dim);
  add("vocabulary", dims.vocab_size);
  add("sequences", config.parallelism.pipeline_parallel_microbatch_size.value_or(config.training.local_batch_size));
  add("tokens", config.training.seq_len);
  if (dims.qk_norm) text += "normed heads, ";
  if (dims.experts) {
    add("experts", dims.n_experts);
    add("experts of a token", dims.experts_per_token);
  }
  if (dims.window.tokens != 0) text += "window " + std::to_string(dims.window.tokens) + ", ";
  return text + config.training.mixed_precision_param;
}

}  // namespace

std::string measured_costs_path(const recipe::Config& config) {
  return ckpt::join_path(config.job.dump_folder, "stage_costs.toml");
}

Status store_measured_costs(ckpt::Fs& fs, const recipe::Config& config, const PartTimes& times) {
  TITAN_ASSIGN_OR_RETURN(const std::string subject, subject_of(config));
  const std::string seconds =
      ckpt::printed("# seconds: embedding %.3g, layer %.3g, head %.3g\n", times.embedding, times.layer, times.head);
  const std::string text = "# Forward and backward of a micro-batch, by titan-train plan --measure.\n" + seconds +
                           "of = " + recipe::toml_string(subject) + "\nstage_cost = " +
                           recipe::toml_string(recipe::cost_table(times.embedding, times.layer, times.head)) + "\n";
  const std::string path = measured_costs_path(config);
  TITAN_RETURN_IF_ERROR(
      ckpt::as_wrong_path(ckpt::make_dirs(fs, config.job.dump_folder), "job.dump_folder = " + config.job.dump_folder));
  TITAN_RETURN_IF_ERROR(ckpt::remove_stale_temporaries(fs, path));
  return ckpt::put_file(fs, path, text, ckpt::Lasting::kWhole);
}

Status take_measured_costs(ckpt::Fs& fs, recipe::Config& config) {
  constexpr std::uint64_t kMostBytes = 65'536;
  if (config.parallelism.stage_cost != "measured") return ckpt::ok_status();
  const std::string path = measured_costs_path(config), key = "parallelism.stage_cost = \"measured\": ";
  TITAN_ASSIGN_OR_RETURN(const std::string subject, subject_of(config));
  const auto bytes = ckpt::read_file(fs, path, kMostBytes);
  if (bytes.status().code == ckpt::Code::kNotFound) return ckpt::invalid(key + "there is no " + path).with_hint(kHint);
  if (!bytes.ok()) return bytes.status().wrapped(key + path);
  TITAN_ASSIGN_OR_RETURN(const std::vector<recipe::TomlEntry> entries, recipe::parse_toml(ckpt::text_of(*bytes), path));
  const auto value = [&](const char* name) -> std::string {
    for (const recipe::TomlEntry& entry : entries)
      if (const auto* text = entry.value.as<std::string>(); text != nullptr && entry.key == name) return *text;
    return "";
  };
  const std::string of = value("of"), cost = value("stage_cost");
  if (of != subject)
    return ckpt::invalid(key + path + " is of " + (of.empty() ? "something else" : of) + "; this is " + subject)
        .with_hint(kHint);
  if (cost.empty()) return ckpt::invalid(key + path + " has no stage_cost").with_hint(kHint);
  config.parallelism.stage_cost = cost;
  return ckpt::ok_status();
}

}  // namespace titan::train
