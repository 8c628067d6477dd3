"""Gradients as numbers and as factors, over TCP: `python -m benchmarks gradient_wire`, and the table of its rows."""
