#include <algorithm>
#include <set>

#include "ckpt/base/text.h"
#include "ckpt/format/json_reader.h"
#include "ckpt/format/json_value.h"
#include "recipe/text/json_types.h"
#include "recipe/text/tokenizer.h"

namespace titan::recipe {

using ckpt::JsonReader;
using ckpt::JsonValue;
using ckpt::Result;
using ckpt::Status;

namespace {

constexpr std::size_t kMostAdded = 1 << 17;
constexpr std::size_t kMostMerges = 1 << 24;
constexpr std::size_t kLongestToken = 1 << 14;  // bytes of a token in the file

Status damaged(Status status) {  // for a file of the user, which is not a checkpoint
  if (status.code == ckpt::Code::kCorrupt) status.code = ckpt::Code::kInvalid;
  return status;
}

}  // namespace

/// Reads the files in one pass. Vocabulary and merges are large and are used at once; everything else is small and is
/// kept as JSON values.
class TokenizerParser {
 public:
  TokenizerParser(const std::string& what, std::string_view json) : what_(what), in_(what, json) {}

  Result<Tokenizer> run(std::string_view json, std::string_view config) {
    TITAN_RETURN_IF_ERROR(read_file());
    TITAN_RETURN_IF_ERROR(read_config(config));
    Status status = check_model();
    if (status.ok()) status = build();
    if (!status.ok()) return status.wrapped(what_ + " cannot be used as a tokenizer");
    made_.digest_ = ckpt::digest_of(std::as_bytes(std::span(json)));
    return std::move(made_);
  }

 private:
  void read_merge() {
    if (merges_.size() == kMostMerges) return in_.fail("too many merges");
    std::string_view halves[2];
    if (in_.peek() == '[') {
      std::size_t count = 0;
      in_.array([&](std::size_t i) {
        const std::string_view half = in_.text();
        if (i < 2) halves[i] = half;
        count = i + 1;
      });
      if (count != 2) return in_.fail("a merge of " + std::to_string(count) + " texts, expected 2");
    } else {
      const std::string_view both = in_.text();
      const std::size_t space = both.find(' ');
      if (space == std::string_view::npos || both.find(' ', space + 1) != std::string_view::npos)
        return in_.fail("a merge that is not two texts with a space between them");
      halves[0] = both.substr(0, space);
      halves[1] = both.substr(space + 1);
    }
    merges_.emplace_back(halves[0], halves[1]);
  }

  void read_model() {
    in_.object([&](std::string_view key) {
      if (key == "vocab" && in_.peek() == '{') {
        in_.object([&](std::string_view token) {
          const std::uint32_t id = in_.u32();
          if (id >= Tokenizer::kMostIds) in_.fail("an id of " + std::to_string(id) + ", above any vocabulary's");
          if (token.size() > kLongestToken) in_.fail("a token of more than 16384 bytes");
          vocabulary_.emplace_back(token, id);
        });
      } else if (key == "merges" && in_.peek() == '[') {
        has_merges_ = true;
        in_.array([&](std::size_t) { read_merge(); });
      } else {
        const std::string name(key);
        if (name == "vocab") return in_.skip();  // the vocabulary of Unigram is a list
        model_.set(name, read_json_value(in_));
      }
    });
  }

  void read_added() {
    in_.array([&](std::size_t i) {
      if (i >= kMostAdded) return in_.fail("too many added tokens");
      const JsonValue token = read_json_value(in_);
      if (in_.ok()) add(token, std::nullopt);
    });
  }

  void add(const JsonValue& value, std::optional<std::uint64_t> id) {
    AddedToken token;
    const auto content = text_of(value, "content");
    const JsonValue* own = value.find("id");
    if (!id && own != nullptr) id = own->as_u64();
    if (!content.ok() || !id || *id >= Tokenizer::kMostIds)
      return in_.fail("an added token without a content or an id that can be");
    if (content->size() > TokenFinder::kLongest) return in_.fail("an added token of more than 1024 bytes");
    token.content = *content;
    token.id = static_cast<std::uint32_t>(*id);
    const auto flag = [&](const char* key, bool when_absent) {
      const auto read = flag_of(value, key, when_absent);
      if (!read.ok()) in_.fail(read.status());
      return read.ok() && *read;
    };
    token.special = flag("special", false);
    token.single_word = flag("single_word", false);
    token.lstrip = flag("lstrip", false);
    token.rstrip = flag("rstrip", false);
    token.normalized = flag("normalized", !token.special);
    added_.push_back(std::move(token));
  }

