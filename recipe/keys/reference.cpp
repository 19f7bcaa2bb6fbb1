#include "recipe/keys/reference.h"

#include "recipe/keys/writer.h"

namespace titan::recipe {
namespace {

std::string change_text(const Key& key) {
  if (!key.value_in && key.ignore_if)
    return "no effect here; on the command line, refused unless the value turns it off";
  if (!key.value_in)
    return key.any_harmless ? "no effect here" : "not supported: only values that turn it off are accepted";
  switch (key.cls) {
    case KeyClass::kCurve: break;
    case KeyClass::kLayout: return "free: the same bits";
    case KeyClass::kSaving: return "free";
    case KeyClass::kLogging: return "free";
    case KeyClass::kEnvironment: return "free; a warning if the bits change";
    case KeyClass::kStart: return "never compared";
  }
  if (key.acts_through == "model.*") return "compared by its dimensions";
  switch (key.effect) {
    case ChangeEffect::kSchedule: {
      const bool pinned = !key.acts_through.empty() && find_key(key.acts_through)->unset_follows == key.name;
      return "--allow with lr_scheduler.on_change" + (pinned ? "; free while " + key.acts_through + " is set" : "");
    }
    case ChangeEffect::kInPlace: return "--allow: from the next step on";
    case ChangeEffect::kGlobalBatch: return "--allow: from the next step on, at the same sample";
    case ChangeEffect::kNewEpoch: return "--allow: a new epoch of the data begins";
    case ChangeEffect::kNever: return "never within a run; --init-from starts a new one";
  }
  return "";
}

}  // namespace

std::vector<ChangeRule> change_rules() {
  std::vector<ChangeRule> rules;
  for (const Key& key : key_table()) rules.push_back({key.name, class_name(key.cls), change_text(key)});
  for (const char* flag : {"--resume", "--init-from", "--init-map", "--allow"})
    rules.push_back({flag, class_name(KeyClass::kStart), "never compared"});
  return rules;
}

}  // namespace titan::recipe
