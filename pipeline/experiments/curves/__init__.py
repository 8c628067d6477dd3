"""A run's rows as curves in other tools, a file for each tool."""
