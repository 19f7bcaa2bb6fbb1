#include "cli/titan_ckpt/log.h"

#include "cli/kit/json_out.h"

namespace titan::cli {
namespace {

void attempt_json(JsonOut& json, const ckpt::Attempt& attempt) {
  json.members("attempt", attempt.number, "started", attempt.started, "first_step", attempt.first_step, "last_step",
               attempt.last_step);
}

void change_json(JsonOut& json, const ckpt::KeyChange& change) {
  json.members("before", change.before, "after", change.after, "allowed", change.allowed);
}

}  // namespace

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

}  // namespace titan::cli
