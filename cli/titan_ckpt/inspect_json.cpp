#include "cli/titan_ckpt/inspect.h"

#include "ckpt/plan/mixture.h"
#include "cli/kit/json_out.h"
#include "cli/kit/values.h"

namespace titan::cli {
namespace {

using ckpt::InspectReport;
using ckpt::Manifest;

void components(JsonOut& json, const Manifest& m) {
  json.each("components", m.components, [&](const ckpt::ComponentEntry& c) {
    json.members("name", c.name, "bytes", c.bytes, "stored_bytes", c.stored_bytes);
    digest_json(json, "digest", c.digest);
    json.count("files", c.files);
  });
}

void stages(JsonOut& json, const Manifest& m) {
  json.each("stages", ckpt::stage_summaries(m), [&](const ckpt::StageSummary& stage) {
    json.members("tensors", stage.parameters, "parameters", stage.elements, "first", stage.first, "last", stage.last);
  });
}

void schedule(JsonOut& json, const std::optional<ckpt::LrSchedule>& lr) {
  if (!lr) return json.null("lr_schedule");
  json.begin_object("lr_schedule");
  lr_phases_json(json, lr->phases);
  lr_settings_json(json, "accepted", lr->accepted);
  json.end_object();
}

void data(JsonOut& json, const std::optional<ckpt::DataPosition>& position) {
  if (!position) return json.null("data");
  const ckpt::DataPosition& d = *position;
  json.begin_object("data");
  json.members("samples", d.samples, "epoch_base", d.epoch_base, "first_epoch", d.first_epoch);
  json.text("seed", std::to_string(d.seed));  // all 64 bits: a string, as in the format
  json.members("shuffle", d.shuffle, "seq_len", d.seq_len, "sample_stride", d.sample_stride);
  json.members("samples_per_epoch", d.samples_per_epoch, "kind", d.kind, "tokenizer", d.tokenizer);
  if (!d.excluded.empty())
    json.each("excluded", d.excluded,
              [&](const ckpt::SampleRange& range) { json.members("first", range.first, "count", range.count); });
  if (!d.sets.empty()) {
    const std::vector<std::uint64_t> drawn = ckpt::Mixture(d).drawn(d.samples);
    json.each("sets", d.sets, [&](const ckpt::MixedSet& set) {
      const auto place = static_cast<std::size_t>(&set - d.sets.data());
      json.path("name", set.name);
      json.members("share", set.share, "samples", set.samples, "drawn", drawn[place], "uncounted", set.uncounted,
                   "most", set.most);
      json.members("stops", set.stops, "files", set.files);
    });
  }
  json.each("files", d.files, [&](const ckpt::DataFile& file) {
    json.path("name", file.name);
    json.members("bytes", file.bytes, "blocks", file.blocks.hex());
  });
  json.end_object();
}

void attempt(JsonOut& json, const ckpt::Attempt& a) {
  json.members("number", a.number, "started", a.started, "first_step", a.first_step, "last_step", a.last_step);
  json.members("dp", a.dp, "pp", a.pp, "schedule", a.schedule, "version", a.version, "environment", a.environment);
  json.members("policy", a.policy, "changed", a.changed, "notes", a.notes);
}

void train(JsonOut& json, const std::optional<ckpt::TrainState>& state) {
  if (!state) return json.null("train_state");
  const ckpt::TrainState& t = *state;
  json.begin_object("train_state");
  json.members("tokens", t.tokens, "seed", std::to_string(t.seed), "origin", t.origin, "wall_time_s", t.wall_time_s);
  json.each("attempts", t.attempts, [&](const ckpt::Attempt& a) { attempt(json, a); });
  json.end_object();
}

void statistics(JsonOut& json, const ckpt::TensorStats& s) {
  json.begin_object("stats");
  for (const auto& [key, value] :
       {std::pair("min", s.min), std::pair("max", s.max), std::pair("mean", s.mean), std::pair("std", s.std())})
    json.member(key, s.finite() == 0 ? std::nullopt : std::optional(value));
  json.members("norm", s.norm(), "zeros", s.zeros, "nan", s.nans, "inf", s.infinities);
  json.end_object();
}

void tensors(JsonOut& json, const Manifest& m, const InspectView& view) {
  json.begin_array("tensors");
  const std::vector<ckpt::TensorRow> rows = ckpt::matching_rows(ckpt::tensor_rows(m), *view.tensors);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ckpt::TensorRow& row = rows[i];
    json.begin_object();
    json.members("component", row.component, "name", row.name, "dtype", ckpt::dtype_name(row.dtype));
    json.list("shape", row.shape);
    digest_json(json, "digest", row.digest);
    json.members("stage", row.stage, "bytes", row.bytes, "leaves", row.leaves, "pieces", row.pieces);
    if (view.stats) statistics(json, (*view.stats)[i]);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string inspect_json(const InspectReport& report, const InspectView& view) {
  const Manifest& m = report.manifest;
  JsonOut json("titan.inspect/1");
  json.path("path", report.path);
  digest_json(json, "id", m.id);
  json.members("format", report.foreign ? m.writer : "titan");
  json.members("format_version", std::to_string(m.major) + "." + std::to_string(m.minor), "step", m.step);
  json.members("created", m.created, "writer", m.writer);
  if (!report.left_out.empty()) json.list("left_out", report.left_out);
  mesh_json(json, "mesh", m.mesh);
  json.list("stage_cuts", m.stage_cuts);
  stages(json, m);
  json.count("leaf_elements", m.leaf_elements);
  components(json, m);
  schedule(json, report.lr);
  data(json, report.data);
  train(json, report.train);
  if (m.derived_from) {
    json.begin_object("derived_from");
    digest_json(json, "id", m.derived_from->id);
    source_step_json(json, m.derived_from->step, m.derived_from->id);
    json.path("path", m.derived_from->path);
    if (!m.derived_from->merged.empty())
      json.each("merged", m.derived_from->merged, [&](const ckpt::MergedSource& source) {
        json.path("path", source.path);
        source_step_json(json, source.step, source.id);
        digest_json(json, "id", source.id);
        json.real("weight", source.weight);
      });
    json.end_object();
  } else {
    json.null("derived_from");
  }
  if (view.config) {
    json.begin_object("config");
    for (const auto& [key, value] : m.config) json.text(key, value);
    json.end_object();
  }
  if (view.tensors) tensors(json, m, view);
  return json.document();
}

}  // namespace titan::cli
