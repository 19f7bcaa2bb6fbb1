#pragma once
// The heap of a process that reads a manifest and ends.

namespace titan::cli {

/// Call first in main(). A manifest of 10,000 tensors takes 5 MB in small pieces: on pages of 4 kB, and in growths of
/// 128 kB, the page faults are a third of the time of `inspect`. So the heap grows in large steps, its first ones on
/// huge pages where they are.
void prepare_heap();

}  // namespace titan::cli
