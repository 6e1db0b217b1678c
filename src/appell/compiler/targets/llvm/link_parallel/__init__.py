"""Functions with links side by side as LLVM IR: one state at a time, a link in each lane."""
