"""Assay: evaluations whose verdicts anyone can re-derive offline."""

