#include "tests/bench/scale/simulation.h"

#include <algorithm>
#include <stdexcept>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/plan/partition.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/read/virtual_model.h"
#include "ckpt/save/commit.h"
#include "ckpt/save/publish.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/writer.h"
#include "libtrain/job/control/gather.h"
#include "tests/support/checkpoints.h"

namespace titan::bench {
namespace {

using ckpt::Result;

struct Dims {
  std::uint64_t layers, dim, kv, ffn;
};

Dims dims_of(const std::string& model) {
  if (model == "8B") return {32, 4096, 1024, 14336};
  if (model == "70B") return {80, 8192, 1024, 28672};
  if (model == "405B") return {126, 16384, 1024, 53248};
  throw std::invalid_argument("no such model: " + model);
}

std::vector<ckpt::ParameterMeta> llama(const Dims& d) {
  constexpr std::uint64_t kVocab = 128256;
  std::vector<ckpt::ParameterMeta> parameters{{"tok_embeddings.weight", {kVocab, d.dim}}};
  for (std::uint64_t layer = 0; layer < d.layers; ++layer) {
    const std::string prefix = "layers." + std::to_string(layer) + ".";
    parameters.push_back({prefix + "attention.wq.weight", {d.dim, d.dim}});
    parameters.push_back({prefix + "attention.wk.weight", {d.kv, d.dim}});
    parameters.push_back({prefix + "attention.wv.weight", {d.kv, d.dim}});
    parameters.push_back({prefix + "attention.wo.weight", {d.dim, d.dim}});
    parameters.push_back({prefix + "feed_forward.w1.weight", {d.ffn, d.dim}});
    parameters.push_back({prefix + "feed_forward.w2.weight", {d.dim, d.ffn}});
    parameters.push_back({prefix + "feed_forward.w3.weight", {d.ffn, d.dim}});
    parameters.push_back({prefix + "attention_norm.weight", {d.dim}});
    parameters.push_back({prefix + "ffn_norm.weight", {d.dim}});
  }
  parameters.push_back({"norm.weight", {d.dim}});
  parameters.push_back({"output.weight", {kVocab, d.dim}});
  return parameters;
}

ckpt::Digest made_up(std::uint64_t a, std::uint64_t b) {
  ckpt::Digest digest;
  for (int i = 0; i < 8; ++i) {
    digest.bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(a >> (8 * i));
    digest.bytes[static_cast<std::size_t>(8 + i)] = static_cast<std::uint8_t>(b >> (8 * i));
  }
  return digest;
}

ckpt::Status hole(ckpt::Fs& fs, const std::string& path, std::uint64_t bytes) {
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> file, fs.create(path));
  TITAN_RETURN_IF_ERROR(file->truncate(bytes));
  return file->close();
}

ckpt::Status play_component(ckpt::Fs& fs, const std::string& tmp_dir, const ckpt::Snapshot& snapshot,
                            const char* component, const std::vector<std::string>& slots, ckpt::RankReceipt& receipt) {
  const std::shared_ptr<const ckpt::Ownership> ownership = ckpt::ownership_of(snapshot);
  const std::span<const ckpt::OwnedPiece> owned = ownership->of(receipt.rank);
  if (owned.empty() || slots.empty()) return ckpt::ok_status();
  ckpt::FileEntry file;
  file.path = ckpt::shard_path(component, receipt.rank);
  file.bytes = 4096;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    for (const ckpt::OwnedPiece& piece : owned) {
      const ckpt::LeafGrid grid = snapshot.parameters[piece.parameter].grid(snapshot.leaf_elements);
      ckpt::RankReceipt::Item& item = receipt.items.emplace_back();
      item.ref = {piece.parameter, slots[slot]};
      item.piece = {static_cast<std::uint32_t>(receipt.files.size()),
                    piece.leaves.first,
                    piece.leaves.count,
                    file.bytes,
                    file.table_rows,
                    snapshot.codec};
      for (std::uint64_t leaf = piece.leaves.first; leaf < piece.leaves.end(); ++leaf)
        item.leaves.push_back(made_up(piece.parameter * 4 + slot, leaf));
      file.bytes +=
          (grid.begin(piece.leaves.end()) - grid.begin(piece.leaves.first)) * ckpt::dtype_size(snapshot.dtype);
      file.table_rows += piece.leaves.count;
    }
  }
  file.table_offset = file.bytes;
  file.bytes += file.table_rows * ckpt::kLeafRowBytes;
  file.table = made_up(receipt.rank, 1);
  file.envelope = made_up(receipt.rank, 2);
  TITAN_RETURN_IF_ERROR(hole(fs, ckpt::join_path(tmp_dir, file.path), file.bytes));
  receipt.files.push_back(std::move(file));
  return ckpt::ok_status();
}

}  // namespace

