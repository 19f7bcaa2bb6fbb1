#include "converters/hf/text_facts.h"

#include <algorithm>
#include <string>

#include "ckpt/format/json_value.h"
#include "converters/companions.h"
#include "converters/hf/byte_tokenizer.h"
#include "converters/hf/hf_checkpoint.h"

namespace titan::convert {
namespace {

using ckpt::JsonValue;
using ckpt::parse_json;

constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;

// The token ids in a member that is a number or a list of numbers.
std::vector<std::int64_t> tokens_of(const JsonValue* value) {
  std::vector<std::int64_t> tokens;
  if (value == nullptr) return tokens;
  for (const JsonValue& item : value->kind() == JsonValue::Kind::kList ? value->items() : std::vector{*value})
    if (const auto token = item.as_u64()) tokens.push_back(static_cast<std::int64_t>(*token));
  return tokens;
}

}  // namespace

ckpt::Result<TextFacts> read_text_facts(ckpt::Fs& fs, const std::vector<ckpt::ModelFilePlace>& files) {
  TextFacts facts;
  const auto read = [&](const std::string& name) -> ckpt::Result<std::string> {
    const auto place = std::ranges::find(files, "hf/" + name, &ckpt::ModelFilePlace::member);
    if (place == files.end()) return std::string();
    return read_companion(fs, {place->path, name, place->digest, place->made}, kMaxBytes);
  };
  TITAN_ASSIGN_OR_RETURN(std::string tokenizer, read("tokenizer.json"));
  facts.byte_tokenizer = is_byte_tokenizer(tokenizer);
  if (!facts.byte_tokenizer && !tokenizer.empty()) {
    facts.tokenizer_json = std::move(tokenizer);
    TITAN_ASSIGN_OR_RETURN(facts.tokenizer_config, read("tokenizer_config.json"));
  }
  facts.tokenizer = !facts.byte_tokenizer && std::ranges::any_of(files, [](const ckpt::ModelFilePlace& file) {
    return file.member.starts_with("hf/") && is_vocabulary(file.member.substr(3));
  });
  for (const char* name : {"generation_config.json", kHfConfig}) {
    TITAN_ASSIGN_OR_RETURN(const std::string text, read(name));
    if (text.empty()) continue;
    TITAN_ASSIGN_OR_RETURN(const JsonValue config, parse_json(name, text));
    if (facts.ends.empty()) facts.ends = tokens_of(config.find("eos_token_id"));
    if (const JsonValue* longest = config.find("max_position_embeddings")) facts.positions = longest->as_u64();
  }
  return facts;
}

}  // namespace titan::convert
