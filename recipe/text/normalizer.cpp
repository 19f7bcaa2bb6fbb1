#include "recipe/text/normalizer.h"

#include "recipe/text/json_types.h"
#include "recipe/text/nfc.h"

namespace titan::recipe {
namespace {

using ckpt::JsonValue;
using ckpt::Result;

constexpr std::size_t kLongestPrefix = 1024;  // bytes
constexpr std::size_t kMostNormalizers = 4;

void append_replaced(std::string_view text, const std::string& from, const std::string& to, std::string& out) {
  std::size_t at = 0;
  for (std::size_t found; (found = text.find(from, at)) != std::string_view::npos; at = found + from.size()) {
    out += text.substr(at, found - at);
    out += to;
  }
  out += text.substr(at);
}

}  // namespace

Result<Normalizer> Normalizer::read(const JsonValue* part) {
  Normalizer normalizer;
  if (part == nullptr) return normalizer;
  TITAN_ASSIGN_OR_RETURN(const std::vector<const JsonValue*> parts, parts_of(*part, "normalizers"));
  for (const JsonValue* each : parts) {
    const std::string type = type_of(*each);
    Step step{Kind::kNfc, "", ""};
    if (type == "Replace") {
      step.kind = Kind::kReplace;
      const JsonValue* pattern = each->find("pattern");
      if (pattern == nullptr || pattern->find("String") == nullptr) return refused_type("Replace of", "Regex");
      TITAN_ASSIGN_OR_RETURN(step.from, text_of(*pattern, "String"));
      TITAN_ASSIGN_OR_RETURN(step.to, text_of(*each, "content"));
      if (step.from.empty()) return ckpt::invalid("the normalizer 'Replace' replaces an empty text");
      if (grows(step.from, step.to)) return refused_type("the normalizer's", "Replace by a text four times as long");
    } else if (type == "Prepend") {
      step.kind = Kind::kPrepend;
      TITAN_ASSIGN_OR_RETURN(step.to, text_of(*each, "prepend"));
    } else if (type != "NFC") {
      return refused_type("the normalizer", type);
    }
    if (step.to.size() > kLongestPrefix)
      return ckpt::invalid("the normalizer '" + type + "' puts in more than 1024 bytes");
    normalizer.steps_.push_back(std::move(step));
    if (normalizer.steps_.size() > kMostNormalizers) return ckpt::invalid("the normalizer has more than 4 steps");
  }
  return normalizer;
}

std::string_view Normalizer::apply(std::string_view text, std::string& out) const {
  if (steps_.empty() || text.empty()) return text;
  std::string before;
  out.clear();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (i > 0) {
      before.swap(out);
      out.clear();
    }
    const std::string_view from = i > 0 ? std::string_view(before) : text;
    switch (step.kind) {
      case Kind::kNfc: append_nfc(from, out); break;
      case Kind::kReplace: append_replaced(from, step.from, step.to, out); break;
      case Kind::kPrepend: out.append(step.to).append(from); break;
    }
  }
  return out;
}

}  // namespace titan::recipe
