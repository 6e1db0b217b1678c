/* Functions marked FOR_CPUS are compiled for plain and for newer processors, and chosen when the library is loaded. Where
   this is possible, the rest of a file that includes this is optimised for speed. */
#ifndef APPELL_FOR_CPUS_H
#define APPELL_FOR_CPUS_H

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#pragma GCC optimize("O3")
#define FOR_CPUS __attribute__((target_clones("default", "arch=haswell")))
#else
#define FOR_CPUS
#endif

#endif
