#include "ckpt/ops/donors.h"

#include <set>

#include "ckpt/base/files.h"
#include "ckpt/ops/derive.h"
#include "ckpt/read/range_reader.h"
#include "ckpt/run/run_resolve.h"

namespace titan::ckpt {
namespace {

constexpr std::size_t kMostDonors = 100;  // their manifests are in memory

}  // namespace

bool is_lost(const Status& status) {
  return status.code == Code::kCorrupt || status.code == Code::kMediaError || status.code == Code::kNotFound;
}

Result<Donors> Donors::open(Fs& fs, const std::vector<std::string>& specs, const CheckpointOpener& opener,
                            const std::function<std::string(Fs& fs, const std::string& spec)>& resolve) {
  Donors donors(fs);
  std::set<std::string> seen;
  for (const std::string& spec : specs) {
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> found,
                           resolve_checkpoints(fs, resolve ? resolve(fs, spec) : spec));
    for (const std::string& path : found) {
      if (!seen.insert(lasting_path(fs, path)).second) continue;
      if (donors.all_.size() == kMostDonors)
        return invalid("there are more than " + std::to_string(kMostDonors) + " donors");
      TITAN_ASSIGN_OR_RETURN(CheckpointReader reader, opener(fs, path));
      ParameterIndex names(reader.manifest());
      donors.all_.push_back({std::move(reader), std::move(names)});
      donors.given_.push_back({path});
    }
  }
  return donors;
}

Result<bool> Donors::elements(std::size_t index, const TensorRef& ref, std::uint64_t first, std::span<std::byte> out) {
  const One& donor = all_[index];
  const ParameterRecord& record = lost_->parameters[ref.index];
  const std::optional<std::uint32_t> at = donor.names.find(record.meta.name);
  if (!at) return false;
  const TensorRef theirs{*at, ref.slot};
  const StoredTensor* stored = donor.reader.manifest().stored(theirs);
  if (stored == nullptr || stored->dtype != lost_->stored(ref)->dtype ||
      donor.reader.manifest().parameters[*at].meta.shape != record.meta.shape)
    return false;
  const Status read = RangeReader(donor.reader, theirs).read(first, out);
  if (is_lost(read)) return false;
  TITAN_RETURN_IF_ERROR(read);
  return true;
}

Result<bool> Donors::leaf(const WantedLeaf& wanted, std::span<std::byte> out) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    TITAN_ASSIGN_OR_RETURN(const bool has, elements(i, wanted.ref, wanted.first, out));
    if (!has || digest_of(out) != wanted.digest) continue;
    ++given_[i].leaves;
    return true;
  }
  return false;
}

Result<std::vector<std::byte>> Donors::read_member_of(const CheckpointReader& reader, const FileEntry& file) const {
  if (!reader.foreign()) return read_member(*fs_, reader.path(), file.path, file.bytes);
  for (const ModelFilePlace& place : reader.model_files())
    if (place.member == file.path) return read_model_file(*fs_, place, file.bytes);
  return not_found(reader.path() + " has no " + file.path);
}

Result<std::optional<std::vector<std::byte>>> Donors::member(const FileEntry& file) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    Result<std::vector<std::byte>> bytes = read_member_of(all_[i].reader, file);
    if (!bytes.ok() && !is_lost(bytes.status())) return bytes.status();
    if (!bytes.ok() || bytes->size() != file.bytes || digest_of(*bytes) != file.whole) continue;
    ++given_[i].files;
    return std::optional(std::move(*bytes));
  }
  return std::optional<std::vector<std::byte>>();
}

}  // namespace titan::ckpt
