#include "recipe/change/change_lines.h"

#include <algorithm>
#include <cstdio>

#include "ckpt/base/text.h"
#include "ckpt/plan/lr_schedule.h"

namespace titan::recipe {
namespace {

/// "  (training.steps when unset)"; empty where the key's name says it all.
std::string row_note(const std::string& name) {
  const Key* key = find_key(name);
  if (key == nullptr || (key->row_note.empty() && key->unset_follows.empty())) return "";
  return "  (" + (key->row_note.empty() ? key->unset_follows + " when unset" : key->row_note) + ")";
}

std::string rate(const ckpt::LrSchedule& schedule, std::uint64_t n) {
  char text[64];
  std::snprintf(text, sizeof text, "lr(%llu) = %.6g", static_cast<unsigned long long>(n),
                ckpt::lr_at(schedule.phases, n));
  return text;
}

}  // namespace

std::string allow_flags(const Change& change) {
  if (change.allow.empty()) return "";
  return "--allow " + change.allow + (change.needs_policy ? " --lr_scheduler.on_change=POLICY" : "");
}

std::vector<std::string> change_lines(const std::vector<Change>& changes) {
  std::size_t key_width = 0, stored_width = 0, config_width = 0;
  for (const Change& change : changes) {
    key_width = std::max(key_width, change.drift.key.size());
    stored_width = std::max(stored_width, change.drift.stored.size());
    config_width = std::max(config_width, change.drift.config.size());
  }
  const auto padded = [](const std::string& text, std::size_t width) {
    return text + std::string(width - text.size(), ' ');
  };
  std::vector<std::string> lines;
  for (const Change& change : changes) {
    const std::string flags = allow_flags(change);
    lines.push_back(padded(change.drift.key, key_width) + "  checkpoint " + padded(change.drift.stored, stored_width) +
                    "  config " + padded(change.drift.config, config_width) + row_note(change.drift.key) +
                    "  [curve] " + change.what + (flags.empty() ? "" : "; to allow: " + flags));
  }
  return lines;
}

std::string preview_line(const ckpt::LrPreview& preview) {
  std::string line = ckpt::policy_name(preview.policy);
  line += std::string(9 - line.size(), ' ');
  if (!preview.refused.ok()) {
    const std::string causes = ckpt::joined(preview.refused.causes);
    return line + "not possible: " + preview.refused.message + (causes.empty() ? "" : " (" + causes + ")");
  }
  const std::uint64_t next = preview.step + 1, end = std::max(preview.after.accepted.total_steps, next),
                      middle = preview.step + (end - preview.step + 1) / 2;
  const double before = preview.next_before, after = preview.next_after;
  char jump[64] = "as without the change";
  if (before > 0 && after != before) std::snprintf(jump, sizeof jump, "%.4g times what it was", after / before);
  if (!(before > 0) && after > 0) std::snprintf(jump, sizeof jump, "was 0");
  return line + rate(preview.after, next) + " (" + jump + "), " + rate(preview.after, middle) + ", " +
         rate(preview.after, end);
}

std::vector<std::string> preview_lines(const std::vector<ckpt::LrPreview>& previews) {
  std::vector<std::string> lines;
  for (const ckpt::LrPreview& preview : previews) {
    lines.push_back(preview_line(preview));
    for (const std::string& warning : preview.warnings) lines.back() += "; warning: " + warning;
  }
  return lines;
}

}  // namespace titan::recipe
