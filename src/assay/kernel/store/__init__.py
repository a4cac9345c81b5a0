"""Where committed evidence lies: the `Store` protocol and its SQLite driver."""
