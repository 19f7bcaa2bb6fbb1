#include "converters/torch_save/rank_tensor.h"

#include <algorithm>
#include <optional>

#include "ckpt/model/leaf.h"
#include "ckpt/model/tensor_meta.h"

namespace titan::convert {

using ckpt::corrupt;
using ckpt::Result;
using ckpt::Status;

namespace {

constexpr std::size_t kMaxDimensions = 16;

// The whole numbers in a tuple, list or torch.Size; nullopt for anything else.
std::optional<std::vector<std::uint64_t>> counts(const Pickle& pickle, NodeId node) {
  if (node == kNoNode) return std::nullopt;
  if (pickle.is_made_by(node, "torch", "Size") && pickle.size(pickle.arguments(node)) == 1)
    node = pickle.item(pickle.arguments(node), 0);
  if (!pickle.is(node, NodeKind::kTuple) && !pickle.is(node, NodeKind::kList)) return std::nullopt;
  if (pickle.size(node) > kMaxDimensions) return std::nullopt;
  std::vector<std::uint64_t> out;
  std::uint64_t product = 1;
  for (std::size_t i = 0; i < pickle.size(node); ++i) {
    const NodeId part = pickle.item(node, i);
    if (!pickle.is(part, NodeKind::kInt) || pickle.integer(part) < 0) return std::nullopt;
    out.push_back(static_cast<std::uint64_t>(pickle.integer(part)));
    // Sizes are multiplied later, so a product larger than any file is refused.
    if (__builtin_mul_overflow(product, std::max<std::uint64_t>(out.back(), 1), &product) || product >> 56 != 0)
      return std::nullopt;
  }
  return out;
}

// A member of an object with state `state`: the state is its __dict__, or the pair (__dict__, values of its __slots__).
NodeId member(const Pickle& pickle, NodeId state, std::string_view key) {
  if (pickle.is(state, NodeKind::kDict)) return pickle.find(state, key);
  for (std::size_t i = 0; pickle.is(state, NodeKind::kTuple) && i < pickle.size(state); ++i)
    if (const NodeId part = pickle.item(state, i); pickle.is(part, NodeKind::kDict))
      if (const NodeId found = pickle.find(part, key); found != kNoNode) return found;
  return kNoNode;
}
NodeId member_of(const Pickle& pickle, NodeId object, std::string_view key) {
  return pickle.is(object, NodeKind::kInstance) ? member(pickle, pickle.state(object), key) : kNoNode;
}
std::string_view class_of(const Pickle& pickle, NodeId object) {
  const bool made = pickle.is(object, NodeKind::kInstance) || pickle.is(object, NodeKind::kCall);
  return made && pickle.is(pickle.callee(object), NodeKind::kGlobal) ? pickle.name(pickle.callee(object))
                                                                     : std::string_view();
}

class PartReader {
 public:
  PartReader(const TorchFile& file, NodeId node) : file_(file), pickle_(file.pickle()), node_(node) {}

  Result<RankPart> run() {
    // A wrapper subclass is pickled as (function, class, arguments, state), where the arguments are (class, dtype,
    // size, ...).
    if (!pickle_.is_made_by(node_, "torch._tensor", "_rebuild_from_type_v2")) return whole();
    const NodeId parts = pickle_.arguments(node_);
    if (pickle_.size(parts) != 4) return wrong();
    if (!pickle_.is_global(pickle_.item(parts, 0), "torch._utils", "_rebuild_wrapper_subclass")) return whole();
    const NodeId type = pickle_.item(parts, 1), arguments = pickle_.item(parts, 2), state = pickle_.item(parts, 3);
    if (!pickle_.is(type, NodeKind::kGlobal) || !pickle_.is(arguments, NodeKind::kTuple) || pickle_.size(arguments) < 3)
      return wrong();
    const auto shape = counts(pickle_, pickle_.item(arguments, 2));
    if (!shape) return wrong();
    part_.shape = *shape;
    if (pickle_.name(type) == "DTensor") return of_dtensor(state);
    if (pickle_.name(type) == "ShardedTensor") return of_sharded(state);
    return ckpt::unsupported(file_.path() + " holds a " + std::string(pickle_.name(type)).substr(0, 60) +
                             ": only DTensor and ShardedTensor are read");
  }

