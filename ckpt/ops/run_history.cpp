#include "ckpt/ops/run_history.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ckpt/base/nearest.h"
#include "ckpt/model/history.h"
#include "ckpt/read/reader.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_resolve.h"

namespace titan::ckpt {
namespace {

std::optional<std::string> value_of(const Settings& config, const std::string& key) {
  const auto row = std::find_if(config.begin(), config.end(), [&](const auto& one) { return one.first == key; });
  return row == config.end() ? std::nullopt : std::optional(row->second);
}

/// Parses a line "key: before -> after" of Attempt::changed. A line of another form becomes a key without values.
KeyChange parse_change(const std::string& line) {
  const std::size_t colon = line.find(": "), arrow = line.find(" -> ", colon);
  if (colon == std::string::npos || arrow == std::string::npos) return {line, std::nullopt, std::nullopt, true};
  return {line.substr(0, colon), line.substr(colon + 2, arrow - colon - 2), line.substr(arrow + 4), true};
}

/// The newest attempt that trained `step`, according to the newest checkpoint; nullptr if that attempt is not kept.
HistoryEntry* entry_of(RunHistory& history, std::uint64_t step) {
  for (auto entry = history.attempts.rbegin(); entry != history.attempts.rend(); ++entry)
    if (entry->attempt.first_step <= step && step <= entry->attempt.last_step) return &*entry;
  return nullptr;
}

std::string tool_line(const Manifest& manifest) {
  const DerivedFrom& from = *manifest.derived_from;
  return "step " + std::to_string(manifest.step) + ": " + manifest.writer + " made it of " + from.path + " (step " +
         std::to_string(from.step) + ", id " + from.id.hex() + ")";
}

void add_step(const Manifest& manifest, RunHistory& history) {
  HistoryEntry* entry = entry_of(history, manifest.step);
  if (entry == nullptr) return;
  entry->saved.push_back(manifest.step);
  if (entry->config.empty()) entry->config = manifest.config;
  if (manifest.derived_from) entry->tools.push_back(tool_line(manifest));
}

std::vector<KeyChange> differences(const Settings& before, const Settings& after, const std::set<std::string>& known) {
  std::set<std::string> keys;
  for (const Settings* config : {&before, &after})
    for (const auto& [key, value] : *config) keys.insert(key);
  std::vector<KeyChange> changes;
  for (const std::string& key : keys) {
    std::optional<std::string> old_value = value_of(before, key), new_value = value_of(after, key);
    if (old_value != new_value && !known.contains(key))
      changes.push_back({key, std::move(old_value), std::move(new_value), false});
  }
  return changes;
}

void compare_attempts(RunHistory& history) {
  const HistoryEntry* before = nullptr;
  for (HistoryEntry& entry : history.attempts) {
    std::set<std::string> allowed;
    for (const std::string& line : entry.attempt.changed) {
      entry.changes.push_back(parse_change(line));
      allowed.insert(entry.changes.back().key);
    }
    if (entry.config.empty()) continue;
    if (before != nullptr) {
      entry.against = before->attempt.number;
      const std::vector<KeyChange> others = differences(before->config, entry.config, allowed);
      entry.changes.insert(entry.changes.end(), others.begin(), others.end());
    }
    before = &entry;
  }
}

}  // namespace

RunHistory history_of(const TrainState& newest, const std::vector<const Manifest*>& steps) {
  RunHistory history;
  history.origin = newest.origin;
  history.gone = attempts_gone(newest.attempts);
  for (const Attempt& attempt : newest.attempts) history.attempts.push_back({attempt});
  for (const Manifest* step : steps) add_step(*step, history);
  compare_attempts(history);
  return history;
}

Result<RunHistory> read_history(Fs& fs, const std::string& run) {
  TITAN_ASSIGN_OR_RETURN(const std::string folder, resolve_run(fs, run));
  TITAN_ASSIGN_OR_RETURN(const RunScan scan, scan_run(fs, folder));
  std::vector<const Manifest*> steps;
  for (auto step = scan.steps.rbegin(); step != scan.steps.rend(); ++step)
    if (step->validity.ok()) steps.push_back(&*step->manifest);
  Status none = not_found(run + " has no step with a history of its starts");
  for (const StepEntry& step : scan.steps) {
    if (!step.validity.ok()) none.causes.push_back(step_name(step.step) + ": " + step.validity.message);
    if (!step.validity.ok() || step.manifest->component(kTrainState) == nullptr) continue;
    TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::open(fs, step.path));
    TITAN_ASSIGN_OR_RETURN(const TrainState state, reader.train_state());
    RunHistory history = history_of(state, steps);
    history.folder = folder;
    history.newest = step.path;
    history.skipped = std::move(none.causes);
    return history;
  }
  return none;
}

Result<std::vector<KeyOrigin>> blame_key(const RunHistory& history, const std::string& key) {
  std::vector<KeyOrigin> origins;
  std::set<std::string> keys;
  for (std::size_t i = 0; i < history.attempts.size(); ++i) {
    const HistoryEntry& entry = history.attempts[i];
    for (const auto& [known, value] : entry.config) keys.insert(known);
    for (const KeyChange& change : entry.changes) {
      keys.insert(change.key);
      if (change.key != key) continue;
      // A change between two known configurations may be one that an attempt in between recorded as allowed. Then that
      // attempt set the key.
      const bool noted = !change.allowed && !origins.empty() && origins.back().change.after == change.after;
      if (!noted) origins.push_back({i, change.allowed ? entry.attempt.number : entry.against + 1, change});
    }
    const std::optional<std::string> value = value_of(entry.config, key);
    if (origins.empty() && value) origins.push_back({i, 1, {key, std::nullopt, value, false}});
  }
  if (origins.empty()) {
    const Status unknown = invalid("no configuration in " + history.folder + " has the key '" + key + "'");
    const std::string meant = did_you_mean(key, {keys.begin(), keys.end()});
    return meant.empty() ? unknown : unknown.with_hint(meant);
  }
  // The first known change names the value before it, which the run had from its beginning.
  const KeyOrigin first = origins.front();
  if (first.change.before) origins.insert(origins.begin(), {0, 1, {key, std::nullopt, first.change.before, false}});
  std::reverse(origins.begin(), origins.end());
  return origins;
}

}  // namespace titan::ckpt
