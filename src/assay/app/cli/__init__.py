"""The command line of Assay."""
