#include "ckpt/format/parity_file.h"

#include <algorithm>
#include <cstring>

#include "ckpt/base/fs.h"
#include "ckpt/base/integers.h"
#include "ckpt/base/path.h"
#include "ckpt/base/printed.h"
#include "ckpt/base/quoting.h"
#include "ckpt/format/member_names.h"

namespace titan::ckpt {
namespace {

constexpr std::string_view kParityMark = "TITANPAR";
constexpr std::string_view kParityFolder = "parity/";
constexpr std::uint32_t kParityVersion = 1;

template <typename T>
void put(std::byte*& at, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i) *at++ = static_cast<std::byte>(value >> (8 * i));
}
template <typename T>
T get(const std::byte*& at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) value |= static_cast<T>(*at++) << (8 * i);
  return value;
}

}  // namespace

std::string parity_path(std::uint32_t number) {
  return printed("parity/parity-%05u.bin", static_cast<unsigned>(number));
}

bool is_parity(std::string_view member) { return member.starts_with(kParityFolder); }

bool has_parity(Fs& fs, const std::string& folder) {
  const auto entries = fs.list(join_path(folder, "parity"));
  return entries.ok() && std::any_of(entries->begin(), entries->end(), [](const DirEntry& entry) {
           return entry.name.starts_with("parity-") && entry.name.ends_with(".bin");
         });
}

Status no_manifest(Fs& fs, const std::string& folder) {
  const std::string none = "no checkpoint at " + folder + ": ";
  if (!has_parity(fs, folder)) return not_found(none + "it has no " + kManifestFile);
  return not_found(none + "its " + kManifestFile + " is lost, and parity files are left")
      .with_hint("`titan-ckpt verify " + shell_word(folder) +
                 " --repair -o DST` makes a checkpoint of its parity files");
}

std::array<std::byte, kParityHeader> encode_parity_header(const ParityHeader& header) {
  std::array<std::byte, kParityHeader> bytes{};
  std::memcpy(bytes.data(), kParityMark.data(), kParityMark.size());
  std::byte* at = bytes.data() + kParityMark.size();
  for (const std::uint32_t value : {kParityVersion, header.group, header.rows, header.row}) put(at, value);
  for (const std::uint64_t value : {header.manifest_bytes, header.parity_bytes}) put(at, value);
  return bytes;
}

Result<ParityHeader> decode_parity_header(std::span<const std::byte> bytes, std::uint64_t file_bytes) {
  if (bytes.size() < kParityHeader || std::memcmp(bytes.data(), kParityMark.data(), kParityMark.size()) != 0)
    return corrupt("this is no parity file");
  const std::byte* at = bytes.data() + kParityMark.size();
  const auto version = get<std::uint32_t>(at);
  if (version != kParityVersion)
    return corrupt("a parity file of version " + std::to_string(version) + ", expected " +
                   std::to_string(kParityVersion));
  ParityHeader header;
  header.group = get<std::uint32_t>(at);
  header.rows = get<std::uint32_t>(at);
  header.row = get<std::uint32_t>(at);
  header.manifest_bytes = get<std::uint64_t>(at);
  header.parity_bytes = get<std::uint64_t>(at);
  const bool sizes = header.manifest_bytes <= kMaxManifestBytes && header.parity_bytes <= file_bytes &&
                     header.file_bytes() == file_bytes;
  if (!sizes || header.rows == 0 || header.rows > kMostParity || header.row >= header.rows ||
      header.group > kMaxManifestBytes)
    return corrupt("the header of a parity file does not fit its file");
  return header;
}

Manifest without_parity(Manifest manifest) {
  std::vector<std::uint32_t> moved(manifest.files.size());
  std::vector<FileEntry> files;
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    moved[i] = static_cast<std::uint32_t>(files.size());
    if (!is_parity(manifest.files[i].path)) files.push_back(std::move(manifest.files[i]));
  }
  manifest.files = std::move(files);
  const auto move = [&](StoredTensor& tensor) {
    for (Piece& piece : tensor.pieces) piece.file = moved[piece.file];
  };
  for (ParameterRecord& record : manifest.parameters) {
    if (record.model) move(*record.model);
    for (SlotTensor& slot : record.slots) move(slot.tensor);
  }
  return manifest;
}

std::uint32_t parity_rows(const Manifest& manifest) {
  const auto parity = static_cast<std::uint32_t>(std::count_if(
      manifest.files.begin(), manifest.files.end(), [](const FileEntry& file) { return is_parity(file.path); }));
  const std::uint32_t others = static_cast<std::uint32_t>(manifest.files.size()) - parity;
  const std::uint32_t groups = ceil_div(others, kParityGroup);
  return groups == 0 ? 0 : parity / groups;
}

std::vector<std::string> parity_left_out(const Manifest& source, const std::string& dst) {
  const std::uint32_t rows = parity_rows(source);
  if (rows == 0) return {};
  return {"parity files are left out: `titan-ckpt parity " + shell_word(dst) + " --files " + std::to_string(rows) +
          "` makes them for it"};
}

std::vector<ParityGroup> parity_groups(const Manifest& manifest) {
  std::vector<ParityGroup> groups;
  for (std::uint32_t first = 0; first < manifest.files.size(); first += kParityGroup) {
    ParityGroup group{first,
                      std::min<std::uint32_t>(first + kParityGroup, static_cast<std::uint32_t>(manifest.files.size()))};
    for (std::uint32_t i = group.first; i < group.end; ++i)
      group.largest = std::max(group.largest, manifest.files[i].bytes);
    groups.push_back(group);
  }
  return groups;
}

}  // namespace titan::ckpt
