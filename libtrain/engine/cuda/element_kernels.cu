// Element-wise operations in one pass over memory, where LibTorch's take several. Each rounds where the single
// operations of device/kernels.cpp round, so that results have the same bits; norms add in another order
// (element_kernels.h). NVRTC compiles this file for the GPU of the process; tests compile it for the CPU. It includes
// nothing.
//
// A thread computes W adjacent elements, which one instruction loads. Names end in element type and W: swiglu_bf16_4.
// Norms call fmaf explicitly. Otherwise the compiler would choose where to fuse a product and an addition, and could
// give the kernels for W = 4 and W = 1 different bits.

typedef unsigned short bf16;  // the bits of a bf16 value

__device__ inline float wide(float x) { return x; }
__device__ inline float wide(bf16 x) { return __uint_as_float(static_cast<unsigned>(x) << 16); }

template <class T>
__device__ T rounded(float x);
template <>
__device__ inline float rounded<float>(float x) {
  return x;
}
/// Rounds to the nearest bf16, ties to even. Every NaN becomes 0x7fff.
template <>
__device__ inline bf16 rounded<bf16>(float x) {
  if (x != x) return 0x7fff;
  const unsigned bits = __float_as_uint(x);
  return static_cast<bf16>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

template <class T, int W>
struct alignas(W * sizeof(T)) Some {
  T at[W];
};
/// Elements [index * W, (index + 1) * W).
template <class T, int W>
__device__ Some<T, W> load(const T* from, long long index) {
  return reinterpret_cast<const Some<T, W>*>(from)[index];
}
template <class T, int W>
__device__ void store(T* to, long long index, const Some<T, W>& values) {
  reinterpret_cast<Some<T, W>*>(to)[index] = values;
}
__device__ inline long long thread_index() { return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; }

__device__ inline float silu(float x) { return x / (1.0f + expf(-x)); }

/// out = silu(gate) * up; `count` times W elements each.
template <class T, int W>
__device__ void swiglu(const T* gate, const T* up, T* out, long long count) {
  const long long index = thread_index();
  if (index >= count) return;
  const Some<T, W> g = load<T, W>(gate, index), u = load<T, W>(up, index);
  Some<T, W> result;
  for (int i = 0; i < W; ++i) result.at[i] = rounded<T>(wide(rounded<T>(silu(wide(g.at[i])))) * wide(u.at[i]));
  store<T, W>(out, index, result);
}

/// From `inner`, the gradient of silu(gate) * up: the gradients of gate and up, and the product itself.
template <class T, int W>
__device__ void swiglu_gradients(const T* gate, const T* up, const T* inner, T* of_gate, T* of_up, T* product,
                                 long long count) {
  const long long index = thread_index();
  if (index >= count) return;
  const Some<T, W> g = load<T, W>(gate, index), u = load<T, W>(up, index), d = load<T, W>(inner, index);
  Some<T, W> to_gate, to_up, to_product;
  for (int i = 0; i < W; ++i) {
    const float x = wide(g.at[i]);
    const float of_silu = wide(rounded<T>(wide(d.at[i]) * wide(u.at[i])));
    const float sigmoid = 1.0f / (1.0f + expf(-x));
    to_gate.at[i] = rounded<T>(of_silu * sigmoid * (1.0f + x * (1.0f - sigmoid)));
    const float active = wide(rounded<T>(silu(x)));
    to_product.at[i] = rounded<T>(active * wide(u.at[i]));
    to_up.at[i] = rounded<T>(active * wide(d.at[i]));
  }
  store<T, W>(of_gate, index, to_gate);
  store<T, W>(of_up, index, to_up);
  store<T, W>(product, index, to_product);
}

/// RoPE: rotates each pair of adjacent elements by its angle in `rotations` (cosine and sine per pair of a head); by
/// the opposite angle if `sign` is -1. x has the given strides of rows, tokens and heads; `out` is contiguous. A head
/// has `pieces` times W elements.
template <class T, int W>
__device__ void rope(const T* x, const float* rotations, T* out, long long count, int pieces, int heads, int tokens,
                     long long row_stride, long long token_stride, long long head_stride, int each_row, float sign) {
  const long long index = thread_index();
  if (index >= count) return;
  const int piece = static_cast<int>(index % pieces);
  const long long of_head = index / pieces;
  const int head = static_cast<int>(of_head % heads);
  const long long place = of_head / heads;  // row and token
  const long long row = place / tokens, token = place % tokens;
  const Some<T, W> from = load<T, W>(x + row * row_stride + token * token_stride + head * head_stride, piece);
  const Some<float, W> by = load<float, W>(rotations, (each_row != 0 ? place : token) * pieces + piece);
  Some<T, W> result;
  for (int i = 0; i < W; i += 2) {
    const float a = wide(from.at[i]), b = wide(from.at[i + 1]), c = by.at[i], d = sign * by.at[i + 1];
    result.at[i] = rounded<T>(a * c - b * d);
    result.at[i + 1] = rounded<T>(a * d + b * c);
  }
  store<T, W>(out, index, result);
}

/// The gradients of logits from log-probabilities, in rows of `pieces` times W elements. `scale` is the gradient of a
/// row's loss. A row with a negative target has gradient 0. A block computes a part of a row.
template <class T, int W>
__device__ void logit_gradients(const float* log_probabilities, const long long* targets, T* out, int pieces,
                                float scale) {
  const int piece = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x);
  if (piece >= pieces) return;
  const long long row = blockIdx.x, target = targets[row];
  const float of_target = target < 0 ? 0.0f : -scale;
  const Some<float, W> logs = load<float, W>(log_probabilities, row * pieces + piece);
  Some<T, W> result;
  for (int i = 0; i < W; ++i) {
    const float of_log = static_cast<long long>(piece) * W + i == target ? of_target : 0.0f;
    result.at[i] = rounded<T>(of_log - expf(logs.at[i]) * of_target);
  }
  store<T, W>(out, row * pieces + piece, result);
}

