"""Counting instructions in a register: programs compiled by `tisim cc` count themselves."""
