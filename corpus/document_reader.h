#pragma once
// Reads documents from files and streams, in order. A document is a line of a JSON Lines file, the text between two
// separators, or a whole file.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "corpus/byte_source.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::corpus {

enum class InputFormat { kText, kJsonLines };

/// What to read, and how to split it into documents.
struct InputOptions {
  /// Paths of files; folders, whose regular files are read in the order of their names, without hidden files, links and
  /// subfolders; patterns ("a/*.txt"); "-" for standard input.
  std::vector<std::string> inputs;
  std::optional<InputFormat> format;  ///< format of all inputs; empty: decided by each file's name or beginning
  std::string separator;              ///< between the documents of a text; empty: a text is one document
  ReadBytes standard_input;           ///< empty: "-" is refused
};

/// Several documents in one buffer, as stored in their files: a JSON line is not parsed yet.
struct RawDocuments {
  /// Where a document is in the buffer, and where it came from.
  struct Place {
    std::size_t begin = 0, end = 0;  ///< offsets in `bytes`
    std::uint32_t input = 0;         ///< index into DocumentReader::names()
    std::uint64_t number = 0;  ///< number of the line or document in its file, from 1; messages count documents from 0
    bool json = false;         ///< the document is a line of a JSON Lines file
  };
  std::string bytes;
  std::vector<Place> places;
};

/// Reads all documents of the inputs, one file after the other. Its many members are the position (the open file, the
/// bytes read ahead of the next document) and the counts that the functions return.
class DocumentReader {
 public:
  static constexpr std::size_t kLongest = std::size_t{64} << 20;  ///< maximum size of a document or line, in bytes
  static constexpr std::uint32_t kMostInputs = 1u << 20;          ///< maximum number of files

  /// Lists the files of `options.inputs` without opening them. \error kInvalid: a path does not exist, is neither file
  /// nor folder, or is a token folder; a folder has no file; more than kMostInputs files; otherwise the file system's
  /// error.
  static ckpt::Result<DocumentReader> open(ckpt::Fs& fs, InputOptions options);

  /// Opens each file and examines its first 4 KiB. Does not change the position of this reader. Not for standard input.
  /// \error as fill()
  ckpt::Status look_at_all();

  /// Appends documents until `out` has at least `wanted` bytes or the last file ends. If nothing was appended, all
  /// documents have been read. Skips empty lines and empty texts. \error kInvalid: a file that is not text
  /// (text_check.h), a document of more than kLongest bytes; else as ByteSource::read
  ckpt::Status fill(std::size_t wanted, RawDocuments& out);

  const std::vector<std::string>& names() const { return names_; }  ///< paths of the files, in reading order
  std::uint64_t total_bytes() const { return total_bytes_; }        ///< stored size of all files; 0 with standard input
  std::uint64_t read_bytes() const { return *read_bytes_; }         ///< stored bytes read so far, of total_bytes()
  std::uint64_t skipped() const { return skipped_; }                ///< number of empty texts and lines
  /// At most 9 lines, about files that are named twice, and about files read as text that look like JSON or a web page,
  /// or begin with a byte order mark.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  DocumentReader(ckpt::Fs& fs, InputOptions options) : fs_(&fs), options_(std::move(options)) {}
  ckpt::Status add_input(const std::string& path, bool may_be_pattern = true);
  ckpt::Status open_next();
  void warn_of(const std::string& name, const ExaminedSource& looked);
  void warn(std::string line);
  ckpt::Status read_more();
  ckpt::Status take(std::size_t end, std::size_t next, RawDocuments& out);

  ckpt::Fs* fs_;
  InputOptions options_;
  std::vector<std::string> names_, warnings_;
  std::uint64_t total_bytes_ = 0, skipped_ = 0;
  std::shared_ptr<std::uint64_t> read_bytes_ = std::make_shared<std::uint64_t>(0);
  std::size_t next_ = 0;                // index in names_ of the next file to open
  std::unique_ptr<ByteSource> source_;  // the open file; null between two files
  bool json_ = false, ended_ = false;
  std::string separator_;
  std::uint64_t number_ = 0;
  std::string held_;                 // buffered input; the next document begins at offset at_
  std::size_t at_ = 0, looked_ = 0;  // no separator begins in [at_, looked_) of held_
};

/// The paths that occur more than once in `paths`, sorted. Paths are compared in normal form: "a/./b" is "a/b".
std::vector<std::string> named_twice(const std::vector<std::string>& paths);

/// The offset of the first lone surrogate in `json` at or after `from`: a `\u` escape of a high surrogate without a low
/// surrogate after it (`\ud800` alone), or of a low surrogate without a high one before it.
std::optional<std::size_t> lone_surrogate(std::string_view json, std::size_t from = 0);
/// `status`, the result of reading `line`. An error gets the code kInvalid, and a hint if `line` is not UTF-8.
ckpt::Status bad_line(std::string_view line, ckpt::Status status);
/// The value of the member `field` of the JSON object `line`. `what` names the line in messages. \error kInvalid:
/// `line` is no JSON object or has a lone surrogate; the member is missing, occurs twice, or is not a string
ckpt::Result<std::string> text_of_line(const std::string& what, std::string_view line, const std::string& field);

}  // namespace titan::corpus
