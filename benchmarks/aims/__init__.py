"""What is aimed at, beside all that was measured of it."""
