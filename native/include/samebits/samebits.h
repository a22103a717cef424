// The C ABI of libsamebits: operations under the order contract (spec/order.md).
//
// Every descriptor is a struct of int64_t only, so that a program can carry it
// as words (see sb_program_new). Strides count elements, may be 0 or negative,
// and an operand may be read with any strides; nothing is copied to please a
// kernel. Functions return 0, or -1 with the reason in sb_error() (thread-local, of
// the last call that failed; those that return a pointer return NULL);
// a descriptor out of range is an error, never undefined behaviour. Pointers are to
// memory that has what the descriptor describes, and an output overlaps no input;
// an executor may be NULL: the library's own threads. No
// descriptor field, thread count or instruction set other than the
// mathematical content (op, dtype, logical shapes) can move a bit.
#ifndef SAMEBITS_SAMEBITS_H_
#define SAMEBITS_SAMEBITS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SB_API __attribute__((visibility("default")))
#define SB_MAX_RANK 8

typedef enum {
  SB_BOOL = 0,  // one byte, 0 or 1
  SB_I8,
  SB_I16,
  SB_I32,
  SB_I64,
  SB_U8,
  SB_U16,
  SB_U32,
  SB_U64,
  SB_F16,
  SB_BF16,
  SB_F32,
  SB_F64,
  SB_DTYPE_COUNT
} sb_dtype;

// How a host lends threads. submit(host, task, arg) arranges that task(arg) runs
// some time, perhaps never before the call returns: the calling thread works too
// and waits only for tasks that have started. threads counts the caller.
typedef struct {
  void* host;
  int32_t threads;
  void (*submit)(void* host, void (*task)(void*), void* arg);
} sb_executor;

SB_API int32_t sb_contract_version(void);
SB_API int32_t sb_chunk(void);
// The instruction set in use: "generic" | "avx2" | "avx512" | "neon"; NULL with sb_error()
// when SAMEBITS_ISA names one that is unknown or that this CPU lacks.
SB_API const char* sb_isa(void);
// A comma separated list of those that this CPU can run.
SB_API const char* sb_isas(void);
// Threads that a call without executor uses: SAMEBITS_THREADS, else the CPUs
// that this process may run on; 0 with sb_error() when the variable is not a positive integer.
SB_API int32_t sb_threads(void);
SB_API const char* sb_error(void);

// ---- dot (clauses DOT-*) -------------------------------------------------
// out[b,m,n] = sum over k of a[b,m,k] * b[b,k,n].
// dtype: SB_F32, SB_F64, SB_BF16 or SB_F16 of both inputs; out_dtype: the same,
// or SB_F32 for the two narrow ones (accumulation is in f32 / f64 in any case).
typedef struct {
  int64_t dtype, out_dtype;
  int64_t batch, m, n, k;
  int64_t a[3];    // strides of batch, m, k
  int64_t b[3];    // strides of batch, k, n
  int64_t out[3];  // strides of batch, m, n
} sb_dot_desc;
SB_API int32_t sb_dot(const sb_dot_desc*, const void* a, const void* b, void* out, const sb_executor*);

// ---- packed operands of a dot: weights that live long -----------------------------
// sb_pack lays b[batch,k,n] out once, in the order in which this CPU's tiles read it; sb_dot_packed
// multiplies with it. The bits are sb_dot's. A handle serves this process only (its layout is the instruction
// set's), any number of threads at once, and is freed (NULL too) after the last of them is done; b may be
// freed after sb_pack. format: what the handle stores. Quantised weights (blocks of small integers with
// scales) get numbers of their own here, a clause each that says which float32 an element stands for, and a
// function that takes their arrays and returns the same kind of handle; the product is that of these floats.
typedef enum {
  SB_PACK_VALUES = 0,  // the values themselves: bf16 as such (2 bytes), f16 as f32, f32, f64
  SB_PACK_FORMAT_COUNT
} sb_pack_format;
typedef struct {
  int64_t dtype, format;
  int64_t batch, k, n;
  int64_t b[3];  // strides of batch, k, n
} sb_pack_desc;
typedef struct sb_packed sb_packed;
SB_API sb_packed* sb_pack(const sb_pack_desc*, const void* b, const sb_executor*);  // NULL: sb_error()
SB_API void sb_packed_free(sb_packed*);
SB_API int64_t sb_packed_bytes(const sb_packed*);  // of memory that the handle holds
// As sb_dot, with the strides of b ignored. batch is the handle's, or any with a handle of batch 1.
SB_API int32_t sb_dot_packed(const sb_dot_desc*, const void* a, const sb_packed* b, void* out,
                             const sb_executor*);

