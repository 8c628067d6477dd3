"""Pictures of games: films, overlays, a window."""
