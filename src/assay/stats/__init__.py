"""Intervals, tests and power: exact numbers in, numbers out, no I/O."""
