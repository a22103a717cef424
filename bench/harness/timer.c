// Times products and other work behind C function pointers, and the machine underneath them. Compiled by native.py.
//
// timer_run() makes one call many times, the right operand going round a ring of copies: one copy leaves it in the
// innermost cache that holds it, many copies bring it from L3 or from memory each time. What stands between the clock
// and the product is an indirect call and the arguments, some 2 ns and the same for every competitor.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef struct timer_call timer_call;
struct timer_call {
  void (*run)(const timer_call*, const void* a, const void* b, void* out);
  void* function;
  const void* desc;  // sb_dot's, or run_fixed's table
  int64_t batch, m, n, k;
  int64_t lda, ldb, ldout;                     // row-major leading dimensions
  int64_t batch_a, batch_b, batch_out;         // elements from one product of a batch to the next
  int64_t transpose_a, transpose_b, itemsize;  // transpose_b: CblasPacked for a packed operand
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

// Seconds for `times` calls; *next is the ring's position, kept between calls.
double timer_run(const timer_call* c, const void* a, void* const* b, int64_t copies, int64_t* next, void* out,
                 int64_t times) {
  int64_t at = *next;
  double start = now();
  for (int64_t i = 0; i < times; ++i) {
    c->run(c, a, b[at], out);
    at = at + 1 == copies ? 0 : at + 1;
  }
  double seconds = now() - start;
  *next = at;
  return seconds;
}

// ---- samebits: sb_dot and, with a packed operand in place of b, sb_dot_packed ----------------------------------------

typedef int32_t sb_function(const void* desc, const void* a, const void* b, void* out, const void* executor);

void run_sb(const timer_call* c, const void* a, const void* b, void* out) {
  ((sb_function*)c->function)(c->desc, a, b, out, NULL);
}

// Any other function of samebits, with the same arguments in each call: desc is a table of them. A function that takes
// fewer than six leaves the others alone, which both calling conventions (x86-64's and AArch64's) allow.
typedef int32_t fixed_function(const void*, const void*, const void*, const void*, const void*, const void*);

void run_fixed(const timer_call* c, const void* a, const void* b, void* out) {
  const void* const* p = (const void* const*)c->desc;
  (void)a, (void)b, (void)out;
  ((fixed_function*)c->function)(p[0], p[1], p[2], p[3], p[4], p[5]);
}

// ---- CBLAS with 64-bit integers ---------------------------------------------------------------------------------------

enum { kRowMajor = 101, kPlain = 111, kTrans = 112 };

#define DEFINE_BLAS(prefix, T)                                                                                        \
  typedef void prefix##gemm(int, int, int, int64_t, int64_t, int64_t, T, const void*, int64_t, const void*, int64_t, \
                            T, void*, int64_t);                                                                       \
  void run_##prefix##gemm(const timer_call* c, const void* a, const void* b, void* out) {                             \
    ((prefix##gemm*)c->function)(kRowMajor, c->transpose_a ? kTrans : kPlain, c->transpose_b ? kTrans : kPlain, c->m, c->n, \
                                 c->k, 1, a, c->lda, b, c->ldb, 0, out, c->ldout);                                    \
  }                                                                                                                   \
  /* A batch by one call a product, for a library that has no batched call. */                                        \
  void run_##prefix##gemm_loop(const timer_call* c, const void* a, const void* b, void* out) {                        \
    for (int64_t i = 0; i < c->batch; ++i)                                                                            \
      run_##prefix##gemm(c, (const T*)a + i * c->batch_a, (const T*)b + i * c->batch_b, (T*)out + i * c->batch_out);  \
  }                                                                                                                   \
  /* out[n] = a[k] b[k, n]: m is 1. */                                                                                \
  typedef void prefix##gemv(int, int, int64_t, int64_t, T, const void*, int64_t, const void*, int64_t, T, void*,      \
                            int64_t);                                                                                 \
  void run_##prefix##gemv(const timer_call* c, const void* a, const void* b, void* out) {                             \
    int64_t rows = c->transpose_b ? c->n : c->k, columns = c->transpose_b ? c->k : c->n;                              \
    ((prefix##gemv*)c->function)(kRowMajor, c->transpose_b ? kPlain : kTrans, rows, columns, 1, b, c->ldb, a, 1, 0, out, \
                                 1);                                                                                  \
  }                                                                                                                   \
  typedef void prefix##gemm_batch(int, int, int, int64_t, int64_t, int64_t, T, const void*, int64_t, int64_t,         \
                                  const void*, int64_t, int64_t, T, void*, int64_t, int64_t, int64_t);                \
  void run_##prefix##gemm_batch(const timer_call* c, const void* a, const void* b, void* out) {                       \
    ((prefix##gemm_batch*)c->function)(kRowMajor, c->transpose_a ? kTrans : kPlain, c->transpose_b ? kTrans : kPlain, c->m, \
                                       c->n, c->k, 1, a, c->lda, c->batch_a, b, c->ldb, c->batch_b, 0, out, c->ldout, \
                                       c->batch_out, c->batch);                                                       \
  }                                                                                                                   \
  /* MKL's product with an operand packed beforehand. */                                                              \
  typedef void prefix##gemm_compute(int, int, int, int64_t, int64_t, int64_t, const void*, int64_t, const void*,      \
                                    int64_t, T, void*, int64_t);                                                      \
  void run_##prefix##gemm_compute(const timer_call* c, const void* a, const void* b, void* out) {                     \
    enum { kPacked = 151 };                                                                                           \
    ((prefix##gemm_compute*)c->function)(kRowMajor, c->transpose_a ? kTrans : kPlain, kPacked, c->m, c->n, c->k, a,      \
                                         c->lda, b, c->ldb, 0, out, c->ldout);                                        \
  }

