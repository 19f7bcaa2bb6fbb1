#include "ckpt/ops/derive.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "ckpt/base/quoting.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/read/verifier.h"

namespace titan::ckpt {

std::string lasting_path(Fs& fs, const std::string& path) {
  const Result<std::string> real = fs.real_path(path);
  return real.ok() ? *real : path;
}

DerivedFrom derived_from(Fs& fs, const CheckpointReader& source) {
  const Manifest& manifest = source.manifest();
  DerivedFrom from{manifest.id, manifest.step, lasting_path(fs, source.path())};
  if (manifest.derived_from) from.merged = manifest.derived_from->merged;
  return from;
}

Manifest derived_manifest(Fs& fs, const CheckpointReader& source, const RewriteOptions& options) {
  Manifest manifest = without_parity(source.manifest());
  manifest.derived_from = derived_from(fs, source);
  manifest.writer = options.writer;
  manifest.created = options.created;
  return manifest;
}

Result<bool> verify_source(Fs& fs, const std::string& src, const RewriteOptions& options) {
  if (!options.verify && !options.force) return false;
  TITAN_ASSIGN_OR_RETURN(const VerifyReport report, verify_checkpoint(fs, src, {}, options.cancel));
  if (report.damage.empty() && report.unreadable.empty()) return true;
  const Damage& first = report.damage.empty() ? report.unreadable.front() : report.damage.front();
  const std::string place = first.file + ": " + first.unit +
                            (first.tensor.empty() ? "" : " " + std::to_string(first.leaf) + " of " + first.tensor) +
                            ": " + first.detail;
  Status status =
      report.damage.empty() ? media_error("a part of the source cannot be read") : corrupt("the source is damaged");
  status = status.wrapped("nothing was written to " + options.dst)
               .with_hint("`titan-ckpt verify " + shell_word(src) + "` names every such place");
  status.causes.push_back(place);
  return status;
}

Result<std::vector<CarriedFile>> carry_members(Rewrite& rewrite, const Manifest& manifest,
                                               const std::vector<std::string>& fresh, const CancelToken& cancel) {
  std::vector<CarriedFile> files;
  for (const FileEntry& file : manifest.files) {
    if (std::find(fresh.begin(), fresh.end(), file.path) != fresh.end()) continue;
    TITAN_ASSIGN_OR_RETURN(Carried carried, rewrite.carry(file.path, cancel));
    files.push_back({file.path, file.bytes, carried.method, std::move(carried.reason)});
  }
  return files;
}

}  // namespace titan::ckpt
