#include "ckpt/save/own_files.h"

#include <set>
#include <string_view>

#include "ckpt/format/member_names.h"
#include "ckpt/format/signature_file.h"
#include "ckpt/read/reader.h"
#include "ckpt/run/run_folder.h"

namespace titan::ckpt {
namespace {

constexpr unsigned kDeepest = 32;  // folders in folders; a deeper one is called foreign itself

class OwnFiles {
 public:
  OwnFiles(Fs& fs, const std::string& folder, const Manifest& manifest) : fs_(fs), folder_(folder) {
    for (const FileEntry& file : manifest.files) members_.insert(file.path);
  }

  Result<std::string> first_foreign(const std::string& below, unsigned depth) const {
    TITAN_ASSIGN_OR_RETURN(const std::vector<DirEntry> entries,
                           fs_.list(below.empty() ? folder_ : join_path(folder_, below)));
    for (const DirEntry& entry : entries) {
      const std::string path = below.empty() ? entry.name : join_path(below, entry.name);
      if (entry.type == FileType::kDirectory && depth < kDeepest) {
        TITAN_ASSIGN_OR_RETURN(std::string found, first_foreign(path, depth + 1));
        if (!found.empty()) return found;
      } else if (!ours(path)) {
        return path;
      }
    }
    return std::string();
  }

 private:
  bool ours(std::string_view path) const {
    const bool parity = path.starts_with("parity/parity-") && path.ends_with(".bin");
    const bool leftover = path.starts_with(std::string(kSignatureFile) + ".tmp-");  // of a `sign` that was killed
    return path == kManifestFile || path == kPinFile || path == kSignatureFile || parity || leftover ||
           members_.contains(path);
  }

  Fs& fs_;
  const std::string& folder_;
  std::set<std::string, std::less<>> members_;
};

}  // namespace

Result<std::string> foreign_file(Fs& fs, const std::string& folder, const Manifest& manifest) {
  return OwnFiles(fs, folder, manifest).first_foreign("", 0);
}

Status check_own_files(Fs& fs, const std::string& folder) {
  const Result<Manifest> manifest = read_manifest(fs, folder);
  if (!manifest.ok()) return manifest.status().wrapped("cannot tell whether " + folder + " holds files of others");
  TITAN_ASSIGN_OR_RETURN(const std::string found, foreign_file(fs, folder, *manifest));
  if (found.empty()) return ok_status();
  return invalid(folder + " also holds '" + found + "': it is never replaced")
      .with_hint("move that file out of the checkpoint");
}

}  // namespace titan::ckpt
