"""One run as a job of a sweep, and how far a sweep is."""
