#pragma once
// Reads members of a JSON object in a foreign configuration. The caller checks for errors once, after the last member.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/format/json_value.h"
#include "recipe/model/dims.h"

namespace titan::convert {

using ckpt::JsonValue;

/// The getters check a member's type. status() is the first error. `absent` is the value of a missing member; a getter
/// that gets no `absent` treats a missing member as an error.
class Fields {
 public:
  Fields(const std::string& what, const JsonValue& object) : what_(what), object_(object) {}

  const JsonValue* find(std::string_view key) const { return object_.find(key); }
  std::int64_t whole(std::string_view key, std::optional<std::int64_t> absent = {}) {
    return recipe::to_dimension(get(key, std::optional<std::uint64_t>(absent), &JsonValue::as_u64, "an integer"));
  }
  double real(std::string_view key, std::optional<double> absent = {}) {
    return get(key, absent, &JsonValue::as_double, "a number");
  }
  bool flag(std::string_view key, bool absent) {
    return get(key, std::optional(absent), &JsonValue::as_bool, "true or false");
  }
  std::string text(std::string_view key, const std::string& absent) {
    const JsonValue* value = find(key);
    if (value == nullptr) return absent;
    if (value->text() != nullptr) return *value->text();
    fail(ckpt::incompatible(what_ + ": '" + std::string(key) + "' is not a text"));
    return absent;
  }
  /// A list; nullptr if absent or null. Another kind of value is an error.
  const JsonValue* list(std::string_view key) {
    const JsonValue* value = find(key);
    if (value == nullptr || value->kind() == JsonValue::Kind::kList) return value;
    fail(ckpt::incompatible(what_ + ": '" + std::string(key) + "' is not a list"));
    return nullptr;
  }
  /// Whether `key` is null. For Mistral, transformers uses a window of 4,096 if the key is missing; only null means no
  /// window.
  bool says_null(std::string_view key) const {
    return std::ranges::any_of(object_.members(), [&](const JsonValue::Member& member) {
      return member.first == key && member.second.is_null();
    });
  }
  /// Numbers of a list; an error if it is absent or contains something else.
  std::vector<double> reals(std::string_view key) {
    std::vector<double> numbers;
    const JsonValue* value = find(key);
    if (value == nullptr) fail(ckpt::incompatible(what_ + ": '" + std::string(key) + "' is missing"));
    for (const JsonValue& item : value == nullptr ? std::vector<JsonValue>{} : value->items())
      if (const auto number = item.as_double()) numbers.push_back(*number);
    if (value != nullptr && (value->items().empty() || numbers.size() != value->items().size()))
      fail(ckpt::incompatible(what_ + ": '" + std::string(key) + "' is not a list of numbers"));
    return numbers;
  }
  void fail(ckpt::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  /// Refuses a model that needs `what`.
  void lack(const std::string& what) { fail(ckpt::unsupported(what_ + ": " + what + ", which Titan's model has not")); }
  const ckpt::Status& status() const { return status_; }
  const std::string& what() const { return what_; }

 private:
  template <typename T>
  T get(std::string_view key, std::optional<T> absent, std::optional<T> (JsonValue::*as)() const,
        const char* expected) {
    const JsonValue* value = find(key);
    if (value == nullptr) {
      if (!absent) fail(ckpt::incompatible(what_ + ": '" + std::string(key) + "' is missing"));
      return absent.value_or(T{});
    }
    const std::optional<T> read = (value->*as)();
    if (!read) fail(ckpt::incompatible(what_ + ": '" + std::string(key) + "' is not " + expected));
    return read.value_or(T{});
  }

  std::string what_;
  const JsonValue& object_;
  ckpt::Status status_;
};

}  // namespace titan::convert
