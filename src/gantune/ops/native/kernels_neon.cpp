// The kernels for NEON: the baseline of aarch64, where the compiler turns registers of four floats into its own.
#define GANTUNE_TABLE kernels_neon
#include "kernels_all.h"
