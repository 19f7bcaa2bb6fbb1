#include "ckpt/ops/diff_state.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <utility>

#include "ckpt/base/printed.h"
#include "ckpt/base/text.h"
#include "ckpt/ops/plain_rope.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/same_files.h"

namespace titan::ckpt {

namespace {

constexpr const char* kAbsent = "absent";

/// `value` as text, without the last bits of a computed value: 0.003 x 0.1 is 0.00030000000000000003, but shown as
/// 3e-04.
std::string plain(double value) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 15);
  return digits_of(*number_of<double>({buffer, static_cast<std::size_t>(result.ptr - buffer)}));
}

std::string text_of(const std::string& value) { return value; }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(std::uint64_t value) { return std::to_string(value); }

/// Collects the fields that differ, all of one kind.
class Collector {
 public:
  Collector(std::vector<Difference>& out, std::string kind) : out_(out), kind_(std::move(kind)) {}
  template <typename T>
  void field(const std::string& name, const T& a, const T& b) {
    if (!(a == b)) out_.push_back({kind_, name, text_of(a), text_of(b), {}});
  }

 private:
  std::vector<Difference>& out_;
  std::string kind_;
};

std::string text_of(const LrPhase& phase, std::string (*number_text)(double)) {
  const std::string from = " from step " + std::to_string(phase.first);
  if (phase.kind == PhaseKind::kConstant) return "constant " + number_text(phase.start) + from;
  std::string text = std::string(phase_kind_name(phase.kind)) + " " + number_text(phase.start) + " -> " +
                     number_text(phase.end) + " over " + number_text(phase.length) + " steps" + from;
  // A phase that was stretched or entered in its middle has its origin elsewhere than at, or one step before, its first
  // step.
  const double lead = static_cast<double>(phase.first) - phase.origin;
  if (lead != 0 && lead != 1) text += " (origin " + number_text(phase.origin) + ")";
  return text;
}

void diff_schedule(const LrSchedule& a, const LrSchedule& b, std::vector<Difference>& out) {
  for (std::size_t i = 0; i < std::max(a.phases.size(), b.phases.size()); ++i) {
    const LrPhase* of_a = i < a.phases.size() ? &a.phases[i] : nullptr;
    const LrPhase* of_b = i < b.phases.size() ? &b.phases[i] : nullptr;
    if (of_a != nullptr && of_b != nullptr && *of_a == *of_b) continue;
    const auto text = [](const LrPhase* phase, auto number_text) {
      return phase != nullptr ? text_of(*phase, number_text) : std::string(kAbsent);
    };
    std::string text_a = text(of_a, plain), text_b = text(of_b, plain);
    if (text_a == text_b) {
      text_a = text(of_a, digits_of<double>);
      text_b = text(of_b, digits_of<double>);
    }
    out.push_back({"lr_schedule", "phase " + std::to_string(i + 1), text_a, text_b, {}});
  }
}

void diff_data(const DataPosition& a, const DataPosition& b, std::vector<Difference>& out) {
  Collector data(out, "data");
  data.field("samples", a.samples, b.samples);
  data.field("epoch_base", a.epoch_base, b.epoch_base);
  data.field("first_epoch", a.first_epoch, b.first_epoch);
  data.field("seed", a.seed, b.seed);
  data.field("shuffle", a.shuffle, b.shuffle);
  data.field("seq_len", a.seq_len, b.seq_len);
  data.field("sample_stride", a.sample_stride, b.sample_stride);
  data.field("samples_per_epoch", a.samples_per_epoch, b.samples_per_epoch);
  data.field("kind", a.kind, b.kind);
  data.field("tokenizer", a.tokenizer, b.tokenizer);
  data.field("excluded", ranges_text(a.excluded), ranges_text(b.excluded));
  const auto sets = [](const DataPosition& position) {
    std::vector<std::string> parts;
    for (const MixedSet& set : position.sets)
      parts.push_back(set.name + " (share " + std::to_string(set.share) + ", drawn " + std::to_string(set.drawn) +
                      ", " + std::to_string(set.samples) + " samples, at most " + std::to_string(set.most) +
                      (set.uncounted == 0 ? "" : ", " + std::to_string(set.uncounted) + " not counted") +
                      (set.stops ? ", stops)" : ")"));
    return joined(parts);
  };
  data.field("sets", sets(a), sets(b));
  const auto files = [](const DataPosition& position) {
    std::vector<std::string> parts;
    for (const DataFile& file : position.files)
      parts.push_back(file.name + " (" + std::to_string(file.bytes) + " bytes, " + file.blocks.hex() + ")");
    return joined(parts);
  };
  const bool same = match_files(a.files, b.files).same;
  data.field(same ? "files (the same contents)" : "files", files(a), files(b));
}

void diff_components(const Manifest& a, const Manifest& b, std::vector<Difference>& out) {
  for (const char* name : kResumeComponents) {
    const bool in_a = a.component(name) != nullptr, in_b = b.component(name) != nullptr;
    if (in_a != in_b) out.push_back({"component", name, in_a ? "present" : kAbsent, in_b ? "present" : kAbsent, {}});
  }
}

/// Compares Adam's t. Thousands of parameters share it, so one line names the first parameter.
void diff_optimizer_steps(const Manifest& a, const Manifest& b, std::vector<Difference>& out) {
  if (a.component(kOptimizer) == nullptr || b.component(kOptimizer) == nullptr) return;
  std::uint64_t more = 0;
  const std::size_t before = out.size();
  const ParameterIndex of_b(b);
  for (const ParameterRecord& record : a.parameters) {
    const std::optional<std::uint32_t> index = of_b.find(record.meta.name);
    if (!index || b.parameters[*index].optimizer_step == record.optimizer_step) continue;
    if (out.size() > before) {
      ++more;
    } else {
      out.push_back({"optimizer_step",
                     record.meta.name,
                     text_of(record.optimizer_step),
                     text_of(b.parameters[*index].optimizer_step),
                     {}});
    }
  }
  if (more > 0) out.back().name += " and " + std::to_string(more) + " more";
}

