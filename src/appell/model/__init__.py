"""Robot descriptions: frozen data, how to read and write it, what is wrong with it."""
