"""Object stores: immutable bytes by key, in a folder or elsewhere."""
