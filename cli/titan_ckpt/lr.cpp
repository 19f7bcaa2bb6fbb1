#include "cli/titan_ckpt/lr.h"

#include <algorithm>
#include <ctime>

#include "ckpt/format/member_names.h"
#include "ckpt/ops/lr_set.h"
#include "ckpt/ops/lr_show.h"
#include "ckpt/plan/lr_schedule.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/json_out.h"
#include "cli/kit/stop.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"
#include "cli/kit/version.h"
#include "cli/titan_ckpt/carried.h"
#include "cli/titan_ckpt/verbs.h"
#include "recipe/keys/config.h"
#include "recipe/keys/rows.h"
#include "recipe/keys/toml_reader.h"

namespace titan::cli {
namespace {

using ckpt::LrPreview;
using ckpt::Status;

constexpr std::uint64_t kMostSteps = 100'000'000;  // what --json lists; no run comes near it

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

/// \error in `status`: kInvalid when the curve has more steps than a document should have (100 million)
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

/// A flag of `lr set` and the key that it sets. The key's row defines the valid values.
struct LrFlag {
  const char* flag;
  const char* key;
};
constexpr LrFlag kLrFlags[] = {{"steps", "training.steps"},
                               {"peak", "optimizer.lr"},
                               {"warmup", "lr_scheduler.warmup_steps"},
                               {"decay-ratio", "lr_scheduler.decay_ratio"},
                               {"decay-type", "lr_scheduler.decay_type"},
                               {"min-factor", "lr_scheduler.min_lr_factor"}};

/// Sets in `config` what the flags say.
Status read_lr_flags(const Command& command, recipe::Config& config) {
  for (const auto& [flag, name] : kLrFlags) {
    const std::optional<std::string> text = command.value(flag);
    if (!text) continue;
    const recipe::Key& key = *recipe::find_key(name);
    if (!recipe::set_value(key, recipe::parse_override_value(*text), config).ok())
      return wrong_value(flag, *text, recipe::expectation(key) + (recipe::is_optional(key) ? ", or none" : ""));
  }
  return ckpt::ok_status();
}

/// Refuses flags of the other sub-verb.
Status check_flags(const Request& request) {
  const std::string& sub_verb = request.command.positionals[0];
  for (const Flag& flag : request.verb.flags)
    if (!flag.after.empty() && flag.after != sub_verb && request.command.has(flag.name))
      return ckpt::invalid("`lr " + sub_verb + "` does not take `--" + flag.name + "`")
          .with_hint("`titan-ckpt lr --help` shows the arguments of both");
  return ckpt::ok_status();
}

Status read_options(const Command& command, ckpt::LrSetOptions* options) {
  options->src = command.positionals[1];
  options->dst = command.positionals[2];
  options->force = command.has("force");
  options->verify = command.has("verify");
  options->writer = version_line("titan-ckpt") + " lr set";
  options->created = format_utc(std::time(nullptr));
  options->cancel = stop_on_signals();
  for (const char* needed : {"steps", "policy"})
    if (!command.has(needed))
      return ckpt::invalid("`lr set` needs `--" + std::string(needed) + "`")
          .with_hint("`titan-ckpt lr --help` shows its arguments");
  TITAN_ASSIGN_OR_RETURN(options->policy, ckpt::parse_policy(*command.value("policy")));
  recipe::Config config;
  TITAN_RETURN_IF_ERROR(read_lr_flags(command, config));
  options->steps = static_cast<std::uint64_t>(config.training.steps);
  if (options->steps > kMostSteps)
    return ckpt::invalid("--steps " + std::to_string(options->steps) + ": expected at most " +
                         std::to_string(kMostSteps));
  const recipe::Config::LrScheduler& lr = config.lr_scheduler;
  if (command.has("peak")) options->peak = config.optimizer.lr;
  if (command.has("warmup")) options->warmup = static_cast<std::uint64_t>(lr.warmup_steps);
  if (command.has("decay-ratio")) options->decay_ratio = lr.decay_ratio;
  if (command.has("decay-type")) options->decay_type = lr.decay_type;
  if (command.has("min-factor")) options->min_factor = lr.min_lr_factor;
  if (const auto from = command.value("rewarm-from")) {
    if (*from != "zero" && *from != "present") return wrong_value("rewarm-from", *from, "zero or present");
    if (options->policy != ckpt::LrPolicy::kRewarm)
      return ckpt::invalid("`--rewarm-from` goes with the policy rewarm only");
    options->rewarm_from_zero = *from == "zero";
  }
  return ckpt::ok_status();
}

/// The LR settings of a configuration file. The rest of the file is not checked.
ckpt::Result<ckpt::LrConfig> read_lr_config(ckpt::Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const ckpt::Settings rows, recipe::read_rows(fs, path));
  std::vector<std::string> keys = recipe::lr_keys();
  keys.emplace_back("lr_scheduler.rewarm_from");
  ckpt::Result<recipe::Config> config = recipe::config_of_rows(rows, keys);
  if (!config.ok()) return ckpt::invalid(path + ": " + config.status().message);
  return ckpt::LrConfig{path, recipe::lr_settings(*config), static_cast<std::uint64_t>(config->training.steps),
                        config->lr_scheduler.rewarm_from == "zero"};
}

ckpt::Result<Answer> run_show(const Request& request) {
  const Command& command = request.command;
  TITAN_RETURN_IF_ERROR(check_flags(request));
  if (command.positionals.size() > 2)
    return ckpt::invalid("unexpected argument `" + command.positionals[2] + "` of `lr show`");
  std::optional<ckpt::LrConfig> config;
  if (const auto path = command.value("config")) {
    TITAN_ASSIGN_OR_RETURN(config, read_lr_config(request.fs, *path));
  }
  TITAN_ASSIGN_OR_RETURN(const ckpt::LrShowReport report, ckpt::lr_show(request.fs, command.positionals[1], config));
  Answer answer;
  if (request.json)
    answer.text = lr_show_json(report, &answer.error);
  else
    answer.text = lr_show_text(report, request.style, terminal_width());
  return answer;
}

ckpt::Result<Answer> run_set(const Request& request) {
  if (request.command.positionals.size() < 3)
    return ckpt::invalid("`lr set` needs DST").with_hint("`titan-ckpt lr --help` shows its arguments");
  TITAN_RETURN_IF_ERROR(check_flags(request));
  ckpt::LrSetOptions options;
  TITAN_RETURN_IF_ERROR(read_options(request.command, &options));
  TITAN_ASSIGN_OR_RETURN(ckpt::LrSetReport report, ckpt::plan_lr_set(request.fs, options));
  Answer answer;
  if (!request.json) answer.text = lr_preview_text(report, request.style, terminal_width());
  if (!request.command.has("dry-run")) answer.error = ckpt::write_lr_set(request.fs, options, report);
  if (!answer.error.ok()) return answer;
  if (request.json)
    answer.text = lr_set_json(report, &answer.error);
  else
    answer.text += lr_written_text(report, request.style);
  answer.notes = report.warnings;
  if (report.hidden)
    answer.notes.push_back("a resume finds checkpoints that are named step-%08d only, this one as " +
                           ckpt::step_name(report.preview.step) + ": name " + report.dst +
                           " on the command line to start from it");
  return answer;
}

}  // namespace

ckpt::Result<Answer> run_lr(const Request& request) {
  const std::string& which = request.command.positionals[0];
  if (which == "show") return run_show(request);
  if (which == "set") return run_set(request);
  return ckpt::invalid("`lr " + which + "`: expected `lr show` or `lr set`")
      .with_hint("`titan-ckpt lr --help` shows the arguments of both");
}

}  // namespace titan::cli
