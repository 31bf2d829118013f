"""Storage: the only package that touches Delta tables and DuckDB. It knows nothing of log formats."""
