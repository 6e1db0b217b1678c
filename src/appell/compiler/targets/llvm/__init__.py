"""Native code for the processor of this machine, compiled in process by LLVM."""
