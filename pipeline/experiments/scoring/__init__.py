"""When which parameters are played: beside the training, at its end, afterwards, by a person."""
