"""Counting the instructions of a program executed by QEMU."""
