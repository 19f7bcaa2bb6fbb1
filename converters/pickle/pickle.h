#pragma once
// Reads a Python pickle as a tree of values and never executes anything: a call becomes a node that names the callee.
// Accepts only the opcodes and calls in torch's checkpoints. Everything else is refused, with its name and offset;
// PickleLimits::inert accepts other calls.
// \source CPython Lib/pickletools.py; torch.distributed.checkpoint and torch.save of torch 1.13 to 2.15
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::convert {

using ckpt::Result;
using ckpt::Status;

enum class NodeKind : std::uint8_t {
  kNone,
  kBool,
  kInt,
  kFloat,
  kText,    ///< str; UTF-8 as in the pickle
  kGlobal,  ///< the name of a class or function
  kTuple,
  kList,
  kDict,        ///< also an OrderedDict or a defaultdict
  kCall,        ///< call of an allowed global: callee and arguments
  kInstance,    ///< instance of an allowed class, or an inert instance (PickleLimits): class, arguments and state
  kPersistent,  ///< a persistent id, which torch.save uses for storages
};

/// Index of a node in its Pickle.
using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = 0xffffffff;

/// Limits beyond which an input is refused.
struct PickleLimits {
  std::uint32_t depth = 64;          ///< nesting of values and of open marks
  std::uint32_t nodes = 64'000'000;  ///< also bounds the memo
  std::uint32_t text = 1u << 20;     ///< bytes of one string
  /// Calls that are not allowed become inert instances (kInstance nodes that name the callee) instead of errors,
  /// because trainers' files hold objects of their own classes. An integer of more than 8 bytes becomes None.
  bool inert = false;
};

/// A decoded pickle. Nodes are shared as in the pickle, and a list can contain itself, so a traversal must limit its
/// depth. Nodes are accessed through the members of this class, which has many functions because each kind of node has
/// its own.
class Pickle {
 public:
  /// Decodes `bytes`, which the result keeps. `what` names the pickle in messages.
  /// \error kCorrupt naming the opcode and its offset: syntax, a limit, an opcode or a call that is not allowed
  static Result<Pickle> decode(std::string what, std::string bytes, const PickleLimits& limits = {});

  NodeId root() const { return root_; }
  const std::string& what() const { return what_; }
  std::size_t nodes() const { return nodes_.size(); }  ///< number of values in the pickle
  NodeKind kind(NodeId id) const { return nodes_[id].kind; }
  bool is(NodeId id, NodeKind kind) const { return id != kNoNode && nodes_[id].kind == kind; }

  bool boolean(NodeId id) const { return nodes_[id].value != 0; }                                ///< kBool
  std::int64_t integer(NodeId id) const { return static_cast<std::int64_t>(nodes_[id].value); }  ///< kInt
  double real(NodeId id) const;                                                                  ///< kFloat
  std::string_view text(NodeId id) const;                                                        ///< kText
  std::string_view module(NodeId id) const { return text(item(id, 0)); }                         ///< kGlobal
  std::string_view name(NodeId id) const { return text(item(id, 1)); }                           ///< kGlobal
  bool is_global(NodeId id, std::string_view module, std::string_view name) const;

  /// Number of parts: elements of a tuple or list; twice the entries of a dict (key, value, key, ...); 1 for a
  /// persistent id.
  std::size_t size(NodeId id) const;
  NodeId item(NodeId id, std::size_t index) const;

  NodeId callee(NodeId id) const { return item(id, 0); }     ///< kCall, kInstance: a kGlobal
  NodeId arguments(NodeId id) const { return item(id, 1); }  ///< kCall, kInstance: a kTuple
  NodeId state(NodeId id) const { return item(id, 2); }      ///< kInstance: the state given by BUILD, or kNoNode
  /// True for a call or instance of module.name.
  bool is_made_by(NodeId id, std::string_view module, std::string_view name) const;

  /// The value of a text key of a dict, or kNoNode. If a key occurs twice, the last one counts, as in Python.
  NodeId find(NodeId dict, std::string_view key) const;
  /// A few words for messages: "int 5", "str 'abc'", "tuple of 3", "os.system".
  std::string describe(NodeId id) const;

 private:
  friend class PickleMachine;
  struct Node {
    NodeKind kind = NodeKind::kNone;
    std::uint32_t count = 0;  // bytes of a text, parts in pool_
    std::uint64_t value = 0;  // scalar bits, offset in bytes_, begin in pool_, index in lists_
  };
  bool in_lists(NodeId id) const { return kind(id) == NodeKind::kList || kind(id) == NodeKind::kDict; }

  std::string what_, bytes_;
  std::vector<Node> nodes_;
  std::vector<NodeId> pool_;                // parts of nodes that do not grow
  std::vector<std::vector<NodeId>> lists_;  // parts of lists and dicts
  NodeId root_ = kNoNode;
};

}  // namespace titan::convert
