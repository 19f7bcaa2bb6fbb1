#pragma once
// Reads a model configuration and refuses members that were never asked for, because an unknown member may change what
// the model computes.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"
#include "ckpt/format/json_value.h"
#include "converters/json_file.h"
#include "recipe/model/dims.h"

namespace titan::convert {

/// Base of a configuration reader. Its getters record which members were asked for. Members that are null count as
/// absent.
class KnownMembers {
 protected:
  using JsonValue = ckpt::JsonValue;

  /// `what` names the file; `hint` is what to do about a member that is wrong. Both and `json` must outlive the object.
  KnownMembers(const std::string& what, const JsonValue& json, const char* hint = "")
      : what_(what), json_(json), hint_(hint) {}

  const JsonValue* find(const std::string& key) {
    known_.insert(key);
    return json_.find(key);
  }
  /// \error kIncompatible: the member is not a whole number, or it is missing and there is no default `otherwise`
  ckpt::Result<std::int64_t> size(const std::string& key, std::optional<std::int64_t> otherwise = std::nullopt) {
    const JsonValue* value = find(key);
    if (value == nullptr && otherwise) return *otherwise;
    if (value == nullptr || !value->as_u64()) return wrong(key, "a whole number");
    return recipe::to_dimension(*value->as_u64());
  }
  ckpt::Result<double> real(const std::string& key, std::optional<double> otherwise) {
    const JsonValue* value = find(key);
    if (value == nullptr && otherwise) return *otherwise;
    if (value == nullptr || !value->as_double()) return wrong(key, "a number");
    return *value->as_double();
  }
  ckpt::Result<bool> flag(const std::string& key, bool otherwise) {
    const JsonValue* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->as_bool()) return wrong(key, "true or false");
    return *value->as_bool();
  }
  /// The error that Titan's model cannot express the member `key`. \error kUnsupported always
  ckpt::Status lack(const std::string& key) const {
    return ckpt::unsupported(what_ + ": '" + key + "' is " + short_text(*json_.find(key)) +
                             ": Titan's model has nothing of the kind, or does not know it");
  }
  /// Refuses members that were not asked for, except those in `harmless`. \error as lack
  ckpt::Status check_rest(std::span<const std::string_view> harmless) const {
    for (const auto& [key, value] : json_.members())
      if (!known_.contains(key) && !value.is_null() && std::ranges::find(harmless, key) == harmless.end())
        return lack(key);
    return {};
  }

  const std::string& what_;
  const JsonValue& json_;

 private:
  ckpt::Status wrong(const std::string& key, const char* expected) const {
    return ckpt::incompatible(what_ + ": '" + key + "' is missing or not " + expected).with_hint(hint_);
  }

  const char* hint_;
  std::set<std::string> known_;
};

}  // namespace titan::convert
