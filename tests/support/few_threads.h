#pragma once
// Limits the number of threads that can still be started.
#include "ckpt/base/helpers.h"

namespace titan::ckpt::testing {

struct FewThreads {
  explicit FewThreads(int more) { Helpers::allow_for_test(more); }
  ~FewThreads() { Helpers::allow_for_test(-1); }
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;
};

}  // namespace titan::ckpt::testing
