#include "converters/pickle/pickle.h"

#include <algorithm>
#include <bit>

#include "converters/little_endian.h"
#include "converters/pickle/pickle_names.h"

namespace titan::convert {

// Runs the opcodes of one pickle. The first error is kept; step() is not called after it.
class PickleMachine {
 public:
  PickleMachine(Pickle& pickle, const PickleLimits& limits) : p_(pickle), limits_(limits), in_(pickle.bytes_) {}

  Status run() {
    while (status_.ok() && !stopped_) {
      start_ = at_;
      if (at_ >= in_.size())
        return ckpt::corrupt(p_.what_ + ": the pickle ends at offset " + std::to_string(at_) + " without STOP");
      opcode_ = static_cast<unsigned char>(in_[at_++]);
      if ((start_ == 0) != (opcode_ == 0x80)) {
        fail(start_ == 0 ? "a pickle begins with PROTO" : "stands inside the pickle");
      } else {
        step();
      }
    }
    return status_;
  }

 private:
  void fail(const std::string& message) {
    if (status_.ok()) {
      status_ = ckpt::corrupt(p_.what_ + ": opcode " + opcode_name(opcode_) + " at offset " + std::to_string(start_) +
                              ": " + message);
    }
  }

  // Reads `count` bytes as a little-endian number; returns 0 after an error.
  std::uint64_t number(std::size_t count) {
    if (!need(count)) return 0;
    at_ += count;
    return get_le(in_, at_ - count, count);
  }
  bool need(std::uint64_t count) {
    if (count <= in_.size() - at_) return true;
    fail("needs " + std::to_string(count) + " bytes, " + std::to_string(in_.size() - at_) + " are left");
    return false;
  }

  NodeId add(NodeKind kind, std::uint64_t value = 0, std::uint32_t count = 0, std::uint32_t depth = 1) {
    if (p_.nodes_.size() >= limits_.nodes) {
      fail("more than " + std::to_string(limits_.nodes) + " values");
      return 0;
    }
    if (depth > limits_.depth) fail("values are nested more than " + std::to_string(limits_.depth) + " deep");
    p_.nodes_.push_back({kind, count, value});
    depths_.push_back(static_cast<std::uint8_t>(std::min(depth, 255u)));
    return static_cast<NodeId>(p_.nodes_.size() - 1);
  }
  void push(NodeId id) { stack_.push_back(id); }
  NodeId pop() {
    if (stack_.size() <= floor()) {
      fail("the stack is empty");
      return kNoNode;
    }
    const NodeId id = stack_.back();
    stack_.pop_back();
    return id;
  }
  NodeId top() {
    if (stack_.size() > floor()) return stack_.back();
    fail("the stack is empty");
    return kNoNode;
  }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  void push_text(std::uint64_t length) {
    if (length > limits_.text)
      return fail("a string of " + std::to_string(length) + " bytes, at most " + std::to_string(limits_.text) +
                  " are taken");
    if (!need(length)) return;
    push(add(NodeKind::kText, at_, static_cast<std::uint32_t>(length)));
    at_ += length;
  }
  NodeId line() {
    const std::size_t end = in_.find('\n', at_);
    if (end == std::string_view::npos || end - at_ > 4096) {
      fail("a name without its end of line");
      return kNoNode;
    }
    const NodeId id = add(NodeKind::kText, at_, static_cast<std::uint32_t>(end - at_));
    at_ = end + 1;
    return id;
  }

  // Makes a node whose parts are the top `count` values of the stack, pops them, and pushes the node.
  void group(NodeKind kind, std::size_t count) {
    if (stack_.size() - floor() < count) return fail("needs " + std::to_string(count) + " values on the stack");
    std::uint32_t depth = 1;
    const std::size_t begin = p_.pool_.size();
    for (std::size_t i = stack_.size() - count; i < stack_.size(); ++i) {
      p_.pool_.push_back(stack_[i]);
      depth = std::max(depth, depths_[stack_[i]] + 1u);
    }
    stack_.resize(stack_.size() - count);
    push(add(kind, begin, static_cast<std::uint32_t>(count), depth));
  }