 private:
  Status wrong() const { return corrupt(file_.path() + ": " + pickle_.describe(node_) + " is no tensor"); }

  Result<RankPart> whole() {
    TITAN_ASSIGN_OR_RETURN(part_.stored, file_.tensor(node_));
    part_.shape = part_.stored.shape;
    return part_;
  }

  // Accepts a DTensor that is replicated over all mesh dimensions but the last, and sharded over the last. In the order
  // of ranks, its parts follow each other and start again with the next replica.
  Result<RankPart> of_dtensor(NodeId state) {
    const NodeId local = member(pickle_, state, "_local_tensor");
    const NodeId spec = member(pickle_, state, "_spec"), placements = member_of(pickle_, spec, "placements");
    const auto place = counts(pickle_, member_of(pickle_, member_of(pickle_, spec, "mesh"), "_coordinate_on_dim"));
    if (local == kNoNode || !pickle_.is(placements, NodeKind::kTuple) || pickle_.size(placements) == 0) return wrong();
    TITAN_ASSIGN_OR_RETURN(part_.stored, file_.tensor(local));
    for (std::size_t i = 0; i < pickle_.size(placements); ++i) {
      const NodeId placement = pickle_.item(placements, i);
      const std::string_view kind = class_of(pickle_, placement);
      if (kind == "Replicate") continue;
      const NodeId dim = member_of(pickle_, placement, "dim");
      if (kind != "Shard" || i + 1 != pickle_.size(placements))
        return ckpt::unsupported(file_.path() + ": a DTensor is placed by " + std::string(kind).substr(0, 40) + " as " +
                                 std::to_string(i + 1) + " of " + std::to_string(pickle_.size(placements)) +
                                 ", expected Shard as the last and Replicate before it (FSDP, HSDP)")
            .with_hint("save it with torch.distributed.checkpoint, whose files say where each part lies");
      if (!pickle_.is(dim, NodeKind::kInt) || pickle_.integer(dim) < 0 ||
          static_cast<std::uint64_t>(pickle_.integer(dim)) >= part_.shape.size())
        return wrong();
      part_.kind = RankPart::Kind::kByRank;
      part_.cut = static_cast<std::size_t>(pickle_.integer(dim));
      if (place && place->size() == pickle_.size(placements)) part_.place = place->back();
    }
    return part_;
  }

  // (list of local shards, metadata, ...): a rank has one shard or none.
  Result<RankPart> of_sharded(NodeId state) {
    if (!pickle_.is(state, NodeKind::kTuple) || pickle_.size(state) == 0) return wrong();
    const NodeId shards = pickle_.item(state, 0);
    if (!pickle_.is(shards, NodeKind::kList) || pickle_.size(shards) > 1)
      return ckpt::unsupported(file_.path() + ": a ShardedTensor of several shards on one rank is not read");
    part_.kind = RankPart::Kind::kNone;
    if (pickle_.size(shards) == 0) return part_;
    const NodeId shard = pickle_.item(shards, 0);
    const NodeId tensor = member_of(pickle_, shard, "tensor");
    const auto offsets = counts(pickle_, member_of(pickle_, member_of(pickle_, shard, "metadata"), "shard_offsets"));
    if (tensor == kNoNode || !offsets) return wrong();
    TITAN_ASSIGN_OR_RETURN(part_.stored, file_.tensor(tensor));
    part_.kind = RankPart::Kind::kPlaced;
    part_.offsets = *offsets;
    return part_;
  }

  const TorchFile& file_;
  const Pickle& pickle_;
  const NodeId node_;
  RankPart part_;
};

class Joiner {
 public:
  Joiner(const std::string& name, const RankParts& parts) : parts_(parts) { out_.name = name; }

