#include "libtrain/job/data/token_rows.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <map>

#include "ckpt/base/fs_posix.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/base/utf8.h"
#include "ckpt/model/tensor_meta.h"
#include "corpus/npy_header.h"
#include "corpus/token_data.h"
#include "libtrain/job/data/data_plausibility.h"
#include "libtrain/job/data/id_looks.h"

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;

struct Element {
  std::uint32_t bytes;
  bool is_signed;
};

const std::map<std::string, Element, std::less<>> kElements = {
    {"|u1", {1, false}}, {"<u2", {2, false}}, {"<u4", {4, false}}, {"<u8", {8, false}},
    {"|i1", {1, true}},  {"<i2", {2, true}},  {"<i4", {4, true}},  {"<i8", {8, true}},
};

/// Little-endian, sign-extended.
std::int64_t element(const std::byte* at, std::uint32_t bytes, bool is_signed) {
  std::uint64_t value = 0;
  for (std::uint32_t i = 0; i < bytes; ++i) value |= std::to_integer<std::uint64_t>(at[i]) << (8 * i);
  if (is_signed && bytes < 8 && (value >> (8 * bytes - 1)) != 0) value |= ~std::uint64_t{0} << (8 * bytes);
  return static_cast<std::int64_t>(value);
}

/// A text that is shorter than the default length is one row.
TokenRows::Options for_text(const TokenRows::Options& options, std::uint64_t tokens) {
  TokenRows::Options shorter = options;
  if (options.default_length && tokens > 0) shorter.default_length = std::min(*options.default_length, tokens);
  return shorter;
}

}  // namespace

const std::byte* TokenRows::data() const {
  return file_ ? file_->bytes().data() : reinterpret_cast<const std::byte*>(ids_.data());
}

Result<TokenRows> TokenRows::of_ids(const std::string& path, std::vector<std::uint32_t> ids, const Options& options) {
  if (options.row_length == 0u) return ckpt::invalid("a row of 0 tokens: expected at least 1");
  TokenRows rows(path);
  rows.ids_ = std::move(ids);
  rows.bytes_ = sizeof(std::uint32_t);
  TITAN_RETURN_IF_ERROR(rows.cut(rows.ids_.size(), for_text(options, rows.ids_.size())));
  return rows;
}

Status TokenRows::cut(std::uint64_t tokens, const Options& options) {
  const std::optional<std::uint64_t> length = options.row_length ? options.row_length : options.default_length;
  if (!length)
    return ckpt::invalid(path() + " is one stream of " + std::to_string(tokens) + " tokens")
        .with_hint("add --seq-len T to cut it into rows of T tokens");
  length_ = *length;
  by_default_ = !options.row_length;
  rows_ = tokens / length_;
  left_over_ = tokens % length_;
  if (rows_ == 0)
    return ckpt::invalid(path() + " has " + std::to_string(tokens) + " tokens, fewer than one row of " +
                         std::to_string(length_));
  return ckpt::ok_status();
}

ckpt::Status check_no_mark(const std::string& path, std::string_view text) {
  if (!text.starts_with(ckpt::kByteOrderMark)) return {};
  return ckpt::invalid(path + " begins with a byte order mark, which would count as text")
      .with_hint("save the file as UTF-8 without a byte order mark");
}

