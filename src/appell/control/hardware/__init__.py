"""The open controller of Valera et al. 2003, section 3: a robot behind the signals of its cards."""