// ---- partial sums of a dot that is split over workers (clauses SPLIT-*) -----
// A worker owns the terms [start, stop) of k; start, and stop where other terms follow, are
// multiples of sb_chunk(). It has one partial for each maximal aligned subtree of its chunks.
typedef struct {
  int64_t start, stop;  // its terms
} sb_partial;
// The partials of a worker, ascending. Returns how many there are (below 128), -1 on error; out may be NULL
// to ask first.
SB_API int32_t sb_dot_split(int64_t start, int64_t stop, sb_partial* out);
// Computes them. desc: the worker's own terms, k = stop - start of them, to which a and b point; out_dtype
// the accumulator's (SB_F64 of SB_F64, else SB_F32). Partial i lies at out + i * out_step elements, by desc's
// strides.
SB_API int32_t sb_dot_partials(const sb_dot_desc* desc, int64_t start, const void* a, const void* b,
                               void* out, int64_t out_step, const sb_executor*);
// Joins the partials of all workers, given in any order, to the dot of all k terms: out[i] of values[p][i].
typedef struct {
  int64_t dtype;      // of the values: SB_F32 or SB_F64
  int64_t out_dtype;  // the same, or SB_F16 / SB_BF16 of SB_F32: rounded once
  int64_t k;          // terms of the whole dot
  int64_t size;       // elements of each partial and of out, contiguous
} sb_join_desc;
SB_API int32_t sb_join_partials(const sb_join_desc*, int32_t count, const sb_partial*,
                                const void* const* values, void* out, const sb_executor*);

// ---- convolution (clauses CONV-*) ------------------------------------------
// out[b, g, o, p] = sum over kernel positions t (row-major) and channels c of group g (fastest) of
//   x[b, g, c, q / in_dilation] * w[g, o, c, t],   q = p * stride + t * kernel_dilation - pad,
// per spatial axis; a position outside the image, or in a hole (q no multiple of in_dilation), is no term.
// Only the first `rank` of each three spatial entries count. There is no upper padding: out_size says how far
// the window walks. pad may be negative (it crops). Dtypes as in sb_dot. A transposed convolution has its
// stride as in_dilation; a flipped kernel has negative strides; a depthwise one has in_channels = 1.
typedef struct {
  int64_t dtype, out_dtype;
  int64_t rank;                                      // spatial axes, 1 to 3
  int64_t batch, groups, in_channels, out_channels;  // the channels of one group
  int64_t in_size[3], kernel_size[3], out_size[3];
  int64_t stride[3], pad[3], in_dilation[3], kernel_dilation[3];
  int64_t x[6];    // strides of batch, group, in channel, spatial axes
  int64_t w[6];    // strides of group, out channel, in channel, spatial axes
  int64_t out[6];  // strides of batch, group, out channel, spatial axes
} sb_conv_desc;
SB_API int32_t sb_conv(const sb_conv_desc*, const void* x, const void* w, void* out, const sb_executor*);