void note_settings(const std::string& kind, const Settings& a, const Settings& b, std::vector<Difference>& out) {
  std::map<std::string, std::pair<std::string, std::string>> keys;
  for (const auto& [key, value] : a) keys.try_emplace(key, kAbsent, kAbsent).first->second.first = value;
  for (const auto& [key, value] : b) keys.try_emplace(key, kAbsent, kAbsent).first->second.second = value;
  for (const auto& [key, values] : keys)
    if (values.first != values.second) out.push_back({kind, key, values.first, values.second, {}});
}

/// The rows of `settings` whose keys are also in `others`.
Settings common(const Settings& settings, const Settings& others) {
  Settings rows;
  std::copy_if(settings.begin(), settings.end(), std::back_inserter(rows), [&](const auto& row) {
    return std::any_of(others.begin(), others.end(), [&](const auto& other) { return other.first == row.first; });
  });
  return rows;
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

std::string attempts_text(const TrainState& train) {
  std::vector<std::string> parts;
  for (const Attempt& attempt : train.attempts)
    parts.push_back(std::to_string(attempt.first_step) + "-" + std::to_string(attempt.last_step) + " on " +
                    std::to_string(attempt.dp) + "x" + std::to_string(attempt.pp) + " " + attempt.schedule);
  return joined(parts, "; ");
}

Settings accepted_settings(const LrSettings& settings) {
  return {{"optimizer.lr", digits_of(settings.peak)},
          {"lr_scheduler.warmup_steps", std::to_string(settings.warmup_steps)},
          {"lr_scheduler.total_steps", std::to_string(settings.total_steps)},
          {"lr_scheduler.decay_ratio", settings.decay_ratio ? digits_of(*settings.decay_ratio) : "none"},
          {"lr_scheduler.decay_type", settings.decay_type},
          {"lr_scheduler.min_lr_factor", digits_of(settings.min_lr_factor)}};
}

void note_history(const TrainState& a, const TrainState& b, std::vector<Difference>& out) {
  Collector history(out, "history");
  history.field("attempts", attempts_text(a), attempts_text(b));
  history.field("seed", a.seed, b.seed);
  history.field("origin", a.origin, b.origin);
  note_settings("history", a.environment, b.environment, out);
}

}  // namespace

std::vector<Difference> state_differences(const InspectReport& a, const InspectReport& b) {
  std::vector<Difference> out;
  Collector(out, "step").field("step", a.manifest.step, b.manifest.step);
  diff_components(a.manifest, b.manifest, out);
  if (a.train && b.train) Collector(out, "tokens").field("tokens", a.train->tokens, b.train->tokens);
  if (a.lr && b.lr) diff_schedule(*a.lr, *b.lr, out);
  if (a.data && b.data) diff_data(*a.data, *b.data, out);
  diff_optimizer_steps(a.manifest, b.manifest, out);
  Collector(out, "leaf_elements").field("leaf_elements", a.manifest.leaf_elements, b.manifest.leaf_elements);
  return out;
}

std::vector<std::string> not_compared(const InspectReport& a, const InspectReport& b) {
  const std::vector<std::string> in_a = sorted(a.left_out), in_b = sorted(b.left_out);
  std::vector<std::string> both;
  std::set_intersection(in_a.begin(), in_a.end(), in_b.begin(), in_b.end(), std::back_inserter(both));
  return both;
}

std::vector<Difference> diff_notes(const InspectReport& a, const InspectReport& b) {
  std::vector<Difference> out;
  Collector layout(out, "layout");
  const auto mesh = [](const Manifest& m) {
    return "pp " + std::to_string(m.mesh.pp) + ", dp " + std::to_string(m.mesh.dp) + ", tp " +
           std::to_string(m.mesh.tp);
  };
  const auto cuts = [](const Manifest& m) {
    std::vector<std::string> parts;
    for (const std::uint32_t cut : m.stage_cuts) parts.push_back(std::to_string(cut));
    return parts.empty() ? std::string("none") : joined(parts);
  };
  const bool foreign = a.foreign || b.foreign;  // which has no mesh, and only the model's part of the configuration
  if (sorted(a.left_out) != sorted(b.left_out))
    out.push_back({"left_out", "left_out", left_out_text(a.left_out), left_out_text(b.left_out), {}});
  if (!foreign) layout.field("mesh", mesh(a.manifest), mesh(b.manifest));
  if (!foreign) layout.field("stage_cuts", cuts(a.manifest), cuts(b.manifest));
  if (foreign) {
    const Settings mine = with_plain_rope(a.manifest.config), theirs = with_plain_rope(b.manifest.config);
    note_settings("config", common(mine, theirs), common(theirs, mine), out);
  } else {
    note_settings("config", a.manifest.config, b.manifest.config, out);
  }
  if (a.lr && b.lr) {
    const auto unnamed = [&](Settings settings) {  // without settings whose difference is noted already
      std::erase_if(settings, [&](const auto& row) {
        return std::ranges::any_of(out, [&](const Difference& d) { return d.kind == "config" && d.name == row.first; });
      });
      return settings;
    };
    note_settings("config", unnamed(accepted_settings(a.lr->accepted)), unnamed(accepted_settings(b.lr->accepted)),
                  out);
  }
  if (a.train && b.train) note_history(*a.train, *b.train, out);
  if (!foreign) Collector(out, "history").field("writer", a.manifest.writer, b.manifest.writer);
  return out;
}

}  // namespace titan::ckpt
