#pragma once
// Rows of token ids from one file, for evaluation: a NumPy array of integers, or raw little-endian ids split into rows.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "libtrain/job/data/mapped_file.h"

namespace titan::train {

class TokenRows {
 public:
  struct Options {
    std::optional<std::uint64_t> row_length;      ///< tokens per row
    std::optional<std::uint64_t> default_length;  ///< tokens per row if `row_length` is unset and the file has no rows
    std::uint32_t raw_bytes = 2;                  ///< bytes of a raw id: 2 or 4, unsigned
    bool text = false;  ///< UTF-8 text, one id per byte; a text shorter than the default length is one row
  };
  /// Maps `path`. A file that begins like a NumPy file is read as one: integers of 1, 2, 4 or 8 bytes, C order, [B, T]
  /// or one stream [N]. \error kInvalid: the file is missing or a token folder, the array has another kind, rows have
  /// another length than asked for, there is no whole row, text is not UTF-8 or begins with a byte order mark, or raw
  /// ids have another width (id_looks.h) or end within an id
  static ckpt::Result<TokenRows> open(const std::string& path, const Options& options);

  /// Splits the ids of a tokenized text into rows; `path` is the text's path, for messages. Fewer ids than the default
  /// length are one row.
  static ckpt::Result<TokenRows> of_ids(const std::string& path, std::vector<std::uint32_t> ids,
                                        const Options& options);

  std::uint64_t rows() const { return rows_; }
  std::uint64_t length() const { return length_; }        ///< tokens of a row
  bool by_default() const { return by_default_; }         ///< whether length() is Options::default_length
  std::uint64_t left_over() const { return left_over_; }  ///< tokens after the last whole row
  const std::string& path() const { return path_; }
  /// Copies row `row` into `out`. \error kInvalid: an id that is negative or not below `vocab_size` (row, column)
  ckpt::Status read(std::uint64_t row, std::uint64_t vocab_size, std::span<std::int64_t> out) const;

 private:
  explicit TokenRows(std::string path) : path_(std::move(path)) {}
  const std::byte* data() const;
  ckpt::Status cut(std::uint64_t tokens, const Options& options);

  std::string path_;
  std::optional<MappedFile> file_;
  std::vector<std::uint32_t> ids_;  // if there is no file
  std::uint64_t offset_ = 0, rows_ = 0, length_ = 0, left_over_ = 0;
  std::uint32_t bytes_ = 2;
  bool is_signed_ = false, by_default_ = false;
};

/// Checks that a text does not begin with a byte order mark (BOM). \error kInvalid: it begins with one
ckpt::Status check_no_mark(const std::string& path, std::string_view text);

}  // namespace titan::train