// ---- attention (clauses ATT-*) -----------------------------------------------
// out[b, h, i] = sum over admitted keys j of softmax_j(q[b, h, i] . k[b, g, j] * scale + bias[b, h, i, j]) *
// v[b, g, j], g = h / (heads / kv_heads). A query admits the keys j with starts[b] <= j < lengths[b] (else 0,
// keys), j <= i + offset if causal, j > i + offset - window if window > 0, mask[b, h, i, j] true and the bias
// neither -inf nor its dtype's lowest value. With a table, key j of entry b is slot j % page_size of page
// table[b, j / page_size] of k and v, whose first stride is that of pages then. Inputs are an array of
// SB_ATTENTION_INPUTS pointers; from the mask on they are there if `inputs` has the bit 1 << input.
typedef enum {
  SB_ATTENTION_Q = 0,
  SB_ATTENTION_K,
  SB_ATTENTION_V,
  SB_ATTENTION_MASK,     // SB_BOOL
  SB_ATTENTION_BIAS,     // of bias_dtype: dtype, or SB_F32 with the narrow ones
  SB_ATTENTION_LENGTHS,  // int32 [batch], as the next two
  SB_ATTENTION_STARTS,
  SB_ATTENTION_OFFSETS,  // instead of `offset`
  SB_ATTENTION_TABLE,    // int32 [batch, ceil(keys / page_size)]
  SB_ATTENTION_INPUTS
} sb_attention_input;
typedef struct {
  int64_t dtype, out_dtype, bias_dtype;
  int64_t batch, heads, kv_heads, queries, keys, dim, v_dim;  // dim, v_dim: components of keys and of values
  int64_t inputs, causal, offset, window, page_size, pages;
  int64_t scale;                     // the bits of a double, which is rounded to f32 unless dtype is SB_F64
  int64_t q[4], k[4], v[4], out[4];  // strides of batch, head, position, component
  int64_t mask[4], bias[4];          // strides of batch, head, query, key
  int64_t table[2];                  // strides of batch, page
} sb_attention_desc;
SB_API int32_t sb_attention(const sb_attention_desc*, const void* const* in, void* out, const sb_executor*);
// The derivatives in q, k and v (not of a paged cache), for that of the result; forward.out says nothing.
typedef struct {
  sb_attention_desc forward;
  int64_t d_out[4], dq[4], dk[4], dv[4];
} sb_attention_grad_desc;
SB_API int32_t sb_attention_backward(const sb_attention_grad_desc*, const void* const* in, const void* d_out,
                                     void* dq, void* dk, void* dv, const sb_executor*);

// ---- reductions (clauses SUM-*, PROD-*, MAX-*, ARG-*, ACC-*) ---------------
typedef enum {
  SB_SUM = 0,
  SB_PROD,
  SB_MAX,
  SB_MIN,
  SB_ARGMAX,
  SB_ARGMIN,
  SB_ANY,
  SB_ALL,
  SB_ACCUMULATE,  // ordered accumulation: the binary counter over single rows
  SB_REDUCE_COUNT,
  SB_LOGADDEXP = 32  // of sb_cumulative alone: cumulative logsumexp
} sb_reduce_op;
// The reduced axes are flattened row-major in the order given. out is contiguous
// over the kept axes. out_dtype: dtype, but SB_I32 / SB_I64 for arg*, SB_BOOL for any / all.
typedef struct {
  int64_t op, dtype, out_dtype;
  int64_t kept_rank, kept_shape[SB_MAX_RANK], kept_stride[SB_MAX_RANK];
  int64_t red_rank, red_shape[SB_MAX_RANK], red_stride[SB_MAX_RANK];
} sb_reduce_desc;
SB_API int32_t sb_reduce(const sb_reduce_desc*, const void* in, void* out, const sb_executor*);

// ---- cumulative (clauses CUM-*) --------------------------------------------
// op: SB_SUM, SB_PROD, SB_MAX, SB_MIN or SB_LOGADDEXP (floats) along one axis; out has strides of its own.
typedef struct {
  int64_t op, dtype, reverse;
  int64_t rank, shape[SB_MAX_RANK], in_stride[SB_MAX_RANK], out_stride[SB_MAX_RANK];  // the other axes
  int64_t length, in_step, out_step;                                                  // the axis
} sb_cumulative_desc;
SB_API int32_t sb_cumulative(const sb_cumulative_desc*, const void* in, void* out, const sb_executor*);

