"""Counting the instructions of a program that QEMU executes."""
