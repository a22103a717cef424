// Tile sizes of the dot for AVX2. None of them moves a bit.
#ifndef SB_KERNELS_AVX2_DOT_TILES_H_
#define SB_KERNELS_AVX2_DOT_TILES_H_

// The tallest tile by its width in vectors (1, 2, ... 8; 0: no such tile). 16 registers hold rows x vectors
// sums, one row of b and one broadcast of a: 4 x 3 is 12 + 3 + 1, all of them; 6 x 2 is 12 + 2 + 1; 3 x 4 is
// 12 + 4 with the broadcast shared. One vector serves narrow results (n <= 8): 12 rows. Five to eight vectors
// are for a single row, which needs many chains to cover the FMA's latency.
#define SB_DOT_ROWS {12, 6, 4, 3, 1, 1, 1, 1}

// Rows up to which b, contiguous in k, is transposed in registers and used at once instead of being packed.
// From there on the 12 x 1 tile wins, for which the operands change places: b is broadcast.
#define SB_DOT_FUSED_ROWS 8

// Of these, rows that are done by pieces (kernels/inner/dot_fused.h), by the bytes of an element: all, as a
// square of 8 x 8 and its temporaries leave no registers for sums. Blocks of columns side by side make four
// or more chains if registers suffice: a block in work takes 8 of the 16, each block has a sum for each row.
// Three read b faster than four, whose 32 rows fill the ways of L1 at strides of 1 KB; bf16 needs four, as
// its pieces last twice as long. Chunks side by side, instead of blocks, where strides crowd L1.
#define SB_PIECES_ROWS(bytes) 8
#define SB_PIECES_REGISTERS 16
#define SB_PIECES_GROUPS(rows, bytes) ((rows) == 1 ? ((bytes) == 2 ? 4 : 3) : (rows) <= 4 ? 2 : 1)
#define SB_PIECES_SIDES(rows, bytes) ((rows) == 1 && (bytes) == 2 ? 4 : (rows) <= 4 ? 2 : 1)

// Vectors of a packed operand's panel: 4 rows fit beside three.
#define SB_DOT_PACKED_VECTORS 3

// Panels of a packed operand that 1, 2, 3, 4 rows read side by side (0: one at a time): 9 chains for one row,
// 12 for two, which with a vector of b and one of a fills the 16 registers.
#define SB_DOT_FLIGHT {3, 2, 0, 0}

// Whether a masked load costs more than a whole one, so that tiles exist in both forms: a fifth of the speed.
#define SB_DOT_MASKS_COST 1

// Rows up to which a panel of b is read where it is, though its rows lie far apart: a tile of 4 x 24 takes 6
// cycles for a row of b, less than one from another page takes to arrive.
#define SB_DOT_DIRECT_ROWS 8

// FMAs in whose time one element of f32 is transposed through registers (f64: twice that): what decides which
// operand takes the lanes.
#define SB_DOT_TRANSPOSED 0.75

#endif  // SB_KERNELS_AVX2_DOT_TILES_H_
