#include "frame/move.h"

#include <string.h>

#include <algorithm>

namespace sb {
namespace {

struct Item16 {
  uint64_t word[2];
};

template <class T>
T get(const char* p) {
  T x;
  memcpy(&x, p, sizeof x);
  return x;
}
template <class T>
void put(char* p, T x) {
  memcpy(p, &x, sizeof x);
}

template <class T>
void fill_items(char* out, const char* item, int64_t count) {
  const T x = get<T>(item);
  for (int64_t i = 0; i < count; ++i) put<T>(out + i * static_cast<int64_t>(sizeof(T)), x);
}

// Tuning: a tile of 64 rows by 8 columns. Its 8 input lines stay in L1 until they are used up even where a
// power-of-two stride puts all of them into one set (8 ways): 1024 x 1024 floats take 0.46 ns each, 32 x 32
// tiles 1.8.
constexpr int64_t kTileRows = 64, kTileColumns = 8;

// Squares of 16-byte registers: 4 x 4 items of 4 bytes, 2 x 2 of 8.
template <class T>
struct Square {
  static constexpr int64_t kSide = sizeof(T) == 4 ? 4 : sizeof(T) == 8 ? 2 : 0;
};
using Four = uint32_t __attribute__((vector_size(16)));
using Two = uint64_t __attribute__((vector_size(16)));

void square(const char* in, int64_t in_step, char* out, int64_t out_step, uint32_t) {
  const Four a = get<Four>(in), b = get<Four>(in + in_step), c = get<Four>(in + 2 * in_step),
             d = get<Four>(in + 3 * in_step);
  constexpr Four low = {0, 4, 1, 5}, high = {2, 6, 3, 7}, first = {0, 1, 4, 5}, second = {2, 3, 6, 7};
  const Four ab = __builtin_shuffle(a, b, low), cd = __builtin_shuffle(c, d, low);
  const Four ab2 = __builtin_shuffle(a, b, high), cd2 = __builtin_shuffle(c, d, high);
  put<Four>(out, __builtin_shuffle(ab, cd, first));
  put<Four>(out + out_step, __builtin_shuffle(ab, cd, second));
  put<Four>(out + 2 * out_step, __builtin_shuffle(ab2, cd2, first));
  put<Four>(out + 3 * out_step, __builtin_shuffle(ab2, cd2, second));
}
void square(const char* in, int64_t in_step, char* out, int64_t out_step, uint64_t) {
  const Two a = get<Two>(in), b = get<Two>(in + in_step);
  put<Two>(out, Two{a[0], b[0]});
  put<Two>(out + out_step, Two{a[1], b[1]});
}

// Every second item, a register at a time: the parts of complex numbers. Returns how many were moved; the
// last ones are left, since a register reads the item after its last one too.
template <class T>
int64_t every_second(const char*, char*, int64_t) {
  return 0;
}
template <>
int64_t every_second<uint32_t>(const char* in, char* out, int64_t size) {
  constexpr Four even = {0, 2, 4, 6};
  int64_t i = 0;
  for (; i + 4 < size; i += 4)
    put<Four>(out + 4 * i, __builtin_shuffle(get<Four>(in + 8 * i), get<Four>(in + 8 * i + 16), even));
  return i;
}
template <>
int64_t every_second<uint64_t>(const char* in, char* out, int64_t size) {
  int64_t i = 0;
  for (; i + 2 < size; i += 2)
    put<Two>(out + 8 * i, Two{get<uint64_t>(in + 16 * i), get<uint64_t>(in + 16 * i + 16)});
  return i;
}

template <class T>
struct Mover {
  static constexpr int64_t kSize = sizeof(T);

  static void row(Axis a, const char* in, char* out) {
    if (a.in == 1 && a.out == 1) {
      memcpy(out, in, static_cast<size_t>(a.size * kSize));
    } else if (a.in == 0 && a.out == 1) {
      fill_items<T>(out, in, a.size);
    } else if (a.out == 1) {
      int64_t i = a.in == 2 ? every_second<T>(in, out, a.size) : 0;
      for (; i < a.size; ++i) put<T>(out + i * kSize, get<T>(in + i * a.in * kSize));
    } else {
      for (int64_t i = 0; i < a.size; ++i) put<T>(out + i * a.out * kSize, get<T>(in + i * a.in * kSize));
    }
  }

