#include "recipe/text/json_types.h"

namespace titan::recipe {

using ckpt::JsonValue;
using ckpt::Result;
using ckpt::Status;

namespace {

constexpr std::size_t kMostParts = 32;

Status unfit(const JsonValue& part, const char* key, const char* expected) {
  return ckpt::invalid("the member '" + std::string(key) + "' of '" + type_of(part) + "' is not " + expected);
}

}  // namespace

std::string type_of(const JsonValue& part) {
  const JsonValue* type = part.find("type");
  return type != nullptr && type->text() != nullptr ? *type->text() : "";
}

Result<bool> flag_of(const JsonValue& part, const char* key, bool when_absent) {
  const JsonValue* value = part.find(key);
  if (value == nullptr) return when_absent;
  const auto flag = value->as_bool();
  if (!flag) return unfit(part, key, "true or false");
  return *flag;
}

Result<std::string> text_of(const JsonValue& part, const char* key) {
  const JsonValue* value = part.find(key);
  if (value == nullptr || value->text() == nullptr) return unfit(part, key, "a text");
  return *value->text();
}

Result<std::vector<const JsonValue*>> parts_of(const JsonValue& part, const char* key) {
  std::vector<const JsonValue*> parts;
  if (type_of(part) != "Sequence") {
    parts.push_back(&part);
    return parts;
  }
  const JsonValue* list = part.find(key);
  if (list == nullptr || list->kind() != JsonValue::Kind::kList) return unfit(part, key, "a list");
  for (const JsonValue& item : list->items()) {
    TITAN_ASSIGN_OR_RETURN(const std::vector<const JsonValue*> inner, parts_of(item, key));
    parts.insert(parts.end(), inner.begin(), inner.end());
    if (parts.size() > kMostParts) return unfit(part, key, "a list of at most 32 parts");
  }
  return parts;
}

bool grows(const std::string& from, const std::string& to) { return to.size() > 4 * from.size(); }

Status refused_type(const char* what, const std::string& type) {
  return ckpt::unsupported(std::string(what) + " '" + type + "' is not supported yet");
}

}  // namespace titan::recipe
