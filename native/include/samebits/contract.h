// The contract's constants, as spec/order.md states them (a test compares both).
//
// Changing one of these moves bits and is a new contract version. Nothing else
// in native/ may: tile sizes, packing, threads and instruction sets are tuning.
#ifndef SAMEBITS_CONTRACT_H_
#define SAMEBITS_CONTRACT_H_

#define SB_CONTRACT_VERSION 1

// Terms in one chunk of a dot, a sum, a product or a cumulative (clauses DOT-2, SUM-2, CUM-1).
// SAMEBITS_TEST_CHUNK exists so that a test can build a wrong library and see the vectors fail.
#ifdef SAMEBITS_TEST_CHUNK
#define SB_CHUNK SAMEBITS_TEST_CHUNK
#else
#define SB_CHUNK 256
#endif

// Virtual lanes of a sum (clause SUM-3).
#define SB_LANES 16

#endif  // SAMEBITS_CONTRACT_H_
