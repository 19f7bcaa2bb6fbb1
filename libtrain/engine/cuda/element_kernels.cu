// Operations on single elements in one pass over memory, where LibTorch's take several. Each rounds where the single
// operations of device/kernels.cpp round, so that its results are theirs. NVRTC compiles this for the GPU that is there
// (element_kernels.h); tests compile it for the CPU. It includes nothing.
//
// A thread computes W neighbours, which move together. Names end in the type of the elements and W: swiglu_bf16_4.

typedef unsigned short bf16;  // its bits

__device__ inline float wide(float x) { return x; }
__device__ inline float wide(bf16 x) { return __uint_as_float(static_cast<unsigned>(x) << 16); }

template <class T>
__device__ T rounded(float x);
template <>
__device__ inline float rounded<float>(float x) {
  return x;
}
/// To the nearest, ties to even; one NaN.
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
/// The `index`-th W elements.
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

/// out = silu(gate) * up, of `count` times W elements.
template <class T, int W>
__device__ void swiglu(const T* gate, const T* up, T* out, long long count) {
  const long long index = thread_index();
  if (index >= count) return;
  const Some<T, W> g = load<T, W>(gate, index), u = load<T, W>(up, index);
  Some<T, W> result;
  for (int i = 0; i < W; ++i) result.at[i] = rounded<T>(wide(rounded<T>(silu(wide(g.at[i])))) * wide(u.at[i]));
  store<T, W>(out, index, result);
}

/// From `inner`, the gradient of silu(gate) * up: those of gate and up, and the product itself.
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

/// Turns pairs of neighbours by the angles of `turns` (cosine and sine of each pair of a head), back where `sign` is
/// -1. x lies as the strides of its rows, tokens and heads say, `out` without gaps; a head has `pieces` times W
/// elements.
template <class T, int W>
__device__ void turn(const T* x, const float* turns, T* out, long long count, int pieces, int heads, int tokens,
                     long long row_stride, long long token_stride, long long head_stride, int each_row, float sign) {
  const long long index = thread_index();
  if (index >= count) return;
  const int piece = static_cast<int>(index % pieces);
  const long long of_head = index / pieces;
  const int head = static_cast<int>(of_head % heads);
  const long long place = of_head / heads;  // row and token
  const long long row = place / tokens, token = place % tokens;
  const Some<T, W> from = load<T, W>(x + row * row_stride + token * token_stride + head * head_stride, piece);
  const Some<float, W> by = load<float, W>(turns, (each_row != 0 ? place : token) * pieces + piece);
  Some<T, W> result;
  for (int i = 0; i < W; i += 2) {
    const float a = wide(from.at[i]), b = wide(from.at[i + 1]), c = by.at[i], d = sign * by.at[i + 1];
    result.at[i] = rounded<T>(a * c - b * d);
    result.at[i + 1] = rounded<T>(a * d + b * c);
  }
  store<T, W>(out, index, result);
}

/// The gradients of logits, of rows of `pieces` times W, from the logarithms of their probabilities; the gradient of a
/// row's loss is `scale`, and 0 without a target. A block is a part of a row.
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

/// Rows of one length, added as a tree of pairs.
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
  TITAN_ADD_ROWS(T, W, end, 2)                                                                                        \
  TITAN_ADD_ROWS(T, W, end, 4)                                                                                        \
  TITAN_ADD_ROWS(T, W, end, 8)
#define TITAN_PAIRS(T, W, end)                                                                                      \
  extern "C" __global__ void turn_##end(const T* x, const float* turns, T* out, long long count, int pieces,        \
                                        int heads, int tokens, long long row_stride, long long token_stride,        \
                                        long long head_stride, int each_row, float sign) {                          \
    turn<T, W>(x, turns, out, count, pieces, heads, tokens, row_stride, token_stride, head_stride, each_row, sign); \
  }

TITAN_ANY_WIDTH(bf16, 4, bf16_4)
TITAN_ANY_WIDTH(bf16, 1, bf16_1)
TITAN_ANY_WIDTH(float, 4, float_4)
TITAN_ANY_WIDTH(float, 1, float_1)
TITAN_PAIRS(bf16, 4, bf16_4)
TITAN_PAIRS(bf16, 2, bf16_2)
TITAN_PAIRS(float, 4, float_4)
TITAN_PAIRS(float, 2, float_2)
