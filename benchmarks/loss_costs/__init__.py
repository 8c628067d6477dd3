"""What each loss costs: measured (`__main__`), one gradient of each (`losses`), their table (`table`)."""
