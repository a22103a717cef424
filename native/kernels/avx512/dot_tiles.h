// Tile sizes of the dot for AVX-512. None of them moves a bit.
#ifndef SB_KERNELS_AVX512_DOT_TILES_H_
#define SB_KERNELS_AVX512_DOT_TILES_H_

// The tallest tile by its width in vectors (1, 2, ... 8; 0: no such tile). A tile holds rows x vectors
// sums and one row of b in the 32 registers; a is broadcast from memory by the FMA itself. So three vectors
// leave room for 9 rows and four for 6 (28 and 30 registers with b). Two could have 14, but from 9 rows on
// the FMA pipes are the limit and tall tiles only lose at their tails. One vector serves narrow results (n <=
// 16), where a tile's start and end weigh most: 14 rows. Five to eight vectors are for one or two rows, which
// need many independent chains to cover the FMA's latency (4 cycles, one or two 512-bit FMAs a cycle).
#define SB_DOT_ROWS {14, 12, 9, 6, 2, 2, 2, 2}

// Rows up to which b, contiguous in k, is transposed in registers and used at once instead of being packed: a
// transposed block of 16 x 16 fills 16 registers, and packing pays its store and its load back only when
// several tiles read the panel.
#define SB_DOT_FUSED_ROWS 8

// Of these, rows that are done by pieces (kernels/inner/dot_fused.h), by the bytes of an element. A 512-bit
// transpose of f32 takes 1.3 times as long as a 256-bit one by pieces; one row feels it, from two on the FMAs
// and their broadcasts weigh more, which are half as many at 512 bits. bf16 has half the transposes for its
// FMAs but gains more, f64 has a step less and gains nothing. Blocks of columns side by side make the chains
// that cover the FMA's latency: three read b faster than four, whose 32 rows fill the ways of L1 at strides
// of 1 KB; one row of bf16 needs four, as its pieces last twice as long. Chunks side by side, instead of
// blocks, where strides crowd L1.
#define SB_PIECES_ROWS(bytes) ((bytes) == 8 ? 0 : (bytes) == 4 ? 1 : 2)
#define SB_PIECES_REGISTERS 32
#define SB_PIECES_GROUPS(rows, bytes) ((rows) == 1 && (bytes) == 2 ? 4 : 3)
#define SB_PIECES_SIDES(rows, bytes) ((bytes) == 2 ? 4 : 2)

// Vectors of a packed operand's panel: 9 rows fit beside three, so up to 9 rows read the panel once.
#define SB_DOT_PACKED_VECTORS 3

// Panels of a packed operand that 1, 2, 3, 4 rows read side by side (0: one at a time). Few rows leave sums
// free: 4 x 3 chains for one row, at most 24 sums for four. As many streams from memory run at once.
#define SB_DOT_FLIGHT {4, 2, 2, 2}

// Whether a masked load costs more than a whole one, so that tiles exist in both forms: here it does not.
#define SB_DOT_MASKS_COST 0

// Rows up to which a panel of b is read where it is, though its rows lie far apart: a tile of 9 x 48 takes 27
// cycles for a row of b, in which the next one arrives from L2 wherever it lies. Copying the panel costs 1 to
// 5 % up to here, and brings as much from a few hundred rows on (Zen 4).
#define SB_DOT_DIRECT_ROWS 64

// FMAs in whose time one element of f32 is transposed through registers (f64: twice that): what decides which
// operand takes the lanes.
#define SB_DOT_TRANSPOSED 0.375

#endif  // SB_KERNELS_AVX512_DOT_TILES_H_
