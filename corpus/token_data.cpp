#include "corpus/token_data.h"

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/format/json_fields.h"
#include "ckpt/format/json_value.h"

namespace titan::corpus {
namespace {

using ckpt::JsonField;
using ckpt::JsonReader;
using ckpt::JsonValue;
using ckpt::Result;
using ckpt::Status;

constexpr const char* kSchema = "titan.data/1";
constexpr std::uint64_t kLargest = std::uint64_t{64} << 20;
constexpr std::size_t kMostShards = 1 << 18;
constexpr std::size_t kMostAround = 64;  // maximum number of ids before or after a document

JsonValue ids_value(const std::vector<std::uint32_t>& ids) {
  std::vector<JsonValue> items;
  for (const std::uint32_t id : ids) items.push_back(JsonValue::integer(id));
  return JsonValue::list(std::move(items));
}

void read_ids(JsonReader& in, std::vector<std::uint32_t>& ids) {
  in.array([&](std::size_t i) {
    if (i >= kMostAround) return in.fail("too many ids around a document");
    ids.push_back(in.u32());
  });
}

void read_shard(JsonReader& in, TokenShard& shard) {
  read_object(in, "shard", JsonField{"tokens_file", shard.tokens_file}, JsonField{"ends_file", shard.ends_file},
              JsonField{"tokens", shard.tokens}, JsonField{"documents", shard.documents},
              JsonField{"tokens_digest", shard.tokens_digest}, JsonField{"ends_digest", shard.ends_digest},
              JsonField{"answers_file", shard.answers_file, /*required=*/false},
              JsonField{"answers", shard.answers, /*required=*/false},
              JsonField{"answers_digest", shard.answers_digest, /*required=*/false});
  std::vector<std::string> names = {shard.tokens_file, shard.ends_file};
  if (!shard.answers_file.empty()) names.push_back(shard.answers_file);
  for (const std::string& name : names)
    if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.'))
      in.fail("'" + name + "' is no name of a shard");
}

Status check_file(ckpt::Fs& fs, const std::string& folder, const std::string& name, std::uint64_t items,
                  std::uint64_t width) {
  const auto info = fs.stat_member(folder, name);
  const std::string path = ckpt::join_path(folder, name);
  if (!info.ok()) return ckpt::invalid("'" + path + "' is missing or no plain file: " + info.status().message);
  if (items > info->size / width || info->size != items * width)
    return ckpt::corrupt("'" + path + "' has " + std::to_string(info->size) + " bytes, expected " +
                         std::to_string(items) + " times " + std::to_string(width) + " by " + kDataFile);
  return {};
}

Status check(ckpt::Fs& fs, const std::string& folder, const TokenData& data) {
  std::uint64_t tokens = 0, documents = 0;
  for (const TokenShard& shard : data.shards) {
    TITAN_RETURN_IF_ERROR(check_file(fs, folder, shard.tokens_file, shard.tokens, data.token_bytes));
    TITAN_RETURN_IF_ERROR(check_file(fs, folder, shard.ends_file, shard.documents, sizeof(std::uint64_t)));
    if (!shard.answers_file.empty())
      TITAN_RETURN_IF_ERROR(check_file(fs, folder, shard.answers_file, shard.answers, 2 * sizeof(std::uint64_t)));
    tokens += shard.tokens;
    documents += shard.documents;
  }
  if (tokens == data.tokens && documents == data.documents) return {};
  return ckpt::invalid("'" + ckpt::join_path(folder, kDataFile) +
                       "' contradicts itself: its shards have other sums than it says");
}

}  // namespace

std::string write_token_data(const TokenData& data) {
  JsonValue json = JsonValue::object();
  const auto number = [](JsonValue& to, const char* key, std::uint64_t value) {
    to.set(key, JsonValue::integer(value));
  };
  json.set("schema", JsonValue::string(kSchema));
  number(json, "token_bytes", data.token_bytes);
  number(json, "tokens", data.tokens);
  number(json, "documents", data.documents);
  number(json, "text_bytes", data.text_bytes);
  number(json, "longest", data.longest);
  if (data.trained) number(json, "trained", *data.trained);
  number(json, "vocabulary", data.vocabulary);
  json.set("tokenizer", JsonValue::string(data.tokenizer.hex()));
  json.set("before", ids_value(data.before));
  json.set("behind", ids_value(data.behind));
  std::vector<JsonValue> shards;
  for (const TokenShard& shard : data.shards) {
    JsonValue value = JsonValue::object();
    value.set("tokens_file", JsonValue::string(shard.tokens_file));
    value.set("ends_file", JsonValue::string(shard.ends_file));
    number(value, "tokens", shard.tokens);
    number(value, "documents", shard.documents);
    value.set("tokens_digest", JsonValue::string(shard.tokens_digest.hex()));
    value.set("ends_digest", JsonValue::string(shard.ends_digest.hex()));
    if (!shard.answers_file.empty()) {
      value.set("answers_file", JsonValue::string(shard.answers_file));
      number(value, "answers", shard.answers);
      value.set("answers_digest", JsonValue::string(shard.answers_digest.hex()));
    }
    shards.push_back(std::move(value));
  }
  json.set("shards", JsonValue::list(std::move(shards)));
  return json.write();
}

bool is_token_data(ckpt::Fs& fs, const std::string& folder) {
  const auto bytes = ckpt::read_member(fs, folder, kDataFile, kLargest);
  return bytes.ok() && ckpt::text_of(*bytes).substr(0, 64).find(kSchema) != std::string_view::npos;
}

bool is_token_member(std::string_view name) {
  for (const char* other : {kDataFile, "tokenizer.json", "tokenizer_config.json"})
    if (name == other) return true;
  constexpr std::string_view kEnd = ".bin";
  if (!name.ends_with(kEnd)) return false;
  name.remove_suffix(kEnd.size());
  for (const std::string_view stem : {"tokens-", "ends-", "answers-"}) {
    if (!name.starts_with(stem)) continue;
    const std::string_view number = name.substr(stem.size());
    return number.size() >= 5 && number.find_first_not_of("0123456789") == std::string_view::npos;
  }
  return false;
}

Result<TokenData> read_token_data(ckpt::Fs& fs, const std::string& folder) {
  const auto bytes = ckpt::read_member(fs, folder, kDataFile, kLargest);
  if (!bytes.ok())
    return ckpt::invalid("'" + folder + "' is no folder of tokens: " + bytes.status().message)
        .with_hint("titan-ckpt tokenize makes one of text");
  const std::string what = ckpt::join_path(folder, kDataFile);
  JsonReader in(what, ckpt::text_of(*bytes));
  TokenData data;
  std::string schema;
  read_object(in, "data", JsonField{"schema", schema}, JsonField{"token_bytes", data.token_bytes},
              JsonField{"tokens", data.tokens}, JsonField{"documents", data.documents},
              JsonField{"text_bytes", data.text_bytes}, JsonField{"longest", data.longest},
              JsonField{"trained", [&] { data.trained = in.u64(); }, /*required=*/false},
              JsonField{"vocabulary", data.vocabulary}, JsonField{"tokenizer", data.tokenizer},
              JsonField{"before", [&] { read_ids(in, data.before); }},
              JsonField{"behind", [&] { read_ids(in, data.behind); }},
              JsonField{"shards", [&] {
                          in.array([&](std::size_t i) {
                            if (i >= kMostShards) return in.fail("too many shards");
                            read_shard(in, data.shards.emplace_back());
                          });
                        }});
  if (in.ok() && schema != kSchema) in.fail("the schema is '" + schema + "', expected '" + kSchema + "'");
  if (in.ok() && data.token_bytes != 2 && data.token_bytes != 4) in.fail("tokens are not of 2 or 4 bytes");
  Status status = in.finish();
  if (!status.ok()) {
    status.code = ckpt::Code::kInvalid;
    return status;
  }
  TITAN_RETURN_IF_ERROR(check(fs, folder, data));
  return data;
}

}  // namespace titan::corpus
