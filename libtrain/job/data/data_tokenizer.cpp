#include "libtrain/job/data/data_tokenizer.h"

#include <algorithm>
#include <set>
#include <span>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/format/json_value.h"
#include "corpus/tokenizer_files.h"
#include "libtrain/job/data/token_files.h"
#include "recipe/keys/config.h"
#include "recipe/plan/data_sets.h"
#include "recipe/text/tokenizer.h"

namespace titan::train {
namespace {

using ckpt::JsonValue;

constexpr const char *kTokenizer = "hf/tokenizer.json", *kTokenizerConfig = "hf/tokenizer_config.json",
                     *kConfig = "hf/config.json", *kGeneration = "hf/generation_config.json";
constexpr const char *kBos = "bos_token_id", *kEos = "eos_token_id";

/// All folders must have the same tokenizer. \error kInvalid: one of `folders`, given by `key`, has another one
ckpt::Status check_same(const TokenFolder& first, const std::vector<TokenFolder>& folders, const char* key) {
  for (const TokenFolder& folder : folders)
    if (folder.tokenizer != first.tokenizer)
      return ckpt::invalid(std::string(key) + ": " + folder.path + " was made by another tokenizer than " + first.path +
                           ": the same ids stand for other texts")
          .with_hint("make all of the data by one tokenizer.json");
  return ckpt::ok_status();
}

/// For files that do not record their tokenizer, the one that the configuration names, as far as its files exist.
DataTokenizer named_tokenizer(ckpt::Fs& fs, const recipe::Config& config) {
  DataTokenizer out;
  const std::string path =
      config.model.tokenizer != "byte" ? config.model.tokenizer : config.model.hf_assets_path.value_or("");
  if (path.empty()) return out;
  const auto files = corpus::read_tokenizer_files(fs, path);
  if (!files.ok()) return out;
  out.places.push_back({"", files->path, kTokenizer, ckpt::digest_of(files->json)});
  if (!files->config.empty())
    out.places.push_back(
        {"", ckpt::join_path(ckpt::parent_path(files->path), "tokenizer_config.json"), kTokenizerConfig, {}});
  return out;
}

const ckpt::ModelFile* find(const std::vector<ckpt::ModelFile>& files, const char* member) {
  const auto at = std::ranges::find(files, std::string(member), &ckpt::ModelFile::member);
  return at == files.end() ? nullptr : &*at;
}

std::string_view text_in(const std::vector<ckpt::ModelFile>& files, const char* member) {
  const ckpt::ModelFile* file = find(files, member);
  return file == nullptr ? std::string_view() : ckpt::text_of(file->bytes);
}

/// Whether the tokenizers in `a` and `b` give equal tokens equal ids. A tokenizer that cannot be read counts as
/// different.
bool same_ids(const std::vector<ckpt::ModelFile>& a, const std::vector<ckpt::ModelFile>& b) {
  const auto one = recipe::Tokenizer::parse(kTokenizer, text_in(a, kTokenizer), text_in(a, kTokenizerConfig));
  const auto two = recipe::Tokenizer::parse(kTokenizer, text_in(b, kTokenizer), text_in(b, kTokenizerConfig));
  if (!one.ok() || !two.ok() || one->tokens() != two->tokens() || one->id_bound() != two->id_bound()) return false;
  const auto text = [](const recipe::Tokenizer& tokenizer, std::uint32_t id) {
    recipe::DecodeRun run(tokenizer.detokenizer());
    return run.push(id) + run.finish();
  };
  for (std::uint32_t id = 0; id < one->id_bound(); ++id)
    if (one->special(id) != two->special(id) || text(*one, id) != text(*two, id)) return false;
  return true;
}

/// `value`, a number or a list, with `ids` added. nullopt if it contains them already.
std::optional<JsonValue> with_ids(const JsonValue* value, const std::vector<std::uint32_t>& ids) {
  std::vector<JsonValue> all;
  if (value != nullptr) all = value->kind() == JsonValue::Kind::kList ? value->items() : std::vector{*value};
  const std::size_t before = all.size();
  for (const std::uint32_t id : ids)
    if (std::ranges::none_of(all, [&](const JsonValue& one) { return one.as_u64() == id; }))
      all.push_back(JsonValue::integer(id));
  if (all.size() == before) return std::nullopt;
  return all.size() == 1 ? all.front() : JsonValue::list(std::move(all));
}

/// Writes the ids at the beginning and end of the data's documents into generation_config.json (created if missing) and
/// config.json (not created). `other`: their present ids are of another tokenizer.
void say_ends(TakenFiles& taken, const DataTokenizer& tokenizer, bool other) {
  for (const char* member : {kConfig, kGeneration}) {
    const ckpt::ModelFile* file = find(taken.files, member);
    if (file == nullptr && member == kConfig) continue;
    JsonValue json = JsonValue::object();
    if (file != nullptr) {
      auto parsed = ckpt::parse_json(member, ckpt::text_of(file->bytes));
      if (!parsed.ok() || !parsed->is_object()) continue;
      json = std::move(*parsed);
    }
    const JsonValue before = json;
    if (other)
      for (const char* key : {kBos, kEos, "pad_token_id"})
        if (json.find(key) != nullptr) json.set(key, JsonValue());
    if (auto ends = with_ids(json.find(kEos), tokenizer.ends)) json.set(kEos, std::move(*ends));
    if (tokenizer.begin && json.find(kBos) == nullptr) json.set(kBos, JsonValue::integer(*tokenizer.begin));
    if (json == before) continue;
    const std::string text = json.write();
    const auto bytes = std::as_bytes(std::span(text));
    std::erase_if(taken.files, [&](const ckpt::ModelFile& there) { return there.member == member; });
    taken.files.push_back({member, {bytes.begin(), bytes.end()}, ckpt::digest_of(bytes)});
    taken.of_data.emplace_back(member);
  }
}

}  // namespace

ckpt::Result<DataTokenizer> tokenizer_of_data(ckpt::Fs& fs, const recipe::Config& config) {
  DataTokenizer out;
  if (config.training.dataset != "tokens") return out;
  const char* const key = config.training.datasets.empty() ? "training.dataset_path" : "training.datasets";
  std::vector<TokenFolder> folders;
  for (const std::string& path : recipe::data_paths(config)) {
    TITAN_ASSIGN_OR_RETURN(const FoundFiles found, find_data_files(path, key));
    folders.insert(folders.end(), found.folders.begin(), found.folders.end());
  }
  if (folders.empty()) return named_tokenizer(fs, config);
  const TokenFolder& first = folders.front();
  TITAN_RETURN_IF_ERROR(check_same(first, folders, key));
  if (config.validation.enable && config.validation.dataset_path) {
    TITAN_ASSIGN_OR_RETURN(const FoundFiles judged,
                           find_data_files(*config.validation.dataset_path, "validation.dataset_path"));
    TITAN_RETURN_IF_ERROR(check_same(first, judged.folders, "validation.dataset_path"));
  }
  out.places.push_back({"", ckpt::join_path(first.path, "tokenizer.json"), kTokenizer, first.tokenizer});
  const std::string config_path = ckpt::join_path(first.path, "tokenizer_config.json");
  if (fs.stat(config_path).ok()) out.places.push_back({"", config_path, kTokenizerConfig, {}});
  if (!first.before.empty()) out.begin = first.before.front();
  std::set<std::uint32_t> ends;
  for (const TokenFolder& folder : folders)
    if (!folder.behind.empty()) ends.insert(folder.behind.front());
  out.ends.assign(ends.begin(), ends.end());
  return out;
}

TakenFiles with_data_tokenizer(std::vector<ckpt::ModelFile> files, const DataTokenizer& tokenizer,
                               std::vector<ckpt::ModelFile> read) {
  TakenFiles taken{std::move(files), {}, {}};
  const ckpt::ModelFile* own = find(taken.files, kTokenizer);
  const ckpt::ModelFile* data = find(read, kTokenizer);
  if (data == nullptr) return taken;
  const bool other = own != nullptr && own->digest != data->digest && !same_ids(taken.files, read);
  if (other) {
    std::erase_if(taken.files, [](const ckpt::ModelFile& file) { return file.member != kConfig; });
    taken.notes.push_back("the data were made with " + tokenizer.places.front().path +
                          ", in which ids stand for other texts than in the tokenizer.json that the run had: its files "
                          "go into the checkpoints from here on");
  }
  if (own == nullptr || other) {
    for (ckpt::ModelFile& file : read) {
      std::erase_if(taken.files, [&](const ckpt::ModelFile& there) { return there.member == file.member; });
      taken.of_data.push_back(file.member);
      taken.files.push_back(std::move(file));
    }
  }
  if (!tokenizer.ends.empty() || other) say_ends(taken, tokenizer, other);
  std::ranges::sort(taken.files, {}, &ckpt::ModelFile::member);
  return taken;
}

}  // namespace titan::train
