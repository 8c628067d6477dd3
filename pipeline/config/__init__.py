"""The settings of a run: typed, composed, and the list of all mistakes in them."""
