// `plan` as one JSON document, schema "titan.plan/1".
#include "ckpt/base/exit_code.h"
#include "ckpt/plan/lr_policy.h"
#include "ckpt/plan/lr_schedule.h"
#include "cli/kit/json_out.h"
#include "cli/kit/values.h"
#include "cli/titan_train/plan.h"
#include "recipe/change/change_lines.h"
#include "recipe/model/family.h"

namespace titan::cli {
namespace {

using train::Forecast;

void model(JsonOut& json, const Forecast& f, const std::string& from) {
  const recipe::ModelDims& d = f.plan.dims;
  json.begin_object("model");
  json.members("parameters", f.parameters, "dim", d.dim, "n_layers", d.n_layers, "n_heads", d.n_heads);
  json.members("n_kv_heads", d.n_kv_heads, "head_dim", d.head_dim, "ffn_dim", d.ffn_dim, "vocab_size", d.vocab_size);
  json.members("tied_embeddings", d.tied, "qkv_bias", d.qkv_bias, "qk_norm", d.qk_norm, "rope_theta", d.rope_theta);
  json.members("rope_scaling", d.rope_scaling ? recipe::rope_scaling_text(*d.rope_scaling) : recipe::kPlainRope);
  if (d.whole_qk_norm) json.members("whole_qk_norm", true);
  if (d.post_norm) json.members("post_norm", true);
  if (d.experts) {
    json.members("n_experts", d.n_experts, "experts_per_token", d.experts_per_token, "route_norm", d.route_norm);
    json.members("active_parameters", f.parameters - recipe::inactive_elements(d));
  }
  if (d.window.tokens != 0)
    json.members("sliding_window", d.window.tokens, "sliding_window_layers", recipe::layers_text(d.window));
  if (!from.empty()) json.path("from_checkpoint", from);
  json.text("compute", f.plan.bf16 ? "bfloat16" : "float32");
  json.end_object();
}

void curve(JsonOut& json, std::string_view key, const std::vector<ckpt::LrPhase>& phases,
           const std::vector<std::uint64_t>& steps) {
  json.each(key, steps, [&](std::uint64_t step) { json.members("step", step, "lr", ckpt::lr_at(phases, step)); });
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
  json.members("mode", mode_name(decision.mode), "step", decision.step);
  if (!decision.path.empty()) json.path("path", decision.path);
  json.members("reason", decision.reason, "not_taken", decision.skipped, "weights", report.start->weights);
  json.end_object();
}

void continuation(JsonOut& json, const PlanReport& report, const std::vector<std::uint64_t>& steps) {
  const recipe::StoredRun* stored = report.stored();
  if (!stored) return json.null("continuation");
  const recipe::Continuation& c = report.start->continuation;
  json.begin_object("continuation");
  json.each("changes", c.changes, [&](const recipe::Change& change) {
    json.members("key", change.drift.key, "checkpoint", change.drift.stored, "config", change.drift.config);
    json.members("allowed", change.allowed, "what", change.what, "type", recipe::allow_flags(change));
  });
  json.text("policy", c.policy ? ckpt::policy_name(*c.policy) : "");
  json.each("previews", c.previews, [&](const ckpt::LrPreview& preview) {
    json.text("policy", ckpt::policy_name(preview.policy));
    if (preview.refused.ok()) {
      curve(json, "curve", preview.after.phases, steps);
      json.list("warnings", preview.warnings);
    } else {
      json.text("refused", preview.refused.message);
    }
  });
  curve(json, "curve_before", stored->lr.phases, stored->lr.phases.empty() ? std::vector<std::uint64_t>{} : steps);
  json.end_object();
}

void stages(JsonOut& json, const Forecast& f) {
  json.each("stages", f.stages, [&](const train::StageForecast& s) {
    json.members("rank", s.rank, "embedding", s.parts.embedding, "first_layer", s.parts.first_layer);
    json.members("end_layer", s.parts.end_layer, "head", s.parts.head, "parameters", s.parameters);
    json.members("cost_share", s.cost_share, "in_flight", s.in_flight);
    json.object("memory", "weights", s.memory.weights, "gradients_estimate", s.memory.gradients, "optimizer",
                s.memory.optimizer, "activations_estimate", s.memory.activations, "exchange", s.memory.exchange,
                "transfers_estimate", s.memory.transfers, "slack_estimate", s.memory.slack, "total_estimate",
                s.memory.total());
  });
  json.object("pipeline", "schedule", f.plan.schedule_name(), "stages_per_rank", f.plan.chunks, "stages_from",
              f.plan.stages_from.empty() ? "cost" : f.plan.stages_from, "largest_over_average", f.largest_over_average,
              "bubble_equal_stages", f.bubble.equal, "bubble", f.bubble.with_costs);
}

void batches(JsonOut& json, const Forecast& f) {
  json.object("batch", "micro_batch", f.plan.batch.micro, "micro_batches", f.plan.batch.count, "global_batch",
              f.plan.batch.global, "seq_len", f.plan.batch.seq_len, "per_rank", f.rank_micro_batches, "tokens_per_step",
              f.tokens_per_step, "tokens_before", f.tokens_before, "tokens_after", f.tokens_after);
}

void texts(JsonOut& json, const PlanReport& report) {
  json.each("texts", report.start ? report.start->texts : std::vector<train::TextCache>(),
            [&](const train::TextCache& one) {
              json.members("tokenizer", one.path, "folder", one.folder, "there", one.there, "files", one.paths.size());
            });
}

void data(JsonOut& json, const PlanReport& report) {
  if (!report.data) return json.null("data");
  const train::DataForecast& d = *report.data;
  json.begin_object("data");
  json.members("kind", d.kind, "files", d.files, "bytes", d.bytes);
  json.begin_array("names");
  for (const ckpt::DataFile& file : report.start->data.files) json.text(file.name);
  json.end_array();
  json.members("left_out", report.left_out(), "note", report.start->continuation.same_data);
  json.members("samples_per_epoch", d.samples_per_epoch, "held_back", d.held_back, "first_sample", d.first_sample);
  json.members("end_sample", d.end_sample, "first_epoch", d.first_epoch, "end_epoch", d.end_epoch);
  if (!d.sets.empty())
    json.each("sets", d.sets, [&](const train::SetForecast& set) {
      json.path("name", set.name);
      json.members("share", set.share, "samples", set.samples, "tokens", set.tokens, "first_epoch", set.first_epoch);
      json.members("end_epoch", set.end_epoch, "most_epochs", set.most_epochs, "stops", set.stops);
    });
  json.members("ids_checked", report.scan.checked);
  json.end_object();
}

void saves(JsonOut& json, const Forecast& f) {
  json.begin_object("checkpoints");
  json.members("enabled", f.saves.enabled, "model_bytes", f.saves.model_bytes);
  json.members("optimizer_bytes", f.saves.optimizer_bytes);
  if (const std::uint64_t every = f.saves.interval.known_steps()) {
    json.members("count", f.saves.count, "interval", every);
  } else {
    json.null("count");
    json.text("interval", f.saves.interval.text);
  }
  json.members("kept", f.saves.kept, "most_at_once", f.saves.peak_count, "disk_bytes", f.saves.disk_bytes());
  json.members("staged_bytes", f.saves.staged_bytes);
  json.end_object();
}

void time(JsonOut& json, const PlanReport& report) {
  const train::SpeedGuess& speed = report.speed;
  if (speed.seconds_per_step <= 0) return json.null("time");
  json.object("time", "seconds_per_step", speed.seconds_per_step, "median_of", speed.steps, "attempt", speed.attempt);
}

void refusal(JsonOut& json, const ckpt::Status& status) {
  if (status.ok()) return json.null("refused");
  json.object("refused", "code", static_cast<int>(ckpt::exit_code(status.code)), "kind", ckpt::code_name(status.code),
              "message", status.message, "causes", status.causes, "hint", status.hint);
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
  json.members("complete", report.complete(), "first_step", f.first_step, "last_step", f.last_step);
  model(json, f, report.start ? recipe::model_source(report.start->loaded) : "");
  mesh_json(json, "mesh", f.plan.mesh);
  stages(json, f);
  if (report.device) device_json(json, *report.device, report.forecast.plan);
  batches(json, f);
  data(json, report);
  texts(json, report);
  curve(json, "curve", report.lr.phases, steps);
  continuation(json, report, steps);
  saves(json, f);
  time(json, report);
  json.list("warnings", f.warnings);
  refusal(json, report.refused);
  return json.document();
}

}  // namespace titan::cli
