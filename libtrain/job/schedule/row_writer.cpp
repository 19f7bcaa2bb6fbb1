#include "libtrain/job/schedule/row_writer.h"

#include <algorithm>

namespace titan::train {

RowWriter::RowWriter(const recipe::PipelineShape& shape, recipe::Placement placement, std::uint32_t rank)
    : forwards_(shape.chunks), backwards_(shape.chunks) {
  for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk)
    stages_.push_back(recipe::stage_of_chunk(placement, shape.ranks, rank, chunk));
}

void RowWriter::add(ActionKind kind, std::uint32_t chunk, std::uint32_t micro_batch) {
  row_.push_back({kind, stages_[chunk], micro_batch});
}

void RowWriter::forward(std::uint32_t chunk) { add(ActionKind::kForward, chunk, forwards_[chunk]++); }

void RowWriter::backward(std::uint32_t chunk) { add(ActionKind::kBackward, chunk, backwards_[chunk]++); }

void RowWriter::backward_input(std::uint32_t chunk) {
  waiting_.push_back({chunk, backwards_[chunk]});
  add(ActionKind::kBackwardInput, chunk, backwards_[chunk]++);
}

void RowWriter::weight() { weight(waiting_.begin()); }

void RowWriter::weight(std::uint32_t chunk) {
  weight(std::ranges::find_if(waiting_, [&](const Waiting& w) { return w.chunk == chunk; }));
}

void RowWriter::weight(std::deque<Waiting>::iterator waiting) {
  if (waiting == waiting_.end()) return;
  add(ActionKind::kBackwardWeight, waiting->chunk, waiting->micro_batch);
  waiting_.erase(waiting);
}

}  // namespace titan::train
