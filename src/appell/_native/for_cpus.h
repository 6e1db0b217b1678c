/* Functions marked FOR_CPUS are compiled for plain and for newer processors, and chosen when the library is loaded; those
   marked FOR_VECTORS by the vectors that a processor of any maker has. Where this is possible, the rest of a file that
   includes this is optimised for speed. ThreadSanitizer is not ready when functions are chosen. */
#ifndef APPELL_FOR_CPUS_H
#define APPELL_FOR_CPUS_H

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(__SANITIZE_THREAD__)
#pragma GCC optimize("O3")
#define FOR_CPUS __attribute__((target_clones("default", "avx2")))
#if __GNUC__ >= 12
#define FOR_VECTORS __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define FOR_VECTORS __attribute__((target_clones("default", "avx2")))
#endif
#else
#define FOR_CPUS
#define FOR_VECTORS
#endif

#endif
