#include "converters/patch/apply_patch.h"

#include <cstring>
#include <set>
#include <unordered_map>

#include "ckpt/base/aligned_buffer.h"
#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/parallel.h"
#include "ckpt/base/path.h"
#include "ckpt/format/difference_codec.h"
#include "ckpt/run/run_resolve.h"
#include "ckpt/save/rewrite.h"
#include "ckpt/store/named_file.h"
#include "converters/export.h"
#include "converters/list.h"
#include "converters/patch/contents.h"

namespace titan::convert {

using ckpt::Digest;
using ckpt::join_path;

namespace {

struct DecodedPiece {
  PatchRecord record;
  std::vector<std::byte> stored;
  ckpt::AlignedBuffer base = Contents::piece_memory();
  std::span<std::byte> target;
  ckpt::DifferenceDecoder decoder;
  bool other = false;  // the piece is not the one from which the patch was made
};

class Applier {
 public:
  Applier(Fs& fs, const ApplyOptions& options, PatchReader patch, const Contents& base)
      : fs_(fs),
        options_(options),
        patch_(std::move(patch)),
        base_(base),
        slots_(patch_threads(options.threads)),
        memory_(ckpt::kScanAlignment + slots_.size() * ckpt::kMaxDifferencePiece) {}
  Result<ApplyReport> run();

 private:
  Status check_base();
  Status other_base() const;
  Result<std::uint64_t> next_pieces(const PatchedFile& file, std::uint64_t at, std::span<std::byte> memory);
  Status write_file(const PatchedFile& file, ckpt::Rewrite& rewrite);
  Status decode(DecodedPiece& slot);
  Status sync_folders(const ckpt::Rewrite& rewrite) const;
  Status prove(const ckpt::Rewrite& rewrite) const;
  ckpt::ReplaceCheck replaceable() const;