  // Pops the values above the last mark, and the mark. Returns false after an error.
  bool take_marked(std::vector<NodeId>& values) {
    if (marks_.empty()) {
      fail("there is no MARK");
      return false;
    }
    values.assign(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return true;
  }

  // Adds values to the list or dict on top of the stack.
  void extend(NodeKind kind, const std::vector<NodeId>& values) {
    const NodeId target = top();
    if (!status_.ok()) return;
    if (limits_.inert && p_.kind(target) == NodeKind::kInstance) return;  // a list or dict of an unknown class
    if (p_.kind(target) != kind) return fail(std::string("adds to ") + p_.describe(target));
    if (kind == NodeKind::kDict && values.size() % 2 != 0) return fail("a key without a value");
    std::vector<NodeId>& parts = p_.lists_[p_.nodes_[target].value];
    std::uint32_t depth = depths_[target];
    for (const NodeId value : values) depth = std::max(depth, depths_[value] + 1u);
    if (depth > limits_.depth) return fail("values are nested more than " + std::to_string(limits_.depth) + " deep");
    depths_[target] = static_cast<std::uint8_t>(depth);
    parts.insert(parts.end(), values.begin(), values.end());
  }
  void push_growing(NodeKind kind) {
    p_.lists_.emplace_back();
    push(add(kind, p_.lists_.size() - 1));
  }

  void memoize(std::uint64_t index) {
    const NodeId id = top();
    if (!status_.ok()) return;
    // Picklers number memo entries from zero: an index beyond the number of bytes read is forged.
    if (index > start_) return fail("memo index " + std::to_string(index) + " is out of sequence");
    if (index >= memo_.size()) memo_.resize(index + 1, kNoNode);
    memo_[index] = id;
  }
  void recall(std::uint64_t index) {
    if (!status_.ok()) return;
    if (index >= memo_.size() || memo_[index] == kNoNode)
      return fail("memo " + std::to_string(index) + " was never set");
    push(memo_[index]);
  }

  void call();
  void instantiate();
  void push_instance(NodeId callee, NodeId arguments);
  void build();
  void step();
  void step_container();

  Pickle& p_;
  const PickleLimits& limits_;
  std::string_view in_;
  std::size_t at_ = 0, start_ = 0;
  unsigned char opcode_ = 0;
  bool stopped_ = false;
  std::vector<NodeId> stack_, memo_;
  std::vector<std::uint8_t> depths_;  // per node: depth of nesting
  std::vector<std::size_t> marks_;
  Status status_;
};

void PickleMachine::call() {
  const NodeId arguments = pop(), callee = pop();
  if (!status_.ok()) return;
  if (limits_.inert && p_.kind(callee) == NodeKind::kInstance) return push_instance(callee, arguments);
  if (p_.kind(callee) != NodeKind::kGlobal) return fail("calls " + p_.describe(callee));
  if (p_.kind(arguments) != NodeKind::kTuple)
    return fail("calls with " + p_.describe(arguments) + " instead of a tuple");
  const Allowed how = allowed(p_.module(callee), p_.name(callee));
  if (how == Allowed::kOrderedDict || (limits_.inert && p_.is_global(callee, "collections", "defaultdict"))) {
    if (p_.size(arguments) != 0 && !limits_.inert) return fail("collections.OrderedDict with arguments");
    return push_growing(NodeKind::kDict);
  }
  if (limits_.inert && how != Allowed::kCall) return push_instance(callee, arguments);
  if (how == Allowed::kGetattr) {
    // CPython 3.11.2 and similar versions pickle an enum member as getattr(class, name). Only this class is accepted.
    const bool shape = p_.size(arguments) == 2 && p_.is(p_.item(arguments, 1), NodeKind::kText) &&
                       (p_.is_global(p_.item(arguments, 0), kMetadataModule, "_MEM_FORMAT_ENCODING") ||
                        p_.is_global(p_.item(arguments, 0), kOldMetadataModule, "MEM_FORMAT_ENCODING"));
    if (!shape)
      return fail("calls builtins.getattr on something else than torch's memory format; refused, nothing was executed");
  } else if (how != Allowed::kCall) {
    return fail("calls " + p_.describe(callee) +
                ", which is not in the list of what a checkpoint may call; refused, nothing was executed");
  }
  push(callee);
  push(arguments);
  group(NodeKind::kCall, 2);
}

void PickleMachine::instantiate() {
  const NodeId arguments = pop();
  NodeId callee = pop();
  if (!status_.ok()) return;
  // A nested class is getattr(class, name), an inert instance. An object made from it names that instance's callee.
  if (limits_.inert && p_.kind(callee) == NodeKind::kInstance) callee = p_.callee(callee);
  if (p_.kind(callee) != NodeKind::kGlobal) return fail("makes an instance of " + p_.describe(callee));
  if (p_.kind(arguments) != NodeKind::kTuple) return fail("takes " + p_.describe(arguments) + " instead of a tuple");
  if (!limits_.inert && allowed(p_.module(callee), p_.name(callee)) != Allowed::kInstance) {
    return fail("makes an instance of " + p_.describe(callee) +
                ", which is not in the list of what a checkpoint may hold; refused, nothing was executed");
  }
  push_instance(callee, arguments);
}

void PickleMachine::push_instance(NodeId callee, NodeId arguments) {
  push(callee);
  push(arguments);
  group(NodeKind::kInstance, 2);
  if (!status_.ok()) return;
  p_.pool_.push_back(kNoNode);
  p_.nodes_[stack_.back()].count = 3;
}

void PickleMachine::build() {
  const NodeId state = pop(), target = top();
  if (!status_.ok()) return;
  // Ignores attributes of a dict (`_metadata` of a state_dict) and of a tensor: they do not affect values.
  if (limits_.inert && p_.kind(target) != NodeKind::kInstance) return;
  if (p_.kind(target) != NodeKind::kInstance) return fail("gives a state to " + p_.describe(target));
  NodeId& slot = p_.pool_[p_.nodes_[target].value + 2];
  if (slot != kNoNode) return fail("gives a second state to " + p_.describe(target));
  slot = state;
  depths_[target] = static_cast<std::uint8_t>(std::max<std::uint32_t>(depths_[target], depths_[state] + 1u));
  if (depths_[target] > limits_.depth) fail("values are nested more than " + std::to_string(limits_.depth) + " deep");
}

void PickleMachine::step_container() {
  std::vector<NodeId> values;
  switch (opcode_) {
    case '(':
      if (marks_.size() >= limits_.depth) return fail("more than " + std::to_string(limits_.depth) + " open marks");
      return marks_.push_back(stack_.size());
    case ']': return push_growing(NodeKind::kList);
    case '}': return push_growing(NodeKind::kDict);
    case 'a': values = {pop()}; break;
    case 's':
      values = {kNoNode, pop()};
      values[0] = pop();
      break;
    case 'e':
    case 'u':
    case 't':
      if (!take_marked(values)) return;
      if (opcode_ != 't') break;
      stack_.insert(stack_.end(), values.begin(), values.end());
      return group(NodeKind::kTuple, values.size());
    case ')': return group(NodeKind::kTuple, 0);
    default: return fail("is not in the list of opcodes that a checkpoint uses");
  }
  if (status_.ok()) extend(opcode_ == 'a' || opcode_ == 'e' ? NodeKind::kList : NodeKind::kDict, values);
}

void PickleMachine::step() {
  switch (opcode_) {
    case 0x80: {
      const std::uint64_t protocol = number(1);
      if (status_.ok() && (protocol < 2 || protocol > 5))
        fail("protocol " + std::to_string(protocol) + ", 2 to 5 are read");
      return;
    }
    case 0x95: {  // FRAME: only a hint for buffering
      const std::uint64_t length = number(8);
      if (status_.ok()) need(length);
      return;
    }
    case '.':
      if (stack_.size() != 1 || !marks_.empty())
        return fail("the stack holds " + std::to_string(stack_.size()) + " values instead of one");
      if (at_ != in_.size()) return fail(std::to_string(in_.size() - at_) + " bytes follow");
      p_.root_ = stack_.back();
      stopped_ = true;
      return;
    case 'N': return push(add(NodeKind::kNone));
    case 0x88: return push(add(NodeKind::kBool, 1));
    case 0x89: return push(add(NodeKind::kBool, 0));
    case 'J':
      return push(add(NodeKind::kInt,
                      static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(number(4))))));
    case 'K': return push(add(NodeKind::kInt, number(1)));
    case 'M': return push(add(NodeKind::kInt, number(2)));
    case 0x8a: {
      const std::uint64_t length = number(1);
      if (length > 8 && limits_.inert) {
        if (need(length)) at_ += length;
        return push(add(NodeKind::kNone));
      }
      if (length > 8) return fail("an integer of " + std::to_string(length) + " bytes, at most 8 are read");
      std::uint64_t value = number(length);
      if (length > 0 && length < 8 && (value >> (8 * length - 1) & 1) != 0) value |= ~std::uint64_t{0} << (8 * length);
      return push(add(NodeKind::kInt, value));
    }
    case 'G': {  // BINFLOAT: the only big-endian number
      const std::uint64_t bits = number(8);
      return push(add(NodeKind::kFloat, __builtin_bswap64(bits)));
    }
    case 0x8c: return push_text(number(1));
    case 'X': return push_text(number(4));
    case 'c': {
      const NodeId module = line();
      const NodeId name = status_.ok() ? line() : kNoNode;
      if (!status_.ok()) return;
      push(module);
      push(name);
      return group(NodeKind::kGlobal, 2);
    }
    case 0x93: {
      if (stack_.size() - floor() < 2 || !p_.is(stack_.back(), NodeKind::kText) ||
          !p_.is(stack_[stack_.size() - 2], NodeKind::kText)) {
        return fail("needs two strings on the stack");
      }
      return group(NodeKind::kGlobal, 2);
    }
    case 0x94: return memoize(memo_.size());
    case 'q': return memoize(number(1));
    case 'r': return memoize(number(4));
    case 'h': return recall(number(1));
    case 'j': return recall(number(4));
    case 0x85: return group(NodeKind::kTuple, 1);
    case 0x86: return group(NodeKind::kTuple, 2);
    case 0x87: return group(NodeKind::kTuple, 3);
    case 'Q': return group(NodeKind::kPersistent, 1);
    case 'R': return call();
    case 0x81: return instantiate();
    case 'b': return build();
    default: return step_container();
  }
}

