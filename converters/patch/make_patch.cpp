#include "converters/patch/make_patch.h"

#include <unordered_map>

#include "ckpt/base/fs.h"
#include "ckpt/base/integers.h"
#include "ckpt/base/parallel.h"
#include "ckpt/base/path.h"
#include "ckpt/base/quoting.h"
#include "ckpt/format/difference_codec.h"
#include "ckpt/format/signature_file.h"
#include "ckpt/read/verifier.h"
#include "ckpt/run/run_resolve.h"
#include "ckpt/store/destination.h"
#include "ckpt/store/output_file.h"
#include "converters/list.h"
#include "converters/patch/contents.h"

namespace titan::convert {

namespace {

Status check_output(Fs& fs, const PatchOptions& options) {
  const auto there = fs.stat(options.output);
  if (there.status().code == ckpt::Code::kNotFound) return ckpt::ok_status();
  if (!there.ok()) return ckpt::as_wrong_path(there.status(), options.output);
  if (there->type == ckpt::FileType::kFile) {
    TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ckpt::File> file, fs.open_read(options.output));
    const bool patch = PatchReader::open(std::move(file), options.output).ok();
    if (patch && options.force) return ckpt::ok_status();
    if (patch)
      return ckpt::invalid(options.output + " exists")
          .with_hint("choose another name, or replace this patch with --force");
  }
  return ckpt::invalid(options.output + " exists and is no patch: it is never replaced")
      .with_hint("choose another name, or move it away");
}

/// An export consists of all files in its folder, so a patch in the folder would become a part of it.
Status check_outside(Fs& fs, const std::string& output, const std::string& source) {
  const Result<std::string> folder = fs.real_path(source), place = fs.real_path(ckpt::parent_path(output));
  if (!folder.ok() || !place.ok() || (*place != *folder && !ckpt::is_below(*place, *folder))) return ckpt::ok_status();
  return ckpt::invalid("the patch " + output + " lies inside " + source).with_hint("choose a place outside");
}

/// The base's tensor for each of the target's, and the names of those that are used.
struct Pairs {
  /// Per tensor of the target: its index in the base, and in `names`; kNoTensor: none.
  std::vector<std::uint32_t> base, name;
  std::vector<PatchTensor> names;
  std::uint64_t whole = 0;
  std::string first_whole;
};

Pairs pair_tensors(const Contents& base, const Contents& target) {
  std::unordered_map<std::string_view, std::uint32_t> by_name;
  for (std::uint32_t i = 0; i < base.tensors().size(); ++i) by_name.emplace(base.tensors()[i].name, i);
  Pairs pairs;
  for (const ContentTensor& tensor : target.tensors()) {
    const auto at = by_name.find(tensor.name);
    const ContentTensor* const other = at == by_name.end() ? nullptr : &base.tensors()[at->second];
    const bool fits = other != nullptr && other->dtype == tensor.dtype && other->bytes == tensor.bytes;
    pairs.base.push_back(fits ? at->second : kNoTensor);
    pairs.name.push_back(fits ? static_cast<std::uint32_t>(pairs.names.size()) : kNoTensor);
    if (fits) {
      pairs.names.push_back({tensor.name, tensor.bytes});
      continue;
    }
    if (pairs.whole++ == 0)
      pairs.first_whole = tensor.name + (other == nullptr ? " is not there"
                                                          : " has " + std::to_string(other->bytes) + " bytes of " +
                                                                std::string(ckpt::dtype_name(other->dtype)) +
                                                                " there, and " + std::to_string(tensor.bytes) + " of " +
                                                                std::string(ckpt::dtype_name(tensor.dtype)) + " here");
  }
  return pairs;
}

/// One piece of the target while it is encoded.
struct CodedPiece {
  std::size_t file = 0;
  std::uint64_t offset = 0, bytes = 0, first = 0;
  std::uint32_t tensor = kNoTensor;  // index of the target's tensor
  ckpt::AlignedBuffer base = Contents::piece_memory(), target = Contents::piece_memory();
  ckpt::DifferenceEncoder encoder;
  PatchRecord record;
  std::span<const std::byte> stored;
};

// One pass over two checkpoints; its members are the state of the pass.
class Maker {
 public:
  Maker(Fs& fs, const PatchOptions& options, const Contents& base, const Contents& target)
      : fs_(fs), options_(options), base_(base), target_(target), pairs_(pair_tensors(base, target)) {}
  Result<PatchReport> run();

 private:
  Status take(std::size_t file, const Region& region);
  Status flush();
  Status code(CodedPiece& slot);
  Status append(const CodedPiece& slot);

