#include "ckpt/save/reshard_io.h"

#include <algorithm>
#include <map>
#include <span>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/format/checkpoint_id.h"
#include "ckpt/format/manifest_builder.h"
#include "ckpt/read/virtual_model.h"

namespace titan::ckpt {
namespace {

class Resharder {
 public:
  Resharder(Fs& fs, const CheckpointReader& source, const ReshardPlan& plan, const MovePlan& moves,
            const std::string& folder, const MoveHooks& hooks, MoveCounts& counts)
      : fs_(fs),
        source_(source),
        plan_(plan),
        moves_(moves),
        folder_(folder),
        hooks_(hooks),
        counts_(counts),
        leaves_(fs, source.path(), source.manifest()),
        made_(source.manifest()) {}

  Result<Manifest> run() {
    made_.major = kFormatMajor;
    made_.mesh = plan_.mesh;
    made_.stage_cuts = plan_.stage_cuts;
    made_.files.clear();
    for (std::size_t i = 0; i < made_.parameters.size(); ++i) {
      ParameterRecord& record = made_.parameters[i];
      record.meta.stage = plan_.stages[i];
      if (record.model) record.model->pieces.clear();
      for (SlotTensor& slot : record.slots) slot.tensor.pieces.clear();
    }
    TITAN_RETURN_IF_ERROR(shards());
    TITAN_RETURN_IF_ERROR(prove_tensors());
    TITAN_RETURN_IF_ERROR(json_members());
    TITAN_RETURN_IF_ERROR(prove_id());
    if (made_.component(kModel)) {
      TITAN_ASSIGN_OR_RETURN(FileEntry derived, write_virtual_model(fs_, folder_, made_));
      builder_.add_file(std::move(derived));
    }
    made_.minor = made_.lowest_minor();
    return std::move(made_);
  }

 private:
  Status shards() {
    for (const char* name : {kModel, kOptimizer}) {
      if (made_.component(name)) TITAN_RETURN_IF_ERROR(fs_.make_dir(join_path(folder_, name)));
    }
    LeafMover mover(fs_, leaves_, moves_, hooks_);
    for (std::size_t i = 0; i < moves_.groups.size(); ++i) {
      const std::size_t first = moves_.groups[i],
                        end = i + 1 < moves_.groups.size() ? moves_.groups[i + 1] : plan_.files.size();
      TITAN_RETURN_IF_ERROR(group(mover, std::span(plan_.files).subspan(first, end - first)));
    }
    for (const char* name : {kModel, kOptimizer}) {
      if (made_.component(name)) builder_.sum_up(name);
    }
    return ok_status();
  }

  // Files whose leaves are only copied are written together, the others one by one.
  Status group(LeafMover& mover, std::span<const ReshardFile> files) {
    while (!files.empty()) {
      std::size_t count = 0;
      while (count < files.size() && files[count].to_encode == 0) ++count;
      if (count == 0) {
        TITAN_RETURN_IF_ERROR(encode(files.front()));
        files = files.subspan(1);
        continue;
      }
      TITAN_ASSIGN_OR_RETURN(std::vector<WrittenShard> written, mover.run(folder_, files.first(count), counts_));
      for (std::size_t i = 0; i < count; ++i) add(files[i], std::move(written[i]));
      files = files.subspan(count);
    }
    return ok_status();
  }

  Status encode(const ReshardFile& planned) {
    std::vector<ShardPiece> pieces;
    for (const ReshardPiece& piece : planned.pieces) pieces.push_back(piece.shard);
    const auto read = [&](std::size_t p, std::uint64_t leaf,
                          std::span<std::byte> scratch) -> Result<std::span<const std::byte>> {
      const ReshardPiece& piece = planned.pieces[p];
      if (hooks_.check) TITAN_RETURN_IF_ERROR(hooks_.check());
      TITAN_RETURN_IF_ERROR(source_.read(piece.ref, {leaf, 1}, scratch));
      const auto move = std::find_if(piece.moves.begin(), piece.moves.end(),
                                     [&](const LeafMove& m) { return leaf < m.leaves.end(); });
      counts_.decoded += move->codec == Codec::kZstd;
      counts_.encoded += piece.shard.codec == Codec::kZstd;
      ++counts_.leaves;
      counts_.raw_bytes += scratch.size();
      if (hooks_.advanced) hooks_.advanced(scratch.size());
      return std::span<const std::byte>(scratch);
    };
    ShardWriteOptions options;
    options.threads = moves_.threads;
    TITAN_ASSIGN_OR_RETURN(WrittenShard written, write_shard(fs_, folder_, planned.path, pieces, read, options));
    add(planned, std::move(written));
    return ok_status();
  }

