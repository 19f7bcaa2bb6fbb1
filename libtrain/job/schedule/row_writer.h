#pragma once
// Writes one rank's row of a schedule, counting the micro-batches of each of its stages. Pure.
#include <deque>
#include <vector>

#include "libtrain/job/schedule/schedule.h"

namespace titan::train {

class RowWriter {
 public:
  RowWriter(const recipe::PipelineShape& shape, recipe::Placement placement, std::uint32_t rank);

  /// The next micro-batch of the rank's `chunk`-th stage.
  void forward(std::uint32_t chunk);
  void backward(std::uint32_t chunk);        ///< whole
  void backward_input(std::uint32_t chunk);  ///< its weights wait for weight()
  /// The weights that wait longest, of any stage or of one; nothing where none wait.
  void weight();
  void weight(std::uint32_t chunk);

  std::uint32_t forwards(std::uint32_t chunk) const { return forwards_[chunk]; }
  std::uint32_t backwards(std::uint32_t chunk) const { return backwards_[chunk]; }
  bool waits() const { return !waiting_.empty(); }

  std::vector<Action> take() { return std::move(row_); }

 private:
  struct Waiting {
    std::uint32_t chunk, micro_batch;
  };
  void add(ActionKind kind, std::uint32_t chunk, std::uint32_t micro_batch);
  void weight(std::deque<Waiting>::iterator waiting);

  std::vector<std::uint32_t> stages_;  ///< of the rank, by chunk
  std::vector<std::uint32_t> forwards_, backwards_;
  std::deque<Waiting> waiting_;
  std::vector<Action> row_;
};

/// One row for each rank: `write(writer, rank)`.
template <typename Write>
ScheduleTable write_rows(const recipe::PipelineShape& shape, recipe::Placement placement, const Write& write) {
  ScheduleTable table;
  for (std::uint32_t rank = 0; rank < shape.ranks; ++rank) {
    RowWriter writer(shape, placement, rank);
    write(writer, rank);
    table.push_back(writer.take());
  }
  return table;
}

}  // namespace titan::train
