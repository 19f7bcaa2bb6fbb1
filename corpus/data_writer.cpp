#include "corpus/data_writer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"

namespace titan::corpus {

using ckpt::Result;
using ckpt::Status;

/// Appends to a file in writes of 4 MiB, and hashes what it writes.
struct DataWriter::Output {
  static constexpr std::size_t kBuffer = 4 << 20;
  std::unique_ptr<ckpt::File> file;
  ckpt::Hasher hasher;
  std::vector<std::byte> buffer;
  std::uint64_t offset = 0;

  Status flush() {
    hasher.update(buffer);
    TITAN_RETURN_IF_ERROR(file->pwrite(offset, buffer));
    offset += buffer.size();
    buffer.clear();
    return {};
  }
  Status append(const void* bytes, std::size_t count) {
    const auto* from = static_cast<const std::byte*>(bytes);
    buffer.insert(buffer.end(), from, from + count);
    return buffer.size() >= kBuffer ? flush() : Status();
  }
  Status finish() {
    TITAN_RETURN_IF_ERROR(flush());
    return ckpt::finish_member(*file);
  }
};

DataWriter::DataWriter(ckpt::Fs& fs, std::string folder, std::uint32_t token_bytes, std::uint64_t shard_bytes,
                       bool answers)
    : fs_(fs), folder_(std::move(folder)), shard_bytes_(shard_bytes), keeps_answers_(answers) {
  data_.token_bytes = token_bytes;
  if (answers) data_.trained = 0;
}
DataWriter::~DataWriter() = default;

Status DataWriter::begin_shard() {
  char number[16];
  std::snprintf(number, sizeof number, "-%05zu.bin", data_.shards.size());
  TokenShard& shard = data_.shards.emplace_back();
  shard.tokens_file = std::string("tokens") + number;
  shard.ends_file = std::string("ends") + number;
  if (keeps_answers_) shard.answers_file = std::string("answers") + number;
  for (const auto& [name, output] : {std::pair(shard.tokens_file, &tokens_), std::pair(shard.ends_file, &ends_),
                                     std::pair(shard.answers_file, &answers_)}) {
    if (name.empty()) continue;
    *output = std::make_unique<Output>();
    TITAN_ASSIGN_OR_RETURN((*output)->file, fs_.create(ckpt::join_path(folder_, name)));
  }
  return {};
}

Status DataWriter::end_shard() {
  TITAN_RETURN_IF_ERROR(tokens_->finish());
  TITAN_RETURN_IF_ERROR(ends_->finish());
  TokenShard& shard = data_.shards.back();
  shard.tokens_digest = tokens_->hasher.digest();
  shard.ends_digest = ends_->hasher.digest();
  if (answers_) {
    TITAN_RETURN_IF_ERROR(answers_->finish());
    shard.answers_digest = answers_->hasher.digest();
  }
  tokens_.reset();
  ends_.reset();
  answers_.reset();
  return {};
}

Status DataWriter::add(std::span<const std::uint32_t> document, std::span<const TokenRange> answers) {
  if (!tokens_) TITAN_RETURN_IF_ERROR(begin_shard());
  TokenShard& shard = data_.shards.back();
  for (const TokenRange& answer : answers) {
    const std::uint64_t places[2] = {shard.tokens + answer.begin, shard.tokens + answer.end};
    TITAN_RETURN_IF_ERROR(answers_->append(places, sizeof places));
    ++shard.answers;
    *data_.trained += answer.end - answer.begin;
  }
  if (data_.token_bytes == 4) {
    TITAN_RETURN_IF_ERROR(tokens_->append(document.data(), document.size_bytes()));
  } else {
    std::vector<std::uint16_t> narrow(document.begin(), document.end());
    TITAN_RETURN_IF_ERROR(tokens_->append(narrow.data(), narrow.size() * sizeof narrow[0]));
  }
  shard.tokens += document.size();
  ++shard.documents;
  data_.tokens += document.size();
  ++data_.documents;
  data_.longest = std::max<std::uint64_t>(data_.longest, document.size());
  TITAN_RETURN_IF_ERROR(ends_->append(&shard.tokens, sizeof shard.tokens));
  return shard.tokens * data_.token_bytes >= shard_bytes_ ? end_shard() : Status();
}

Result<TokenData> DataWriter::finish() {
  if (tokens_) TITAN_RETURN_IF_ERROR(end_shard());
  return data_;
}

}  // namespace titan::corpus
