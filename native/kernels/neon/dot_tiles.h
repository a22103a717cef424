// Tile sizes of the dot for NEON. None of them moves a bit, and none was measured: the machines at hand are
// x86, where qemu says nothing of speed. They are reasoned from what AArch64 cores have in common (32
// registers of 128 bits, two to four FMAs a cycle of latency 4, two or three loads a cycle), and
// bench/matmul/ on an ARM machine should have the last word.
#ifndef SB_KERNELS_NEON_DOT_TILES_H_
#define SB_KERNELS_NEON_DOT_TILES_H_

// The tallest tile by its width in vectors (1, 2, ... 8; 0: no such tile). 32 registers hold rows x vectors
// sums, one row of b, and the broadcasts of a: 8 x 3 is 24 + 3 + up to 5, 6 x 4 is 24 + 4 + up to 4; these
// have the 16 chains that four pipes of latency 4 keep busy, and load (rows + vectors) / (rows x vectors) <
// 1/2 register for each FMA. Two vectors gain little beyond ten rows (0.6), one serves narrow results (n <=
// 4), where a tile's start and end weigh most. Five to eight vectors are for a single row, which needs many
// chains as well.
#define SB_DOT_ROWS {12, 10, 8, 6, 1, 1, 1, 1}

// Rows up to which b, contiguous in k, is transposed in registers and used at once instead of being packed:
// up to the tallest tile of a packed panel, as packing pays its store and its load back only when several
// tiles read the panel.
#define SB_DOT_FUSED_ROWS 6

// Of these, rows that are done by pieces (kernels/inner/dot_fused.h), by the bytes of an element: all, as a
// piece is a whole register here, and a square the same transpose with fewer blocks side by side. Blocks of
// columns side by side make the chains that cover the FMA's latency: a block has a sum for each row and,
// while in work, four vectors of terms (eight of bf16), so 6 x 2 sums and 8 terms leave 12 registers. Chunks
// side by side, instead of blocks, where strides crowd L1.
#define SB_PIECES_ROWS(bytes) 8
#define SB_PIECES_REGISTERS 32
#define SB_PIECES_GROUPS(rows, bytes) ((rows) <= 2 ? 4 : 2)
#define SB_PIECES_SIDES(rows, bytes) ((rows) <= 2 ? 4 : (rows) <= 4 ? 2 : 1)

// Vectors of a packed operand's panel: four are a line of 64 bytes for each term, and 6 rows fit beside them.
#define SB_DOT_PACKED_VECTORS 4

// Panels of a packed operand that 1, 2, 3, 4 rows read side by side (0: one at a time): 8 chains for one row,
// 16 for two with 8 vectors of b; from three rows on one panel has 12 or more.
#define SB_DOT_FLIGHT {2, 2, 0, 0}

// Whether a masked load costs more than a whole one, so that tiles exist in both forms: NEON has no masks, a
// partial load is branches.
#define SB_DOT_MASKS_COST 1

// Rows up to which a panel of b is read where it is, though its rows lie far apart: a tile of 6 x 16 takes 6
// to 12 cycles for a row of b, about what its next line takes to arrive from L2.
#define SB_DOT_DIRECT_ROWS 16

// FMAs in whose time one element of f32 is transposed through registers (f64: twice that): what decides which
// operand takes the lanes. A block of 4 x 4 is 4 loads, 8 permutations and 4 stores, on the pipes of the
// FMAs.
#define SB_DOT_TRANSPOSED 1.0

#endif  // SB_KERNELS_NEON_DOT_TILES_H_
