#include "libtrain/engine/checkpoint/checkpointer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <chrono>
#include <map>

#include "ckpt/base/parallel.h"
#include "ckpt/base/random_id.h"
#include "ckpt/format/state_codec.h"
#include "ckpt/read/ema.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/save/commit.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/writer.h"
#include "libtrain/engine/checkpoint/live_source.h"
#include "libtrain/engine/checkpoint/shared_write.h"
#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/job/control/agree.h"
#include "libtrain/job/control/gather.h"
#include "libtrain/job/metrics/step_clock.h"
#include "libtrain/job/start/precision.h"
#include "recipe/keys/key_table.h"
#include "recipe/plan/plan_values.h"

namespace titan::train {
namespace {

// Minimum number of concurrent writes of a rank that saves raw leaves: the writers mostly wait for the storage.
constexpr unsigned kWriters = 4;
// Concurrent reads of a rank that loads, and the size of a read in leaves (1 MiB each).
constexpr unsigned kReaders = 4;
constexpr std::uint64_t kLeavesOfARun = 1;

using ckpt::Result;
using ckpt::Status;
using Clock = std::chrono::steady_clock;

// Leaves of the owned pieces; on the CPU directly from the tensors' memory.
class OwnedSource : public ckpt::TensorSource {
 public:
  OwnedSource(const ShardedAdamW& optimizer, const ckpt::Snapshot& snapshot) : snapshot_(snapshot) {
    for (const ShardedAdamW::State& state : optimizer.states()) pieces_[state.piece.parameter] = &state;
  }

  Result<std::span<const std::byte>> leaf(const ckpt::TensorRef& ref, std::uint64_t leaf,
                                          std::span<std::byte> scratch) override {
    const auto found = pieces_.find(ref.index);
    if (found == pieces_.end() || leaf < found->second->piece.leaves.first || leaf >= found->second->piece.leaves.end())
      return ckpt::failed("leaf " + std::to_string(leaf) + " of " + snapshot_.parameters[ref.index].name +
                          " is not owned by this rank");
    const ShardedAdamW::State& state = *found->second;
    const ckpt::LeafGrid grid = snapshot_.parameters[ref.index].grid(snapshot_.leaf_elements);
    return device().bytes(leaf_values(state, ref.slot, grid, leaf), scratch);
  }

 private:
  const ckpt::Snapshot& snapshot_;
  std::map<std::uint32_t, const ShardedAdamW::State*> pieces_;
};

void encode_rows(ckpt::IdentityEncoder& encoder, const ckpt::Settings& rows,
                 const std::function<bool(const std::string&)>& counts) {
  for (const auto& [key, value] : rows) {
    if (!counts(key)) continue;
    encoder.str(key);
    encoder.str(value);
  }
  encoder.absent();
}

// Everything that must be equal on all ranks before bytes are written. Host-specific values (times, environment, paths)
// are excluded.
ckpt::Digest plan_digest(const ckpt::Snapshot& snapshot) {
  ckpt::IdentityEncoder encoder;
  encoder.u64(snapshot.train.step);
  encoder.u64(snapshot.train.tokens);
  encoder.u64(snapshot.data.samples);
  encoder.str(ckpt::ranges_text(snapshot.data.excluded));
  encoder.u64(snapshot.mesh.pp);
  encoder.u64(snapshot.mesh.dp);
  encoder.u64(snapshot.leaf_elements);
  encoder.u64(static_cast<std::uint64_t>(snapshot.codec));
  encoder.str(ckpt::dtype_name(snapshot.dtype));
  encoder.u64(snapshot.optimizer_step);
  encoder.u64(snapshot.train.seed);
  encoder.str(snapshot.train.origin);
  encoder.str(ckpt::encode_lr_schedule(snapshot.lr));
  encode_rows(encoder, snapshot.train.accepted, [](const std::string&) { return true; });
  encode_rows(encoder, snapshot.config, recipe::same_on_all_ranks);
  encoder.list(snapshot.slots.size());
  for (const std::string& slot : snapshot.slots) encoder.str(slot);
  encoder.list(snapshot.makers.size());
  for (const std::uint32_t maker : snapshot.makers) encoder.u64(maker);
  encoder.list(snapshot.parameters.size());
  for (const ckpt::ParameterMeta& parameter : snapshot.parameters) {
    encoder.str(parameter.name);
    encoder.u64(parameter.stage);
    encoder.list(parameter.shape.size());
    for (const std::uint64_t extent : parameter.shape) encoder.u64(extent);
  }
  return encoder.finish();
}

// Leaves of one tensor and their elements on the device.
struct LeafRun {
  ckpt::TensorRef ref;
  ckpt::LeafRange leaves;
  at::Tensor values;
};

// Divides a piece into runs that threads can read in parallel. Runs are in the order of their bytes in the file.
void add_runs(ckpt::TensorRef ref, const ckpt::LeafGrid& grid, ckpt::LeafRange leaves, const at::Tensor& values,
              std::vector<LeafRun>& runs) {
  for (std::uint64_t first = leaves.first; first < leaves.end(); first += kLeavesOfARun) {
    const std::uint64_t end = std::min(first + kLeavesOfARun, leaves.end());
    const std::uint64_t begin = grid.begin(first) - grid.begin(leaves.first),
                        length = grid.begin(end) - grid.begin(first);
    runs.push_back({ref,
                    {first, end - first},
                    values.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(length))});
  }
}

}  // namespace

