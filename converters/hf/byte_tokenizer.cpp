#include "converters/hf/byte_tokenizer.h"

#include <utility>
#include <vector>

#include "ckpt/format/json_value.h"

namespace titan::convert {
namespace {

using ckpt::JsonValue;
using ckpt::parse_json;

constexpr std::uint32_t kBytes = 256;

// GPT-2's alphabet: bytes that are printable in Latin-1 stand for themselves, the others for the characters from U+0100
// on, in order. \source Radford et al., GPT-2, encoder.py bytes_to_unicode
std::string letter(std::uint32_t byte, std::uint32_t& next) {
  const bool shown = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  const std::uint32_t code = shown ? byte : next++;
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
}

JsonValue object(std::vector<JsonValue::Member> members) {
  JsonValue value = JsonValue::object();
  for (auto& [key, member] : members) value.set(key, std::move(member));
  return value;
}

JsonValue byte_level() {
  return object({{"type", JsonValue::string("ByteLevel")},
                 {"add_prefix_space", JsonValue::boolean(false)},
                 {"trim_offsets", JsonValue::boolean(true)},
                 {"use_regex", JsonValue::boolean(false)}});
}

JsonValue make_tokenizer() {
  JsonValue vocabulary = JsonValue::object();
  std::uint32_t next = 0x100;
  for (std::uint32_t byte = 0; byte < kBytes; ++byte) vocabulary.set(letter(byte, next), JsonValue::integer(byte));
  JsonValue model = object({{"type", JsonValue::string("BPE")},
                            {"dropout", {}},
                            {"unk_token", {}},
                            {"continuing_subword_prefix", {}},
                            {"end_of_word_suffix", {}},
                            {"fuse_unk", JsonValue::boolean(false)},
                            {"byte_fallback", JsonValue::boolean(false)},
                            {"ignore_merges", JsonValue::boolean(false)},
                            {"vocab", std::move(vocabulary)},
                            {"merges", JsonValue::list({})}});
  return object({{"version", JsonValue::string("1.0")},
                 {"truncation", {}},
                 {"padding", {}},
                 {"added_tokens", JsonValue::list({})},
                 {"normalizer", {}},
                 {"pre_tokenizer", byte_level()},
                 {"post_processor", {}},
                 {"decoder", byte_level()},
                 {"model", std::move(model)}});
}

}  // namespace

const std::string& byte_tokenizer_json() {
  static const std::string text = make_tokenizer().write();
  return text;
}

std::string byte_tokenizer_config(std::optional<std::uint64_t> longest) {
  JsonValue config = object({{"clean_up_tokenization_spaces", JsonValue::boolean(false)}});
  if (longest) config.set("model_max_length", JsonValue::integer(*longest));
  config.set("tokenizer_class", JsonValue::string("PreTrainedTokenizerFast"));
  return config.write();
}

bool is_byte_tokenizer(std::string_view json) {
  constexpr std::size_t kMost = std::size_t{1} << 16;  // bytes; larger files have other vocabularies
  if (json.size() > kMost) return false;
  // transformers rewrites the file when it saves a model; version 5 adds a template that adds no tokens.
  auto parsed = parse_json("tokenizer.json", json);
  if (!parsed.ok() || !parsed->is_object()) return false;
  const JsonValue* post = parsed->find("post_processor");
  const JsonValue* special = post != nullptr && post->is_object() ? post->find("special_tokens") : nullptr;
  if (special != nullptr && special->is_object() && special->members().empty()) parsed->set("post_processor", {});
  return *parsed == make_tokenizer();
}

}  // namespace titan::convert
