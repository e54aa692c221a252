"""What is measured. Each part takes a `Ground` and gives rows, and starts whatever processes it needs."""
