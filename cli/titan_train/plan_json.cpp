// `plan` as one JSON document, schema "titan.plan/1".
#include "ckpt/base/exit_code.h"
#include "ckpt/plan/lr_policy.h"
#include "ckpt/plan/lr_schedule.h"
#include "cli/kit/json_out.h"
#include "cli/kit/values.h"
#include "cli/titan_train/plan.h"
#include "recipe/change/change_lines.h"

namespace titan::cli {
namespace {

using train::Forecast;

void model(JsonOut& json, const Forecast& f, const std::string& from) {
  const recipe::ModelDims& d = f.plan.dims;
  json.begin_object("model");
  json.count("parameters", f.parameters);
  json.integer("dim", d.dim);
  json.integer("n_layers", d.n_layers);
  json.integer("n_heads", d.n_heads);
  json.integer("n_kv_heads", d.n_kv_heads);
  json.integer("head_dim", d.head_dim);
  json.integer("ffn_dim", d.ffn_dim);
  json.integer("vocab_size", d.vocab_size);
  json.flag("tied_embeddings", d.tied);
  json.flag("qkv_bias", d.qkv_bias);
  json.real("rope_theta", d.rope_theta);
  json.text("rope_scaling", d.rope_scaling ? recipe::rope_scaling_text(*d.rope_scaling) : recipe::kPlainRope);
  if (!from.empty()) json.path("from_checkpoint", from);
  json.text("compute", f.plan.bf16 ? "bfloat16" : "float32");
  json.end_object();
}

void curve(JsonOut& json, std::string_view key, const std::vector<ckpt::LrPhase>& phases,
           const std::vector<std::uint64_t>& steps) {
  json.begin_array(key);
  for (const std::uint64_t step : steps) {
    json.begin_object();
    json.count("step", step);
    json.real("lr", ckpt::lr_at(phases, step));
    json.end_object();
  }
  json.end_array();
}

const char* mode_name(train::StartMode mode) {
  switch (mode) {
    case train::StartMode::kFresh: return "fresh";
    case train::StartMode::kResume: return "resume";
    case train::StartMode::kTransfer: return "transfer";
  }
  return "";
}

void start(JsonOut& json, const PlanReport& report) {
  if (!report.start) return json.null("start");
  const train::StartDecision& decision = report.start->decision;
  json.begin_object("start");
  json.text("mode", mode_name(decision.mode));
  json.count("step", decision.step);
  if (!decision.path.empty()) json.path("path", decision.path);
  json.text("reason", decision.reason);
  json.texts("not_taken", decision.skipped);
  json.texts("weights", report.start->weights);
  json.end_object();
}

void continuation(JsonOut& json, const PlanReport& report, const std::vector<std::uint64_t>& steps) {
  const recipe::StoredRun* stored = report.stored();
  if (!stored) return json.null("continuation");
  const recipe::Continuation& c = report.start->continuation;
  json.begin_object("continuation");
  json.each("changes", c.changes, [&](const recipe::Change& change) {
    json.text("key", change.drift.key);
    json.text("checkpoint", change.drift.stored);
    json.text("config", change.drift.config);
    json.flag("allowed", change.allowed);
    json.text("what", change.what);
    json.text("type", recipe::allow_flags(change));
  });
  json.text("policy", c.policy ? ckpt::policy_name(*c.policy) : "");
  json.each("previews", c.previews, [&](const ckpt::LrPreview& preview) {
    json.text("policy", ckpt::policy_name(preview.policy));
    if (preview.refused.ok()) {
      curve(json, "curve", preview.after.phases, steps);
      json.texts("warnings", preview.warnings);
    } else {
      json.text("refused", preview.refused.message);
    }
  });
  curve(json, "curve_before", stored->lr.phases, stored->lr.phases.empty() ? std::vector<std::uint64_t>{} : steps);
  json.end_object();
}

void stages(JsonOut& json, const Forecast& f) {
  json.each("stages", f.stages, [&](const train::StageForecast& s) {
    json.count("rank", s.rank);
    json.flag("embedding", s.parts.embedding);
    json.integer("first_layer", s.parts.first_layer);
    json.integer("end_layer", s.parts.end_layer);
    json.flag("head", s.parts.head);
    json.count("parameters", s.parameters);
    json.real("cost_share", s.cost_share);
    json.count("in_flight", s.in_flight);
    json.begin_object("memory");
    json.count("weights", s.memory.weights);
    json.count("gradients_estimate", s.memory.gradients);
    json.count("optimizer", s.memory.optimizer);
    json.count("activations_estimate", s.memory.activations);
    json.count("exchange", s.memory.exchange);
    json.count("transfers_estimate", s.memory.transfers);
    json.count("slack_estimate", s.memory.slack);
    json.count("total_estimate", s.memory.total());
    json.end_object();
  });
  json.begin_object("pipeline");
  json.text("schedule", f.plan.schedule_name());
  json.count("stages_per_rank", f.plan.chunks);
  json.real("bubble_equal_stages", f.bubble.equal);
  json.real("bubble", f.bubble.with_costs);
  json.end_object();
}

void batches(JsonOut& json, const Forecast& f) {
  json.begin_object("batch");
  json.integer("micro_batch", f.plan.batch.micro);
  json.integer("micro_batches", f.plan.batch.count);
  json.integer("global_batch", f.plan.batch.global);
  json.integer("seq_len", f.plan.batch.seq_len);
  json.begin_array("per_rank");
  for (const std::uint32_t count : f.rank_micro_batches) json.count(count);
  json.end_array();
  json.count("tokens_per_step", f.tokens_per_step);
  json.count("tokens_before", f.tokens_before);
  json.count("tokens_after", f.tokens_after);
  json.end_object();
}

void data(JsonOut& json, const PlanReport& report) {
  if (!report.data) return json.null("data");
  const train::DataForecast& d = *report.data;
  json.begin_object("data");
  json.text("kind", d.kind);
  json.count("files", d.files);
  json.count("bytes", d.bytes);
  json.begin_array("names");
  for (const ckpt::DataFile& file : report.start->data.files) json.text(file.name);
  json.end_array();
  json.texts("left_out", report.left_out());
  json.text("note", report.start->continuation.same_data);
  json.count("samples_per_epoch", d.samples_per_epoch);
  json.count("held_back", d.held_back);
  json.count("first_sample", d.first_sample);
  json.count("end_sample", d.end_sample);
  json.real("first_epoch", d.first_epoch);
  json.real("end_epoch", d.end_epoch);
  json.count("ids_checked", report.scan.checked);
  json.end_object();
}

void saves(JsonOut& json, const Forecast& f) {
  json.begin_object("checkpoints");
  json.flag("enabled", f.saves.enabled);
  json.count("model_bytes", f.saves.model_bytes);
  json.count("optimizer_bytes", f.saves.optimizer_bytes);
  if (const std::uint64_t every = f.saves.interval.known_steps()) {
    json.count("count", f.saves.count);
    json.count("interval", every);
  } else {
    json.null("count");
    json.text("interval", f.saves.interval.text);
  }
  json.count("kept", f.saves.kept);
  json.count("most_at_once", f.saves.peak_count);
  json.count("disk_bytes", f.saves.disk_bytes());
  json.end_object();
}

void time(JsonOut& json, const PlanReport& report) {
  const train::SpeedGuess& speed = report.speed;
  if (speed.seconds_per_step <= 0) return json.null("time");
  json.begin_object("time");
  json.real("seconds_per_step", speed.seconds_per_step);
  json.count("median_of", speed.steps);
  json.count("attempt", speed.attempt);
  json.end_object();
}

void refusal(JsonOut& json, const ckpt::Status& status) {
  if (status.ok()) return json.null("refused");
  json.begin_object("refused");
  json.integer("code", ckpt::exit_code(status.code));
  json.text("kind", ckpt::code_name(status.code));
  json.text("message", status.message);
  json.texts("causes", status.causes);
  json.text("hint", status.hint);
  json.end_object();
}

}  // namespace

std::string plan_json(const PlanReport& report) {
  const Forecast& f = report.forecast;
  const std::vector<std::uint64_t> steps =
      report.lr.phases.empty() ? std::vector<std::uint64_t>{} : curve_steps(f.first_step, f.last_step);
  JsonOut json("titan.plan/1");
  json.path("config_file", report.config_file);
  json.path("run_folder", report.run_folder);
  start(json, report);
  json.flag("complete", report.complete());
  json.count("first_step", f.first_step);
  json.count("last_step", f.last_step);
  model(json, f, report.start ? recipe::model_source(report.start->loaded) : "");
  mesh_json(json, "mesh", f.plan.mesh);
  stages(json, f);
  batches(json, f);
  data(json, report);
  curve(json, "curve", report.lr.phases, steps);
  continuation(json, report, steps);
  saves(json, f);
  time(json, report);
  json.texts("warnings", f.warnings);
  refusal(json, report.refused);
  return json.document();
}

}  // namespace titan::cli
