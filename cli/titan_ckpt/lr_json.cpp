#include "cli/titan_ckpt/lr.h"

#include <algorithm>

#include "ckpt/ops/lr_set.h"
#include "ckpt/ops/lr_show.h"
#include "ckpt/plan/lr_schedule.h"
#include "cli/kit/json_out.h"
#include "cli/kit/values.h"
#include "cli/titan_ckpt/carried.h"

namespace titan::cli {
namespace {

using ckpt::LrPreview;

constexpr std::uint64_t kMostSteps = 100'000'000;

ckpt::Status check_steps(std::uint64_t last) {
  if (last <= kMostSteps) return ckpt::ok_status();
  return ckpt::invalid("the curve has " + std::to_string(last) + " steps, --json lists at most " +
                       std::to_string(kMostSteps));
}

void curve_json(JsonOut& json, const char* key, const std::vector<ckpt::LrPhase>& phases, std::uint64_t last) {
  json.begin_array(key);
  for (std::uint64_t n = 1; n <= last; ++n) {
    json.begin_object();
    json.members("step", n, "lr", ckpt::lr_at(phases, n));
    json.end_object();
  }
  json.end_array();
}

void preview_json(JsonOut& json, const LrPreview& p) {
  json.members("policy", ckpt::policy_name(p.policy), "next_step", p.step + 1, "applied", p.applied);
  json.members("next_before", p.next_before, "next_after", p.next_after, "warnings", p.warnings);
  lr_phases_json(json, p.after.phases);
  curve_json(json, "curve", p.after.phases, p.last);
}

}  // namespace

std::string lr_show_json(const ckpt::LrShowReport& report, ckpt::Status* status) {
  std::uint64_t last = report.last;
  for (const LrPreview& p : report.previews) last = std::max(last, p.last);
  if (*status = check_steps(last); !status->ok()) return {};
  JsonOut json("titan.lr-show/1");
  json.path("path", report.path);
  json.members("step", report.step, "training_steps", report.training_steps);
  lr_phases_json(json, report.schedule.phases);
  lr_settings_json(json, "accepted", report.schedule.accepted);
  curve_json(json, "curve", report.schedule.phases, report.last);
  if (report.config) {
    json.begin_object("config");
    json.path("path", report.config->path);
    lr_settings_json(json, "settings", report.config->settings);
    json.list("changed", report.changed);
    json.each("policies", report.previews, [&](const LrPreview& p) {
      if (p.refused.ok()) {
        preview_json(json, p);
      } else {
        json.members("policy", ckpt::policy_name(p.policy), "refused", p.refused.message, "causes", p.refused.causes);
      }
    });
    json.end_object();
  }
  return json.document();
}

std::string lr_set_json(const ckpt::LrSetReport& report, ckpt::Status* status) {
  if (*status = check_steps(report.preview.last); !status->ok()) return {};
  JsonOut json("titan.lr-set/1");
  json.path("source", report.src);
  json.path("destination", report.dst);
  json.members("written", report.written, "step", report.preview.step, "source_id", report.old_id.hex());
  json.members("id", report.new_id.hex(), "found_by_resume", !report.hidden, "changed", report.changed);
  preview_json(json, report.preview);
  lr_settings_json(json, "accepted", report.preview.after.accepted);
  json.members("toml", report.toml, "note", report.note, "verified", report.verified);
  carried_json(json, report.files);
  return json.document();
}

}  // namespace titan::cli
