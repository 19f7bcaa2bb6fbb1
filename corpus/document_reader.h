#pragma once
// Documents of files and streams, in order: lines of a JSON Lines file, texts between separators, whole files.
#include <cstdint>
#include <functional>
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

struct InputOptions {
  std::vector<std::string> inputs;    ///< files; folders (their files by name); patterns "a/*.txt"; "-": standard input
  std::optional<InputFormat> format;  ///< format of all inputs; empty: decided by each file's name or beginning
  std::string separator;              ///< between the documents of a text; empty: a text is one document
  ReadBytes standard_input;
};

/// Documents as stored in their files, in one buffer.
struct RawDocuments {
  struct Place {
    std::size_t begin = 0, end = 0;  ///< offsets in `bytes`
    std::uint32_t input = 0;         ///< index into DocumentReader::names()
    std::uint64_t number = 0;  ///< number of the line or document in its file, from 1; messages count documents from 0
    bool json = false;         ///< it is a line of a JSON Lines file
  };
  std::string bytes;
  std::vector<Place> places;
};

/// Reads the list of inputs and keeps the position in the current one.
class DocumentReader {
 public:
  static constexpr std::size_t kLongest = std::size_t{64} << 20;  ///< maximum size of a document or line, in bytes
  static constexpr std::uint32_t kMostInputs = 1u << 20;

  /// Finds the files without opening them. \error kInvalid: a file does not exist, a folder is empty
  static ckpt::Result<DocumentReader> open(ckpt::Fs& fs, InputOptions options);

  /// Opens each file and examines its beginning. \error kInvalid: not a text file
  ckpt::Status look_at_all();

  /// Appends documents until `out` has at least `wanted` bytes; appends nothing at the end of the last file. Skips
  /// empty lines and empty texts. \error kInvalid: not a text file, a document that is too long; kCorrupt, kFailed
  ckpt::Status fill(std::size_t wanted, RawDocuments& out);

  const std::vector<std::string>& names() const { return names_; }
  std::uint64_t total_bytes() const { return total_bytes_; }  ///< size of all files as stored; 0: not known
  std::uint64_t read_bytes() const { return *read_bytes_; }   ///< bytes read so far, of total_bytes()
  std::uint64_t skipped() const { return skipped_; }          ///< empty texts and lines
  /// A few lines about inputs that do not look like the text that they are read as.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  DocumentReader(ckpt::Fs& fs, InputOptions options) : fs_(&fs), options_(std::move(options)) {}
  ckpt::Status add_input(const std::string& path, bool may_be_pattern = true);
  ckpt::Status open_next();
  void warn_of(const std::string& name, const LookedAt& looked);
  void warn(std::string line);
  ckpt::Status read_more();
  ckpt::Status take(std::size_t end, std::size_t next, RawDocuments& out);

  ckpt::Fs* fs_;
  InputOptions options_;
  std::vector<std::string> names_, warnings_;
  std::uint64_t total_bytes_ = 0, skipped_ = 0;
  std::shared_ptr<std::uint64_t> read_bytes_ = std::make_shared<std::uint64_t>(0);
  std::size_t next_ = 0;  // input to open
  std::unique_ptr<ByteSource> source_;
  bool json_ = false, ended_ = false;
  std::string separator_;
  std::uint64_t number_ = 0;
  std::string held_;                 // buffered input; the bytes from `at_` on were not returned yet
  std::size_t at_ = 0, looked_ = 0;  // no separator begins in [at_, looked_)
};

/// The paths that occur more than once in `paths`, sorted.
std::vector<std::string> named_twice(const std::vector<std::string>& paths);

/// The offset of the first escape in `json`, from `from` on, that is half of a surrogate pair ("\\ud800" alone).
std::optional<std::size_t> lone_surrogate(std::string_view json, std::size_t from = 0);
/// Turns the error `status` of reading `line` into an error about the user's input. A line that is not UTF-8 gets a
/// hint.
ckpt::Status bad_line(std::string_view line, ckpt::Status status);
/// The text of the member `field` of one JSON object. `what` names the line in messages. \error kInvalid
ckpt::Result<std::string> text_of_line(const std::string& what, std::string_view line, const std::string& field);

}  // namespace titan::corpus
