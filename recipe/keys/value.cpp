#include "recipe/keys/value.h"

namespace titan::recipe {

std::string to_toml(const Value& value) {
  if (const auto* v = value.as<bool>()) return *v ? "true" : "false";
  if (const auto* v = value.as<std::int64_t>()) return std::to_string(*v);
  if (const auto* v = value.as<double>()) return toml_float(*v);
  if (const auto* v = value.as<std::string>()) return toml_string(*v);
  if (const auto* v = value.as<Value::Other>()) return v->text;
  std::string text = "[";
  for (const Value& item : *value.as<std::vector<Value>>()) {
    if (text.size() > 1) text += ", ";
    text += to_toml(item);
  }
  return text + "]";
}

std::string describe(const Value& value) {
  if (const auto* v = value.as<Value::Other>()) return v->text.empty() ? v->kind : v->kind + " (" + v->text + ")";
  const char* kind = value.as<bool>()           ? "the boolean "
                     : value.as<std::int64_t>() ? "the integer "
                     : value.as<double>()       ? "the float "
                     : value.as<std::string>()  ? "the string "
                                                : "the list ";
  return kind + to_toml(value);
}

}  // namespace titan::recipe
