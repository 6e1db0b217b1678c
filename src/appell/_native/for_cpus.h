/* Functions marked FOR_VECTORS are compiled for plain processors and for the vectors of newer ones, and chosen when the library is
   loaded; LOCAL ones belong to a file. Where this is possible, the rest of a file that includes this is optimised for speed.
   ThreadSanitizer is not ready when functions are chosen. */
#ifndef APPELL_FOR_CPUS_H
#define APPELL_FOR_CPUS_H

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(__SANITIZE_THREAD__)
#pragma GCC optimize("O3")
#if __GNUC__ >= 12
#define FOR_VECTORS __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define FOR_VECTORS __attribute__((target_clones("default", "avx2")))
#endif
#else
#define FOR_VECTORS
#endif

#if defined(__GNUC__)
#define LOCAL static __attribute__((noinline)) FOR_VECTORS
#else
#define LOCAL static
#endif

#endif
