#include "ckpt/ops/parity_set.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/quoting.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/lock/run_guard.h"
#include "ckpt/ops/derive.h"
#include "ckpt/run/own_files.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/run/run_resolve.h"
#include "ckpt/save/parity.h"

namespace titan::ckpt {
namespace {

/// Checks that all members are undamaged, because parity of damaged members would preserve the damage. Sets `lost` if
/// parity files are damaged, which can be made again.
Status check_members(Fs& fs, const std::string& path, const ParityOptions& options, bool& lost) {
  TITAN_ASSIGN_OR_RETURN(const VerifyReport found,
                         verify_checkpoint(fs, path, options.progress, options.cancel, options.threads));
  const auto of_member = [](const Damage& place) { return !is_parity(place.file); };
  const auto damaged = std::find_if(found.damage.begin(), found.damage.end(), of_member);
  const auto unreadable = std::find_if(found.unreadable.begin(), found.unreadable.end(), of_member);
  lost = !found.damage.empty() || !found.unreadable.empty();
  if (damaged == found.damage.end() && unreadable == found.unreadable.end()) return ok_status();
  const bool known = damaged != found.damage.end();
  const Damage& first = known ? *damaged : *unreadable;
  Status status = known ? corrupt(path + " is damaged: parity would keep it so")
                        : media_error("a part of " + path + " cannot be read");
  status.causes.push_back(first.file + ": " + first.unit + (first.tensor.empty() ? "" : " of " + first.tensor) + ": " +
                          first.detail);
  return status.with_hint("`titan-ckpt verify " + shell_word(path) +
                          " --repair -o DST` makes a whole one where it has parity files");
}

/// Checks that the checkpoint may be replaced: before every byte is read, and again afterwards, since reading takes
/// long.
Status check_replaceable(Fs& fs, const std::string& path) {
  if (is_pinned(fs, path))
    return invalid(path + " is pinned by .keep: it is not replaced")
        .with_hint("`titan-ckpt unpin " + shell_word(path) + "` first, and pin it again afterwards");
  return check_own_files(fs, path);
}

Status replace(Fs& fs, const ParityOptions& options, Manifest manifest, ParityReport& report) {
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<Rewrite> rewrite, Rewrite::begin_in_place(fs, report.path));
  std::uint64_t largest = 0, total = 0, done = 0;
  for (const ParityGroup& group : parity_groups(manifest)) largest += group.largest;
  for (const FileEntry& file : manifest.files) total += file.bytes;
  TITAN_RETURN_IF_ERROR(rewrite->need_space(options.files * largest + (std::uint64_t{1} << 20)));
  TITAN_RETURN_IF_ERROR(carry_members(*rewrite, manifest, {}, options.cancel).status());
  const ParityHooks hooks{[&] { return rewrite->beat(options.cancel); },
                          [&](std::uint64_t bytes) {
                            done += bytes;
                            if (options.progress) options.progress(done, total);
                          }};
  if (options.files > 0) TITAN_RETURN_IF_ERROR(write_parity(fs, rewrite->folder(), options.files, manifest, hooks));
  for (const FileEntry& file : manifest.files) {
    if (!is_parity(file.path)) continue;
    ++report.files;
    report.bytes += file.bytes;
  }
  TITAN_RETURN_IF_ERROR(options.cancel.check());
  TITAN_RETURN_IF_ERROR(rewrite->publish(manifest));
  report.warnings = rewrite->warnings();
  return ok_status();
}

}  // namespace

Result<ParityReport> set_parity(Fs& fs, const ParityOptions& options) {
  ParityReport report;
  TITAN_ASSIGN_OR_RETURN(report.path, resolve_checkpoint(fs, options.ckpt));
  const Result<std::string> named = fs.real_path(report.path);
  if (named.status().code == Code::kNotFound) return no_manifest(fs, report.path);
  TITAN_ASSIGN_OR_RETURN(const std::string real, named);
  TITAN_ASSIGN_OR_RETURN(const RunGuard guard,
                         RunGuard::take(fs, parent_path(real), parse_step_name(base_name(real)).has_value()));
  TITAN_ASSIGN_OR_RETURN(Manifest manifest, read_manifest(fs, report.path));
  const bool other = parity_rows(manifest) != options.files;
  if (other) TITAN_RETURN_IF_ERROR(check_replaceable(fs, report.path));
  bool lost = false;
  TITAN_RETURN_IF_ERROR(check_members(fs, report.path, options, lost));
  report.id = manifest.id;
  report.before = parity_rows(manifest);
  report.after = options.files;
  report.changed = lost || other;
  if (!report.changed) return report;
  TITAN_RETURN_IF_ERROR(check_replaceable(fs, report.path));
  TITAN_RETURN_IF_ERROR(replace(fs, options, without_parity(std::move(manifest)), report));
  return report;
}

}  // namespace titan::ckpt
