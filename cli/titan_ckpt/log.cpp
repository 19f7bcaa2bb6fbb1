#include <algorithm>
#include <string>
#include <vector>

#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/ops/run_history.h"
#include "cli/kit/json_out.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/titan_ckpt/verbs.h"
#include "recipe/keys/rows.h"

namespace titan::cli {
namespace {

using ckpt::Attempt;
using ckpt::HistoryEntry;
using ckpt::KeyChange;

std::string value_text(const std::optional<std::string>& value) { return value ? escape(*value) : "not set"; }

std::string change_text(const KeyChange& change) {
  if (!change.before && !change.after) return escape(change.key);
  return escape(change.key) + ": " + value_text(change.before) + " -> " + value_text(change.after);
}

std::string steps_text(const Attempt& attempt) {
  if (attempt.last_step < attempt.first_step) return "no step";
  return "steps " + std::to_string(attempt.first_step) + " to " + std::to_string(attempt.last_step);
}

std::string layout_text(const Attempt& attempt) {
  return std::to_string(attempt.dp) + "x" + std::to_string(attempt.pp) +
         (attempt.schedule.empty() ? "" : " " + escape(attempt.schedule));
}

std::string saved_text(const std::vector<std::uint64_t>& steps) {
  constexpr std::size_t kShown = 12;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(steps.size(), kShown); ++i) words.push_back(std::to_string(steps[i]));
  if (steps.size() > kShown) words.push_back(std::to_string(steps.size() - kShown) + " more");
  return ckpt::joined(words);
}

void add_each(Facts& facts, const char* name, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) facts.add(name, escape(line));
}

/// What one start did, against the one before it (nullptr: it is the first that is kept).
Facts facts_of(const HistoryEntry& entry, const HistoryEntry* before) {
  const Attempt& attempt = entry.attempt;
  Facts facts;
  if (before == nullptr || layout_text(before->attempt) != layout_text(attempt))
    facts.add("layout", (before == nullptr ? "" : layout_text(before->attempt) + " -> ") + layout_text(attempt));
  if (!attempt.policy.empty()) facts.add("LR policy", escape(attempt.policy));
  for (const KeyChange& change : entry.changes) facts.add(change.allowed ? "allowed" : "setting", change_text(change));
  if (entry.against > 0 && entry.against + 1 < attempt.number)
    facts.add("", "settings since attempt " + std::to_string(entry.against) + ", whose steps are the last kept before");
  if (entry.config.empty()) facts.add("settings", "not known: no step of it is kept");
  if (before == nullptr || before->attempt.version != attempt.version) facts.add("version", escape(attempt.version));
  if (before == nullptr || before->attempt.environment != attempt.environment)
    facts.add("environment", escape(attempt.environment));
  add_each(facts, "note", attempt.notes);
  add_each(facts, "tool", entry.tools);
  if (!entry.saved.empty()) facts.add("kept", saved_text(entry.saved));
  return facts;
}

std::string indented(const std::string& text, const std::string& indent) {
  std::string out;
  for (const std::string& line : ckpt::split(text, '\n'))
    if (!line.empty()) out += indent + line + "\n";
  return out;
}

std::string log_text(const ckpt::RunHistory& history, const TextStyle& style) {
  std::string out;
  for (std::size_t i = history.attempts.size(); i-- > 0;) {
    const HistoryEntry& entry = history.attempts[i];
    out += "* " + style.palette.paint(Role::kName, "attempt " + std::to_string(entry.attempt.number)) + "  " +
           escape(entry.attempt.started) + "  " + steps_text(entry.attempt) + "\n";
    const HistoryEntry* before = i > 0 ? &history.attempts[i - 1] : nullptr;
    out += indented(facts_of(entry, before).render(style.palette), i > 0 ? "|   " : "    ");
  }
  if (!history.origin.empty()) out += "began from the checkpoint with id " + escape(history.origin) + "\n";
  if (!history.gone.empty()) out += escape(history.gone) + "\n";
  return out;
}

