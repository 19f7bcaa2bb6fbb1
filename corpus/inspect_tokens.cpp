#include "corpus/inspect_tokens.h"

#include <algorithm>
#include <cstring>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/store/named_file.h"
#include "corpus/tokenizer_files.h"
#include "recipe/text/tokenizer.h"

namespace titan::corpus {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr std::size_t kVerifiedAtOnce = 4 << 20;

constexpr const char* kTokenizerFile = "tokenizer.json";

std::uint32_t largest_id(std::span<const std::byte> bytes, std::uint32_t width) {
  std::uint32_t largest = 0;
  for (std::size_t at = 0; at + width <= bytes.size(); at += width) {
    std::uint32_t id = 0;
    std::memcpy(&id, bytes.data() + at, width);
    largest = std::max(largest, id);
  }
  return largest;
}

/// Reads files of a token folder completely, and compares their digests.
class Verifier {
 public:
  Verifier(ckpt::Fs& fs, const InspectTokensOptions& options, std::uint64_t total)
      : fs_(fs), options_(options), total_(total) {}

  /// `width`: bytes of an id; 0: the file has no ids. Returns the largest id.
  Result<std::uint32_t> verify(const std::string& name, const ckpt::Digest& digest, std::uint32_t width = 0) {
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> file,
                           fs_.open_member(options_.folder, name, ckpt::Access::kScan));
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, file->size());
    ckpt::Hasher hasher;
    std::uint32_t largest = 0;
    std::vector<std::byte> piece(std::min<std::uint64_t>(size, kVerifiedAtOnce));
    for (std::uint64_t at = 0; at < size; at += piece.size()) {
      TITAN_RETURN_IF_ERROR(options_.cancel.check());
      piece.resize(std::min<std::uint64_t>(size - at, kVerifiedAtOnce));
      TITAN_RETURN_IF_ERROR(file->pread(at, piece));
      hasher.update(piece);
      if (width > 0) largest = std::max(largest, largest_id(piece, width));
      done_ += piece.size();
      if (options_.progress) options_.progress(done_, total_);
    }
    if (hasher.digest() == digest) return largest;
    return ckpt::corrupt("'" + ckpt::join_path(options_.folder, name) + "' is damaged: its digest is " +
                         hasher.digest().hex() + ", expected " + digest.hex());
  }

 private:
  ckpt::Fs& fs_;
  const InspectTokensOptions& options_;
  const std::uint64_t total_;
  std::uint64_t done_ = 0;
};

Result<recipe::Tokenizer> tokenizer_of(ckpt::Fs& fs, const InspectTokensOptions& options, const TokenData& data) {
  TITAN_ASSIGN_OR_RETURN(const TokenizerFiles files,
                         read_tokenizer_files(fs, options.tokenizer.empty() ? options.folder : options.tokenizer));
  TITAN_ASSIGN_OR_RETURN(recipe::Tokenizer tokenizer, parse_tokenizer(files));
  if (tokenizer.digest() == data.tokenizer) return tokenizer;
  return ckpt::invalid("'" + files.path + "' is not the tokenizer of these tokens: its digest is " +
                       tokenizer.digest().hex() + ", theirs " + data.tokenizer.hex());
}

/// Reads the number at position `index` of a file of little-endian numbers of `width` bytes.
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

Status show(ckpt::Fs& fs, const InspectTokensOptions& options, InspectTokensReport* report) {
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

/// The ids [begin, begin + count) of a file. Negative ids stay negative.
Result<std::vector<std::int64_t>> ids_of(ckpt::File& file, const TokenFile& layout, std::uint64_t begin,
                                         std::size_t count) {
  std::vector<std::byte> bytes(count * layout.width);
  TITAN_RETURN_IF_ERROR(file.pread(layout.offset + begin * layout.width, bytes));
  std::vector<std::int64_t> ids(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t id = 0;
    std::memcpy(&id, bytes.data() + i * layout.width, layout.width);
    const unsigned unused = 64 - 8 * layout.width;
    ids[i] = layout.is_signed ? static_cast<std::int64_t>(id << unused) >> unused : static_cast<std::int64_t>(id);
  }
  return ids;
}

/// Checks that no id of the file is negative. Sets data->vocabulary to the largest id + 1. \error kCorrupt
Status verify_ids(const InspectTokensOptions& options, ckpt::File& file, const TokenFile& layout, TokenData* data) {
  const std::size_t most = kVerifiedAtOnce / layout.width;
  for (std::uint64_t at = 0; at < layout.tokens; at += most) {
    TITAN_RETURN_IF_ERROR(options.cancel.check());
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(most, layout.tokens - at));
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::int64_t> ids, ids_of(file, layout, at, count));
    const auto [least, largest] = std::minmax_element(ids.begin(), ids.end());
    if (*least < 0)
      return ckpt::corrupt("'" + layout.path + "', token " + std::to_string(at + (least - ids.begin())) + ": " +
                           std::to_string(*least) + " is no id");
    data->vocabulary = std::max(data->vocabulary, static_cast<std::uint64_t>(*largest) + 1);
    if (options.progress) options.progress((at + count) * layout.width, layout.tokens * layout.width);
  }
  return {};
}