/// Adds rows of equal length as a tree of pairs.
template <class T>
struct Rows {
  const T* at[8];
};
template <class T, int W, int N>
__device__ void add_rows(Rows<T> rows, float* out, long long count) {
  const long long index = thread_index();
  if (index >= count) return;
  Some<T, W> given[N];
  for (int row = 0; row < N; ++row) given[row] = load<T, W>(rows.at[row], index);
  Some<float, W> result;
  for (int i = 0; i < W; ++i) {
    float sums[N];
    for (int row = 0; row < N; ++row) sums[row] = wide(given[row].at[i]);
    for (int step = 1; step < N; step *= 2)
      for (int row = 0; row < N; row += 2 * step) sums[row] += sums[row + step];
    result.at[i] = sums[0];
  }
  store<float, W>(out, index, result);
}

#ifndef TITAN_EACH_THREAD  // tests define an each_thread() that runs the threads of a block one after the other
/// Runs `work` in each thread of a block up to the next barrier.
template <class Work>
__device__ void each_thread(Work work) {
  work();
  __syncthreads();
}
#endif

constexpr int kFour = 4;  // adjacent elements that a thread adds, for any W, so that the order does not depend on W
constexpr int kParts = 16;

/// Shared memory for a sum over a block of at most 256 threads: the sum of each thread, then kParts sums of those.
template <class S>
struct BlockSum {
  S of_threads[256], of_parts[kParts];
};
/// Adds of_threads to of_parts, in an order that depends only on the number of threads.
template <class S>
__device__ void add_parts(BlockSum<S>& sums) {
  each_thread([&] {
    if (threadIdx.x >= kParts) return;
    S part = 0;
    for (unsigned i = threadIdx.x; i < blockDim.x; i += kParts) part += sums.of_threads[i];
    sums.of_parts[threadIdx.x] = part;
  });
}
template <class S>
__device__ S total(const BlockSum<S>& sums) {
  S all = 0;
  for (int i = 0; i < kParts; ++i) all += sums.of_parts[i];
  return all;
}

/// Elements [at, at + 4) of a row of `length`. With W = 1, elements beyond the row's end are 0.
template <class T, int W>
__device__ Some<T, kFour> load_four(const T* row, int at, int length) {
  if constexpr (W == kFour) {
    return load<T, kFour>(row, at / kFour);
  } else {
    Some<T, kFour> values{};
    for (int i = 0; i < kFour && at + i < length; ++i) values.at[i] = row[at + i];
    return values;
  }
}
template <class T, int W>
__device__ void store_four(T* row, int at, int length, const Some<T, kFour>& values) {
  if constexpr (W == kFour) {
    store<T, kFour>(row, at / kFour, values);
  } else {
    for (int i = 0; i < kFour && at + i < length; ++i) row[at + i] = values.at[i];
  }
}
/// Calls use(at) for the first index of each group of four elements that this thread computes in a row.
template <class Use>
__device__ void each_four(int length, Use use) {
  for (int at = kFour * static_cast<int>(threadIdx.x); at < length; at += kFour * static_cast<int>(blockDim.x)) use(at);
}