  // Both orders of two axes walk one side across its lines; so tiles.
  static void plane(Axis outer, Axis inner, const char* in, char* out) {
    for (int64_t i = 0; i < outer.size; i += kTileRows) {
      const int64_t rows = std::min(kTileRows, outer.size - i);
      for (int64_t j = 0; j < inner.size; j += kTileColumns) {
        const int64_t columns = std::min(kTileColumns, inner.size - j);
        const char* from = in + (i * outer.in + j * inner.in) * kSize;
        char* to = out + (i * outer.out + j * inner.out) * kSize;
        tile({rows, outer.in, outer.out}, {columns, inner.in, inner.out}, from, to);
      }
    }
  }

  static void tile(Axis outer, Axis inner, const char* in, char* out) {
    constexpr int64_t side = Square<T>::kSide;
    int64_t done = 0;  // rows
    if constexpr (side > 0) {
      if (outer.in == 1 && inner.out == 1 && inner.size == kTileColumns) {
        for (; done + side <= outer.size; done += side) {
          for (int64_t j = 0; j < kTileColumns; j += side) {
            square(in + (done + j * inner.in) * kSize, inner.in * kSize, out + (done * outer.out + j) * kSize,
                   outer.out * kSize, T{});
          }
        }
      }
    }
    for (; done < outer.size; ++done)
      row(inner, in + done * outer.in * kSize, out + done * outer.out * kSize);
  }

  static bool crossed(Axis outer, Axis inner) {
    const int64_t o = outer.in < 0 ? -outer.in : outer.in, i = inner.in < 0 ? -inner.in : inner.in;
    return o != 0 && o < i && outer.size >= 4 && inner.size >= kTileColumns;
  }

  static void all(const Axis* axes, int rank, const char* in, char* out) {
    if (rank == 0) {
      put<T>(out, get<T>(in));
    } else if (rank == 1) {
      row(axes[0], in, out);
    } else if (rank == 2 && crossed(axes[0], axes[1])) {
      plane(axes[0], axes[1], in, out);
    } else if (rank == 2 && axes[1].in == 0 && axes[1].out == 1 && axes[1].size * kSize >= kWide) {
      spread(axes[0], axes[1], in, out);
    } else if (rank == 2 && axes[1].size <= 16 && axes[1].out == 1) {
      short_rows(axes[0], axes[1], in, out);
    } else {
      for (int64_t i = 0; i < axes[0].size; ++i) {
        all(axes + 1, rank - 1, in + i * axes[0].in * kSize, out + i * axes[0].out * kSize);
      }
    }
  }

  // One value for each row, 16 bytes at a time; the last ones of a row overlap those before.
  static constexpr int64_t kWide = 16;
  static void spread(Axis outer, Axis inner, const char* in, char* out) {
    const int64_t bytes = inner.size * kSize;
    for (int64_t i = 0; i < outer.size; ++i) {
      char wide[kWide];
      const T x = get<T>(in + i * outer.in * kSize);
      for (int64_t k = 0; k < kWide; k += kSize) put<T>(wide + k, x);
      const Four v = get<Four>(wide);
      char* to = out + i * outer.out * kSize;
      for (int64_t k = 0; k + kWide <= bytes; k += kWide) put<Four>(to + k, v);
      put<Four>(to + bytes - kWide, v);
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
    case 1:
      memset(to, *from, static_cast<size_t>(count));
      break;
    case 2:
      fill_items<uint16_t>(to, from, count);
      break;
    case 4:
      fill_items<uint32_t>(to, from, count);
      break;
    case 8:
      fill_items<uint64_t>(to, from, count);
      break;
    case 16:
      fill_items<Item16>(to, from, count);
      break;
  }
}

int coalesce(Axis* axes, int rank) {
  rank =
      static_cast<int>(std::remove_if(axes, axes + rank, [](const Axis& a) { return a.size == 1; }) - axes);
  const auto magnitude = [](int64_t x) { return x < 0 ? -x : x; };
  std::stable_sort(axes, axes + rank,
                   [&](const Axis& a, const Axis& b) { return magnitude(a.out) > magnitude(b.out); });
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
    case 1:
      Mover<uint8_t>::all(axes, rank, from, to);
      break;
    case 2:
      Mover<uint16_t>::all(axes, rank, from, to);
      break;
    case 4:
      Mover<uint32_t>::all(axes, rank, from, to);
      break;
    case 8:
      Mover<uint64_t>::all(axes, rank, from, to);
      break;
    case 16:
      Mover<Item16>::all(axes, rank, from, to);
      break;
  }
}

}  // namespace sb
