#include "converters/dcp/pickle_writer.h"

#include <bit>

#include "converters/dcp/little_endian.h"

namespace titan::convert::dcp {

PickleWriter::PickleWriter(int protocol) : protocol_(protocol) {
  out_.push_back('\x80');
  out_.push_back(static_cast<char>(protocol));
}

void PickleWriter::memoize() {
  if (protocol_ >= 4) {
    out_.push_back('\x94');
  } else if (memoized_ < 256) {
    out_.push_back('q');
    put_le(out_, memoized_, 1);
  } else {
    out_.push_back('r');
    put_le(out_, memoized_, 4);
  }
  ++memoized_;
}

// Emits a reference when `key` was written before; else remembers that the next memo entry is it.
bool PickleWriter::recall(const std::string& key) {
  if (protocol_ < 4) return false;
  const auto [found, added] = known_.try_emplace(key, 0);
  if (added) return false;
  if (found->second < 256) {
    out_.push_back('h');
    put_le(out_, found->second, 1);
  } else {
    out_.push_back('j');
    put_le(out_, found->second, 4);
  }
  return true;
}

void PickleWriter::integer(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  if (value >= 0 && value < 256) {
    out_.push_back('K');
    put_le(out_, bits, 1);
  } else if (value >= 0 && value < 65536) {
    out_.push_back('M');
    put_le(out_, bits, 2);
  } else if (value >= INT32_MIN && value <= INT32_MAX) {
    out_.push_back('J');
    put_le(out_, bits, 4);
  } else {
    std::size_t bytes = 8;  // the fewest that keep the sign
    while (bytes > 1 && (value >> (8 * (bytes - 1) - 1) == 0 || value >> (8 * (bytes - 1) - 1) == -1)) --bytes;
    out_.push_back('\x8a');
    put_le(out_, bytes, 1);
    put_le(out_, bits, bytes);
  }
}

void PickleWriter::real(double value) {
  out_.push_back('G');
  put_le(out_, __builtin_bswap64(std::bit_cast<std::uint64_t>(value)), 8);
}

void PickleWriter::text(std::string_view value) {
  const std::string key = "s" + std::string(value);
  if (recall(key)) return;
  if (protocol_ >= 4 && value.size() < 256) {
    out_.push_back('\x8c');
    put_le(out_, value.size(), 1);
  } else {
    out_.push_back('X');
    put_le(out_, value.size(), 4);
  }
  out_.append(value);
  known_[key] = memoized_;
  memoize();
}

void PickleWriter::global(std::string_view module, std::string_view name) {
  const std::string key = "g" + std::string(module) + "\n" + std::string(name);
  if (recall(key)) return;
  if (protocol_ >= 4) {
    text(module);
    text(name);
    out_.push_back('\x93');
  } else {
    out_.append("c").append(module).append("\n").append(name).append("\n");
  }
  known_[key] = memoized_;
  memoize();
}

void PickleWriter::tuple(std::size_t parts) {
  if (parts == 0) {
    out_.push_back(')');  // the empty tuple is a singleton: never in the memo
    return;
  }
  out_.push_back(parts == 1 ? '\x85' : parts == 2 ? '\x86' : parts == 3 ? '\x87' : 't');
  memoize();
}

void PickleWriter::integers(const std::vector<std::uint64_t>& values) {
  if (values.size() > 3) mark();
  for (const std::uint64_t value : values) integer(static_cast<std::int64_t>(value));
  tuple(values.size());
}

void PickleWriter::size(const std::vector<std::uint64_t>& dims) {
  global("torch", "Size");
  integers(dims);
  tuple(1);
  reduce();
}

void PickleWriter::value(const Value& v) {
  switch (v.kind) {
    case Value::Kind::kNone: return none();
    case Value::Kind::kBool: return boolean(v.integer != 0);
    case Value::Kind::kInt: return integer(v.integer);
    case Value::Kind::kFloat: return real(v.real);
    case Value::Kind::kText:
    case Value::Kind::kBytes: return text(v.text);
    case Value::Kind::kTuple:
      if (v.parts.size() > 3) mark();
      for (const Value& part : v.parts) value(part);
      return tuple(v.parts.size());
    case Value::Kind::kList:
      empty_list();
      if (v.parts.size() > 1) mark();
      for (const Value& part : v.parts) value(part);
      if (v.parts.size() > 1)
        appends();
      else if (v.parts.size() == 1)
        append();
      return;
    case Value::Kind::kDict:
      empty_dict();
      mark();
      for (const Value& part : v.parts) value(part);
      return set_items();
  }
}

std::string PickleWriter::finish() && {
  out_.push_back('.');
  return std::move(out_);
}

}  // namespace titan::convert::dcp
