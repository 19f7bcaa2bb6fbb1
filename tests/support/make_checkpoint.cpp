#include "tests/support/make_checkpoint.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "ckpt/base/files.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/partition.h"
#include "ckpt/save/commit.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/writer.h"
#include "tests/support/bulk_values.h"

namespace titan::ckpt::testing {

namespace {

/// Scrambles 64 bits. \source https://prng.di.unimi.it/splitmix64.c
std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// In [-1, 1); no library function, so that golden digests hold everywhere.
float value(std::uint64_t key, std::uint64_t index, bool positive) {
  const float unit = static_cast<float>(scramble(key + index) >> 40) * 0x1p-24f;
  return positive ? unit : 2 * unit - 1;
}

class SyntheticSource final : public TensorSource {
 public:
  SyntheticSource(const Synthetic& options, const std::vector<ParameterMeta>& parameters)
      : options_(options), parameters_(parameters) {}
  Result<std::span<const std::byte>> leaf(const TensorRef& ref, std::uint64_t leaf, std::span<std::byte>) override {
    if (present_ != ref) {
      bytes_ = synthetic_tensor(options_, parameters_, ref);
      present_ = ref;
    }
    const LeafGrid grid = parameters_[ref.index].grid(options_.leaf_elements);
    const std::uint64_t size = dtype_size(options_.dtype);
    return std::span<const std::byte>(bytes_).subspan(grid.begin(leaf) * size, grid.length(leaf) * size);
  }

 private:
  const Synthetic& options_;
  const std::vector<ParameterMeta>& parameters_;
  std::optional<TensorRef> present_;
  std::vector<std::byte> bytes_;
};

std::vector<std::uint32_t> cuts_of(const std::vector<ParameterMeta>& parameters, std::uint32_t pp) {
  const Result<ModelGroups> groups = group_parameters(parameters);
  std::vector<std::uint32_t> cuts;
  for (std::uint32_t stage = 1; stage < pp; ++stage) {
    std::uint32_t first = UINT32_MAX;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].stage == stage) first = std::min(first, groups->group_of[i]);
    cuts.push_back(first);
  }
  return cuts;
}

// Writes every `stride`-th rank from `first` on.
Status write_ranks(Fs& fs, const std::string& tmp, const Synthetic& options, const Snapshot& snapshot,
                   std::uint32_t first, std::uint32_t stride, std::vector<RankReceipt>& receipts) {
  std::unique_ptr<TensorSource> source;
  if (options.values == Values::kNormal)
    source = std::make_unique<BulkSource>(options, snapshot.parameters);
  else
    source = std::make_unique<SyntheticSource>(options, snapshot.parameters);
  for (std::uint32_t rank = first; rank < snapshot.mesh.world(); rank += stride) {
    TITAN_ASSIGN_OR_RETURN(receipts[rank], write_rank(fs, tmp, snapshot, rank, *source, options.threads));
  }
  return ok_status();
}

}  // namespace

std::vector<ParameterMeta> synthetic_parameters(const Synthetic& options) {
  const std::uint64_t d = options.dim, f = options.ffn, v = options.vocab;
  std::vector<ParameterMeta> parameters{{"tok_embeddings.weight", {v, d}}};
  for (std::uint32_t layer = 0; layer < options.layers; ++layer) {
    const std::string prefix = "layers." + std::to_string(layer) + ".";
    for (const char* name : {"wq", "wk", "wv", "wo"})
      parameters.push_back({prefix + "attention." + name + ".weight", {d, d}});
    parameters.push_back({prefix + "feed_forward.w1.weight", {f, d}});
    parameters.push_back({prefix + "feed_forward.w2.weight", {d, f}});
    parameters.push_back({prefix + "feed_forward.w3.weight", {f, d}});
    parameters.push_back({prefix + "attention_norm.weight", {d}});
    parameters.push_back({prefix + "ffn_norm.weight", {d}});
  }
  parameters.push_back({"norm.weight", {d}});
  parameters.push_back({"output.weight", {v, d}});
  return parameters;
}