/// out = x / sqrt(mean(x^2) + eps) * weight. If `other` is given, first sum = x + other, then the norm of `sum`. A
/// block computes a row of `length`.
template <class T, int W>
__device__ void norm(const T* x, const T* other, const T* weight, T* sum, T* out, float* scale, int length, float eps) {
  __shared__ BlockSum<float> squares;
  const long long begin = static_cast<long long>(blockIdx.x) * length;
  each_thread([&] {
    float found = 0;
    each_four(length, [&](int at) {
      Some<T, kFour> values = load_four<T, W>(x + begin, at, length);
      if (other != nullptr) {
        const Some<T, kFour> more = load_four<T, W>(other + begin, at, length);
        for (int i = 0; i < kFour; ++i) values.at[i] = rounded<T>(wide(values.at[i]) + wide(more.at[i]));
        store_four<T, W>(sum + begin, at, length, values);
      }
      for (int i = 0; i < kFour; ++i) found = fmaf(wide(values.at[i]), wide(values.at[i]), found);
    });
    squares.of_threads[threadIdx.x] = found;
  });
  add_parts(squares);
  const T* const from = (other == nullptr ? x : sum) + begin;
  each_thread([&] {
    const float by = 1.0f / sqrtf(total(squares) / static_cast<float>(length) + eps);
    if (threadIdx.x == 0) scale[blockIdx.x] = by;
    each_four(length, [&](int at) {
      const Some<T, kFour> values = load_four<T, W>(from, at, length), w = load_four<T, W>(weight, at, length);
      Some<T, kFour> result;
      for (int i = 0; i < kFour; ++i) result.at[i] = rounded<T>(wide(values.at[i]) * by * wide(w.at[i]));
      store_four<T, W>(out + begin, at, length, result);
    });
  });
}

/// The gradient of x from `grad`, the gradient of its norm, plus `along` (a gradient of x from another path) if given.
template <class T, int W>
__device__ void norm_gradients(const T* grad, const T* along, const T* x, const T* weight, const float* scale, T* out,
                               int length) {
  __shared__ BlockSum<float> inner;
  const long long begin = static_cast<long long>(blockIdx.x) * length;
  each_thread([&] {
    float found = 0;
    each_four(length, [&](int at) {
      const Some<T, kFour> g = load_four<T, W>(grad + begin, at, length), w = load_four<T, W>(weight, at, length),
                           values = load_four<T, W>(x + begin, at, length);
      for (int i = 0; i < kFour; ++i) found = fmaf(wide(g.at[i]) * wide(w.at[i]), wide(values.at[i]), found);
    });
    inner.of_threads[threadIdx.x] = found;
  });
  add_parts(inner);
  each_thread([&] {
    const float by = scale[blockIdx.x];
    const float of_mean = -(total(inner) / static_cast<float>(length) * by * by * by);
    each_four(length, [&](int at) {
      const Some<T, kFour> g = load_four<T, W>(grad + begin, at, length), w = load_four<T, W>(weight, at, length),
                           values = load_four<T, W>(x + begin, at, length);
      Some<T, kFour> result;
      for (int i = 0; i < kFour; ++i)
        result.at[i] = rounded<T>(fmaf(wide(values.at[i]), of_mean, wide(g.at[i]) * wide(w.at[i]) * by));
      if (along != nullptr) {
        const Some<T, kFour> more = load_four<T, W>(along + begin, at, length);
        for (int i = 0; i < kFour; ++i) result.at[i] = rounded<T>(wide(result.at[i]) + wide(more.at[i]));
      }
      store_four<T, W>(out + begin, at, length, result);
    });
  });
}