Result<Pickle> Pickle::decode(std::string what, std::string bytes, const PickleLimits& limits) {
  Pickle pickle;
  pickle.what_ = std::move(what);
  pickle.bytes_ = std::move(bytes);
  PickleMachine machine(pickle, limits);
  TITAN_RETURN_IF_ERROR(machine.run());
  return pickle;
}

double Pickle::real(NodeId id) const { return std::bit_cast<double>(nodes_[id].value); }

std::string_view Pickle::text(NodeId id) const {
  return std::string_view(bytes_).substr(nodes_[id].value, nodes_[id].count);
}

bool Pickle::is_global(NodeId id, std::string_view module_name, std::string_view global_name) const {
  return is(id, NodeKind::kGlobal) && module(id) == module_name && name(id) == global_name;
}

std::size_t Pickle::size(NodeId id) const { return in_lists(id) ? lists_[nodes_[id].value].size() : nodes_[id].count; }

NodeId Pickle::item(NodeId id, std::size_t index) const {
  return in_lists(id) ? lists_[nodes_[id].value][index] : pool_[nodes_[id].value + index];
}

bool Pickle::is_made_by(NodeId id, std::string_view module_name, std::string_view global_name) const {
  return (is(id, NodeKind::kCall) || is(id, NodeKind::kInstance)) && is_global(callee(id), module_name, global_name);
}

