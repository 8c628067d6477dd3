"""One flat vector in slices: shards, admission, quorum, and how gradients and parameters travel. No sockets."""