DEFINE_BLAS(s, float)
DEFINE_BLAS(d, double)

// ---- The machine: what no product can exceed ----------------------------------------------------------------------------

// Multiply-adds a second on one core, 12 chains in flight, each of `width` bytes.
#define DEFINE_PEAK(name, T, width, isa)                                                                  \
  __attribute__((target(isa))) double name(int64_t times) {                                               \
    typedef T vector __attribute__((vector_size(width)));                                                 \
    vector x[12], scale = {0}, step = {0};                                                                \
    _Pragma("GCC unroll 12") for (int j = 0; j < 12; ++j) x[j] = scale;                                   \
    __asm__ volatile("" : "+x"(scale), "+x"(step));                                                       \
    double start = now();                                                                                 \
    for (int64_t i = 0; i < times; ++i) {                                                                 \
      _Pragma("GCC unroll 12") for (int j = 0; j < 12; ++j) x[j] = x[j] * scale + step;                   \
      _Pragma("GCC unroll 12") for (int j = 0; j < 12; ++j) __asm__ volatile("" : "+x"(x[j]));            \
    }                                                                                                     \
    return times * 12.0 * (width / sizeof(T)) / (now() - start);                                          \
  }

// Bytes a second read front to back, in eight streams of whole vectors; bytes is a multiple of 1024.
#define DEFINE_READ(name, width, isa)                                                                     \
  __attribute__((target(isa))) double name(const char* data, int64_t bytes, int64_t times) {              \
    typedef int32_t vector __attribute__((vector_size(width)));                                           \
    vector sum[8] = {{0}};                                                                                \
    double start = now();                                                                                 \
    for (int64_t i = 0; i < times; ++i)                                                                   \
      for (const char* p = data; p < data + bytes; p += 8 * width) {                                      \
        _Pragma("GCC unroll 8") for (int j = 0; j < 8; ++j) sum[j] += *(const vector*)(p + j * width);    \
        _Pragma("GCC unroll 8") for (int j = 0; j < 8; ++j) __asm__ volatile("" : "+x"(sum[j]));          \
      }                                                                                                   \
    return (double)times * bytes / (now() - start);                                                       \
  }

#if defined(__x86_64__)
DEFINE_PEAK(peak_f32_avx2, float, 32, "avx2,fma")
DEFINE_PEAK(peak_f64_avx2, double, 32, "avx2,fma")
DEFINE_PEAK(peak_f32_avx512, float, 64, "avx512f,prefer-vector-width=512")
DEFINE_PEAK(peak_f64_avx512, double, 64, "avx512f,prefer-vector-width=512")
DEFINE_READ(read_avx2, 32, "avx2")
DEFINE_READ(read_avx512, 64, "avx512f,prefer-vector-width=512")

#include <immintrin.h>

// Bytes a second through 16 x 16 (8 x 8) transposes of 32-bit elements kept in registers: 64 (24) shuffles each,
// what a product with weights [n, k] must pay for every 1024 (256) bytes of them. Data stay in registers.
__attribute__((target("avx512f"))) double transpose_avx512(int64_t times) {
  __m512i x[16];
  _Pragma("GCC unroll 16") for (int j = 0; j < 16; ++j) x[j] = _mm512_set1_epi32(j);
  double start = now();
  for (int64_t i = 0; i < times; ++i) {
#define SHUFFLE(op, distance)                                                      \
  _Pragma("GCC unroll 16") for (int j = 0; j < 16; ++j) if (!(j & (distance))) {   \
    __m512i p = x[j], q = x[j + (distance)];                                       \
    x[j] = op##lo(p, q), x[j + (distance)] = op##hi(p, q);                         \
    __asm__ volatile("" : "+v"(x[j]), "+v"(x[j + (distance)]));                    \
  }
#define pairs_lo(p, q) _mm512_unpacklo_epi32(p, q)
#define pairs_hi(p, q) _mm512_unpackhi_epi32(p, q)
#define quads_lo(p, q) _mm512_unpacklo_epi64(p, q)
#define quads_hi(p, q) _mm512_unpackhi_epi64(p, q)
#define lanes_lo(p, q) _mm512_shuffle_i32x4(p, q, 0x88)
#define lanes_hi(p, q) _mm512_shuffle_i32x4(p, q, 0xdd)
    SHUFFLE(pairs_, 1)
    SHUFFLE(quads_, 2)
    SHUFFLE(lanes_, 4)
    SHUFFLE(lanes_, 8)
  }
  return times * 1024.0 / (now() - start);
}
#undef SHUFFLE

__attribute__((target("avx2"))) double transpose_avx2(int64_t times) {
  __m256i x[8];
  _Pragma("GCC unroll 8") for (int j = 0; j < 8; ++j) x[j] = _mm256_set1_epi32(j);
  double start = now();
  for (int64_t i = 0; i < times; ++i) {
#define SHUFFLE(lo, hi, distance)                                                  \
  _Pragma("GCC unroll 8") for (int j = 0; j < 8; ++j) if (!(j & (distance))) {     \
    __m256i p = x[j], q = x[j + (distance)];                                       \
    x[j] = lo, x[j + (distance)] = hi;                                             \
    __asm__ volatile("" : "+x"(x[j]), "+x"(x[j + (distance)]));                    \
  }
    SHUFFLE(_mm256_unpacklo_epi32(p, q), _mm256_unpackhi_epi32(p, q), 1)
    SHUFFLE(_mm256_unpacklo_epi64(p, q), _mm256_unpackhi_epi64(p, q), 2)
    SHUFFLE(_mm256_permute2x128_si256(p, q, 0x20), _mm256_permute2x128_si256(p, q, 0x31), 4)
  }
  return times * 256.0 / (now() - start);
}
#endif
