"""A trained agent as a folder that other programs read."""
