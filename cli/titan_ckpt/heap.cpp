#include "cli/titan_ckpt/heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace titan::cli {

void prepare_heap() {
#if defined(__GLIBC__)
  constexpr int kStep = 8 << 20, kMapped = 4 << 20;
  constexpr std::uintptr_t kHugePage = 2 << 20;
  if (mallopt(M_MMAP_THRESHOLD, kMapped) == 0 || mallopt(M_TOP_PAD, kStep) == 0) return;
  // The first request that does not fit makes the heap grow by itself and the step; then its end is known.
  const auto before = reinterpret_cast<std::uintptr_t>(::sbrk(0));
  void* volatile grown = std::malloc(kMapped / 4);  // volatile: the compiler may drop a request that nobody uses
  std::free(grown);
  const auto end = reinterpret_cast<std::uintptr_t>(::sbrk(0)),
             begin = (before + kHugePage - 1) / kHugePage * kHugePage;
  if (begin < end)
    (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a kernel without them says no
#endif
}

}  // namespace titan::cli
