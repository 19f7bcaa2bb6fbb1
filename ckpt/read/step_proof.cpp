#include "ckpt/read/step_proof.h"

#include "ckpt/base/path.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/verifier.h"
#include "ckpt/store/media_watch.h"

namespace titan::ckpt {

Result<Digest> prove_step(Fs& fs, const std::string& path, const CancelToken& cancel, unsigned threads) {
  Uncached store(fs);
  TITAN_ASSIGN_OR_RETURN(const VerifyReport report, verify_checkpoint(store, path, {}, cancel, threads));
  if (!report.damage.empty()) {
    const Damage& first = report.damage.front();
    return corrupt(join_path(path, first.file) + " is damaged (" + first.unit + "): " + first.detail);
  }
  if (!report.unreadable.empty())
    return media_error(join_path(path, report.unreadable.front().file) +
                       " cannot be read: " + report.unreadable.front().detail);
  return report.id;
}

Status check_id(const std::string& path, const Digest& found, const Digest& expected) {
  if (found == expected) return ok_status();
  return incompatible(path + " is another checkpoint than the one that was known there: expected id " + expected.hex() +
                      ", found " + found.hex())
      .with_hint("steps were moved or copied while the run was training; `titan-ckpt ls` shows which steps are there");
}

Status check_id_at(Fs& fs, const std::string& path, const Digest& expected) {
  TITAN_ASSIGN_OR_RETURN(const Manifest found, read_manifest(fs, path));
  return check_id(path, found.id, expected);
}

}  // namespace titan::ckpt
