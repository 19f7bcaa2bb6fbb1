#pragma once
// Recognises a file's type by its first bytes and by its name: one table of signatures for all code that reads files of
// other programs. Pure.
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

/// How to recognise a kind: by bytes at an offset, by the end of the name, or both. file_kind() recognises some kinds
/// in other ways, for example safetensors.
struct FileSignature {
  FileKind kind;
  const char* what;              ///< the kind in messages: "a zip archive"
  std::string_view magic;        ///< bytes expected at offset `at`; empty: none
  std::size_t at = 0;            ///< offset from the beginning of the file
  std::string_view extension{};  ///< in lower case; empty: none
};

/// All signatures. The first one that matches counts.
std::span<const FileSignature> file_signatures();

/// The number of bytes at the start of a file that suffice for every signature.
inline constexpr std::size_t kSignatureBytes = 4096;

/// The kind of a file whose first bytes are `beginning`: the whole file, or at least kSignatureBytes of it.
FileKind file_kind(std::string_view beginning);
/// The kind of a file with this name.
FileKind file_kind_by_name(std::string_view name);
/// "a zip archive"; "" for kUnknown.
const char* kind_text(FileKind kind);
/// True if no text file begins with the signature of this kind, so a file of this kind cannot be meant as training
/// text.
bool is_binary(FileKind kind);

}  // namespace titan::ckpt
