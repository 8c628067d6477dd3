"""Networks over one flat float32 vector: torsos, heads, replicas that compute with them."""