  Status read_file() {
    in_.object([&](std::string_view key) {
      if (key == "model" && in_.peek() == '{') {
        read_model();
      } else if (key == "added_tokens" && in_.peek() == '[') {
        read_added();
      } else if (key == "normalizer" || key == "pre_tokenizer" || key == "post_processor" || key == "decoder") {
        const std::string name(key);
        parts_.set(name, read_json_value(in_));
      } else {
        in_.skip();
      }
    });
    return damaged(in_.finish());
  }

  Status read_config(std::string_view text) {
    if (text.empty()) return {};
    auto config = ckpt::parse_json("tokenizer_config.json", text);
    if (!config.ok()) return damaged(config.status());
    config_ = std::move(*config);
    const JsonValue* more = config_.find("added_tokens_decoder");
    if (more == nullptr) return {};
    std::set<std::string, std::less<>> known;
    for (const AddedToken& token : added_) known.insert(token.content);
    for (const auto& [key, value] : more->members()) {
      const JsonValue* content = value.find("content");
      if (content == nullptr || content->text() == nullptr || known.contains(*content->text())) continue;
      if (added_.size() >= kMostAdded) return ckpt::invalid("tokenizer_config.json: too many added tokens");
      add(value, ckpt::number_of<std::uint64_t>(key));
    }
    return damaged(in_.finish());
  }

  Status check_model() {
    const std::string type = type_of(model_);
    if (type.empty() && !has_merges_) return ckpt::invalid("it has no model");
    if (type != "BPE" && !type.empty()) return refused_type("the model", type);
    if (!has_merges_ || vocabulary_.empty()) return ckpt::invalid("the model has no vocabulary or no merges");
    const JsonValue* dropout = model_.find("dropout");
    if (dropout != nullptr && dropout->as_double() != 0.0) return refused_type("the model's", "dropout");
    for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const JsonValue* value = model_.find(affix);
      if (value != nullptr && !(value->text() != nullptr && value->text()->empty()))
        return refused_type("the model's", affix);
    }
    return {};
  }

  Status build() {
    TITAN_ASSIGN_OR_RETURN(made_.normalizer_, Normalizer::read(parts_.find("normalizer")));
    TITAN_ASSIGN_OR_RETURN(made_.splitter_, Splitter::read(parts_.find("pre_tokenizer")));
    BpeParts parts;
    parts.byte_level = made_.splitter_.byte_level();
    TITAN_ASSIGN_OR_RETURN(parts.fuse_unknown, flag_of(model_, "fuse_unk", false));
    TITAN_ASSIGN_OR_RETURN(parts.byte_fallback, flag_of(model_, "byte_fallback", false));
    TITAN_ASSIGN_OR_RETURN(parts.ignore_merges, flag_of(model_, "ignore_merges", false));
    if (model_.find("unk_token") != nullptr) {
      TITAN_ASSIGN_OR_RETURN(parts.unknown, text_of(model_, "unk_token"));
    }
    TITAN_ASSIGN_OR_RETURN(made_.detokenizer_, Detokenizer::read(parts_.find("decoder"), parts.byte_level));
    made_.ids_.reserve(vocabulary_.size() + added_.size());
    for (const auto& [token, id] : vocabulary_) made_.ids_[std::string(token)] = id;
    parts.vocabulary = std::move(vocabulary_);
    parts.merges = std::move(merges_);
    TITAN_ASSIGN_OR_RETURN(made_.bpe_, Bpe::make(parts));
    if (!parts.byte_level && made_.bpe_.never_joins(Bpe::kSpaceMark))
      made_.splitter_.cut_before_runs_of(std::string(Bpe::kSpaceMark));
    add_tokens();
    TITAN_RETURN_IF_ERROR(fill_detokenizer());
    made_.bos_ = named("bos_token");
    made_.eos_ = named("eos_token");
    return around();
  }

  void add_tokens() {
    std::string normal;
    for (AddedToken& token : added_) {
      // A token that the vocabulary also has keeps its id in the vocabulary.
      token.id = made_.ids_.emplace(token.content, token.id).first->second;
      if (token.special) made_.special_.insert(token.id);
      if (token.normalized) {
        made_.normalized_tokens_.add(made_.normalizer_.apply(token.content, normal), token);
      } else {
        made_.raw_tokens_.add(token.content, token);
      }
    }
  }

