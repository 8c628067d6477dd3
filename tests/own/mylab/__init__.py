"""A package as a user writes it, outside of `pipeline`: named by the files beside it, imported from where they are."""
