#include "corpus/tokenizer_files.h"

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/store/named_file.h"

namespace titan::corpus {
namespace {

using ckpt::Code;
using ckpt::Result;
using ckpt::Status;

Result<std::string> read_text(ckpt::Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const std::string real, fs.real_path(path));
  TITAN_ASSIGN_OR_RETURN(const ckpt::FileInfo info, fs.stat(real));
  if (info.type != ckpt::FileType::kFile) return ckpt::invalid("'" + path + "' is no file");
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes,
                         ckpt::read_file(fs, real, recipe::Tokenizer::kLargestFile));
  return std::string(ckpt::text_of(bytes));
}

Status unusable(const std::string& path, Status status) {
  const bool missing = status.code == Code::kNotFound;
  if (missing || status.code == Code::kCorrupt) status.code = Code::kInvalid;
  status = status.wrapped("no tokenizer can be read from '" + path + "'");
  return missing ? status.with_hint("give a folder that holds tokenizer.json, or that file") : status;
}

}  // namespace

Result<TokenizerFiles> read_tokenizer_files(ckpt::Fs& fs, const std::string& path) {
  TokenizerFiles files;
  const auto info = ckpt::stat_target(fs, path);
  if (!info.ok()) return unusable(path, info.status());
  const bool folder = info->type == ckpt::FileType::kDirectory;
  files.path = folder ? ckpt::join_path(path, "tokenizer.json") : path;
  auto json = read_text(fs, files.path);
  if (!json.ok()) return unusable(path, json.status());
  files.json = std::move(*json);
  auto config = read_text(fs, ckpt::join_path(ckpt::parent_path(files.path), "tokenizer_config.json"));
  if (config.ok()) {
    files.config = std::move(*config);
  } else if (config.status().code != Code::kNotFound) {
    return unusable(path, config.status());
  }
  return files;
}

Result<recipe::Tokenizer> parse_tokenizer(const TokenizerFiles& files) {
  return recipe::Tokenizer::parse(files.path, files.json, files.config);
}

}  // namespace titan::corpus
