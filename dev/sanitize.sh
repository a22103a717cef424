#!/usr/bin/env bash
# Builds native/test/stress.cc and the library with sanitizers, each kind in a folder of its own, and runs it with each
# instruction set of this CPU: dev/sanitize.sh [kind ...], of "address,undefined" and "thread" (both if none is named).
# ROUNDS: cases of each run; SEED: of the first. CMAKE: another cmake.
#
# The kernels are compiled with -O1, which moves no bit and keeps the build short.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cmake=${CMAKE:-cmake}
export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
[[ $# -gt 0 ]] || set -- address,undefined thread
for kind in "$@"; do
  checks=${kind/undefined/undefined,float-cast-overflow}  # which -fsanitize=undefined leaves out
  folder=build/sanitize-${kind//,/-}
  "$cmake" -S . -B "$folder" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DSAMEBITS_SANITIZE="$checks" -DSAMEBITS_KERNEL_OPTIMIZATION=-O1 >/dev/null
  "$cmake" --build "$folder" --target samebits_stress --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-2}" >/dev/null
  isas=$("$folder/samebits_stress" --isas)
  for isa in ${isas//,/ }; do
    for threads in 1 3; do
      echo "$kind: $(SAMEBITS_ISA=$isa SAMEBITS_THREADS=$threads "$folder/samebits_stress" "${SEED:-0}" "${ROUNDS:-300}")"
    done
  done
done