  Fs& fs_;
  const ApplyOptions& options_;
  PatchReader patch_;
  const Contents& base_;
  std::vector<DecodedPiece> slots_;
  ckpt::AlignedBuffer memory_;          // the rest of an unfinished block, then decoded pieces
  std::vector<std::uint32_t> tensors_;  // per tensor that the patch names: its number in the base
  std::uint64_t done_ = 0;
};

/// The error if pieces of the base differ from the patch's. Reads a base that is not a Titan checkpoint completely, to
/// find its id. \error kIncompatible: it is another base; kCorrupt: it is the right base, so the patch is wrong
Status Applier::other_base() const {
  const PatchSide& expected = patch_.head().base;
  Digest found{};
  if (base_.id()) {
    found = *base_.id();
  } else {
    TITAN_ASSIGN_OR_RETURN(found, content_id(base_, {}, options_.cancel));
  }
  if (found == expected.id && expected.kind == base_.kind())
    return ckpt::corrupt("the patch " + options_.patch + " does not give what it says, though its base is " +
                         base_.path());
  return ckpt::incompatible(base_.path() + " is not the base of the patch " + options_.patch + ": expected id " +
                            expected.id.hex() + ", found " + found.hex() +
                            (expected.kind == base_.kind() ? "" : std::string(", which is of another kind")))
      .with_hint("`titan-ckpt apply` takes the A of `titan-ckpt patch A B`, or a copy of it");
}

Status Applier::check_base() {
  if (patch_.head().base.kind != base_.kind() || (base_.id() && *base_.id() != patch_.head().base.id))
    return other_base();
  std::unordered_map<std::string_view, std::uint32_t> by_name;
  for (std::uint32_t i = 0; i < base_.tensors().size(); ++i) by_name.emplace(base_.tensors()[i].name, i);
  for (const PatchTensor& tensor : patch_.head().tensors) {
    const auto at = by_name.find(tensor.name);
    if (at == by_name.end() || base_.tensors()[at->second].bytes != tensor.bytes) return other_base();
    tensors_.push_back(at->second);
  }
  return ckpt::ok_status();
}

Status Applier::decode(DecodedPiece& slot) {
  const PatchRecord& record = slot.record;
  std::span<const std::byte> base;
  slot.other = false;
  if (record.tensor != kNoTensor) {
    const std::uint32_t tensor = tensors_[record.tensor];
    const ContentTensor& known = base_.tensors()[tensor];
    const bool fits = record.first <= known.bytes && record.raw <= known.bytes - record.first &&
                      record.element_size == ckpt::dtype_size(known.dtype) && record.first % record.element_size == 0 &&
                      record.raw % record.element_size == 0;
    slot.other = !fits;
    if (!fits) return ckpt::ok_status();
    TITAN_ASSIGN_OR_RETURN(base, base_.read_tensor(tensor, record.first, record.raw, slot.base));
  }
  TITAN_RETURN_IF_ERROR(slot.decoder.decode(slot.stored, base, record.element_size, slot.target));
  slot.other = ckpt::digest_of(slot.target) != record.digest;
  return ckpt::ok_status();
}

/// Decodes the next pieces of `file`, from `at` on, into `memory`, and returns their number of bytes.
Result<std::uint64_t> Applier::next_pieces(const PatchedFile& file, std::uint64_t at, std::span<std::byte> memory) {
  std::size_t filled = 0;
  std::uint64_t bytes = 0;
  for (; filled < slots_.size() && at + bytes < file.bytes; ++filled) {
    DecodedPiece& slot = slots_[filled];
    TITAN_ASSIGN_OR_RETURN(slot.record, patch_.next(slot.stored));
    if (slot.record.raw > file.bytes - at - bytes)
      return ckpt::corrupt("the patch " + options_.patch + " has more bytes for " + file.path + " than it says");
    slot.target = memory.subspan(bytes, slot.record.raw);
    bytes += slot.record.raw;
  }
  TITAN_RETURN_IF_ERROR(ckpt::parallel_for(filled, static_cast<unsigned>(slots_.size()),
                                           [&](std::size_t i) { return decode(slots_[i]); }));
  for (std::size_t i = 0; i < filled; ++i)
    if (slots_[i].other) return other_base();
  return bytes;
}

// Writes one file of the target: whole blocks from aligned memory, with direct I/O if the file system supports it.
// Keeps the rest of an unfinished block for the next call.
Status Applier::write_file(const PatchedFile& file, ckpt::Rewrite& rewrite) {
  TITAN_RETURN_IF_ERROR(rewrite.make_folder_of(file.path));
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> out,
                         fs_.create_large(join_path(rewrite.folder(), file.path)));
  TITAN_RETURN_IF_ERROR(out->truncate(file.bytes));
  std::size_t waiting = 0;
  for (std::uint64_t at = 0; at < file.bytes;) {
    TITAN_RETURN_IF_ERROR(rewrite.beat(options_.cancel));
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t bytes, next_pieces(file, at, memory_.all().subspan(waiting)));
    const std::uint64_t there = waiting + bytes, begin = at - waiting;
    at += bytes;
    const std::uint64_t whole = at == file.bytes ? there : there / ckpt::kScanAlignment * ckpt::kScanAlignment;
    TITAN_RETURN_IF_ERROR(out->pwrite(begin, memory_.first(whole)));
    waiting = there - whole;
    std::memmove(memory_.all().data(), memory_.all().data() + whole, waiting);
    done_ += bytes;
    if (options_.progress) options_.progress(done_, 2 * patch_.head().bytes());
  }
  if (patch_.head().target.kind == "titan") return ckpt::finish_member(*out);
  TITAN_RETURN_IF_ERROR(out->datasync());
  return out->close();
}

Status Applier::sync_folders(const ckpt::Rewrite& rewrite) const {
  std::set<std::string> folders;
  for (const PatchedFile& file : patch_.head().files)
    for (std::size_t slash = file.path.find('/'); slash != std::string::npos; slash = file.path.find('/', slash + 1))
      folders.insert(file.path.substr(0, slash));
  for (const std::string& folder : folders) TITAN_RETURN_IF_ERROR(fs_.sync_dir(join_path(rewrite.folder(), folder)));
  return ckpt::ok_status();
}