std::string blame_text(const ckpt::RunHistory& history, const std::string& key,
                       const std::vector<ckpt::KeyOrigin>& origins, const TextStyle& style) {
  std::string out =
      style.palette.paint(Role::kName, escape(key)) + " = " + value_text(origins.front().change.after) + "\n";
  Table table({{}, {}, {}, {}, {}});
  for (const ckpt::KeyOrigin& origin : origins) {
    const Attempt& attempt = history.attempts[origin.entry].attempt;
    const std::string who =
        origin.since < attempt.number ? "attempts " + std::to_string(origin.since) + " to " : "attempt ";
    const bool first = &origin == &origins.back() && !origin.change.before;
    table.row({who + std::to_string(attempt.number), escape(attempt.started), steps_text(attempt),
               first ? value_text(origin.change.after)
                     : value_text(origin.change.before) + " -> " + value_text(origin.change.after),
               origin.change.allowed
                   ? std::string("allowed") + (attempt.policy.empty() ? "" : ", LR policy " + escape(attempt.policy))
               : first ? "as it began"
                       : ""});
  }
  return out + table.render(style.palette, "  ");
}

void attempt_json(JsonOut& json, const ckpt::Attempt& attempt) {
  json.members("attempt", attempt.number, "started", attempt.started, "first_step", attempt.first_step, "last_step",
               attempt.last_step);
}

void change_json(JsonOut& json, const ckpt::KeyChange& change) {
  json.members("before", change.before, "after", change.after, "allowed", change.allowed);
}

std::string log_json(const ckpt::RunHistory& history) {
  JsonOut json("titan.log/1");
  json.path("folder", history.folder);
  json.path("newest", history.newest);
  json.text_or_null("origin", history.origin);
  json.text_or_null("gone", history.gone);
  json.each("attempts", history.attempts, [&](const ckpt::HistoryEntry& entry) {
    const ckpt::Attempt& attempt = entry.attempt;
    attempt_json(json, attempt);
    json.members("dp", attempt.dp, "pp", attempt.pp, "schedule", attempt.schedule, "version", attempt.version,
                 "environment", attempt.environment);
    json.text_or_null("policy", attempt.policy);
    json.members("saved", entry.saved, "settings_known", !entry.config.empty());
    json.each("changes", entry.changes, [&](const ckpt::KeyChange& change) {
      json.text("key", change.key);
      change_json(json, change);
    });
    json.members("notes", attempt.notes, "tools", entry.tools);
  });
  return json.document();
}

std::string blame_json(const ckpt::RunHistory& history, const std::string& key,
                       const std::vector<ckpt::KeyOrigin>& origins) {
  JsonOut json("titan.blame/1");
  json.path("folder", history.folder);
  json.members("key", key, "value", origins.front().change.after);
  json.each("changes", origins, [&](const ckpt::KeyOrigin& origin) {
    const ckpt::Attempt& attempt = history.attempts[origin.entry].attempt;
    attempt_json(json, attempt);
    json.count("since_attempt", origin.since);
    change_json(json, origin.change);
    json.text_or_null("policy", origin.change.allowed ? attempt.policy : "");
  });
  return json.document();
}

/// Warnings about newer steps, whose starts are missing in the history.
std::vector<std::string> skipped_steps(const ckpt::RunHistory& history) {
  std::vector<std::string> warnings;
  for (const std::string& step : history.skipped)
    warnings.push_back("the history is that of " + ckpt::base_name(history.newest) + ", not of " + step);
  return warnings;
}

}  // namespace

ckpt::Result<Answer> run_log(const Request& request) {
  TITAN_ASSIGN_OR_RETURN(const ckpt::RunHistory history,
                         ckpt::read_history(request.fs, request.command.positionals[0]));
  return Answer{.text = request.json ? log_json(history) : log_text(history, request.style),
                .warnings = skipped_steps(history)};
}

ckpt::Result<Answer> run_blame(const Request& request) {
  TITAN_ASSIGN_OR_RETURN(const ckpt::RunHistory history,
                         ckpt::read_history(request.fs, request.command.positionals[0]));
  const std::string key = recipe::canonical_name(request.command.positionals[1]);
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::KeyOrigin> origins, ckpt::blame_key(history, key));
  return Answer{
      .text = request.json ? blame_json(history, key, origins) : blame_text(history, key, origins, request.style),
      .warnings = skipped_steps(history)};
}

}  // namespace titan::cli
