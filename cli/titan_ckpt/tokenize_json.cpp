#include "cli/kit/json_out.h"
#include "cli/kit/values.h"
#include "cli/titan_ckpt/tokenize.h"

namespace titan::cli {
namespace {

void ids_json(JsonOut& json, const char* key, const std::vector<std::uint32_t>& ids) {
  json.begin_array(key);
  for (const std::uint32_t id : ids) json.count(id);
  json.end_array();
}

void data_json(JsonOut& json, const corpus::TokenData& data) {
  json.members("documents", data.documents, "tokens", data.tokens, "token_bytes", std::uint64_t{data.token_bytes});
  json.members("text_bytes", data.text_bytes, "longest", data.longest, "vocabulary", data.vocabulary);
  if (data.trained) json.count("trained", *data.trained);
  digest_json(json, "tokenizer_digest", data.tokenizer);
  ids_json(json, "before", data.before);
  ids_json(json, "behind", data.behind);
  json.begin_array("shards");
  for (const corpus::TokenShard& shard : data.shards) {
    json.begin_object();
    json.members("tokens_file", shard.tokens_file, "ends_file", shard.ends_file, "tokens", shard.tokens);
    json.count("documents", shard.documents);
    digest_json(json, "tokens_digest", shard.tokens_digest);
    digest_json(json, "ends_digest", shard.ends_digest);
    if (!shard.answers_file.empty()) {
      json.text("answers_file", shard.answers_file);
      json.count("answers", shard.answers);
      digest_json(json, "answers_digest", shard.answers_digest);
    }
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string tokenize_json(const corpus::TokenizeReport& report) {
  JsonOut json("titan.tokenize/1");
  json.path("destination", report.dst);
  json.path("tokenizer", report.tokenizer);
  json.members("written", report.written, "files", report.files, "empty", report.empty);
  data_json(json, report.data);
  json.real("seconds", report.seconds);
  json.list("warnings", report.warnings);
  return json.document();
}

std::string tokens_json(const corpus::LookReport& report) {
  JsonOut json("titan.tokens/1");
  json.path("folder", report.folder);
  json.text("format", report.file ? corpus::format_text(report.file->format) : "a folder of tokens");
  json.path("index", report.file ? report.file->index : "");
  json.flag("verified", report.verified);
  data_json(json, report.data);
  json.begin_array("shown");
  for (const corpus::ShownDocument& shown : report.shown) {
    json.begin_object();
    json.members("tokens", shown.tokens, "cut", shown.cut, "text", shown.text);
    json.end_object();
  }
  json.end_array();
  return json.document();
}

}  // namespace titan::cli
