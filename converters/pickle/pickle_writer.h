#pragma once
// Writes pickles for torch, opcode by opcode. With protocol 4, names and strings are written once and then referenced.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "converters/pickle/item.h"

namespace titan::convert {

/// Each call appends one opcode or value. The caller follows the order of Python's pickler: a container before its
/// parts, REDUCE after its arguments. There are as many functions as opcodes and types of values that Titan writes.
class PickleWriter {
 public:
  /// `protocol` is 2 (items) or 4 (.metadata). They differ in the encoding of names, strings and memo entries.
  explicit PickleWriter(int protocol);

  void none() { out_.push_back('N'); }
  void boolean(bool value) { out_.push_back(value ? '\x88' : '\x89'); }
  void integer(std::int64_t value);
  void real(double value);
  void text(std::string_view value);
  void global(std::string_view module, std::string_view name);
  void mark() { out_.push_back('('); }
  void empty_dict() { memoized("}"); }
  void empty_list() { memoized("]"); }
  void set_items() { out_.push_back('u'); }  ///< fills the dict below the mark
  void append() { out_.push_back('a'); }
  void appends() { out_.push_back('e'); }  ///< to the list below the mark
  void tuple(std::size_t parts);           ///< a tuple of the last `parts` values; more than 3 need a mark before them
  void reduce() { memoized("R"); }
  void persistent() { out_.push_back('Q'); }
  void new_object() { memoized(")\x81"); }
  void build() { out_.push_back('b'); }
  void value(const ItemValue& value);                       ///< any value except bytes
  void integers(const std::vector<std::uint64_t>& values);  ///< as a tuple
  void size(const std::vector<std::uint64_t>& dims);        ///< as a torch.Size

  std::string finish() &&;

 private:
  void put(char opcode, std::uint64_t argument, std::size_t bytes);
  void memoize();
  /// Appends the opcodes of a value that later opcodes may refer to, and memoizes it.
  void memoized(const char* opcodes) {
    out_.append(opcodes);
    memoize();
  }
  bool recall(const std::string& key);

  int protocol_;
  std::string out_;
  std::uint32_t memoized_ = 0;
  std::map<std::string, std::uint32_t> known_;
};

}  // namespace titan::convert
