#include "libtrain/job/data/data_tokenizer.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "corpus/tokenizer_files.h"
#include "libtrain/job/data/token_files.h"
#include "recipe/keys/config.h"
#include "recipe/plan/data_sets.h"

namespace titan::train {
namespace {

constexpr const char* kTokenizer = "hf/tokenizer.json";

/// One id stands for one text. \error kInvalid: one of `folders`, which `key` names, is of another tokenizer
ckpt::Status check_same(const TokenFolder& first, const std::vector<TokenFolder>& folders, const char* key) {
  for (const TokenFolder& folder : folders)
    if (folder.tokenizer != first.tokenizer)
      return ckpt::invalid(std::string(key) + ": " + folder.path + " was made by another tokenizer than " + first.path +
                           ": the same ids stand for other texts")
          .with_hint("make all of the data by one tokenizer.json");
  return ckpt::ok_status();
}

/// Of files that do not say by which tokenizer they were made the configuration may: what is there of it.
std::vector<ckpt::ModelFilePlace> named_tokenizer(const recipe::Config& config) {
  std::vector<ckpt::ModelFilePlace> places;
  const std::string path =
      config.model.tokenizer != "byte" ? config.model.tokenizer : config.model.hf_assets_path.value_or("");
  if (path.empty()) return places;
  const auto files = corpus::read_tokenizer_files(ckpt::posix_fs(), path);
  if (!files.ok()) return places;
  places.push_back({"", files->path, kTokenizer, ckpt::digest_of(files->json)});
  if (!files->config.empty())
    places.push_back(
        {"", ckpt::join_path(ckpt::parent_path(files->path), "tokenizer_config.json"), "hf/tokenizer_config.json", {}});
  return places;
}

}  // namespace

ckpt::Result<std::vector<ckpt::ModelFilePlace>> tokenizer_of_data(const recipe::Config& config) {
  std::vector<ckpt::ModelFilePlace> places;
  if (config.training.dataset != "tokens") return places;
  const char* const key = config.training.datasets.empty() ? "training.dataset_path" : "training.datasets";
  std::vector<TokenFolder> folders;
  for (const std::string& path : recipe::data_paths(config)) {
    TITAN_ASSIGN_OR_RETURN(const FoundFiles found, find_data_files(path, key));
    folders.insert(folders.end(), found.folders.begin(), found.folders.end());
  }
  if (folders.empty()) return named_tokenizer(config);
  const TokenFolder& first = folders.front();
  TITAN_RETURN_IF_ERROR(check_same(first, folders, key));
  if (config.validation.enable && config.validation.dataset_path) {
    TITAN_ASSIGN_OR_RETURN(const FoundFiles judged,
                           find_data_files(*config.validation.dataset_path, "validation.dataset_path"));
    TITAN_RETURN_IF_ERROR(check_same(first, judged.folders, "validation.dataset_path"));
  }
  places.push_back({"", ckpt::join_path(first.path, "tokenizer.json"), kTokenizer, first.tokenizer});
  const std::string config_path = ckpt::join_path(first.path, "tokenizer_config.json");
  if (ckpt::posix_fs().stat(config_path).ok()) places.push_back({"", config_path, "hf/tokenizer_config.json", {}});
  return places;
}

std::string other_tokenizer(const std::vector<ckpt::ModelFile>& files,
                            const std::vector<ckpt::ModelFilePlace>& places) {
  const auto own = std::ranges::find(files, std::string(kTokenizer), &ckpt::ModelFile::member);
  const auto data = std::ranges::find(places, std::string(kTokenizer), &ckpt::ModelFilePlace::member);
  if (own == files.end() || data == places.end() || own->digest == data->digest) return "";
  return "the data were made with " + data->path +
         ", which is another file than the tokenizer.json that goes into the checkpoints: are the ids the same?";
}

}  // namespace titan::train
