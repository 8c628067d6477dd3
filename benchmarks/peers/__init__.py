"""Other libraries at work, each a script for a Python that has it; it knows nothing of this project."""