std::vector<Scale> scales() {
  return {{"8B", 1, 64},     {"70B", 8, 64},    {"70B", 1, 1024},   {"405B", 16, 64},
          {"405B", 16, 256}, {"405B", 16, 625}, {"405B", 1, 10'000}};
}

ckpt::Snapshot make_snapshot(const Scale& scale, std::uint64_t step) {
  ckpt::Snapshot snapshot = ckpt::testing::make_snapshot(llama(dims_of(scale.model)), {scale.pp, scale.dp, 1},
                                                         ckpt::kDefaultLeafElements, step);
  if (!ckpt::assign_stages(snapshot.parameters, scale.pp).ok()) throw std::logic_error(scale.name() + " has no stages");
  return snapshot;
}

Result<std::string> play_begin(ckpt::Fs& fs, const std::string& checkpoint_dir, const ckpt::Snapshot& snapshot) {
  TITAN_RETURN_IF_ERROR(ckpt::make_dirs(fs, checkpoint_dir));
  return ckpt::begin_save(fs, checkpoint_dir, snapshot, "simulated");
}

Result<ckpt::RankReceipt> play_write(ckpt::Fs& fs, const std::string& tmp_dir, const ckpt::Snapshot& snapshot,
                                     std::uint32_t rank) {
  ckpt::RankReceipt receipt;
  receipt.rank = rank;
  TITAN_RETURN_IF_ERROR(play_component(fs, tmp_dir, snapshot, ckpt::kModel, {""}, receipt));
  if (rank == 0) {
    TITAN_ASSIGN_OR_RETURN(ckpt::FileEntry derived, ckpt::VirtualModelBuild(snapshot).write(fs, tmp_dir));
    receipt.files.push_back(std::move(derived));
  }
  TITAN_RETURN_IF_ERROR(play_component(fs, tmp_dir, snapshot, ckpt::kOptimizer, snapshot.slots, receipt));
  return receipt;
}

Result<std::string> play_save(ckpt::Fs& fs, const std::string& checkpoint_dir, const ckpt::Snapshot& snapshot) {
  TITAN_ASSIGN_OR_RETURN(const std::string tmp, play_begin(fs, checkpoint_dir, snapshot));
  std::vector<ckpt::RankReceipt> receipts;
  for (std::uint32_t rank = 0; rank < snapshot.mesh.world(); ++rank) {
    TITAN_ASSIGN_OR_RETURN(ckpt::RankReceipt receipt, play_write(fs, tmp, snapshot, rank));
    receipts.push_back(std::move(receipt));
  }
  TITAN_ASSIGN_OR_RETURN(const ckpt::Published published,
                         ckpt::commit_save(fs, checkpoint_dir, tmp, snapshot, receipts));
  return published.path;
}

class PostRank final : public train::Control {
 public:
  PostRank(Post& post, int rank) : post_(post), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return post_.size(); }
  void send_bytes(std::string_view bytes, int dst, std::uint64_t tag) override {
    post_.mail_[{rank_, dst, tag}].emplace_back(bytes);
    Traffic& mine = post_.traffic_[static_cast<std::size_t>(rank_)];
    ++mine.messages_out;
    mine.bytes_out += bytes.size();
    mine.largest = std::max<std::uint64_t>(mine.largest, bytes.size());
  }
  void recv_bytes(std::span<char> bytes, int src, std::uint64_t tag) override {
    const auto box = post_.mail_.find({src, rank_, tag});
    if (box == post_.mail_.end() || box->second.front().size() != bytes.size())
      throw train::CommError("no such message");
    std::ranges::copy(box->second.front(), bytes.begin());
    box->second.pop_front();
    if (box->second.empty()) post_.mail_.erase(box);
    Traffic& mine = post_.traffic_[static_cast<std::size_t>(rank_)];
    ++mine.messages_in;
    mine.bytes_in += bytes.size();
  }
  void sum(std::span<std::int64_t>) override { unplayable(); }
  void sum(std::span<double>) override { unplayable(); }
  std::vector<std::string> all_gather(const std::string&) override { unplayable(); }
  std::string broadcast(const std::string&, int) override { unplayable(); }
  void barrier() override { unplayable(); }

 private:
  [[noreturn]] static void unplayable() {
    throw train::CommError("ranks that are played one after the other cannot meet");
  }
  Post& post_;
  int rank_;
};

std::unique_ptr<train::Control> Post::rank(int rank) { return std::make_unique<PostRank>(*this, rank); }

void play_gather(Post& post, const std::function<std::string(int)>& bytes_of,
                 const std::function<void(int, std::string_view)>& take) {
  const int width = train::gather_width(post.size());
  const auto play = [&](int rank) { train::gather_to_root(*post.rank(rank), bytes_of(rank), take); };
  for (int rank = 0; rank < post.size(); ++rank)
    if (rank % width != 0) play(rank);
  for (int leader = width; leader < post.size(); leader += width) play(leader);
  play(0);
}

}  // namespace titan::bench
