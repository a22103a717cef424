#include "frame/move.h"

#include <string.h>

#include <algorithm>

namespace sb {
namespace {

struct Item16 {
  uint64_t word[2];
};

template <class T> T get(const char* p) {
  T x;
  memcpy(&x, p, sizeof x);
  return x;
}
template <class T> void put(char* p, T x) { memcpy(p, &x, sizeof x); }

template <class T> void fill_items(char* out, const char* item, int64_t count) {
  const T x = get<T>(item);
  for (int64_t i = 0; i < count; ++i) put<T>(out + i * static_cast<int64_t>(sizeof(T)), x);
}

// Tuning: a tile of 32 rows by 32 columns. Each of its 32 input lines is used whole before it leaves L1 (32 lines
// of 64 bytes, whatever the strides), and 32 columns of 4 bytes are two full output lines.
constexpr int64_t kTile = 32;

template <class T> struct Mover {
  static constexpr int64_t kSize = sizeof(T);

  static void row(Axis a, const char* in, char* out) {
    if (a.in == 1 && a.out == 1) {
      memcpy(out, in, static_cast<size_t>(a.size * kSize));
    } else if (a.in == 0 && a.out == 1) {
      fill_items<T>(out, in, a.size);
    } else if (a.out == 1) {
      for (int64_t i = 0; i < a.size; ++i) put<T>(out + i * kSize, get<T>(in + i * a.in * kSize));
    } else {
      for (int64_t i = 0; i < a.size; ++i) put<T>(out + i * a.out * kSize, get<T>(in + i * a.in * kSize));
    }
  }

  // Both orders of two axes walk one side across its lines; so tiles.
  static void plane(Axis outer, Axis inner, const char* in, char* out) {
    for (int64_t i = 0; i < outer.size; i += kTile) {
      const int64_t rows = std::min(kTile, outer.size - i);
      for (int64_t j = 0; j < inner.size; j += kTile) {
        const Axis part = {std::min(kTile, inner.size - j), inner.in, inner.out};
        for (int64_t r = i; r < i + rows; ++r) {
          row(part, in + (r * outer.in + j * inner.in) * kSize, out + (r * outer.out + j * inner.out) * kSize);
        }
      }
    }
  }

  static bool crossed(Axis outer, Axis inner) {
    const int64_t o = outer.in < 0 ? -outer.in : outer.in, i = inner.in < 0 ? -inner.in : inner.in;
    return o != 0 && o < i && outer.size > 4 && inner.size > kTile;
  }

  static void all(const Axis* axes, int rank, const char* in, char* out) {
    if (rank == 0) {
      put<T>(out, get<T>(in));
    } else if (rank == 1) {
      row(axes[0], in, out);
    } else if (rank == 2 && crossed(axes[0], axes[1])) {
      plane(axes[0], axes[1], in, out);
    } else if (rank == 2 && axes[1].size <= 16 && axes[1].out == 1) {
      short_rows(axes[0], axes[1], in, out);
    } else {
      for (int64_t i = 0; i < axes[0].size; ++i) {
        all(axes + 1, rank - 1, in + i * axes[0].in * kSize, out + i * axes[0].out * kSize);
      }
    }
  }

  // Rows of a few elements, where a call for each would cost more than the row.
  static void short_rows(Axis outer, Axis inner, const char* in, char* out) {
    for (int64_t i = 0; i < outer.size; ++i) {
      const char* from = in + i * outer.in * kSize;
      char* to = out + i * outer.out * kSize;
      for (int64_t j = 0; j < inner.size; ++j) put<T>(to + j * kSize, get<T>(from + j * inner.in * kSize));
    }
  }
};

}  // namespace

void fill(void* out, const void* item, int64_t item_size, int64_t count) {
  char* to = static_cast<char*>(out);
  const char* from = static_cast<const char*>(item);
  switch (item_size) {
    case 1: memset(to, *from, static_cast<size_t>(count)); break;
    case 2: fill_items<uint16_t>(to, from, count); break;
    case 4: fill_items<uint32_t>(to, from, count); break;
    case 8: fill_items<uint64_t>(to, from, count); break;
    case 16: fill_items<Item16>(to, from, count); break;
  }
}

int coalesce(Axis* axes, int rank) {
  rank = static_cast<int>(std::remove_if(axes, axes + rank, [](const Axis& a) { return a.size == 1; }) - axes);
  const auto magnitude = [](int64_t x) { return x < 0 ? -x : x; };
  std::stable_sort(axes, axes + rank, [&](const Axis& a, const Axis& b) { return magnitude(a.out) > magnitude(b.out); });
  int kept = 0;
  for (int i = 0; i < rank; ++i) {
    const Axis next = axes[i];
    if (kept && axes[kept - 1].in == next.in * next.size && axes[kept - 1].out == next.out * next.size) {
      axes[kept - 1] = {axes[kept - 1].size * next.size, next.in, next.out};
    } else {
      axes[kept++] = next;
    }
  }
  return kept;
}

void move(const Axis* axes, int rank, int64_t item_size, const void* in, void* out) {
  const char* from = static_cast<const char*>(in);
  char* to = static_cast<char*>(out);
  switch (item_size) {
    case 1: Mover<uint8_t>::all(axes, rank, from, to); break;
    case 2: Mover<uint16_t>::all(axes, rank, from, to); break;
    case 4: Mover<uint32_t>::all(axes, rank, from, to); break;
    case 8: Mover<uint64_t>::all(axes, rank, from, to); break;
    case 16: Mover<Item16>::all(axes, rank, from, to); break;
  }
}

}  // namespace sb