// ---- windows (clauses WIN-*) -------------------------------------------------
// out[o] = the reduction over window positions t, row-major over all axes, of
//   in[q / base_dilation], q = o * step + t * window_dilation - low, on each axis;
// a position that meets no element is no term, but its index counts. low may be negative (it crops);
// out_shape says how far the windows go. op: SB_SUM, SB_PROD, SB_MAX, SB_MIN with out_dtype as in sb_reduce;
// SB_ARGMAX, SB_ARGMIN: the row-major index of the element in the operand's shape, -1 of none. float16,
// bfloat16, float32, float64.
typedef struct {
  int64_t op, dtype, out_dtype;
  int64_t rank, shape[SB_MAX_RANK], stride[SB_MAX_RANK];
  int64_t window[SB_MAX_RANK], step[SB_MAX_RANK], low[SB_MAX_RANK];
  int64_t base_dilation[SB_MAX_RANK], window_dilation[SB_MAX_RANK];
  int64_t out_shape[SB_MAX_RANK], out_stride[SB_MAX_RANK];
} sb_window_desc;
SB_API int32_t sb_window(const sb_window_desc*, const void* in, void* out, const sb_executor*);

// ---- top-k (clauses TOP-*, EXACT-3) --------------------------------------------
// The first k of each row's `length` elements in descending (largest = 1) or ascending order, and their
// indices; NaNs come first or last. values and indices are contiguous: the other axes, then k. All k =
// length: a stable sort. dtype: floats, int32, int64.
typedef struct {
  int64_t dtype, index_dtype /* SB_I32 or SB_I64 */, largest, k;
  int64_t rank, shape[SB_MAX_RANK], stride[SB_MAX_RANK];  // the other axes
  int64_t length, step;                                   // the axis
} sb_top_k_desc;
SB_API int32_t sb_top_k(const sb_top_k_desc*, const void* in, void* values, void* indices,
                        const sb_executor*);

// ---- scatter (clauses SCT-*) -------------------------------------------------
// Rows of `width` elements: out[0..length) starts as a copy of in; then for i = 0, 1, ... count - 1 in this
// order out[index[i]] = out[index[i]] op updates[i], where 0 <= index[i] < length (another index leaves out
// alone). op: SB_SUM, SB_PROD, SB_MAX, SB_MIN. All contiguous.
typedef struct {
  int64_t op, dtype, index_dtype /* SB_I32 or SB_I64 */;
  int64_t length, count, width;
} sb_scatter_desc;
SB_API int32_t sb_scatter(const sb_scatter_desc*, const void* in, const void* index, const void* updates,
                          void* out, const sb_executor*);

// ---- copy: data movement without arithmetic -----------------------------------
typedef struct {
  int64_t item_size;  // 1, 2, 4, 8 or 16 bytes
  int64_t rank, shape[SB_MAX_RANK], in_stride[SB_MAX_RANK], out_stride[SB_MAX_RANK];
} sb_copy_desc;
SB_API int32_t sb_copy(const sb_copy_desc*, const void* in, void* out, const sb_executor*);

// ---- norms of rows (clauses ROW-7, ROW-8) -------------------------------------
// Layer norm (centered) or RMS norm of rows of n contiguous numbers. g and b: n contiguous numbers each, or
// NULL. The bits are those of the composition; a program of maps and sums computes it for any other layout.
typedef struct {
  int64_t dtype, scale_dtype;  // of x and out; of g and b: the same, or SB_F32 with the narrow ones
  int64_t centered;            // 1: layer norm, 0: RMS norm
  int64_t eps;                 // the bits of a double
  int64_t rows, n;
  int64_t x_row, out_row;  // strides of rows
} sb_norm_desc;
SB_API int32_t sb_norm(const sb_norm_desc*, const void* x, const void* g, const void* b, void* out,
                       const sb_executor*);

