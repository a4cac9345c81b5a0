"""Evidence: canonical bytes, digests, keys, logs, Merkle trees, checkpoints, seals and bundles, knowing no lab."""
