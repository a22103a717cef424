// Which instruction set this process uses: the widest that the CPU has, or SAMEBITS_ISA.
#include <stdlib.h>
#include <string.h>

#include <string>

#include "frame/error.h"
#include "frame/kernels.h"
#include "samebits/contract.h"
#include "samebits/samebits.h"

namespace sb {
namespace {

struct Choice {
  const char* name;
  bool here;
  Kernels (*table)();  // called only where `here`: what fills a table is compiled for its instruction set too
};

#define SB_TABLE(isa)                        \
  [] {                                       \
    return Kernels{#isa,                     \
                   isa::dot_kernels(),       \
                   isa::map_kernels(),       \
                   isa::math_kernels(),      \
                   isa::reduce_kernels(),    \
                   isa::conv_kernels(),      \
                   isa::attention_kernels(), \
                   isa::window_kernels(),    \
                   isa::scatter_kernels(),   \
                   isa::top_k_kernels(),     \
                   isa::norm_kernels()};     \
  }

const Choice* choices(int* count) {
#if defined(SAMEBITS_GENERIC_ONLY)
  static const Choice all[] = {{"generic", true, SB_TABLE(generic)}};
#elif defined(__x86_64__)
  __builtin_cpu_init();
  static const Choice all[] = {
      {"generic", true, SB_TABLE(generic)},
      {"avx2",
       __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"),
       SB_TABLE(avx2)},
      {"avx512",
       __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"),
       SB_TABLE(avx512)},
  };
#elif defined(__aarch64__)
  static const Choice all[] = {{"generic", true, SB_TABLE(generic)}, {"neon", true, SB_TABLE(neon)}};
#else
  static const Choice all[] = {{"generic", true, SB_TABLE(generic)}};
#endif
  *count = static_cast<int>(sizeof all / sizeof all[0]);
  return all;
}

struct Selected {
  bool found = false;
  Kernels table = {};
  std::string error;
  std::string runnable;
};

Selected select() {
  Selected s;
  int n = 0;
  const Choice* all = choices(&n);
  const char* wish = getenv("SAMEBITS_ISA");
  bool known = false;
  const Choice* chosen = nullptr;
  for (int i = 0; i < n; ++i) {
    if (all[i].here) s.runnable += (s.runnable.empty() ? "" : ",") + std::string(all[i].name);
    if (wish && *wish) {
      if (strcmp(wish, all[i].name) != 0) continue;
      known = true;
      if (all[i].here) chosen = &all[i];
    } else if (all[i].here) {
      chosen = &all[i];
    }
  }
  if (chosen) {
    s.found = true;
    s.table = chosen->table();
  } else {
    s.error = std::string("SAMEBITS_ISA=") + wish +
              (known || !strcmp(wish, "neon") || !strcmp(wish, "avx2") || !strcmp(wish, "avx512")
                   ? " is not supported by this CPU"
                   : " is not an instruction set that samebits knows") +
              "; it can run " + s.runnable + " (unset SAMEBITS_ISA to take the last of these)";
  }
  return s;
}

const Selected& selected() {
  static const Selected s = select();
  return s;
}

}  // namespace

const Kernels* kernels() {
  const Selected& s = selected();
  if (s.found) return &s.table;
  fail("%s", s.error.c_str());
  return nullptr;
}

}  // namespace sb

extern "C" {
int32_t sb_contract_version(void) { return SB_CONTRACT_VERSION; }
int32_t sb_chunk(void) { return SB_CHUNK; }
const char* sb_isa(void) {
  const sb::Kernels* k = sb::kernels();
  return k ? k->isa : nullptr;
}
const char* sb_isas(void) { return sb::selected().runnable.c_str(); }
}