unsigned writers_for(const ckpt::Snapshot& snapshot, unsigned computing) {
  return snapshot.codec == ckpt::Codec::kRaw ? std::max(computing, kWriters) : computing;
}

Checkpointer::Checkpointer(ckpt::Fs& fs, World& world, std::string checkpoint_dir)
    : fs_(fs), world_(world), dir_(std::move(checkpoint_dir)) {}

// Removes the remains of a failed save. If the disk is full, the error says what uses space; this is computed before
// the remains are removed.
Status Checkpointer::give_up(Status status, const ckpt::Snapshot& snapshot, const std::string& tmp) {
  if (const Status space = ckpt::check_space(fs_, dir_, snapshot); !space.ok())
    status.causes.push_back(space.message + "; " + space.hint);
  ckpt::abandon_save(fs_, tmp);
  return status;
}

Result<SaveReport> Checkpointer::save(const ckpt::Snapshot& snapshot, const ShardedAdamW& optimizer,
                                      const std::function<void(const std::string&)>& on_begin) {
  OwnedSource source(optimizer, snapshot);
  // Ranks do not compute while they save, so the compute threads are free.
  const unsigned threads = writers_for(snapshot, static_cast<unsigned>(at::get_num_threads()));
  return save_from(*world_.io, snapshot, source, threads, on_begin);
}

Result<SaveReport> Checkpointer::save_from(Control& io, const ckpt::Snapshot& snapshot, ckpt::TensorSource& source,
                                           unsigned threads, const std::function<void(const std::string&)>& on_begin) {
  const auto start = Clock::now();
  std::string tmp;
  Status status;
  if (world_.rank == 0) {
    auto begun = ckpt::begin_save(fs_, dir_, snapshot, ckpt::random_id());
    if (begun.ok()) {
      tmp = *begun;
      if (on_begin) on_begin(tmp);
    } else {
      status = begun.status();
    }
  }
  TITAN_RETURN_IF_ERROR(agree(io, status));
  // Rank 0 sends one message: the digest of its plan, then the folder to write to.
  const std::string plan = plan_digest(snapshot).hex();
  const std::string word = io.broadcast(plan + tmp, 0);
  tmp = word.substr(plan.size());
  if (word.substr(0, plan.size()) != plan)
    status = ckpt::failed(
        "rank " + std::to_string(world_.rank) +
        " plans another save than rank 0: step, position, mesh, tensors, learning rate or settings differ");
  status = agree(io, status);
  if (!status.ok()) return world_.rank == 0 ? give_up(std::move(status), snapshot, tmp) : status;

  // Every rank writes what it owns; only receipts are sent.
  const auto receipt =
      ckpt::shares_files(snapshot)
          ? write_shared(io, fs_, tmp, snapshot, source, threads)
          : ckpt::write_rank(fs_, tmp, snapshot, static_cast<std::uint32_t>(world_.rank), source, threads);
  status = agree(io, receipt.status());
  if (!status.ok()) return world_.rank == 0 ? give_up(std::move(status), snapshot, tmp) : status;
  std::vector<ckpt::RankReceipt> receipts;  // on rank 0 only
  gather_to_root(io, ckpt::encode_receipt(*receipt), [&](int rank, std::string_view bytes) {
    auto decoded = ckpt::decode_receipt(bytes);
    if (decoded.ok()) {
      receipts.push_back(std::move(*decoded));
    } else if (status.ok()) {
      status = ckpt::failed(decoded.status().message).wrapped("rank " + std::to_string(rank));
    }
  });

  SaveReport report;
  report.write_seconds = seconds_since(start);
  if (world_.rank == 0) {
    if (!status.ok()) {
      status = give_up(std::move(status), snapshot, tmp);
    } else {
      auto published = ckpt::commit_save(fs_, dir_, tmp, snapshot, receipts,
                                         {damaged_[dir_].count(snapshot.train.step) != 0, still_ours_});
      if (published.ok()) {
        static_cast<ckpt::Published&>(report) = std::move(*published);
        damaged_[dir_].erase(snapshot.train.step);
      } else {
        status = give_up(published.status(), snapshot, tmp);
      }
    }
  }
  TITAN_RETURN_IF_ERROR(agree(io, status));
  report.seconds = seconds_since(start);
  report.publish_seconds = report.seconds - report.write_seconds;
  return report;
}