  Status fill_detokenizer() {
    std::vector<std::pair<std::uint32_t, std::string_view>> by_id;
    by_id.reserve(made_.ids_.size());
    for (const auto& [token, id] : made_.ids_) by_id.emplace_back(id, token);
    std::sort(by_id.begin(), by_id.end());
    for (const auto& [id, token] : by_id) TITAN_RETURN_IF_ERROR(made_.detokenizer_.add(id, token));
    made_.tokens_ = by_id.size();
    made_.id_bound_ = by_id.empty() ? 0 : std::uint64_t{by_id.back().first} + 1;
    return {};
  }

  std::optional<std::uint32_t> named(const char* key) const {
    const JsonValue* value = config_.find(key);
    if (value != nullptr && value->is_object()) value = value->find("content");
    return value == nullptr || value->text() == nullptr ? std::nullopt : made_.id_of(*value->text());
  }

  Status read_template(const JsonValue& part) {
    const JsonValue *single = part.find("single"), *tokens = part.find("special_tokens");
    if (single == nullptr || single->kind() != JsonValue::Kind::kList)
      return ckpt::invalid("TemplateProcessing without 'single'");
    std::vector<std::uint32_t>* side = &made_.prefix_;
    for (const JsonValue& item : single->items()) {
      const JsonValue* special = item.find("SpecialToken");
      if (special == nullptr) {
        side = &made_.suffix_;
        continue;
      }
      TITAN_ASSIGN_OR_RETURN(const std::string name, text_of(*special, "id"));
      const JsonValue* entry = tokens == nullptr ? nullptr : tokens->find(name);
      const JsonValue* ids = entry == nullptr ? nullptr : entry->find("ids");
      if (ids == nullptr) return ckpt::invalid("TemplateProcessing has no ids for '" + name + "'");
      for (const JsonValue& id : ids->items()) {
        const auto number = id.as_u64();
        if (!number || *number >= Tokenizer::kMostIds)
          return ckpt::invalid("TemplateProcessing has no ids for '" + name + "'");
        side->push_back(static_cast<std::uint32_t>(*number));
      }
    }
    return {};
  }

  Status around() {
    if (const JsonValue* post = parts_.find("post_processor")) {
      TITAN_ASSIGN_OR_RETURN(const std::vector<const JsonValue*> parts, parts_of(*post, "processors"));
      for (const JsonValue* part : parts) {
        const std::string type = type_of(*part);
        if (type == "TemplateProcessing") {
          TITAN_RETURN_IF_ERROR(read_template(*part));
        } else if (type != "ByteLevel") {
          return refused_type("the post_processor", type);
        }
      }
    }
    // If tokenizer_config.json has these settings, transformers follows them.
    const auto by_config = [&](const char* key, const std::optional<std::uint32_t>& id,
                               std::vector<std::uint32_t>& side) -> Status {
      if (config_.find(key) == nullptr) return {};
      TITAN_ASSIGN_OR_RETURN(const bool wanted, flag_of(config_, key, false));
      side.clear();
      if (wanted && id) side.push_back(*id);
      return {};
    };
    TITAN_RETURN_IF_ERROR(by_config("add_bos_token", made_.bos_, made_.prefix_));
    return by_config("add_eos_token", made_.eos_, made_.suffix_);
  }

  std::string what_;
  JsonReader in_;
  JsonValue model_ = JsonValue::object(), parts_ = JsonValue::object(), config_ = JsonValue::object();
  std::vector<std::pair<std::string_view, std::uint32_t>> vocabulary_;
  std::vector<std::pair<std::string_view, std::string_view>> merges_;
  bool has_merges_ = false;
  std::vector<AddedToken> added_;
  Tokenizer made_;
};

Result<Tokenizer> Tokenizer::parse(const std::string& what, std::string_view json, std::string_view config) {
  if (json.size() > kLargestFile || config.size() > kLargestFile)
    return ckpt::invalid(what + " has " + std::to_string(json.size()) + " bytes, more than any tokenizer needs");
  return TokenizerParser(what, json).run(json, config);
}

}  // namespace titan::recipe
