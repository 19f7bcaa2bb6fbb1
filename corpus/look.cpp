#include "corpus/look.h"

#include <algorithm>
#include <cstring>

#include "corpus/tokenizer_files.h"
#include "recipe/text/tokenizer.h"

namespace titan::corpus {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr std::size_t kVerifiedAtOnce = 4 << 20;

Status verify_file(ckpt::Fs& fs, const LookOptions& options, const std::string& name, const ckpt::Digest& digest,
                   std::uint64_t total, std::uint64_t* done) {
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> file,
                         fs.open_member(options.folder, name, ckpt::Access::kScan));
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, file->size());
  ckpt::Hasher hasher;
  std::vector<std::byte> piece(std::min<std::uint64_t>(size, kVerifiedAtOnce));
  for (std::uint64_t at = 0; at < size; at += piece.size()) {
    TITAN_RETURN_IF_ERROR(options.cancel.check());
    piece.resize(std::min<std::uint64_t>(size - at, kVerifiedAtOnce));
    TITAN_RETURN_IF_ERROR(file->pread(at, piece));
    hasher.update(piece);
    *done += piece.size();
    if (options.progress) options.progress(*done, total);
  }
  if (hasher.digest() == digest) return {};
  return ckpt::corrupt("'" + ckpt::join_path(options.folder, name) + "' is damaged: its digest is " +
                       hasher.digest().hex() + ", expected " + digest.hex());
}

Status verify(ckpt::Fs& fs, const LookOptions& options, const TokenData& data) {
  const std::uint64_t total = data.tokens * data.token_bytes + data.documents * sizeof(std::uint64_t);
  std::uint64_t done = 0;
  for (const TokenShard& shard : data.shards) {
    TITAN_RETURN_IF_ERROR(verify_file(fs, options, shard.tokens_file, shard.tokens_digest, total, &done));
    TITAN_RETURN_IF_ERROR(verify_file(fs, options, shard.ends_file, shard.ends_digest, total, &done));
  }
  return {};
}

Result<recipe::Tokenizer> tokenizer_of(ckpt::Fs& fs, const LookOptions& options, const TokenData& data) {
  TITAN_ASSIGN_OR_RETURN(const TokenizerFiles files,
                         read_tokenizer_files(fs, options.tokenizer.empty() ? options.folder : options.tokenizer));
  TITAN_ASSIGN_OR_RETURN(recipe::Tokenizer tokenizer, parse_tokenizer(files));
  if (tokenizer.digest() == data.tokenizer) return tokenizer;
  return ckpt::invalid("'" + files.path + "' is not the tokenizer of these tokens: its digest is " +
                       tokenizer.digest().hex() + ", theirs " + data.tokenizer.hex());
}

/// Reads number `index` of the little-endian numbers of `width` bytes in a member.
Result<std::uint64_t> number_at(ckpt::File& file, std::uint64_t index, std::uint32_t width) {
  std::uint64_t value = 0;
  std::byte bytes[8] = {};
  TITAN_RETURN_IF_ERROR(file.pread(index * width, std::span(bytes).first(width)));
  std::memcpy(&value, bytes, width);
  return value;
}

Result<ShownDocument> document(ckpt::File& tokens, const TokenData& data, std::uint64_t begin, std::uint64_t end,
                               std::uint64_t most, const recipe::Tokenizer& tokenizer) {
  ShownDocument shown{end - begin, end - begin > most, ""};
  std::vector<std::uint32_t> ids;
  for (std::uint64_t at = begin; at < std::min(end, begin + most); ++at) {
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t id, number_at(tokens, at, data.token_bytes));
    ids.push_back(static_cast<std::uint32_t>(id));
  }
  shown.text = recipe::decode(tokenizer, ids);
  return shown;
}

Status show(ckpt::Fs& fs, const LookOptions& options, LookReport* report) {
  TITAN_ASSIGN_OR_RETURN(const recipe::Tokenizer tokenizer, tokenizer_of(fs, options, report->data));
  for (const TokenShard& shard : report->data.shards) {
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> tokens, fs.open_member(options.folder, shard.tokens_file));
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> ends, fs.open_member(options.folder, shard.ends_file));
    std::uint64_t begin = 0;
    for (std::uint64_t i = 0; i < shard.documents; ++i) {
      if (report->shown.size() == options.show) return {};
      TITAN_RETURN_IF_ERROR(options.cancel.check());
      TITAN_ASSIGN_OR_RETURN(const std::uint64_t end, number_at(*ends, i, sizeof(std::uint64_t)));
      if (end < begin || end > shard.tokens)
        return ckpt::corrupt("'" + ckpt::join_path(options.folder, shard.ends_file) + "': document " +
                             std::to_string(i) + " ends at token " + std::to_string(end) + ", expected " +
                             std::to_string(begin) + " to " + std::to_string(shard.tokens));
      TITAN_ASSIGN_OR_RETURN(ShownDocument shown, document(*tokens, report->data, begin, end, options.most, tokenizer));
      report->shown.push_back(std::move(shown));
      begin = end;
    }
  }
  return {};
}

}  // namespace

Result<LookReport> look(ckpt::Fs& fs, const LookOptions& options) {
  LookReport report;
  report.folder = options.folder;
  TITAN_ASSIGN_OR_RETURN(report.data, read_token_data(fs, options.folder));
  if (options.verify) TITAN_RETURN_IF_ERROR(verify(fs, options, report.data));
  report.verified = options.verify;
  if (options.show > 0) TITAN_RETURN_IF_ERROR(show(fs, options, &report));
  return report;
}

}  // namespace titan::corpus
