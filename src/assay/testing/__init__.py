"""Public contract suites, fakes and tampering tools, for this project's tests and its users'."""