  Result<PiecedTensor> run() {
    if (parts_.empty()) return corrupt(out_.name + " is in no rank's file");
    const RankPart& first = parts_.front().second;
    out_.shape = first.shape;
    for (const auto& [file, part] : parts_) {
      if (part.kind != RankPart::Kind::kNone && dtype_.empty()) dtype_ = part.stored.dtype;
      const bool mixed =
          part.kind != first.kind && part.kind != RankPart::Kind::kNone && first.kind != RankPart::Kind::kNone;
      if (part.shape != out_.shape || mixed || part.cut != first.cut ||
          (part.kind != RankPart::Kind::kNone && part.stored.dtype != dtype_))
        return corrupt(out_.name + " is " + ckpt::shape_text(out_.shape) + " on one rank and another tensor, " +
                       ckpt::shape_text(part.shape) + ", on another");
    }
    if (dtype_.empty()) return corrupt(out_.name + " is on no rank");
    TITAN_ASSIGN_OR_RETURN(out_.dtype, dtype_of_torch(out_.name, dtype_));
    for (const auto& [file, part] : parts_) {
      TITAN_ASSIGN_OR_RETURN(const bool more, take(file, part));
      if (!more) break;
    }
    TITAN_RETURN_IF_ERROR(check_pieces(out_));
    return std::move(out_);
  }

 private:
  // Adds a part; returns false if the tensor is already complete.
  Result<bool> take(std::uint32_t file, const RankPart& part) {
    if (part.kind == RankPart::Kind::kNone) return true;
    std::vector<std::uint64_t> offsets(out_.shape.size(), 0), expected = out_.shape;
    if (part.kind == RankPart::Kind::kByRank) {
      if (reached_ == out_.shape[part.cut]) return false;
      if (part.place && *part.place != place_)
        return corrupt(out_.name + ": the file of rank " + std::to_string(place_) + " holds the part of rank " +
                       std::to_string(*part.place) + ": one rank's file is in another's place");
      ++place_;
      offsets[part.cut] = reached_;
      const std::uint64_t rows = part.cut < part.stored.shape.size() ? part.stored.shape[part.cut] : 0;
      expected[part.cut] = rows;
      if (rows > out_.shape[part.cut] - reached_)
        return corrupt(out_.name + ": the parts of its ranks have more than " + std::to_string(out_.shape[part.cut]) +
                       " rows");
      reached_ += rows;
    } else if (part.kind == RankPart::Kind::kPlaced) {
      offsets = part.offsets;
      expected = part.stored.shape;
      if (!fits(offsets, expected)) return corrupt(out_.name + ": a part of a rank reaches beyond it");
      const auto same = [&](const Box& piece) { return piece.offsets == offsets && piece.sizes == expected; };
      if (std::ranges::any_of(out_.pieces, same)) return true;  // a replica of a part that was taken
    }
    const bool empty = ckpt::element_count(expected) == 0;
    if (part.stored.elements != ckpt::element_count(expected) || (!empty && part.stored.shape != expected))
      return corrupt(out_.name + ": the part of a rank has the shape " + ckpt::shape_text(part.stored.shape) +
                     ", expected " + ckpt::shape_text(expected));
    if (!empty) out_.pieces.push_back({offsets, expected, {{file, part.stored.offset, part.stored.elements}}, 0});
    return part.kind != RankPart::Kind::kWhole;
  }

  bool fits(const std::vector<std::uint64_t>& offsets, const std::vector<std::uint64_t>& sizes) const {
    if (offsets.size() != out_.shape.size() || sizes.size() != out_.shape.size()) return false;
    for (std::size_t d = 0; d < sizes.size(); ++d)
      if (offsets[d] > out_.shape[d] || sizes[d] > out_.shape[d] - offsets[d]) return false;
    return true;
  }

  const RankParts& parts_;
  std::string dtype_;
  std::uint64_t reached_ = 0;  // end of the parts taken so far, along the sharded dimension
  std::uint64_t place_ = 0;    // number of parts taken so far
  PiecedTensor out_;
};

}  // namespace

Result<RankPart> rank_part(const TorchFile& file, NodeId node) { return PartReader(file, node).run(); }

Result<PiecedTensor> joined_parts(const std::string& name, const RankParts& parts) { return Joiner(name, parts).run(); }

}  // namespace titan::convert
