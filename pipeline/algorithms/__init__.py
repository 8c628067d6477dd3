"""Pure mathematics of learning and exploring: arrays and tensors in and out, no state."""