NodeId Pickle::find(NodeId dict, std::string_view key) const {
  if (!is(dict, NodeKind::kDict)) return kNoNode;
  for (std::size_t i = size(dict); i >= 2; i -= 2) {
    const NodeId candidate = item(dict, i - 2);
    if (is(candidate, NodeKind::kText) && text(candidate) == key) return item(dict, i - 1);
  }
  return kNoNode;
}

std::string Pickle::describe(NodeId id) const {
  if (id == kNoNode) return "nothing";
  switch (kind(id)) {
    case NodeKind::kNone: return "None";
    case NodeKind::kBool: return boolean(id) ? "True" : "False";
    case NodeKind::kInt: return "int " + std::to_string(integer(id));
    case NodeKind::kFloat: return "float " + std::to_string(real(id));
    case NodeKind::kText: return "str '" + std::string(text(id).substr(0, 60)) + "'";
    case NodeKind::kGlobal: return std::string(module(id).substr(0, 100)) + "." + std::string(name(id).substr(0, 100));
    case NodeKind::kTuple: return "tuple of " + std::to_string(size(id));
    case NodeKind::kList: return "list of " + std::to_string(size(id));
    case NodeKind::kDict: return "dict of " + std::to_string(size(id) / 2);
    case NodeKind::kCall: return "a call of " + describe(callee(id));
    case NodeKind::kInstance: return "an instance of " + describe(callee(id));
    case NodeKind::kPersistent: return "a persistent id";
  }
  return "something";
}

}  // namespace titan::convert
