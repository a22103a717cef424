// Tile sizes of the dot for any CPU. None of them moves a bit.
#ifndef SB_KERNELS_GENERIC_DOT_TILES_H_
#define SB_KERNELS_GENERIC_DOT_TILES_H_

// The tallest tile by its width in vectors (1, 2, ... 8; 0: no such tile). Each FMA is a call of libm's, so
// nothing stays in registers and only the code's size counts: small tiles, few of them.
#define SB_DOT_ROWS {4, 2, 0, 0, 0, 0, 0, 0}

// Rows up to which b, contiguous in k, is transposed in registers and used at once instead of being packed;
// those done by pieces, and their blocks and chunks side by side (kernels/inner/dot_fused.h). The transpose
// costs nothing beside the FMAs; these keep all ways in use, hence tested.
#define SB_DOT_FUSED_ROWS 2
#define SB_PIECES_ROWS(bytes) 1
#define SB_PIECES_REGISTERS 32
#define SB_PIECES_GROUPS(rows, bytes) 4
#define SB_PIECES_SIDES(rows, bytes) 2

// Vectors of a packed operand's panel, and panels that 1, 2, 3, 4 rows read side by side (0: one at a time).
// Speed is libm's; two and two keep both ways in use, hence tested.
#define SB_DOT_PACKED_VECTORS 2
#define SB_DOT_FLIGHT {2, 0, 0, 0}

// Masks are loops here, beside libm's FMA without weight.
#define SB_DOT_MASKS_COST 0

// Rows up to which a panel of b is read where it is, though its rows lie far apart. Small, so that both ways
// are tested.
#define SB_DOT_DIRECT_ROWS 8

// FMAs in whose time one element of f32 is transposed through registers (f64: twice that): what decides which
// operand takes the lanes.
#define SB_DOT_TRANSPOSED 1.5

#endif  // SB_KERNELS_GENERIC_DOT_TILES_H_
