#pragma once
// A queue of possible merges: the lowest rank first, and of equal ranks the leftmost. Pure.
//
// With a plain heap, each merge in a long run of one character would take about twenty steps. Here, candidates of one
// rank that are pushed from left to right form one row, and the heap holds rows. A run of one character makes a few
// rows, ordinary text one row per candidate.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace titan::recipe {

class MergeQueue {
 public:
  struct Candidate {
    std::uint32_t rank, at, made;  ///< `made`: the resulting token, the same for all candidates of a rank
    bool operator==(const Candidate&) const = default;
  };

  void clear() {
    places_.clear();
    rows_.clear();
    heap_.clear();
    open_.fill(kNone);
  }
  bool empty() const { return heap_.empty(); }

  void push(const Candidate& candidate) {
    const auto place = static_cast<std::uint32_t>(places_.size());
    places_.push_back({candidate.at, kNone});
    for (const std::uint32_t number : open_) {
      if (number == kNone || rows_[number].rank != candidate.rank) continue;
      Row& row = rows_[number];
      if (row.head == kNone || places_[row.tail].at >= candidate.at) continue;
      places_[row.tail].next = place;
      row.tail = place;
      return;
    }
    const auto number = static_cast<std::uint32_t>(rows_.size());
    rows_.push_back({candidate.rank, candidate.made, place, place});
    open_[next_open_++ % open_.size()] = number;
    heap_.push_back({candidate.rank, candidate.at, number});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  /// Removes and returns the next candidate; the queue must not be empty.
  Candidate pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Top& top = heap_.back();
    Row& row = rows_[top.row];
    const Candidate candidate{row.rank, top.at, row.made};
    row.head = places_[row.head].next;
    if (row.head == kNone) {
      heap_.pop_back();
    } else {
      top.at = places_[row.head].at;
      std::push_heap(heap_.begin(), heap_.end(), later);
    }
    return candidate;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Place {
    std::uint32_t at, next;
  };
  struct Row {
    std::uint32_t rank, made;
    std::uint32_t head, tail;  // indexes of places; head kNone: the row is no longer in the heap
  };
  struct Top {
    std::uint32_t rank, at, row;  // `at`: position of the first candidate in the row
  };
  static bool later(const Top& a, const Top& b) { return a.rank != b.rank ? a.rank > b.rank : a.at > b.at; }

  std::vector<Place> places_;
  std::vector<Row> rows_;
  std::vector<Top> heap_;
  std::array<std::uint32_t, 4> open_{};  // rows to which the next candidates may be appended
  std::size_t next_open_ = 0;
};

}  // namespace titan::recipe