Result<TokenRows> TokenRows::open(const std::string& path, const Options& options) {
  if (options.row_length == 0u) return ckpt::invalid("a row of 0 tokens: expected at least 1");
  if (const auto data = corpus::read_token_data(ckpt::posix_fs(), path); data.ok() && !data->shards.empty())
    return ckpt::invalid("'" + path + "' is a folder of token ids, and rows are read from one file")
        .with_hint("name one of its files: " + ckpt::join_path(path, data->shards.front().tokens_file));
  TITAN_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
  TokenRows rows(path);
  rows.file_ = std::move(file);
  const std::span<const std::byte> bytes = rows.file_->bytes();
  if (options.text) {
    if (const std::size_t bad = ckpt::scan_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).valid;
        bad < bytes.size())
      return ckpt::invalid(path + " is not UTF-8: byte " + std::to_string(bad));
    TITAN_RETURN_IF_ERROR(check_no_mark(path, ckpt::text_of(bytes)));
    rows.bytes_ = 1;
    TITAN_RETURN_IF_ERROR(rows.cut(bytes.size(), for_text(options, bytes.size())));
    return rows;
  }
  constexpr char kMagic[] = "\x93NUMPY";
  if (bytes.size() < 6 || std::memcmp(bytes.data(), kMagic, 6) != 0) {
    rows.bytes_ = options.raw_bytes;
    if (bytes.size() % rows.bytes_ != 0)
      return ckpt::invalid(path + " has " + std::to_string(bytes.size()) + " bytes, not a multiple of the " +
                           std::to_string(rows.bytes_) + " of a token");
    TITAN_RETURN_IF_ERROR(
        doubt_of_ids(path, ckpt::text_of(bytes).substr(0, kLookBytes), rows.bytes_, "--token-dtype "));
    TITAN_RETURN_IF_ERROR(rows.cut(bytes.size() / rows.bytes_, options));
    return rows;
  }

  const auto header = corpus::parse_npy_header(bytes);
  if (!header.ok()) return ckpt::invalid(path + " is " + header.status().message);
  const auto found = kElements.find(header->descr);
  if (found == kElements.end())
    return ckpt::invalid(path + " holds elements of type '" + header->descr + "'; expected are little-endian integers");
  rows.bytes_ = found->second.bytes;
  rows.is_signed_ = found->second.is_signed;
  rows.offset_ = header->data_offset;
  const std::vector<std::uint64_t>& shape = header->shape;
  const bool plain = (shape.size() == 1 || shape.size() == 2) && (!header->fortran_order || shape.size() == 1);
  if (!plain)
    return ckpt::invalid(path + " is an array " + ckpt::shape_text(shape) +
                         (header->fortran_order ? " in Fortran order" : "") + "; expected is [B, T] in C order");
  unsigned __int128 size = rows.bytes_;
  for (const std::uint64_t extent : shape)
    size *= std::min<std::uint64_t>(extent, bytes.size() + 1);  // the limit avoids an overflow
  if (size != bytes.size() - rows.offset_)
    return ckpt::invalid(path + " has " + std::to_string(bytes.size() - rows.offset_) +
                         " bytes of data, not those of an array " + ckpt::shape_text(shape));
  if (shape.size() == 1) {
    TITAN_RETURN_IF_ERROR(rows.cut(shape[0], options));
    return rows;
  }
  rows.rows_ = shape[0];
  rows.length_ = shape[1];
  if (options.row_length && *options.row_length != rows.length_)
    return ckpt::invalid(path + " has rows of " + std::to_string(rows.length_) + " tokens, not of " +
                         std::to_string(*options.row_length))
        .with_hint("leave out --seq-len");
  if (rows.rows_ == 0 || rows.length_ == 0)
    return ckpt::invalid(path + " is an empty array " + ckpt::shape_text(shape));
  return rows;
}

Status TokenRows::read(std::uint64_t row, std::uint64_t vocab_size, std::span<std::int64_t> out) const {
  assert(row < rows_ && out.size() == length_);
  const std::byte* at = data() + offset_ + row * length_ * bytes_;
  for (std::uint64_t i = 0; i < length_; ++i, at += bytes_) {
    out[i] = element(at, bytes_, is_signed_);
    if (out[i] < 0 || static_cast<std::uint64_t>(out[i]) >= vocab_size)
      return ckpt::invalid(path() + ", row " + std::to_string(row) + ", column " + std::to_string(i) + ": id " +
                           std::to_string(out[i]) + " is outside the vocabulary of " + std::to_string(vocab_size));
  }
  return ckpt::ok_status();
}

}  // namespace titan::train
