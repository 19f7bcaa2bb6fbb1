#include "tests/support/checkpoints.h"

#include <cstring>
#include <memory>

#include "ckpt/base/files.h"
#include "ckpt/save/commit.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/shared_writer.h"
#include "ckpt/save/writer.h"

namespace titan::ckpt::testing {
namespace {

std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

void fill(std::string_view name, std::uint64_t salt, std::uint64_t leaf, std::span<std::byte> out) {
  std::uint64_t key = mix(salt ^ mix(leaf));
  for (const char c : name) key = mix(key ^ static_cast<unsigned char>(c));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(mix(key + i / 8) >> (i % 8 * 8) & 0xFF);
}

std::string name_of(const Snapshot& snapshot, const TensorRef& ref) {
  const std::string& name = snapshot.parameters[ref.index].name;
  return ref.slot.empty() ? name : name + "." + ref.slot;
}

}  // namespace

Result<std::span<const std::byte>> PatternSource::leaf(const TensorRef& ref, std::uint64_t leaf,
                                                       std::span<std::byte> scratch) {
  const std::uint64_t bytes =
      snapshot_.parameters[ref.index].grid(snapshot_.leaf_elements).length(leaf) * dtype_size(snapshot_.dtype);
  if (scratch.size() < bytes) return invalid("the scratch is too small");
  fill(name_of(snapshot_, ref), salt_, leaf, scratch.first(bytes));
  return std::span<const std::byte>(scratch.first(bytes));
}

std::vector<std::byte> pattern(const Snapshot& snapshot, const TensorRef& ref, LeafRange leaves, std::uint64_t salt) {
  const LeafGrid grid = snapshot.parameters[ref.index].grid(snapshot.leaf_elements);
  const std::uint64_t size = dtype_size(snapshot.dtype), begin = grid.begin(leaves.first);
  std::vector<std::byte> bytes((grid.begin(leaves.end()) - begin) * size);
  for (std::uint64_t leaf = leaves.first; leaf < leaves.end(); ++leaf)
    fill(name_of(snapshot, ref), salt, leaf,
         std::span(bytes).subspan((grid.begin(leaf) - begin) * size, grid.length(leaf) * size));
  return bytes;
}

std::vector<ParameterMeta> small_model() {
  return {{"tok_embeddings.weight", {61, 40}},
          {"layers.0.attention.wq.weight", {40, 40}},
          {"layers.0.scale", {}},
          {"layers.0.attention_norm.weight", {40}},
          {"layers.0.empty", {0, 40}},
          {"layers.1.odd%/name", {7, 11, 13}},
          {"norm.weight", {40}},
          {"output.weight", {61, 40}}};
}

Snapshot make_snapshot(std::vector<ParameterMeta> parameters, Mesh mesh, std::uint64_t leaf_elements,
                       std::uint64_t step) {
  Snapshot snapshot;
  snapshot.parameters = std::move(parameters);
  for (std::size_t i = 0; i < snapshot.parameters.size(); ++i)
    snapshot.parameters[i].stage = static_cast<std::uint32_t>(i * mesh.pp / snapshot.parameters.size());
  snapshot.mesh = mesh;
  for (std::uint32_t i = 1; i < mesh.pp; ++i) snapshot.stage_cuts.push_back(i);
  snapshot.leaf_elements = leaf_elements;
  snapshot.optimizer_step = step;
  snapshot.lr.phases = {{1, PhaseKind::kLinear, 0, 1e-3, 0, 10},
                        {11, PhaseKind::kConstant, 1e-3, 1e-3, 10, 30},
                        {41, PhaseKind::kCosine, 1e-3, 1e-4, 40, 60.5}};
  snapshot.lr.accepted = {1e-3, 10, 100, 0.6, "cosine", 0.1};
  snapshot.data = {step * 8,
                   0,
                   0,
                   0xFEDCBA9876543210,
                   true,
                   64,
                   64,
                   1000,
                   "text",
                   "byte",
                   {{"corpus.txt", 65001, digest_of("blocks")}}};
  snapshot.train.step = step;
  snapshot.train.tokens = step * 8 * 64;
  snapshot.train.seed = 0xFFFFFFFFFFFFFFFF;
  snapshot.train.wall_time_s = 12.25;
  snapshot.train.attempts = {
      {1, "2026-01-02T03:04:05Z", 1, step, mesh.dp, mesh.pp, "1F1B", "titan 0.1.0", "cpu", "", {}, {"a \"note\"\n"}}};
  snapshot.train.accepted = {{"optimizer.lr", "0.001"}, {"training.seq_len", "64"}};
  snapshot.train.environment = {{"blas", "openblas"}, {"isa", "avx2"}};
  snapshot.config = {{"model.name", "\"llama3\""}, {"training.steps", "100"}};
  snapshot.writer = "titan-test 0.1.0";
  snapshot.created = "2026-01-02T03:04:06Z";
  return snapshot;
}

namespace {

// What a rank has to say travels as bytes.
Status carry(const Result<RankReceipt>& receipt, std::vector<RankReceipt>& to) {
  TITAN_RETURN_IF_ERROR(receipt.status());
  TITAN_ASSIGN_OR_RETURN(RankReceipt carried, decode_receipt(encode_receipt(*receipt)));
  to.push_back(std::move(carried));
  return ok_status();
}

}  // namespace

Result<std::vector<RankReceipt>> write_as_every_rank(Fs& fs, const std::string& tmp, const Snapshot& snapshot,
                                                     TensorSource& source,
                                                     const std::function<Status(std::uint32_t rank, bool writes)>& as) {
  const std::uint32_t world = snapshot.mesh.world();
  const auto act = [&](std::uint32_t rank, bool writes) { return as ? as(rank, writes) : ok_status(); };
  std::vector<RankReceipt> receipts;
  if (!shares_files(snapshot)) {
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      TITAN_RETURN_IF_ERROR(act(rank, true));
      TITAN_RETURN_IF_ERROR(carry(write_rank(fs, tmp, snapshot, rank, source), receipts));
    }
    return receipts;
  }
  std::vector<std::unique_ptr<SharedWriter>> writers;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    writers.push_back(std::make_unique<SharedWriter>(fs, tmp, snapshot, rank, 1));
    TITAN_RETURN_IF_ERROR(act(rank, false));
    TITAN_RETURN_IF_ERROR(writers.back()->make());
  }
  std::vector<RankReceipt> written;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    TITAN_RETURN_IF_ERROR(act(rank, true));
    TITAN_RETURN_IF_ERROR(carry(writers[rank]->write(source), written));
  }
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    if (!writers[rank]->makes_files()) continue;
    std::vector<RankReceipt> others;
    for (const RankReceipt& other : written)
      if (other.rank != rank && maker_of(snapshot, other.rank) == rank) others.push_back(other);
    TITAN_RETURN_IF_ERROR(act(rank, false));
    TITAN_RETURN_IF_ERROR(carry(writers[rank]->complete(others), receipts));
  }
  return receipts;
}

Result<Published> save(Fs& fs, const std::string& dir, const Snapshot& snapshot, TensorSource& source,
                       const std::string& save_id) {
  TITAN_RETURN_IF_ERROR(make_dirs(fs, dir));
  TITAN_ASSIGN_OR_RETURN(const std::string tmp, begin_save(fs, dir, snapshot, save_id));
  const auto all_ranks = [&]() -> Result<Published> {
    TITAN_ASSIGN_OR_RETURN(const std::vector<RankReceipt> receipts, write_as_every_rank(fs, tmp, snapshot, source));
    return commit_save(fs, dir, tmp, snapshot, receipts);
  };
  Result<Published> published = all_ranks();
  if (!published.ok()) abandon_save(fs, tmp);
  return published;
}

Result<Published> save(Fs& fs, const std::string& dir, const Snapshot& snapshot, std::uint64_t salt) {
  PatternSource source(snapshot, salt);
  return save(fs, dir, snapshot, source);
}

}  // namespace titan::ckpt::testing
