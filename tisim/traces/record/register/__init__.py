"""Counting instructions in a register: programs that `tisim cc` compiles count themselves."""
