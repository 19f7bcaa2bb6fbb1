#include "ckpt/format/json_value.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "ckpt/base/text.h"
#include "ckpt/base/toml_text.h"
#include "ckpt/format/json_reader.h"
#include "ckpt/format/json_writer.h"

namespace titan::ckpt {
namespace {

// `text` with quotes and escapes.
std::string json_text(std::string_view text) {
  JsonWriter writer;
  std::string out = std::move(writer.value(text)).finish();
  out.pop_back();
  return out;
}

}  // namespace

class JsonParser {
 public:
  static JsonValue value(JsonReader& json) {
    JsonValue value;
    switch (json.peek()) {
      case '{': {
        value.kind_ = JsonValue::Kind::kObject;
        std::unordered_set<std::string> keys;
        json.object([&](std::string_view key) {
          if (!keys.emplace(key).second) json.fail("key '" + std::string(key) + "' is there twice");
          std::string name(key);
          value.members_.emplace_back(std::move(name), JsonParser::value(json));
        });
        break;
      }
      case '[':
        value.kind_ = JsonValue::Kind::kList;
        json.array([&](std::size_t) { value.items_.push_back(JsonParser::value(json)); });
        break;
      case '"': return JsonValue::string(std::string(json.text()));
      case 't':
      case 'f': return JsonValue::boolean(json.boolean());
      case 'n':
        if (!json.null()) json.skip();  // records the error
        break;
      default: return JsonValue(JsonValue::Kind::kNumber, std::string(json.number()));
    }
    return value;
  }
};

JsonValue JsonValue::boolean(bool value) { return JsonValue(value ? Kind::kTrue : Kind::kFalse); }
JsonValue JsonValue::integer(std::uint64_t value) { return JsonValue(Kind::kNumber, std::to_string(value)); }
JsonValue JsonValue::real(double value) { return JsonValue(Kind::kNumber, toml_float(value)); }
JsonValue JsonValue::string(std::string value) { return JsonValue(Kind::kText, std::move(value)); }
JsonValue JsonValue::list(std::vector<JsonValue> items) {
  JsonValue value(Kind::kList);
  value.items_ = std::move(items);
  return value;
}

std::optional<bool> JsonValue::as_bool() const {
  if (kind_ != Kind::kTrue && kind_ != Kind::kFalse) return std::nullopt;
  return kind_ == Kind::kTrue;
}
std::optional<std::uint64_t> JsonValue::as_u64() const {
  const auto whole = kind_ == Kind::kNumber ? number_of<std::uint64_t>(text_) : std::nullopt;
  if (whole) return whole;
  const auto real = as_double();
  const bool exact = real && *real >= 0 && *real <= 0x1p53 && *real == std::floor(*real);
  return exact ? std::optional(static_cast<std::uint64_t>(*real)) : std::nullopt;
}
std::optional<double> JsonValue::as_double() const {
  return kind_ == Kind::kNumber ? number_of<double>(text_) : std::nullopt;
}

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto at = std::ranges::find(members_, key, &Member::first);
  return at == members_.end() || at->second.is_null() ? nullptr : &at->second;
}

void JsonValue::set(std::string_view key, JsonValue value) {
  const auto at = std::ranges::find(members_, key, &Member::first);
  if (at != members_.end()) {
    at->second = std::move(value);
  } else {
    members_.emplace_back(key, std::move(value));
  }
}

void JsonValue::remove(std::string_view key) {
  std::erase_if(members_, [&](const Member& member) { return member.first == key; });
}

void JsonValue::append(std::string& out, int indent) const {
  const std::string inner(static_cast<std::size_t>(indent) + 2, ' ');
  const auto close = [&](char bracket) { out += '\n' + std::string(static_cast<std::size_t>(indent), ' ') + bracket; };
  switch (kind_) {
    case Kind::kNull: out += "null"; break;
    case Kind::kTrue: out += "true"; break;
    case Kind::kFalse: out += "false"; break;
    case Kind::kNumber: out += text_; break;
    case Kind::kText: out += json_text(text_); break;
    case Kind::kList:
      if (items_.empty()) {
        out += "[]";
        break;
      }
      for (std::size_t i = 0; i < items_.size(); ++i) {
        out += (i == 0 ? "[\n" : ",\n") + inner;
        items_[i].append(out, indent + 2);
      }
      close(']');
      break;
    case Kind::kObject:
      if (members_.empty()) {
        out += "{}";
        break;
      }
      for (std::size_t i = 0; i < members_.size(); ++i) {
        out += (i == 0 ? "{\n" : ",\n") + inner + json_text(members_[i].first) + ": ";
        members_[i].second.append(out, indent + 2);
      }
      close('}');
      break;
  }
}

std::string JsonValue::write() const {
  std::string out;
  append(out, 0);
  return out + '\n';
}

JsonValue read_json_value(JsonReader& json) { return JsonParser::value(json); }

Result<JsonValue> parse_json(const std::string& what, std::string_view json) {
  JsonReader reader(what, json);
  JsonValue value = JsonParser::value(reader);
  TITAN_RETURN_IF_ERROR(reader.finish());
  return value;
}

}  // namespace titan::ckpt