  Fs& fs_;
  const PatchOptions& options_;
  const Contents &base_, &target_;
  const Pairs pairs_;
  std::vector<CodedPiece> slots_;
  std::size_t filled_ = 0;
  std::unique_ptr<ckpt::OutputFile> out_;
  PieceDigests base_digests_;  // only for a base that is not a Titan checkpoint
  std::vector<bool> changed_;  // per tensor of the target: whether it differs from the base
  ContentId target_id_;
  std::size_t file_ = ~std::size_t{0};  // the file whose pieces target_id_ receives
  std::uint64_t done_ = 0, written_ = 0;
};

Status Maker::code(CodedPiece& slot) {
  TITAN_ASSIGN_OR_RETURN(const std::span<const std::byte> target,
                         target_.read_file(slot.file, slot.offset, slot.bytes, slot.target));
  std::span<const std::byte> base;
  slot.record = {.first = slot.first, .raw = static_cast<std::uint32_t>(slot.bytes)};
  if (slot.tensor != kNoTensor) {
    slot.record.element_size = static_cast<std::uint32_t>(ckpt::dtype_size(target_.tensors()[slot.tensor].dtype));
    slot.record.tensor = pairs_.name[slot.tensor];
  }
  if (slot.record.tensor != kNoTensor) {
    const std::uint32_t tensor = pairs_.base[slot.tensor];
    TITAN_ASSIGN_OR_RETURN(base, base_.read_tensor(tensor, slot.first, slot.bytes, slot.base));
    if (!base_digests_.empty()) base_digests_[tensor][slot.first / kPatchPiece] = ckpt::digest_of(base);
  }
  slot.record.digest = ckpt::digest_of(target);
  TITAN_ASSIGN_OR_RETURN(slot.stored, slot.encoder.encode(base, target, slot.record.element_size));
  return ckpt::ok_status();
}

Status Maker::append(const CodedPiece& slot) {
  if (slot.file != file_) {
    file_ = slot.file;
    const ContentFile& file = target_.files()[file_];
    target_id_.begin_file(target_.one_file() ? "" : file.path, file.bytes);
  }
  target_id_.piece(slot.record.digest);
  if (slot.tensor != kNoTensor && slot.stored.size() > 1) changed_[slot.tensor] = true;
  TITAN_RETURN_IF_ERROR(out_->append(encode_patch_record(slot.record, slot.stored)));
  written_ += kPatchRecord + slot.stored.size();
  done_ += slot.bytes;
  return out_->append(slot.stored);
}

Status Maker::flush() {
  TITAN_RETURN_IF_ERROR(options_.cancel.check());
  TITAN_RETURN_IF_ERROR(ckpt::parallel_for(filled_, static_cast<unsigned>(slots_.size()),
                                           [&](std::size_t i) { return code(slots_[i]); }));
  for (std::size_t i = 0; i < filled_; ++i) TITAN_RETURN_IF_ERROR(append(slots_[i]));
  filled_ = 0;
  if (options_.progress) options_.progress(done_, target_.bytes());
  return ckpt::ok_status();
}

Status Maker::take(std::size_t file, const Region& region) {
  return each_piece(target_, region, [&](std::uint64_t at, std::uint64_t bytes) -> Status {
    CodedPiece& slot = slots_[filled_++];
    slot.file = file;
    slot.offset = region.offset + at;
    slot.bytes = bytes;
    slot.tensor = region.tensor;
    slot.first = region.tensor == kNoTensor ? 0 : region.first + at;
    return filled_ == slots_.size() ? flush() : ckpt::ok_status();
  });
}

Result<PatchReport> Maker::run() {
  if (pairs_.names.empty())
    return ckpt::incompatible(target_.path() + " has no tensor in common with " + base_.path() + ": " +
                              pairs_.first_whole);
  TITAN_ASSIGN_OR_RETURN(out_, ckpt::OutputFile::create(fs_, options_.output));
  slots_ = std::vector<CodedPiece>(patch_threads(options_.threads));
  changed_.resize(target_.tensors().size());
  if (!base_.id())
    for (const ContentTensor& tensor : base_.tensors())
      base_digests_.emplace_back(ckpt::ceil_div(tensor.bytes, kPatchPiece));
  const std::string begin = patch_begin();
  TITAN_RETURN_IF_ERROR(out_->append(std::as_bytes(std::span(begin))));
  PatchHead head;
  for (std::size_t i = 0; i < target_.files().size(); ++i) {
    const ContentFile& file = target_.files()[i];
    head.files.push_back({file.path, file.bytes});
    for (const Region& region : file.regions) TITAN_RETURN_IF_ERROR(take(i, region));
  }
  TITAN_RETURN_IF_ERROR(flush());
  head.base.kind = base_.kind();
  head.target = {target_.kind(), target_.id() ? *target_.id() : target_id_.finish()};
  if (base_.id()) {
    head.base.id = *base_.id();
  } else {
    TITAN_ASSIGN_OR_RETURN(head.base.id, content_id(base_, base_digests_, options_.cancel));
  }
  head.one_file = target_.one_file();
  head.step = target_.step();
  head.writer = options_.writer;
  head.tensors = pairs_.names;
  const std::string end = encode_patch_end(head);
  if (end.size() > kMostPatchHead || head.files.size() > kMostPatchFiles || head.tensors.size() > kMostPatchTensors)
    return ckpt::unsupported("a patch of so many files and tensors");
  TITAN_RETURN_IF_ERROR(out_->append(std::as_bytes(std::span(end))));
  TITAN_RETURN_IF_ERROR(check_output(fs_, options_));
  TITAN_RETURN_IF_ERROR(out_->publish());

  PatchReport report{.base = base_.path(), .target = target_.path(), .output = options_.output};
  report.base_side = head.base;
  report.target_side = head.target;
  report.target_bytes = done_;
  report.patch_bytes = begin.size() + written_ + end.size();
  report.tensors = target_.tensors().size();
  for (std::size_t i = 0; i < changed_.size(); ++i) report.equal_tensors += pairs_.base[i] != kNoTensor && !changed_[i];
  report.whole_tensors = pairs_.whole;
  if (pairs_.whole > 0)
    report.notes.push_back("the patch holds " + std::to_string(pairs_.whole) +
                           (pairs_.whole == 1 ? " tensor whole, which the base has not: "
                                              : " tensors whole, which the base has not; the first: ") +
                           pairs_.first_whole);
  if (target_.id() && fs_.stat(ckpt::join_path(target_.path(), ckpt::kSignatureFile)).ok())
    report.notes.push_back("not in the patch: the signature of " + target_.path() +
                           "; `titan-ckpt sign` signs what is made of the patch");
  for (const std::string& name : target_.others())
    report.notes.push_back("not in the patch: " + name + " of " + target_.path() + ", which is no part of the model");
  return report;
}

/// Reads every byte of a Titan target first: a patch from a damaged target would rebuild a checkpoint that does not
/// verify.
Status check_target(Fs& fs, const Contents& target, const PatchOptions& options) {
  if (!target.id()) return ckpt::ok_status();
  TITAN_ASSIGN_OR_RETURN(const ckpt::VerifyReport found,
                         ckpt::verify_checkpoint(fs, target.path(), {}, options.cancel, options.threads));
  if (!found.unreadable.empty())
    return ckpt::media_error(found.unreadable[0].file + " of " + target.path() + " cannot be read");
  if (found.damage.empty()) return ckpt::ok_status();
  return ckpt::corrupt(target.path() + " is damaged: " + found.damage[0].file + ": " + found.damage[0].detail)
      .with_hint("`titan-ckpt verify " + ckpt::shell_word(target.path()) + "` names every damaged place");
}

}  // namespace

Result<PatchReport> make_patch(Fs& fs, const PatchOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const std::string base_path, ckpt::resolve_checkpoint(fs, resolve_any(fs, options.base)));
  TITAN_ASSIGN_OR_RETURN(const std::string target_path, ckpt::resolve_checkpoint(fs, resolve_any(fs, options.target)));
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<Contents> base, Contents::open(fs, base_path));
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<Contents> target, Contents::open(fs, target_path));
  if (std::string_view(base->kind()) != target->kind())
    return ckpt::invalid("a patch needs two checkpoints of the same kind: " + base_path + " is " +
                         (base->id() ? "a Titan checkpoint" : "a safetensors export") + ", and " + target_path +
                         " is not")
        .with_hint("convert one of them with `titan-ckpt convert`");
  TITAN_RETURN_IF_ERROR(check_output(fs, options));
  // The file's creation checks that it is not inside a Titan checkpoint.
  for (const Contents* const side : {base.get(), target.get()})
    if (!side->id()) TITAN_RETURN_IF_ERROR(check_outside(fs, options.output, side->path()));
  TITAN_RETURN_IF_ERROR(check_target(fs, *target, options));
  return Maker(fs, options, *base, *target).run();
}

}  // namespace titan::convert