/// Reads back the written target. \error kCorrupt: it is not the target
Status Applier::prove(const ckpt::Rewrite& rewrite) const {
  const PatchHead& head = patch_.head();
  Digest found{};
  if (head.target.kind == "titan") {
    const auto progress = [&](std::uint64_t done, std::uint64_t) {
      if (options_.progress) options_.progress(done_ + done, 2 * head.bytes());
    };
    TITAN_ASSIGN_OR_RETURN(const ckpt::VerifyReport report,
                           ckpt::verify_checkpoint(fs_, rewrite.folder(), progress, options_.cancel, options_.threads));
    if (!report.unreadable.empty()) return ckpt::media_error(report.unreadable[0].file + " cannot be read again");
    if (!report.damage.empty())
      return ckpt::corrupt("what the patch " + options_.patch + " gives is damaged: " + report.damage[0].file + ": " +
                           report.damage[0].detail)
          .with_hint("`titan-ckpt verify` its target where it is, and make the patch again");
    found = report.id;
  } else {
    const std::string path = head.one_file ? join_path(rewrite.folder(), head.files[0].path) : rewrite.folder();
    // Read from the store, because bytes in memory do not prove what was stored.
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<Contents> made, Contents::open(fs_, path, ckpt::Access::kUncached));
    TITAN_ASSIGN_OR_RETURN(found, content_id(*made, {}, options_.cancel, patch_threads(options_.threads)));
  }
  if (found == head.target.id) return ckpt::ok_status();
  return ckpt::corrupt("what the patch " + options_.patch + " gives has id " + found.hex() + ", expected " +
                       head.target.id.hex());
}

ckpt::ReplaceCheck Applier::replaceable() const {
  const PatchHead& head = patch_.head();
  if (head.target.kind == "titan") return {};
  if (!head.one_file)
    return [](Fs& fs, const std::string& dst) -> Status {
      TITAN_ASSIGN_OR_RETURN(const Format* const hf, find_format("hf"));
      return replaceable_by(*hf)(fs, dst);
    };
  return [](Fs&, const std::string& dst) -> Status {
    return ckpt::invalid(dst + " exists: a single file is never replaced")
        .with_hint("choose another name, or move it away");
  };
}

Result<ApplyReport> Applier::run() {
  const PatchHead& head = patch_.head();
  TITAN_RETURN_IF_ERROR(check_base());
  const bool ours = head.target.kind == "titan";
  if (ours) TITAN_RETURN_IF_ERROR(ckpt::check_step_name(options_.output, head.step));
  // A step name must be that of the target's step; the base has another step.
  TITAN_ASSIGN_OR_RETURN(
      const std::unique_ptr<ckpt::Rewrite> rewrite,
      ckpt::Rewrite::begin(fs_, ours ? "" : base_.path(), options_.output, options_.force, replaceable()));
  TITAN_RETURN_IF_ERROR(rewrite->need_space(head.bytes()));
  for (const PatchedFile& file : head.files) TITAN_RETURN_IF_ERROR(write_file(file, *rewrite));
  if (patch_.more())
    return ckpt::corrupt("the patch " + options_.patch + " has more records than its files have bytes");
  TITAN_RETURN_IF_ERROR(sync_folders(*rewrite));
  TITAN_RETURN_IF_ERROR(prove(*rewrite));
  TITAN_RETURN_IF_ERROR(head.one_file ? rewrite->publish_file(head.files[0].path) : rewrite->publish_folder());
  ApplyReport report{.base = base_.path(), .patch = options_.patch, .output = options_.output, .target = head.target};
  report.step = head.step;
  report.bytes = head.bytes();
  report.patch_bytes = patch_.bytes();
  report.files = head.files.size();
  report.notes = rewrite->warnings();
  return report;
}

}  // namespace

Result<ApplyReport> apply_patch(Fs& fs, const ApplyOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const std::string path, ckpt::named_file(fs, options.patch, "a patch"));
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ckpt::File> file, fs.open_read(path));
  TITAN_ASSIGN_OR_RETURN(PatchReader patch, PatchReader::open(std::move(file), options.patch));
  TITAN_ASSIGN_OR_RETURN(const std::string base_path, ckpt::resolve_checkpoint(fs, resolve_any(fs, options.base)));
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<Contents> base, Contents::open(fs, base_path));
  return Applier(fs, options, std::move(patch), *base).run();
}

}  // namespace titan::convert