  // Files are in order of component and rank; the leaves of a tensor ascend with the rank.
  void add(const ReshardFile& planned, WrittenShard written) {
    const std::uint32_t file = builder_.add_file(std::move(written.file));
    for (std::size_t i = 0; i < planned.pieces.size(); ++i) {
      const TensorRef& ref = planned.pieces[i].ref;
      builder_.add_piece(ref, written.pieces[i], file);
      Hasher& hasher = hashers_[{ref.index, ref.slot}];
      hasher.update(std::as_bytes(std::span(written.leaves[i])));
    }
  }

  Status prove_tensors() {
    const auto check = [&](const TensorRef& ref) {
      const auto found = hashers_.find({ref.index, ref.slot});
      const Digest digest = found == hashers_.end() ? tensor_digest({}) : found->second.digest();
      if (digest == made_.stored(ref)->digest) return ok_status();
      return corrupt(source_.path() + ": the digest of tensor '" + made_.stored_name(ref) +
                     "' is not that of its leaves");
    };
    for (std::uint32_t i = 0; i < made_.parameters.size(); ++i) {
      if (made_.parameters[i].model) TITAN_RETURN_IF_ERROR(check({i, ""}));
      for (const SlotTensor& slot : made_.parameters[i].slots) TITAN_RETURN_IF_ERROR(check({i, slot.name}));
    }
    for (const ComponentEntry& entry : made_.components) {
      if (source_.manifest().component(entry.name)->digest != entry.digest)
        return corrupt(source_.path() + ": the digest of component '" + entry.name + "' is not that of its tensors");
    }
    return ok_status();
  }

  // JSON files are copied byte for byte. model.h5 is made again here; the caller takes over other derived files.
  Status json_members() {
    for (const FileEntry& file : source_.manifest().files) {
      if (file.role != FileRole::kJson) continue;
      const std::string path = join_path(source_.path(), file.path);
      TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes,
                             read_member(fs_, source_.path(), file.path, file.bytes));
      if (bytes.size() != file.bytes || digest_of(bytes) != file.whole)
        return corrupt(path + " does not match its digest");
      TITAN_RETURN_IF_ERROR(write_member(fs_, join_path(folder_, file.path), bytes));
      builder_.add_file(file);
    }
    return ok_status();
  }

  Status prove_id() {
    TITAN_ASSIGN_OR_RETURN(const IdState state, id_state(source_, made_));
    builder_.seal(state);
    const Digest& id = made_.id;
    if (id == source_.manifest().id) return ok_status();
    return corrupt(source_.path() + ": its id is " + source_.manifest().id.hex() + ", that of what was moved " +
                   id.hex());
  }

  Fs& fs_;
  const CheckpointReader& source_;
  const ReshardPlan& plan_;
  const MovePlan& moves_;
  const std::string& folder_;
  const MoveHooks& hooks_;
  MoveCounts& counts_;
  ShardReader leaves_;
  Manifest made_;
  ManifestBuilder builder_{made_};
  std::map<std::pair<std::uint32_t, std::string>, Hasher> hashers_;
};

}  // namespace

Result<Manifest> write_resharded(Fs& fs, const CheckpointReader& source, const ReshardPlan& plan, const MovePlan& moves,
                                 const std::string& folder, const MoveHooks& hooks, MoveCounts& counts) {
  return Resharder(fs, source, plan, moves, folder, hooks, counts).run();
}

}  // namespace titan::ckpt
