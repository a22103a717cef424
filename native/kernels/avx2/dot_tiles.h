// Tile sizes of the dot for AVX2. None of them moves a bit.
#ifndef SB_KERNELS_AVX2_DOT_TILES_H_
#define SB_KERNELS_AVX2_DOT_TILES_H_

// The tallest tile by its width in vectors (1, 2, ... 8; 0: no such tile). 16 registers hold rows x vectors
// sums, one row of b and one broadcast of a: 4 x 3 is 12 + 3 + 1, all of them; 6 x 2 is 12 + 2 + 1; 3 x 4 is
// 12 + 4 with the broadcast shared. One vector serves narrow results (n <= 8): 12 rows. Five to eight vectors
// are for a single row, which needs many chains to cover the FMA's latency.
#define SB_DOT_ROWS {12, 6, 4, 3, 1, 1, 1, 1}

// Rows up to which b, contiguous in k, is transposed in registers and used at once instead of being packed: a
// block of 8 x 8 fills 8 of the 16 registers, which leaves few for the sums.
#define SB_DOT_FUSED_ROWS 4

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

#endif  // SB_KERNELS_AVX2_DOT_TILES_H_