// ---- map: a small elementwise program over one iteration space (clauses ELT-*, FUN-*) --
// Values are numbered: the inputs first, then one per instruction. Words:
//   rank, shape[rank],
//   n_in,    n_in    x { dtype, stride[rank] }
//   n_instr, n_instr x { op, dtype, a, b, c, imm }
//   n_out,   n_out   x { value, stride[rank] }       (dtype: the value's)
// op: a number of ops.def (sb_op_find); dtype: of the operands (of the result for CONST);
// unused operands are -1; imm: CONST: the value's bits, CONVERT: the result's dtype,
// INTEGER_POW: the exponent (of an integer 0 or more), REDUCE_PRECISION: 256 * exponent bits +
// mantissa bits. Outputs of one map never overlap its inputs unless they are the same view.
SB_API int32_t sb_map(const int64_t* words, int64_t count, const void* const* in, void* const* out,
                      const sb_executor*);
// The same in two steps, for a map that runs often: made (checked and planned) once, run any number of
// times, by any number of threads at once, and freed (NULL too) after the last of them is done.
typedef struct sb_map_plan sb_map_plan;
SB_API sb_map_plan* sb_map_new(const int64_t* words, int64_t count);  // NULL: sb_error()
SB_API void sb_map_free(sb_map_plan*);
SB_API int32_t sb_map_run(const sb_map_plan*, const void* const* in, void* const* out, const sb_executor*);
// Number, name and operand count of an elementwise operation; -1 / NULL where there is none.
SB_API int32_t sb_op_find(const char* name);
SB_API const char* sb_op_name(int32_t op);
SB_API int32_t sb_op_arity(int32_t op);
SB_API int32_t sb_op_count(void);
// Whether op is defined for operands of this dtype.
SB_API int32_t sb_op_takes(int32_t op, int32_t dtype);

// ---- programs: several operations as one call ----------------------------------
// Words:
//   SB_PROGRAM_MAGIC, n_args, n_results, n_scratch, n_steps,
//   n_args    x byte size,  n_results x byte size,  n_scratch x byte size,
//   n_steps   x { kind, n_operands, n_operands x { buffer, byte offset }, n_words, words }
// Buffers are numbered: arguments, results, scratch. Operands of a step in the order of
// the C function (inputs, then outputs); words: the descriptor. Steps run in order.
// Every access is checked against the buffer sizes when the program is made.
#define SB_PROGRAM_MAGIC 0x53414d4542495431LL /* "SAMEBIT1" */
typedef enum {
  SB_STEP_MAP = 0,
  SB_STEP_DOT,
  SB_STEP_REDUCE,
  SB_STEP_CUMULATIVE,
  SB_STEP_SCATTER,
  SB_STEP_COPY,
  SB_STEP_CONV,
  SB_STEP_WINDOW,
  SB_STEP_TOP_K,
  SB_STEP_ATTENTION,  // operands: the inputs that there are, then out
  SB_STEP_ATTENTION_BACKWARD,
  SB_STEP_COUNT
} sb_step_kind;
typedef struct sb_program sb_program;
SB_API sb_program* sb_program_new(const int64_t* words, int64_t count);  // NULL: sb_error()
SB_API void sb_program_free(sb_program*);
// buffers: n_args pointers, then n_results; scratch belongs to the library. Reentrant.
SB_API int32_t sb_program_run(const sb_program*, void* const* buffers, const sb_executor*);
// The program again and again, each time on the next slices and on what it has carried. Words:
//   length, n_carried, (n_args + n_results) x step, n_carried x { argument, result, in place }
// step: bytes from an iteration's slice to the next one's; 0: the same each time; negative: the buffer's last
// slice comes first. A carried result is the argument of the next iteration, and returned after the last; the
// argument's buffer has the first value and is only read. Both are of one size and of step 0. In place (0 or
// 1): the program may have the two in the same memory. Reentrant.
SB_API int32_t sb_program_loop(const sb_program*, const int64_t* words, int64_t count, void* const* buffers,
                               const sb_executor*);

#ifdef __cplusplus
}
#endif
#endif  // SAMEBITS_SAMEBITS_H_
