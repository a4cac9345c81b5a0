"""Assay: evaluations whose verdicts anyone can derive again, offline."""

__all__ = ["__version__"]

__version__ = "0.1.0"