/// Runs of adjacent leaves. Run i has counts[i] values in leaves of lengths[i]; its last leaf may be shorter. Block
/// firsts[i] computes its first leaf.
constexpr int kRuns = 64;
struct LeafRuns {
  const float* values[kRuns];
  long long counts[kRuns];
  int lengths[kRuns], firsts[kRuns];
};
/// Sets `sums` to the sums of squares of the leaves of `runs` runs, in fp64. A block computes one leaf, in an order
/// that depends only on the leaf's length. The square of an fp32 value is exact in fp64.
__device__ inline void add_squares(const LeafRuns& of, int runs, double* sums) {
  __shared__ BlockSum<double> squares;
  const int block = static_cast<int>(blockIdx.x);
  int run = 0;
  while (run + 1 < runs && of.firsts[run + 1] <= block) ++run;
  const int length = of.lengths[run];
  const long long begin = static_cast<long long>(block - of.firsts[run]) * length, rest = of.counts[run] - begin;
  const int here = rest < length ? static_cast<int>(rest) : length;
  const float* const values = of.values[run] + begin;
  const bool together = here % kFour == 0 && reinterpret_cast<unsigned long long>(values) % sizeof(Some<float, 4>) == 0;
  each_thread([&] {
    double found = 0;
    each_four(here, [&](int at) {
      const Some<float, kFour> some =
          together ? load_four<float, 4>(values, at, here) : load_four<float, 1>(values, at, here);
      for (int i = 0; i < kFour; ++i) found += static_cast<double>(some.at[i]) * static_cast<double>(some.at[i]);
    });
    squares.of_threads[threadIdx.x] = found;
  });
  add_parts(squares);
  each_thread([&] {
    if (threadIdx.x == 0) sums[block] = total(squares);
  });
}

#define TITAN_ADD_ROWS(T, W, end, N)                                                           \
  extern "C" __global__ void add_##N##_rows_##end(Rows<T> rows, float* out, long long count) { \
    add_rows<T, W, N>(rows, out, count);                                                       \
  }
#define TITAN_ANY_WIDTH(T, W, end)                                                                                    \
  extern "C" __global__ void swiglu_##end(const T* gate, const T* up, T* out, long long count) {                      \
    swiglu<T, W>(gate, up, out, count);                                                                               \
  }                                                                                                                   \
  extern "C" __global__ void swiglu_gradients_##end(const T* gate, const T* up, const T* inner, T* of_gate, T* of_up, \
                                                    T* product, long long count) {                                    \
    swiglu_gradients<T, W>(gate, up, inner, of_gate, of_up, product, count);                                          \
  }                                                                                                                   \
  extern "C" __global__ void logit_gradients_##end(const float* log_probabilities, const long long* targets, T* out,  \
                                                   int pieces, float scale) {                                         \
    logit_gradients<T, W>(log_probabilities, targets, out, pieces, scale);                                            \
  }                                                                                                                   \
  extern "C" __global__ void norm_##end(const T* x, const T* other, const T* weight, T* sum, T* out, float* scale,    \
                                        int length, float eps) {                                                      \
    norm<T, W>(x, other, weight, sum, out, scale, length, eps);                                                       \
  }                                                                                                                   \
  extern "C" __global__ void norm_gradients_##end(const T* grad, const T* along, const T* x, const T* weight,         \
                                                  const float* scale, T* out, int length) {                           \
    norm_gradients<T, W>(grad, along, x, weight, scale, out, length);                                                 \
  }                                                                                                                   \
  TITAN_ADD_ROWS(T, W, end, 2)                                                                                        \
  TITAN_ADD_ROWS(T, W, end, 4)                                                                                        \
  TITAN_ADD_ROWS(T, W, end, 8)
#define TITAN_PAIRS(T, W, end)                                                                                   \
  extern "C" __global__ void rope_##end(const T* x, const float* rotations, T* out, long long count, int pieces, \
                                        int heads, int tokens, long long row_stride, long long token_stride,     \
                                        long long head_stride, int each_row, float sign) {                       \
    rope<T, W>(x, rotations, out, count, pieces, heads, tokens, row_stride, token_stride, head_stride, each_row, \
               sign);                                                                                            \
  }

TITAN_ANY_WIDTH(bf16, 4, bf16_4)
TITAN_ANY_WIDTH(bf16, 1, bf16_1)
TITAN_ANY_WIDTH(float, 4, float_4)
TITAN_ANY_WIDTH(float, 1, float_1)
TITAN_PAIRS(bf16, 4, bf16_4)
TITAN_PAIRS(bf16, 2, bf16_2)
TITAN_PAIRS(float, 4, float_4)
TITAN_PAIRS(float, 2, float_2)
extern "C" __global__ void leaf_squares(LeafRuns of, int runs, double* sums) { add_squares(of, runs, sums); }
