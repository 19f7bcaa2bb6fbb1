#include "ckpt/save/shared_writer.h"

#include <algorithm>
#include <utility>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/format/member_names.h"
#include "ckpt/save/leaf_pipeline.h"
#include "ckpt/save/read_back.h"
#include "ckpt/store/turnstile.h"

namespace titan::ckpt {

SharedWriter::SharedWriter(Fs& fs, std::string tmp_dir, const Snapshot& snapshot, std::uint32_t rank, unsigned threads)
    : fs_(fs),
      tmp_dir_(std::move(tmp_dir)),
      snapshot_(snapshot),
      rank_(rank),
      maker_(maker_of(snapshot, rank)),
      threads_(threads) {
  components_.push_back(plan(kModel, {""}));
  components_.push_back(plan(kOptimizer, snapshot.slots));
  std::erase_if(components_, [](const Component& component) { return component.pieces.empty(); });
  if (rank == 0) derived_.emplace(snapshot);  // in a thread, while the shards are written
}

// All pieces of the group in one file, in order of slot, then of rank.
SharedWriter::Component SharedWriter::plan(const char* name, const std::vector<std::string>& slots) const {
  Component component{name, {}, {}, nullptr};
  const std::shared_ptr<const Ownership> ownership = ownership_of(snapshot_);
  for (const std::string& slot : slots) {
    for (std::uint32_t rank = maker_; rank < snapshot_.mesh.world(); ++rank) {
      if (maker_of(snapshot_, rank) != maker_) continue;
      for (const OwnedPiece& owned : ownership->of(rank)) {
        const ParameterMeta& meta = snapshot_.parameters[owned.parameter];
        component.places.push_back({rank, {owned.parameter, slot}});
        component.pieces.push_back({slot.empty() ? meta.name : meta.name + "." + slot, snapshot_.dtype,
                                    meta.grid(snapshot_.leaf_elements), owned.leaves, Codec::kRaw});
      }
    }
  }
  return component;
}

std::string SharedWriter::member(const Component& component) const { return shard_path(component.name, maker_); }

Status SharedWriter::make() {
  if (!makes_files()) return ok_status();
  for (Component& component : components_) {
    TITAN_ASSIGN_OR_RETURN(component.writer, ShardWriter::create(fs_, tmp_dir_, member(component), component.pieces));
  }
  return ok_status();
}

Result<RankReceipt> SharedWriter::write(TensorSource& source) {
  RankReceipt receipt;
  receipt.rank = rank_;
  for (Component& component : components_) TITAN_RETURN_IF_ERROR(write_own(component, source, receipt));
  return receipt;
}

Status SharedWriter::write_own(Component& component, TensorSource& source, RankReceipt& receipt) {
  std::vector<std::size_t> own;  // indexes of this rank's pieces in the file
  std::vector<ShardPiece> pieces;
  for (std::size_t i = 0; i < component.places.size(); ++i) {
    if (component.places[i].rank != rank_) continue;
    own.push_back(i);
    pieces.push_back(component.pieces[i]);
  }
  if (own.empty()) return ok_status();
  if (!component.writer) {
    TITAN_ASSIGN_OR_RETURN(component.writer, ShardWriter::join(fs_, tmp_dir_, member(component), component.pieces));
  }
  ShardWriter& writer = *component.writer;
  const auto fetch = [&](std::size_t piece, std::uint64_t leaf, std::span<std::byte> scratch) {
    return source.leaf(component.places[own[piece]].ref, leaf, scratch);
  };
  const auto store = [&](const FetchedLeaf& fetched, LeafEncoder&) {
    const Digest digest = digest_of(fetched.raw);
    return writer.put(own[fetched.piece], fetched.leaf, fetched.raw, digest, digest);
  };
  Turnstile unused;
  TITAN_RETURN_IF_ERROR(
      run_leaf_pipeline(pieces, join_path(tmp_dir_, member(component)), fetch, store, threads_, unused));
  if (makes_files()) return ok_status();  // complete() reads its pieces from the file's table
  TITAN_RETURN_IF_ERROR(writer.leave());
  for (const std::size_t place : own) {
    TITAN_ASSIGN_OR_RETURN(auto placed, writer.placed(place));
    receipt.items.push_back({component.places[place].ref, placed.first, std::move(placed.second)});
  }
  return ok_status();
}

// The items of `other` have the order of Component::places.
Status SharedWriter::take_over(const RankReceipt& other) {
  auto item = other.items.begin();
  for (Component& component : components_) {
    for (std::size_t i = 0; i < component.places.size(); ++i) {
      if (component.places[i].rank != other.rank) continue;
      if (item == other.items.end() || item->ref != component.places[i].ref)
        return failed("the receipt of rank " + std::to_string(other.rank) + " does not name '" +
                      component.pieces[i].tensor + "', which it writes");
      TITAN_RETURN_IF_ERROR(component.writer->take_over(i, item->piece, item->leaves));
      ++item;
    }
  }
  if (item == other.items.end()) return ok_status();
  return failed("the receipt of rank " + std::to_string(other.rank) + " names a tensor that it does not write");
}

Status SharedWriter::finish(Component& component, RankReceipt& receipt) {
  TITAN_ASSIGN_OR_RETURN(WrittenShard written, component.writer->finish());
  TITAN_RETURN_IF_ERROR(fs_.sync_dir(join_path(tmp_dir_, component.name)));
  TITAN_RETURN_IF_ERROR(
      read_back(fs_, tmp_dir_, written.file, component.writer->rows(), snapshot_.read_back, threads_));
  const auto file = static_cast<std::uint32_t>(receipt.files.size());
  receipt.files.push_back(std::move(written.file));
  for (std::size_t i = 0; i < component.places.size(); ++i) {
    written.pieces[i].file = file;
    receipt.items.push_back({component.places[i].ref, written.pieces[i], std::move(written.leaves[i])});
  }
  return ok_status();
}

Result<RankReceipt> SharedWriter::complete(const std::vector<RankReceipt>& others) {
  for (const RankReceipt& other : others) TITAN_RETURN_IF_ERROR(take_over(other));
  RankReceipt receipt;
  receipt.rank = rank_;
  if (derived_) {
    TITAN_ASSIGN_OR_RETURN(FileEntry file, derived_->write(fs_, tmp_dir_));
    receipt.files.push_back(std::move(file));
    if (components_.empty()) TITAN_RETURN_IF_ERROR(fs_.sync_dir(join_path(tmp_dir_, kModel)));
  }
  for (Component& component : components_) TITAN_RETURN_IF_ERROR(finish(component, receipt));
  return receipt;
}

}  // namespace titan::ckpt
