#pragma once
// Possible disk states after a crash: everything that a sync covers, and any subset of the rest.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/crash/crash_fs.h"

namespace titan::crash {

/// The outcome of each pending call: 0 lost, 1 kept. Writes have further outcomes: 2: only the new length (zeros); 3 +
/// 2 c: the bytes before the c-th 512-byte boundary; 4 + 2 c: the bytes from there on.
using Choice = std::vector<std::uint16_t>;

std::string choice_text(const Choice& choice);
/// Reads choice_text() again; empty for anything else.
Choice choice_from(const std::string& text);

class CrashPoint {
 public:
  /// After the first `point` calls of `log`, which began on `before`. `like` knows which inodes are folders.
  CrashPoint(const Disk& before, const std::vector<LoggedCall>& log, std::size_t point, const Disk& like);

  std::size_t pending() const { return pending_.size(); }
  std::uint64_t outcomes(std::size_t pending) const;
  /// The `number`-th choice to try: first the most important ones (all kept, all lost, one lost, one kept, prefixes,
  /// one torn), then every subset if there are few calls, then seeded random ones. Returns false after the last one.
  bool choice(std::uint64_t number, std::uint64_t seed, Choice* choice) const;
  /// How many choices come before the subsets.
  std::uint64_t first_choices() const;
  Disk build(const Choice& choice) const;
  /// The pending calls that `choice` lost or tore, one a line.
  std::string explain(const Choice& choice) const;

 private:
  Choice seeded(std::uint64_t number, std::uint64_t seed) const;

  const std::vector<LoggedCall>* log_;
  Disk base_;                         ///< durable bytes, and names as far as nothing pending came before
  std::vector<std::size_t> later_;    ///< calls to be applied to it in order, durable ones as well
  std::vector<std::size_t> pending_;  ///< calls that may be lost
  std::vector<std::pair<std::size_t, std::uint64_t>> torn_;  ///< (pending, outcome) of every way to tear one
};

}  // namespace titan::crash
