"""Pages: what the application shows in a browser."""
