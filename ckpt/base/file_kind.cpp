#include "ckpt/base/file_kind.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace titan::ckpt {
namespace {

using namespace std::string_view_literals;

// The first row that matches counts, also for names. So ".tar.gz" is listed before ".gz".
constexpr FileSignature kSignatures[] = {
    {FileKind::kLfsPointer, "a pointer of git-lfs, not the file itself", "version https://git-lfs.github.com/spec/"sv},
    {FileKind::kScript, "a script", "#!/"sv},
    {FileKind::kSafetensors, "a safetensors file", {}, 0, ".safetensors"},
    {FileKind::kJsonLines, "JSON lines", {}, 0, ".jsonl"},
    {FileKind::kJsonLines, "JSON lines", {}, 0, ".ndjson"},
    {FileKind::kJson, "JSON", {}, 0, ".json"},
    {FileKind::kTorch, "a pickle of PyTorch", {}},
    {FileKind::kPickle, "a pickle of Python", "\x80\x02"sv, 0, ".pkl"},
    {FileKind::kPickle, "a pickle of Python", "\x80\x03"sv, 0, ".pickle"},
    {FileKind::kPickle, "a pickle of Python", "\x80\x04\x95"sv},
    {FileKind::kPickle, "a pickle of Python", "\x80\x05\x95"sv},
    {FileKind::kNpz, "an archive of NumPy arrays", {}, 0, ".npz"},
    {FileKind::kNpy, "a NumPy array", "\x93NUMPY"sv, 0, ".npy"},
    {FileKind::kGguf, "a GGUF file", "GGUF"sv, 0, ".gguf"},
    {FileKind::kGgml, "a GGML file", "lmgg"sv},
    {FileKind::kGgml, "a GGML file", "tjgg"sv},
    {FileKind::kHdf5, "an HDF5 file", "\x89HDF\r\n\x1a\n"sv, 0, ".h5"},
    {FileKind::kParquet, "Parquet", "PAR1"sv, 0, ".parquet"},
    {FileKind::kArrow, "Arrow", "ARROW1"sv, 0, ".arrow"},
    {FileKind::kFeather, "Arrow", "FEA1"sv, 0, ".feather"},
    {FileKind::kTar, "a tar archive", "ustar"sv, 257, ".tar.gz"},
    {FileKind::kTar, "a tar archive", {}, 0, ".tgz"},
    {FileKind::kTar, "a tar archive", {}, 0, ".tar"},
    {FileKind::kGzip, "packed by gzip", "\x1f\x8b"sv, 0, ".gz"},
    {FileKind::kZstd, "packed by zstd", "\x28\xb5\x2f\xfd"sv, 0, ".zst"},
    {FileKind::kXz, "packed by xz", "\xfd\x37zXZ"sv, 0, ".xz"},
    {FileKind::kBzip2, "packed by bzip2", "BZh"sv, 0, ".bz2"},
    {FileKind::kSevenZip, "a 7z archive", "7z\xbc\xaf\x27\x1c"sv},
    {FileKind::kRar, "a rar archive", "Rar!\x1a\x07"sv},
    {FileKind::kZip, "a zip archive", "PK\x03\x04"sv, 0, ".zip"},
    {FileKind::kPdf, "a PDF document", "%PDF-"sv},
    {FileKind::kPng, "a picture (PNG)", "\x89PNG\r\n\x1a\n"sv},
    {FileKind::kJpeg, "a picture (JPEG)", "\xff\xd8\xff"sv},
    {FileKind::kGif, "a picture (GIF)", "GIF8"sv},
    {FileKind::kSqlite, "an SQLite database", "SQLite format 3\0"sv},
    {FileKind::kProgram, "a program (ELF)", "\x7f\x45LF"sv},
    {FileKind::kUtf16, "UTF-16", "\xff\xfe"sv},
    {FileKind::kUtf16, "UTF-16", "\xfe\xff"sv},
    {FileKind::kWebPage, "a web page (HTML)", {}},
    {FileKind::kErrorPage, "an XML document, as a store answers with an error", {}},
    {FileKind::kZeros, "nothing but zeros", {}},
    {FileKind::kEmpty, "empty", {}},
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool has_at(std::string_view bytes, std::size_t at, std::string_view magic) {
  return bytes.size() >= at + magic.size() && bytes.substr(at, magic.size()) == magic;
}

// The name of the first member distinguishes the kinds of zip archives.
FileKind kind_of_zip(std::string_view bytes) {
  constexpr std::size_t kName = 30, kLength = 26;  // size of a local header, and the offset of its name length
  if (bytes.size() < kName) return FileKind::kZip;
  const auto low = static_cast<unsigned char>(bytes[kLength]), high = static_cast<unsigned char>(bytes[kLength + 1]);
  const std::string_view name =
      bytes.substr(kName, static_cast<std::size_t>(low) | static_cast<std::size_t>(high) << 8U);
  if (name == "data.pkl" || name.ends_with("/data.pkl")) return FileKind::kTorch;
  return name.ends_with(".npy") ? FileKind::kNpz : FileKind::kZip;
}

FileKind kind_of_markup(std::string_view bytes) {
  const std::size_t begin = bytes.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return FileKind::kUnknown;
  const std::string start = lower(bytes.substr(begin, 16));
  if (start.starts_with("<!doctype html") || start.starts_with("<html")) return FileKind::kWebPage;
  return start.starts_with("<?xml") ? FileKind::kErrorPage : FileKind::kUnknown;
}

// A safetensors file begins with the length of its JSON header, then the header.
bool is_safetensors(std::string_view bytes) {
  return bytes.size() > 9 && bytes[5] == '\0' && bytes[6] == '\0' && bytes[7] == '\0' && bytes[8] == '{' &&
         (bytes[9] == '"' || bytes[9] == '}');
}

}  // namespace

std::span<const FileSignature> file_signatures() { return kSignatures; }

FileKind file_kind(std::string_view beginning) {
  if (beginning.empty()) return FileKind::kEmpty;
  if (std::ranges::all_of(beginning, [](char c) { return c == '\0'; })) return FileKind::kZeros;
  if (is_safetensors(beginning)) return FileKind::kSafetensors;
  for (const FileSignature& one : kSignatures)
    if (!one.magic.empty() && has_at(beginning, one.at, one.magic))
      return one.kind == FileKind::kZip ? kind_of_zip(beginning) : one.kind;
  return kind_of_markup(beginning);
}

FileKind file_kind_by_name(std::string_view name) {
  const std::string small = lower(name);
  for (const FileSignature& one : kSignatures)
    if (!one.extension.empty() && small.ends_with(one.extension)) return one.kind;
  return FileKind::kUnknown;
}

const char* kind_text(FileKind kind) {
  const auto* const found = std::ranges::find(kSignatures, kind, &FileSignature::kind);
  return found == std::end(kSignatures) ? "" : found->what;
}

bool is_binary(FileKind kind) {
  switch (kind) {
    case FileKind::kUnknown:
    case FileKind::kEmpty:
    case FileKind::kScript:
    case FileKind::kJson:
    case FileKind::kJsonLines:
    case FileKind::kWebPage:
    case FileKind::kErrorPage:
    case FileKind::kLfsPointer: return false;
    default: return true;
  }
}

}  // namespace titan::ckpt
