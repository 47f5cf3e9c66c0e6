"""What traces show of the programs of their ranks."""