std::vector<std::byte> synthetic_tensor(const Synthetic& options, const std::vector<ParameterMeta>& parameters,
                                        const TensorRef& ref) {
  const ParameterMeta& meta = parameters[ref.index];
  const std::string name = ref.slot.empty() ? meta.name : meta.name + "." + ref.slot;
  std::uint64_t key = scramble(options.seed);
  for (const char c : name) key = scramble(key ^ static_cast<unsigned char>(c));
  const std::uint64_t size = dtype_size(options.dtype), count = element_count(meta.shape);
  std::vector<std::byte> bytes(count * size);
  for (std::uint64_t i = 0; i < count; ++i) {
    float element = value(key, i, ref.slot == kExpAvgSq);
    for (const Change& change : options.changes)
      if (change.tensor == name && change.index == i) element = static_cast<float>(element + change.delta);
    // The upper half of a float is a bfloat16 (rounded towards zero), and little-endian puts it last.
    const auto raw = std::bit_cast<std::array<std::byte, 4>>(element);
    std::memcpy(&bytes[i * size], raw.data() + (4 - size), size);
  }
  return bytes;
}

Snapshot synthetic_snapshot(const Synthetic& options) {
  Snapshot s;
  s.parameters = synthetic_parameters(options);
  s.mesh = {options.pp, options.dp, 1};
  s.leaf_elements = options.leaf_elements;
  s.dtype = options.dtype;
  s.codec = options.codec;
  s.slots = options.slots;
  s.parity = options.parity;
  s.optimizer_step = options.step;
  s.lr = schedule_from({options.peak_lr, 10, 100, std::nullopt, "cosine", 0.1});
  s.data.samples = options.step * 8;
  s.data.seed = 17'000'000'000'000'000'001u;
  s.data.seq_len = s.data.sample_stride = 64;
  s.data.samples_per_epoch = 1000;
  s.data.kind = "text";
  s.data.tokenizer = "byte";
  s.data.files = {{"corpus.txt", 64001, digest_of("corpus")}};
  s.train.step = options.step;
  s.train.tokens = options.step * 512;
  s.train.seed = 42;
  s.train.wall_time_s = 1.5;
  Attempt attempt;
  attempt.started = "2026-01-02T03:00:00Z";
  attempt.last_step = options.step;
  attempt.dp = options.dp;
  attempt.pp = options.pp;
  attempt.schedule = "1F1B";
  attempt.version = "0.1.0 (test)";
  attempt.environment = "made up";
  s.train.attempts = {attempt};
  s.config = options.config;
  s.writer = "titan-make-checkpoint";
  s.created = options.created;
  return s;
}

Result<Published> make_checkpoint(Fs& fs, const std::string& checkpoint_dir, const Synthetic& options) {
  Snapshot snapshot = synthetic_snapshot(options);
  TITAN_RETURN_IF_ERROR(assign_stages(snapshot.parameters, options.pp));
  snapshot.stage_cuts = cuts_of(snapshot.parameters, options.pp);
  TITAN_RETURN_IF_ERROR(make_dirs(fs, checkpoint_dir));
  TITAN_ASSIGN_OR_RETURN(const std::string tmp, begin_save(fs, checkpoint_dir, snapshot, "0123456789abcdef"));
  std::vector<RankReceipt> receipts(snapshot.mesh.world());
  if (options.values == Values::kUniform) {
    TITAN_RETURN_IF_ERROR(write_ranks(fs, tmp, options, snapshot, 0, 1, receipts));
  } else {
    Status odd;
    std::thread second([&] { odd = write_ranks(fs, tmp, options, snapshot, 1, 2, receipts); });
    const Status even = write_ranks(fs, tmp, options, snapshot, 0, 2, receipts);
    second.join();
    TITAN_RETURN_IF_ERROR(even);
    TITAN_RETURN_IF_ERROR(odd);
  }
  return commit_save(fs, checkpoint_dir, tmp, snapshot, receipts);
}

}  // namespace titan::ckpt::testing