Status Checkpointer::load(const ckpt::CheckpointReader& reader, const recipe::RunPlan& plan, ShardedAdamW& optimizer,
                          bool moments, const ckpt::CancelToken& stop) {
  const ckpt::Manifest& manifest = reader.manifest();
  if (manifest.leaf_elements != plan.leaf_elements)
    return ckpt::incompatible("the checkpoint's leaves have " + std::to_string(manifest.leaf_elements) +
                              " elements, this build's " + std::to_string(plan.leaf_elements));
  TITAN_RETURN_IF_ERROR(check_precision(manifest, reader.path(), moments));
  const ckpt::ParameterIndex by_name(manifest);
  std::vector<std::uint32_t> index_of;  // plan index -> index in the checkpoint
  for (const ckpt::ParameterMeta& parameter : plan.parameters) {
    const auto index = by_name.find(parameter.name);
    if (!index)
      return ckpt::incompatible("the checkpoint has no parameter " + parameter.name + "; the model of the config does");
    if (manifest.parameters[*index].meta.shape != parameter.shape)
      return ckpt::incompatible("parameter " + parameter.name +
                                " has another shape in the checkpoint than in the config");
    index_of.push_back(*index);
  }
  // Without an EMA in the checkpoint, start_ema() below sets it to the parameters. The start of the run has checked
  // that this is permitted.
  const bool averages = moments && optimizer.keeps_ema() && ckpt::has_ema(manifest);
  std::vector<LeafRun> runs;
  for (const ShardedAdamW::State& state : optimizer.states()) {
    const std::uint32_t index = index_of[state.piece.parameter];
    const ckpt::LeafGrid grid = plan.parameters[state.piece.parameter].grid(plan.leaf_elements);
    const auto add = [&](const std::string& slot, const at::Tensor& values) {
      add_runs({index, slot}, grid, state.piece.leaves, values, runs);
    };
    add("", state.param);
    if (!moments) continue;
    add(ckpt::kExpAvg, state.exp_avg);
    add(ckpt::kExpAvgSq, state.exp_avg_sq);
    if (averages) add(ckpt::kEma, state.ema);
  }
  // Ranks do not compute while they load, and a store needs several concurrent reads. On the CPU each read goes
  // directly into the tensor.
  TITAN_RETURN_IF_ERROR(ckpt::parallel_for(runs.size(), kReaders, [&](std::size_t i) -> Status {
    TITAN_RETURN_IF_ERROR(stop.check());
    const LeafRun& run = runs[i];
    const at::Tensor host = device().host_for(run.values);
    TITAN_RETURN_IF_ERROR(reader.read(run.ref, run.leaves, mutable_host_bytes(host)));
    device().upload(host, run.values);
    return ckpt::ok_status();
  }));
  if (!averages) optimizer.start_ema();
  return ckpt::ok_status();
}

}  // namespace titan::train