Status show_file(ckpt::Fs& fs, const InspectTokensOptions& options, ckpt::File& file,
                 const std::vector<std::uint64_t>& ends, InspectTokensReport* report) {
  TITAN_ASSIGN_OR_RETURN(const TokenizerFiles files, read_tokenizer_files(fs, options.tokenizer));
  TITAN_ASSIGN_OR_RETURN(const recipe::Tokenizer tokenizer, parse_tokenizer(files));
  std::uint64_t begin = 0;
  for (const std::uint64_t end : ends) {
    TITAN_RETURN_IF_ERROR(options.cancel.check());
    ShownDocument shown{end - begin, end - begin > options.most, ""};
    const auto count = static_cast<std::size_t>(std::min(options.most, end - begin));
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::int64_t> found, ids_of(file, *report->file, begin, count));
    std::vector<std::uint32_t> ids;
    for (const std::int64_t id : found) {
      if (id < 0 || static_cast<std::uint64_t>(id) >= tokenizer.id_bound())
        return ckpt::invalid("'" + options.folder + "' has the id " + std::to_string(id) + ", and the tokenizer '" +
                             files.path + "' has ids below " + std::to_string(tokenizer.id_bound()));
      ids.push_back(static_cast<std::uint32_t>(id));
    }
    shown.text = recipe::decode(tokenizer, ids);
    report->shown.push_back(std::move(shown));
    begin = end;
  }
  return {};
}

/// Sets file, data and shown documents of the report for a file of ids. A file without an index is one document.
Status inspect_file(ckpt::Fs& fs, const InspectTokensOptions& options, InspectTokensReport* report) {
  TITAN_ASSIGN_OR_RETURN(report->file, open_token_file(fs, options.folder, options.raw_bytes));
  const TokenFile& layout = *report->file;
  TokenData& data = report->data;
  data.token_bytes = layout.width;
  data.tokens = layout.tokens;
  data.documents = layout.documents;
  std::vector<std::uint64_t> first;
  std::uint64_t last = 0;
  TITAN_RETURN_IF_ERROR(read_ends(fs, layout, [&](std::span<const std::uint64_t> ends) {
    for (const std::uint64_t end : ends) {
      data.longest = std::max(data.longest, end - last);
      if (first.size() < options.show) first.push_back(end);
      last = end;
    }
    return options.cancel.check();
  }));
  if (layout.index.empty() && layout.tokens > 0) first = {layout.tokens};
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> file, ckpt::open_target(fs, layout.path));
  if (options.verify) TITAN_RETURN_IF_ERROR(verify_ids(options, *file, layout, &data));
  report->verified = options.verify;
  return options.show > 0 ? show_file(fs, options, *file, first, report) : ckpt::ok_status();
}

}  // namespace

Status verify_tokens(ckpt::Fs& fs, const InspectTokensOptions& options, const TokenData& data) {
  const auto tokenizer = fs.stat(ckpt::join_path(options.folder, kTokenizerFile));
  if (tokenizer.status().code == ckpt::Code::kNotFound)
    return ckpt::corrupt("'" + options.folder + "' has no " + kTokenizerFile);
  TITAN_RETURN_IF_ERROR(tokenizer.status());
  std::uint64_t total = tokenizer->size + data.tokens * data.token_bytes + data.documents * sizeof(std::uint64_t);
  for (const TokenShard& shard : data.shards) total += shard.answers * 2 * sizeof(std::uint64_t);
  Verifier verifier(fs, options, total);
  TITAN_RETURN_IF_ERROR(verifier.verify(kTokenizerFile, data.tokenizer).status());
  for (const TokenShard& shard : data.shards) {
    TITAN_ASSIGN_OR_RETURN(const std::uint32_t largest,
                           verifier.verify(shard.tokens_file, shard.tokens_digest, data.token_bytes));
    if (shard.tokens > 0 && largest >= data.vocabulary)
      return ckpt::corrupt("'" + ckpt::join_path(options.folder, shard.tokens_file) + "' has the id " +
                           std::to_string(largest) + ", and " + kDataFile + " says that all are below " +
                           std::to_string(data.vocabulary));
    TITAN_RETURN_IF_ERROR(verifier.verify(shard.ends_file, shard.ends_digest).status());
    if (!shard.answers_file.empty())
      TITAN_RETURN_IF_ERROR(verifier.verify(shard.answers_file, shard.answers_digest).status());
  }
  return {};
}

Result<InspectTokensReport> inspect_tokens(ckpt::Fs& fs, const InspectTokensOptions& options) {
  InspectTokensReport report;
  report.folder = options.folder;
  if (std::string ids = ids_of_prefix(fs, options.folder); !ids.empty()) {
    InspectTokensOptions of_file = options;
    of_file.folder = std::move(ids);
    return inspect_tokens(fs, of_file);
  }
  const auto info = ckpt::stat_target(fs, options.folder);
  if (info.ok() && info->type == ckpt::FileType::kFile) {
    TITAN_RETURN_IF_ERROR(inspect_file(fs, options, &report));
    return report;
  }
  TITAN_ASSIGN_OR_RETURN(report.data, read_token_data(fs, options.folder));
  if (options.verify) TITAN_RETURN_IF_ERROR(verify_tokens(fs, options, report.data));
  report.verified = options.verify;
  if (options.show > 0) TITAN_RETURN_IF_ERROR(show(fs, options, &report));
  return report;
}

}  // namespace titan::corpus
