#pragma once
// What a file is by its first bytes and by its name: one table of signatures for all that look at files of others.
// Pure.
#include <cstddef>
#include <span>
#include <string_view>

namespace titan::ckpt {

enum class FileKind {
  kUnknown,
  kEmpty,
  kZeros,
  kSafetensors,
  kLfsPointer,
  kWebPage,
  kErrorPage,
  kScript,
  kJson,
  kJsonLines,
  kTorch,
  kPickle,
  kNpz,
  kNpy,
  kGguf,
  kGgml,
  kHdf5,
  kParquet,
  kArrow,
  kFeather,
  kTar,
  kGzip,
  kZstd,
  kXz,
  kBzip2,
  kSevenZip,
  kRar,
  kZip,
  kPdf,
  kPng,
  kJpeg,
  kGif,
  kSqlite,
  kProgram,
  kUtf16,
};

/// One way to recognise a kind: bytes at a place, or the end of a name.
struct FileSignature {
  FileKind kind;
  const char* what;              ///< with its article: "a zip archive"
  std::string_view magic;        ///< at `at`; empty: the beginning says nothing
  std::size_t at = 0;            ///< bytes from the beginning
  std::string_view extension{};  ///< in lower case; empty: the name says nothing
};

/// All of them, the first that fits counts.
std::span<const FileSignature> file_signatures();

/// Bytes of a file's beginning that are enough for every signature.
inline constexpr std::size_t kSignatureBytes = 4096;

/// What a file is whose first bytes are `beginning`: all of it, or kSignatureBytes and more.
FileKind what_is_this(std::string_view beginning);
/// What a file is by its name.
FileKind what_by_name(std::string_view name);
/// "a zip archive"; "" for kUnknown.
const char* kind_text(FileKind kind);
/// Whether a text file cannot begin so, so that nobody means to train on it as text.
bool is_binary(FileKind kind);

}  // namespace titan::ckpt
