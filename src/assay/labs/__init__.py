"""The evaluations that stand on the kernel, each in a package of its own and independent of the others."""
