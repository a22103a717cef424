// Packing operands into panels of T[k][lanes], and bringing finished sums to where and what they shall be.
#ifndef SB_KERNELS_INNER_DOT_PACK_H_
#define SB_KERNELS_INNER_DOT_PACK_H_

#include "frame/dot_kernels.h"
#include "kernels/inner/dot_types.h"

namespace sb {
namespace SB_ISA {
namespace {

template <class In>
void pack(const DotPack& p) {
  using T = acc<In>;
  constexpr int kVec = kLanes<T>;
  const In* src = static_cast<const In*>(p.src);
  T* dst = static_cast<T*>(p.dst);
  if (p.k_stride == 1 && p.lane_stride != 1) {
    for (int64_t lane = 0; lane < p.lanes; lane += kVec) {
      const int rows = static_cast<int>(p.lanes - lane < kVec ? p.lanes - lane : kVec);
      const int64_t room = p.fill - lane;
      for (int64_t k = 0; k < p.terms; k += kVec) {
        const int terms = static_cast<int>(p.terms - k < kVec ? p.terms - k : kVec);
        transpose_block(src + lane * p.lane_stride + k, p.lane_stride, rows, terms, dst + k * p.width + lane,
                        p.width, static_cast<int>(room < kVec ? room : kVec));
      }
    }
    return;
  }
  for (int64_t k = 0; k < p.terms; ++k) {
    const In* from = src + k * p.k_stride;
    T* to = dst + k * p.width;
    int64_t lane = 0;
    if (p.lane_stride == 1) {
      for (; lane + kVec <= p.lanes; lane += kVec) store(to + lane, load_as(from + lane));
      if (lane < p.lanes) {
        const int rest = static_cast<int>(p.lanes - lane);
        const int64_t room = p.fill - lane;
        store(to + lane, load_as(from + lane, rest), first<T>(static_cast<int>(room < kVec ? room : kVec)));
      }
    } else {
      for (; lane < p.lanes; ++lane) to[lane] = load_one(from + lane * p.lane_stride);
      for (; lane < p.fill; ++lane) to[lane] = 0;
    }
  }
}

// A dword of each lane for the terms 2i and 2i + 1.
inline void pack_pairs(const DotPack& p) {
  constexpr int kVec = kF32Lanes;
  const uint16_t* src = static_cast<const uint16_t*>(p.src);
  uint32_t* dst = static_cast<uint32_t*>(p.dst);
  for (int64_t k = 0; k < p.terms; k += 2, dst += p.width) {
    const uint16_t *low = src + k * p.k_stride, *high = low + p.k_stride;
    int64_t lane = 0;
    if (k + 1 < p.terms && p.lane_stride == 1) {
      for (; lane + kVec <= p.lanes; lane += kVec) {
        const u32v lo = __builtin_convertvector(load<u16h>(low + lane), u32v),
                   hi = __builtin_convertvector(load<u16h>(high + lane), u32v);
        store(dst + lane, lo | hi << 16);
      }
    }
    for (; lane < p.lanes; ++lane) {
      const uint32_t lo = low[lane * p.lane_stride], hi = k + 1 < p.terms ? high[lane * p.lane_stride] : 0;
      dst[lane] = lo | hi << 16;
    }
    for (; lane < p.fill; ++lane) dst[lane] = 0;
  }
}

// Rows of pairs, `fill` lanes each (whole vectors), to rows of float32.
inline void expand_pairs(const DotPack& p) {
  constexpr int kVec = kF32Lanes;
  const uint32_t* src = static_cast<const uint32_t*>(p.src);
  float* dst = static_cast<float*>(p.dst);
  for (int64_t k = 0; k < p.terms; ++k, dst += p.width) {
    const uint32_t* from = src + k / 2 * p.k_stride;
    for (int64_t lane = 0; lane < p.fill; lane += kVec) {
      const u32v w = load<u32v>(from + lane);
      store(dst + lane, k & 1 ? w & 0xffff0000u : w << 16);
    }
  }
}

template <class Out>
void unpack(const DotUnpack& u) {
  using T = acc<Out>;
  constexpr int kVec = kLanes<T>;
  const T* src = static_cast<const T*>(u.src);
  Out* dst = static_cast<Out*>(u.dst);
  if (u.dst_col == 1) {
    for (int64_t r = 0; r < u.rows; ++r) {
      int64_t c = 0;
      for (; c + kVec <= u.cols; c += kVec) {
        store_as(dst + r * u.dst_row + c, load_as(src + r * u.src_row + c));
      }
      if (c < u.cols) {
        const int rest = static_cast<int>(u.cols - c);
        store_as(dst + r * u.dst_row + c, load_as(src + r * u.src_row + c, rest), rest);
      }
    }
  } else if (u.dst_row == 1) {
    for (int64_t r = 0; r < u.rows; r += kVec) {
      const int rows = static_cast<int>(u.rows - r < kVec ? u.rows - r : kVec);
      for (int64_t c = 0; c < u.cols; c += kVec) {
        const int cols = static_cast<int>(u.cols - c < kVec ? u.cols - c : kVec);
        alignas(64) T block[kVec * kVec];
        transpose_block(src + r * u.src_row + c, u.src_row, rows, cols, block, kVec, kVec);
        Out* to = dst + c * u.dst_col + r;
        for (int j = 0; j < cols; ++j) {
          if (rows == kVec) {
            store_as(to + j * u.dst_col, load_as(block + j * kVec));
          } else {
            store_as(to + j * u.dst_col, load_as(block + j * kVec), rows);
          }
        }
      }
    }
  } else {
    for (int64_t r = 0; r < u.rows; ++r) {
      for (int64_t c = 0; c < u.cols; ++c) {
        store_one(dst + r * u.dst_row + c * u.dst_col, src[r * u.src_row + c]);
      }
    }
  }
}

}  // namespace
}  // namespace SB_ISA
}  // namespace sb
#endif  // SB_KERNELS_INNER_DOT_PACK_H_
