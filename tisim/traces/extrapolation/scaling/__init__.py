"""How what a program does grows with the number of ranks: curves, a picture and a page."""
