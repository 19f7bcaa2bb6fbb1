#include "ckpt/save/commit.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "ckpt/base/files.h"
#include "ckpt/base/path.h"
#include "ckpt/format/checkpoint_id.h"
#include "ckpt/format/format_limits.h"
#include "ckpt/format/manifest_builder.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/state_codec.h"
#include "ckpt/read/virtual_model.h"
#include "ckpt/save/parity.h"
#include "ckpt/save/read_back.h"

namespace titan::ckpt {
namespace {

// The pieces and leaf digests of each stored tensor.
using ItemsFound = std::map<std::pair<std::uint32_t, std::string>, std::vector<const RankReceipt::Item*>>;

Result<StoredTensor> assemble(const Snapshot& snapshot, const TensorRef& ref, const ItemsFound& found,
                              const std::map<const RankReceipt::Item*, std::uint32_t>& files) {
  const ParameterMeta& meta = snapshot.parameters[ref.index];
  const std::string name = ref.slot.empty() ? meta.name : meta.name + "." + ref.slot;
  const LeafGrid grid = meta.grid(snapshot.leaf_elements);
  StoredTensor tensor;
  tensor.dtype = snapshot.dtype;
  tensor.chunk = grid.chunk_extent();
  std::vector<const RankReceipt::Item*> items;
  if (const auto it = found.find({ref.index, ref.slot}); it != found.end()) items = it->second;
  std::sort(items.begin(), items.end(),
            [](const auto* a, const auto* b) { return a->piece.first_leaf < b->piece.first_leaf; });
  std::vector<Digest> leaves;
  for (const RankReceipt::Item* item : items) {
    const Piece& piece = item->piece;
    if (piece.first_leaf > leaves.size()) break;
    if (piece.first_leaf < leaves.size())
      return failed("leaf " + std::to_string(piece.first_leaf) + " of tensor '" + name + "' was written by two ranks");
    if (piece.leaf_count == 0 || piece.leaf_count != item->leaves.size() ||
        piece.leaf_count > grid.count() - leaves.size())
      return failed("the receipt for leaf " + std::to_string(piece.first_leaf) + " of tensor '" + name + "' names " +
                    std::to_string(piece.leaf_count) + " leaves with " + std::to_string(item->leaves.size()) +
                    " digests; the tensor has " + std::to_string(grid.count()));
    tensor.pieces.push_back(piece);
    tensor.pieces.back().file = files.at(item);
    leaves.insert(leaves.end(), item->leaves.begin(), item->leaves.end());
  }
  if (leaves.size() != grid.count())
    return failed("leaf " + std::to_string(leaves.size()) + " of tensor '" + name + "' was written by no rank");
  tensor.digest = tensor_digest(leaves);
  return tensor;
}

// Adds the tensors of all receipts and the entries of their files.
Status add_tensors(const Snapshot& snapshot, const std::vector<RankReceipt>& receipts, Manifest& manifest) {
  for (const RankReceipt& receipt : receipts)
    std::copy_if(receipt.files.begin(), receipt.files.end(), std::back_inserter(manifest.files),
                 [](const FileEntry& file) { return file.role == FileRole::kShard; });
  const auto by_path = [](const FileEntry& a, const FileEntry& b) { return a.path < b.path; };
  std::sort(manifest.files.begin(), manifest.files.end(), by_path);
  ItemsFound found;
  std::map<const RankReceipt::Item*, std::uint32_t> files;
  for (const RankReceipt& receipt : receipts) {
    for (const RankReceipt::Item& item : receipt.items) {
      const bool slot_known =
          item.ref.slot.empty() || std::count(snapshot.slots.begin(), snapshot.slots.end(), item.ref.slot) > 0;
      if (item.ref.index >= snapshot.parameters.size() || item.piece.file >= receipt.files.size() || !slot_known ||
          receipt.files[item.piece.file].role != FileRole::kShard)
        return failed("the receipt of rank " + std::to_string(receipt.rank) +
                      " names a tensor or file that is not there");
      found[{item.ref.index, item.ref.slot}].push_back(&item);
      const auto at =
          std::lower_bound(manifest.files.begin(), manifest.files.end(), receipt.files[item.piece.file], by_path);
      files[&item] = static_cast<std::uint32_t>(at - manifest.files.begin());
    }
  }
  for (std::uint32_t i = 0; i < snapshot.parameters.size(); ++i) {
    ParameterRecord record;
    record.meta = snapshot.parameters[i];
    TITAN_ASSIGN_OR_RETURN(record.model, assemble(snapshot, {i, ""}, found, files));
    for (const std::string& slot : snapshot.slots) {
      TITAN_ASSIGN_OR_RETURN(StoredTensor tensor, assemble(snapshot, {i, slot}, found, files));
      record.slots.push_back({slot, std::move(tensor)});
    }
    record.optimizer_step = snapshot.slots.empty() ? 0 : snapshot.optimizer_step;
    manifest.parameters.push_back(std::move(record));
  }
  return ok_status();
}

// Derived members come after all others. model.h5 was made from the plan, so the plan is compared with what the ranks
// wrote.
Status add_derived(const Snapshot& snapshot, const std::vector<RankReceipt>& receipts, Manifest& manifest) {
  for (const RankReceipt& receipt : receipts) {
    for (const FileEntry& file : receipt.files) {
      if (file.role != FileRole::kDerived) continue;
      TITAN_ASSIGN_OR_RETURN(const std::vector<VirtualTensor> written, virtual_tensors(manifest));
      if (file.path != kVirtualModel || written != virtual_tensors(snapshot))
        return failed("rank " + std::to_string(receipt.rank) + " wrote " + file.path +
                      " for shards that are laid out in another way");
      manifest.files.push_back(file);
    }
  }
  return ok_status();
}

Status add_json(Fs& fs, const std::string& tmp_dir, const char* component, const std::string& text,
                ManifestBuilder& builder) {
  TITAN_RETURN_IF_ERROR(write_member(fs, join_path(tmp_dir, json_path(component)), std::as_bytes(std::span(text))));
  builder.put_json(component, text);
  return ok_status();
}

// Reads back the members that rank 0 writes, each as a whole. Shards were read back by the ranks that made them.
Status read_back_members(Fs& fs, const std::string& tmp_dir, const Manifest& manifest, ReadBack how) {
  for (const FileEntry& file : manifest.files) {
    const bool asked =
        file.role == FileRole::kJson ? how != ReadBack::kOff : file.role == FileRole::kDerived && how == ReadBack::kAll;
    if (asked) TITAN_RETURN_IF_ERROR(read_back_whole(fs, tmp_dir, file));
  }
  return ok_status();
}

// A JSON component must decode to the value that was given; otherwise a resume would change the run.
template <typename T>
Status check_text(const char* component, const std::string& text, const T& value,
                  Result<T> (*decode)(const std::string&, std::string_view)) {
  const Result<T> read_back = decode(json_path(component), text);
  if (!read_back.ok())
    return failed(read_back.status().message).wrapped("the new " + json_path(component) + " would not be readable");
  if (*read_back != value) return failed("the new " + json_path(component) + " would read back as another value");
  return ok_status();
}

}  // namespace

Result<Published> commit_save(Fs& fs, const std::string& checkpoint_dir, const std::string& tmp_dir,
                              const Snapshot& snapshot, const std::vector<RankReceipt>& receipts,
                              const CommitOptions& options) {
  Manifest manifest;
  manifest.step = snapshot.train.step;
  manifest.created = snapshot.created;
  manifest.writer = snapshot.writer;
  manifest.mesh = snapshot.mesh;
  manifest.stage_cuts = snapshot.stage_cuts;
  manifest.leaf_elements = snapshot.leaf_elements;
  manifest.config = snapshot.config;
  TITAN_RETURN_IF_ERROR(add_tensors(snapshot, receipts, manifest));
  ManifestBuilder builder(manifest);
  builder.sum_up(kModel);
  if (!snapshot.slots.empty()) builder.sum_up(kOptimizer);

  const std::string lr = encode_lr_schedule(snapshot.lr), data = encode_data_position(snapshot.data),
                    train = encode_train_state(snapshot.train);
  TITAN_RETURN_IF_ERROR(check_text(kLrScheduler, lr, snapshot.lr, decode_lr_schedule));
  TITAN_RETURN_IF_ERROR(check_text(kDataloader, data, snapshot.data, decode_data_position));
  TITAN_RETURN_IF_ERROR(check_text(kTrainState, train, snapshot.train, decode_train_state));
  TITAN_RETURN_IF_ERROR(add_json(fs, tmp_dir, kLrScheduler, lr, builder));
  TITAN_RETURN_IF_ERROR(add_json(fs, tmp_dir, kDataloader, data, builder));
  TITAN_RETURN_IF_ERROR(add_json(fs, tmp_dir, kTrainState, train, builder));
  TITAN_RETURN_IF_ERROR(add_derived(snapshot, receipts, manifest));
  if (snapshot.model_files) {
    TITAN_ASSIGN_OR_RETURN(const std::vector<FileEntry> files, write_model_files(fs, tmp_dir, *snapshot.model_files));
    manifest.files.insert(manifest.files.end(), files.begin(), files.end());
  }
  builder.seal({snapshot.lr, snapshot.data, snapshot.train.tokens});
  if (snapshot.parity > 0) TITAN_RETURN_IF_ERROR(write_parity(fs, tmp_dir, snapshot.parity, manifest));
  TITAN_RETURN_IF_ERROR(read_back_members(fs, tmp_dir, manifest, snapshot.read_back));
  TITAN_RETURN_IF_ERROR(write_manifest(fs, tmp_dir, manifest, kMaxManifestBytes, snapshot.read_back));
  TITAN_ASSIGN_OR_RETURN(Published published, publish(fs, checkpoint_dir, tmp_dir, manifest, options));
  published.read_whole = published.already_there || snapshot.read_back == ReadBack::kAll;
  for (std::string& line : near_limits(manifest)) published.warnings.push_back(std::move(line));
  return published;
}

}  // namespace titan::ckpt
